/* See mix.h. */
#include "passes/parallel/split/mix.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/sets.h"
#include "passes/parallel/split/within.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

struct part {
	double saved, bytes; /* less cost, and more bytes, if it changes */
	uint32_t root;       /* a node of it */
};

/* Adds to the parts what the ends of edges save together, or alone if one does not change. */
static void
add_edges(const struct split_problem *p, const uint16_t *other, const uint16_t *choice,
	uint32_t *up, struct part *part)
{
	for (uint32_t i = 0; i < p->nedges; i++) {
		const struct split_edge *e = &p->edge[i];
		const uint32_t a = e->end[0], b = e->end[1];
		if (choice[a] == other[a] && choice[b] == other[b])
			continue;
		part[sets_root(up, choice[a] == other[a] ? b : a)].saved +=
			split_edge_cost(e, choice[a], choice[b]) -
			split_edge_cost(e, other[a], other[b]);
	}
}

/* What saves cost without bytes first, then the most saved per byte; ties in the order of nodes. */
static double
value_of(const struct part *p)
{
	return p->bytes > 0 ? p->saved / p->bytes : HUGE_VAL;
}

ORDER_BY(by_value, struct part, ORDER_UP(value_of(y), value_of(x)), UP(root))

double
split_mix(const struct split_problem *p, const double *const *bytes, double limit,
	const uint16_t *other, uint16_t *choice)
{
	void *scratch = alloc_scratch(NULL);
	uint32_t *up = ARRAY_NEW(scratch, uint32_t, p->nnodes), n = 0;
	struct part *part = ARRAY_ZERO(scratch, struct part, p->nnodes);
	bool *changes = ARRAY_ZERO(scratch, bool, p->nnodes);
	double room = limit - split_bytes(p, bytes, choice), saved = 0;

	for (uint32_t i = 0; i < p->nnodes; i++)
		up[i] = i;
	for (uint32_t i = 0; i < p->nedges; i++) {
		const uint32_t *end = p->edge[i].end;
		if (choice[end[0]] != other[end[0]] && choice[end[1]] != other[end[1]])
			sets_join(up, end[0], end[1]);
	}
	for (uint32_t i = 0; i < p->nnodes; i++) {
		struct part *to = &part[sets_root(up, i)];
		to->saved += p->node[i].cost[choice[i]] - p->node[i].cost[other[i]];
		to->bytes += bytes[i][other[i]] - bytes[i][choice[i]];
		part[i].root = i;
	}
	add_edges(p, other, choice, up, part);
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (up[i] == i && part[i].saved > 0)
			part[n++] = part[i];
	qsort(part, n, sizeof *part, by_value);
	for (uint32_t i = 0; i < n; i++)
		if (part[i].bytes <= room) {
			room -= part[i].bytes;
			saved += part[i].saved;
			changes[part[i].root] = true;
		}
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (changes[sets_root(up, i)])
			choice[i] = other[i];
	talloc_free(scratch);
	return saved;
}
