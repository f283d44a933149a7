/*
 * Constraints of an alignment. For each ordered pair of clocks every meet gives one:
 *
 *     offset i + drift i * lever(begin) - offset j - drift j * lever(end) <= end - begin
 *
 * Without drifts the row with the smallest right side implies the others. With drifts the rows are
 * lines over the lever, and those on the lower hull imply the others: a row above the straight line
 * between two others of its pair follows from their mean, except for the ends' levers, which are
 * not linear in those of the begins; if it is higher by more than the largest drift can change
 * that, it is left out.
 */
#include "ir/base/vec.h"
#include "ir/base/sort.h"
#include "passes/analysis/trace/meet.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

/* A row of one pair. */
struct line {
	double begin, end, right; /* levers, right side */
	uint32_t member[2];
};

struct pair {
	const struct trace_set *s;
	const struct trace_alignment *a;
	uint32_t from, to; /* clocks: the one that begins, the one that ends */
	struct line *line; /* [room] */
	uint32_t n, *hull; /* [room] */
	double most_drift;
};

static void
list_lines(struct pair *p, const struct meets *m)
{
	p->n = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct meet_part *from = NULL, *to = NULL;
		for (uint32_t k = m->meet[i].first; k < m->meet[i].first + m->meet[i].n; k++) {
			const struct meet_part *x = &m->part[k];
			from = x->clock == p->from && x->begins ? x : from;
			to = x->clock == p->to && x->ends ? x : to;
		}
		if (!from || !to)
			continue;
		const double slack = meet_tolerance(
			p->s, &p->s->member[from->begin_member], &p->s->member[to->end_member]);
		p->line[p->n++] = (struct line){meet_lever(p->a, from->begin),
			meet_lever(p->a, to->earliest), to->earliest - from->begin + slack,
			{from->begin_member, to->end_member}};
	}
}

ORDER_BY(by_begin, struct line, UP(begin), UP(right))

/* Is b on or above the straight line from a to c? */
static bool
above(const struct line *a, const struct line *b, const struct line *c)
{
	return (b->right - a->right) * (c->begin - a->begin) >=
	       (c->right - a->right) * (b->begin - a->begin);
}

/* Andrew's monotone chain: indices of the lines on the lower hull. */
static uint32_t
lower_hull(struct pair *p)
{
	uint32_t n = 0;

	qsort(p->line, p->n, sizeof *p->line, by_begin);
	for (uint32_t i = 0; i < p->n; i++) {
		while (n > 1 &&
			above(&p->line[p->hull[n - 2]], &p->line[p->hull[n - 1]], &p->line[i]))
			n--;
		p->hull[n++] = i;
	}
	return n;
}

/* Does x follow from a and c, one on each side of it? */
static bool
follows(const struct pair *p, const struct line *a, const struct line *x, const struct line *c)
{
	const double width = c->begin - a->begin;
	const double part = width > 0 ? (x->begin - a->begin) / width : 0;
	const double right = a->right + part * (c->right - a->right);
	const double end = a->end + part * (c->end - a->end);

	return x->right >= right + p->most_drift * fabs(x->end - end);
}

static void
put_row(struct meet_rows *rows, const struct pair *p, const struct line *l, const int32_t *variable)
{
	const int32_t from = variable[p->from], to = variable[p->to];
	struct polytope_row *r = &rows->row[rows->n];
	int n = 0;

	*r = (struct polytope_row){.b = l->right, .variable = {-1, -1, -1, -1}};
	const struct {
		int32_t variable;
		double a;
	} term[] = {{from, 1}, {to, -1}, {from < 0 ? -1 : from + 1, l->begin},
		{to < 0 ? -1 : to + 1, -l->end}};
	for (int i = 0; i < (p->a->drift ? 4 : 2); i++)
		if (term[i].variable >= 0) {
			r->variable[n] = term[i].variable;
			r->a[n++] = term[i].a;
		}
	rows->member[rows->n][0] = l->member[0];
	rows->member[rows->n++][1] = l->member[1];
}

static void
put_pair(struct meet_rows *rows, struct pair *p, const int32_t *variable)
{
	LIST_ROOM(rows, rows->row, rows->n + p->n);
	LIST_ROOM(rows, rows->member, rows->n + p->n);
	if (!p->a->drift) {
		const struct line *least = p->line;
		for (uint32_t i = 1; i < p->n; i++)
			if (p->line[i].right < least->right)
				least = &p->line[i];
		put_row(rows, p, least, variable);
		return;
	}
	const uint32_t n = lower_hull(p);
	for (uint32_t h = 0; h < n; h++) {
		const struct line *a = &p->line[p->hull[h]];
		put_row(rows, p, a, variable);
		for (uint32_t i = p->hull[h] + 1; h + 1 < n && i < p->hull[h + 1]; i++)
			if (!follows(p, a, &p->line[i], &p->line[p->hull[h + 1]]))
				put_row(rows, p, &p->line[i], variable);
	}
	/* After the last row of the hull only rows with the same begin remain. */
	for (uint32_t i = p->hull[n - 1] + 1; i < p->n; i++)
		put_row(rows, p, &p->line[i], variable);
}

struct meet_rows *
meet_rows_create(const void *owner, const struct trace_set *s, const struct trace_alignment *a,
	const struct meets *m, const int32_t *variable, double most_drift)
{
	struct meet_rows *rows = NEW(owner, struct meet_rows);
	struct pair p = {.s = s, .a = a, .most_drift = most_drift};

	p.line = NEW_ARRAY(rows, struct line, m->n);
	p.hull = NEW_ARRAY(rows, uint32_t, m->n);
	for (p.from = 0; p.from < a->nclocks; p.from++)
		for (p.to = 0; p.to < a->nclocks; p.to++) {
			if (p.from == p.to)
				continue;
			list_lines(&p, m);
			if (p.n)
				put_pair(rows, &p, variable);
		}
	talloc_free(p.line);
	talloc_free(p.hull);
	return rows;
}
