/* Tables of edges, results computed from them, and the list of edges: see reduce.h. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/split/reduce_impl.h"

#include <string.h>

MAP_SAME(same_key, struct reducer, struct key, !memcmp(&list->known.at[i].key, key, sizeof *key))

const void **
reduce_recall(struct reducer *x, struct key key)
{
	const uint32_t i = map_add(x, &x->map, mix_bytes(0, &key, sizeof key), same_key, x, &key);

	if (i == x->known.n)
		VEC_PUSH(x, &x->known, (struct known){key, NULL});
	return &x->known.at[i].result;
}

struct split_table *
reduce_table(struct reducer *x, uint32_t rows, uint32_t columns, double **cost, double **flipped)
{
	struct split_table *t = NEW(x, struct split_table);

	*cost = ARRAY_NEW(x, double, (size_t)rows *columns);
	*flipped = ARRAY_NEW(x, double, (size_t)rows *columns);
	*t = (struct split_table){rows, columns, *cost, *flipped};
	return t;
}

/* Rows and columns of a tile: its lines of both tables are in the cache at once. */
enum { TILE = 16 };

void
reduce_flip(const struct split_table *t, double *flipped)
{
	for (uint32_t r = 0; r < t->rows; r += TILE)
		for (uint32_t c = 0; c < t->columns; c += TILE)
			for (uint32_t i = r; i < t->rows && i < r + TILE; i++)
				for (uint32_t j = c; j < t->columns && j < c + TILE; j++)
					flipped[j * t->rows + i] = t->cost[i * t->columns + j];
}

/* The distinct lines of n choices, in their order: renumbers them in of[], and returns how many
 * there are. */
static uint32_t
number_used(uint32_t lines, const uint16_t *line, uint32_t n, uint16_t *of, uint16_t *which)
{
	uint32_t used = 0;

	for (uint32_t l = 0; l < lines; l++)
		of[l] = 0;
	for (uint32_t c = 0; c < n; c++)
		of[line[c]] = 1;
	for (uint32_t l = 0; l < lines; l++)
		if (of[l]) {
			which[used] = (uint16_t)l;
			of[l] = (uint16_t)used++;
		}
	return used;
}

static struct used *
make_used(struct reducer *x, const struct split_edge *e, const uint32_t n[2])
{
	struct used *u = NEW(x, struct used);
	uint16_t *of[2], *which[2];
	uint32_t used[2];
	double *cost, *flipped;

	for (int side = 0; side < 2; side++) {
		const uint32_t lines = lines_of(e->table, side);
		of[side] = ARRAY_NEW(NULL, uint16_t, lines);
		which[side] = ARRAY_NEW(NULL, uint16_t, lines);
		used[side] = number_used(lines, e->line[side], n[side], of[side], which[side]);
		u->line[side] = ARRAY_NEW(x, uint16_t, n[side]);
		for (uint32_t c = 0; c < n[side]; c++)
			u->line[side][c] = of[side][e->line[side][c]];
	}
	/* Lines keep their order: if all are used, they keep their numbers. */
	if (used[0] == e->table->rows && used[1] == e->table->columns) {
		u->table = e->table;
	} else {
		u->table = reduce_table(x, used[0], used[1], &cost, &flipped);
		for (uint32_t i = 0; i < used[0]; i++) {
			const double *row =
				e->table->cost + (size_t)which[0][i] * e->table->columns;
			for (uint32_t j = 0; j < used[1]; j++)
				cost[i * used[1] + j] = row[which[1][j]];
		}
		reduce_flip(u->table, flipped);
	}
	for (int side = 0; side < 2; side++) {
		array_free(of[side]);
		array_free(which[side]);
	}
	return u;
}

struct split_edge
reduce_used(struct reducer *x, struct split_edge e, const uint32_t n[2])
{
	const struct key key = KEY(MAKE_USED, P(e.table), P(e.line[0]), P(e.line[1]), n[0], n[1]);
	const struct used *u = *reduce_recall(x, key);

	if (!u)
		*reduce_recall(x, key) = u = make_used(x, &e, n);
	e.table = u->table;
	e.line[0] = u->line[0];
	e.line[1] = u->line[1];
	return e;
}

const struct pairs *
reduce_pair_lines(struct reducer *x, const uint16_t *a, const uint16_t *b, uint32_t n)
{
	const void **known = reduce_recall(x, KEY(MAKE_LINES, P(a), P(b), n));
	struct pairs *l;

	if (*known)
		return *known;
	l = NEW(x, struct pairs);
	l->line = ARRAY_NEW(x, uint16_t, n);
	l->of[0] = ARRAY_NEW(x, uint16_t, n);
	l->of[1] = ARRAY_NEW(x, uint16_t, n);
	for (uint32_t c = 0; c < n; c++) {
		uint32_t i = 0;
		while (i < l->n && (l->of[0][i] != a[c] || l->of[1][i] != b[c]))
			i++;
		l->of[0][i] = a[c];
		l->of[1][i] = b[c];
		l->n += i == l->n;
		l->line[c] = (uint16_t)i;
	}
	*known = l;
	return l;
}

/* The sum of two edges between the same nodes, as one. */
static struct split_edge
add_edges(struct reducer *x, const struct split_edge *a, const struct split_edge *b)
{
	const int turned = a->end[0] != b->end[0];
	const struct pairs *l[2];
	struct split_edge sum = *a;
	double *cost, *flipped;

	for (int side = 0; side < 2; side++) {
		l[side] = reduce_pair_lines(
			x, a->line[side], b->line[side ^ turned], x->p->node[a->end[side]].n);
		sum.line[side] = l[side]->line;
	}
	const void **known =
		reduce_recall(x, KEY(MAKE_SUM, P(a->table), P(b->table), turned, P(l[0]), P(l[1])));
	if (!*known) {
		struct split_table *t = reduce_table(x, l[0]->n, l[1]->n, &cost, &flipped);
		for (uint32_t i = 0; i < t->rows; i++) {
			const double *one = a->table->cost +
					    (size_t)l[0]->of[0][i] * a->table->columns,
				     *two = (turned ? b->table->flipped : b->table->cost) +
					    (size_t)l[0]->of[1][i] * lines_of(b->table, !turned);
			for (uint32_t j = 0; j < t->columns; j++) {
				const double both = one[l[1]->of[0][j]] + two[l[1]->of[1][j]];
				cost[i * t->columns + j] = both < SPLIT_NEVER ? both : SPLIT_NEVER;
			}
		}
		reduce_flip(t, flipped);
		*known = t;
	}
	sum.table = *known;
	return sum;
}

void
reduce_tidy(struct reducer *x, uint32_t node)
{
	struct ends *at = &x->at[node];
	uint32_t n = 0;

	for (int64_t i = 0; i < at->n; i++)
		if (!x->dropped[at->at[i]])
			at->at[n++] = at->at[i];
	at->n = n;
}

void
reduce_add_edge(struct reducer *x, struct split_edge e)
{
	const uint32_t few = x->degree[e.end[0]] > x->degree[e.end[1]] ? e.end[1] : e.end[0],
		       other = e.end[0] + e.end[1] - few;

	if (x->at[few].n != x->degree[few])
		reduce_tidy(x, few);
	for (int64_t i = 0; i < x->at[few].n; i++) {
		const struct split_edge *have = &x->edge.at[x->at[few].at[i]];
		if (have->end[0] + have->end[1] - few != other)
			continue;
		e = add_edges(x, have, &e);
		x->edge.at[x->at[few].at[i]] = e;
		return;
	}
	for (int side = 0; side < 2; side++) {
		VEC_PUSH(x, &x->at[e.end[side]], (uint32_t)x->edge.n);
		x->degree[e.end[side]]++;
	}
	bool is_dropped = false;
	size_t n = (size_t)x->edge.n;
	ARRAY_PUSH(x, x->dropped, n, is_dropped);
	VEC_PUSH(x, &x->edge, e);
}
