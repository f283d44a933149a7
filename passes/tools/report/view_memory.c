/*
 * Memory over time: the curve has a point for every position in issue order, and events give the
 * time when the first device reaches a position. Kernels run one after another there, so its
 * kernels are the clock; a collective is posted when the kernel before it starts, and ops that take
 * no time happen at the time of the next event.
 *
 *     position   0 param   1 matmul   2 allreduce   3 matmul ...   loops come back to a position
 *     time       0         0          0             start of 3
 */
#include "passes/tools/report/report.h"

#include "ir/base/alloc.h"

#include <math.h>

struct writer {
	struct view *v;
	uint32_t *position; /* by number of the op */
	double now;
	uint32_t next; /* the position after the last one */
};

/* Among points at one time the largest is kept. */
static void
put_level(struct writer *w, uint32_t position)
{
	const struct memory_point *p = &w->v->memory->point[position];
	struct view_level *last = w->v->nlevels ? &w->v->level[w->v->nlevels - 1] : NULL;

	if (!last || last->time < w->now)
		w->v->level[w->v->nlevels++] = (struct view_level){w->now, p};
	else if (p->live > last->point->live)
		last->point = p;
	w->next = position + 1;
}

static void
put_event(struct writer *w, const struct cost_event *e)
{
	uint32_t position = w->position[view_op(w->v, e)];

	if (!e->communication)
		w->now = fmax(w->now, e->start);
	if (position < w->next) /* the next iteration of a loop */
		w->next = position;
	while (w->next <= position)
		put_level(w, w->next);
}

void
view_memory(struct view *v)
{
	struct writer w = {.v = v};

	v->memory = memory_curve_create(v, v->m, v->main, NULL);
	w.position = ARRAY_ZERO(v, uint32_t, (size_t)v->total.ops + 1);
	v->level = ARRAY_NEW(v, struct view_level, (size_t)v->line->n + v->memory->n + 2);
	for (uint32_t i = 0; i < v->memory->n; i++)
		w.position[ir_number(v->ops, v->memory->point[i].op)] = i;
	for (uint32_t i = 0; i < v->line->n; i++)
		if (v->line->event[i].device == 0)
			put_event(&w, &v->line->event[i]);
	while (w.next <= v->memory->n)
		put_level(&w, w.next);
	array_free(w.position);
}

uint32_t
view_levels_reduce(struct view_level *level, uint32_t nlevels, double iteration, uint32_t n)
{
	double part = iteration / n;
	uint32_t kept = 0;

	if (nlevels <= n)
		return nlevels;
	for (uint32_t i = 0; i < nlevels; i++)
		if (kept && floor(level[kept - 1].time / part) == floor(level[i].time / part)) {
			if (level[i].point->live > level[kept - 1].point->live)
				level[kept - 1].point = level[i].point;
		} else {
			level[kept++] = level[i];
		}
	return kept;
}
