/* The list scheduler: see list.h. */
#include "passes/pipeline/list.h"

#include "ir/base/vec.h"

#include <math.h>
#include <talloc.h>

/* At this time the rank looks for work. Heap order: earliest first, then by rank. */
struct event {
	double time;
	int rank;
};

struct list {
	const struct list_shape *shape;
	const struct list_settings *how;
	struct schedule *s;
	double *forward, *input; /* end of F, and of I or B, by stage * nsteps + micro-batch */
	int *nforward, *ninput, *nweight; /* of each stage */
	int *left;                        /* of each rank: remaining forwards */
	double *live, *free;              /* of each rank: memory kept; time at which it is free */
	struct VEC(struct event) event;
	int64_t todo; /* remaining actions */
	double makespan;
};

struct choice {
	enum schedule_kind kind;
	int stage, step;
	bool found;
};

int
list_rank(const struct list_shape *shape, int stage)
{
	const int r = stage % shape->nranks;
	return shape->place == LIST_V && stage / shape->nranks % 2 ? shape->nranks - 1 - r : r;
}

/* --- the heap --- */

static bool
earlier(const struct event *a, const struct event *b)
{
	return a->time < b->time || (a->time == b->time && a->rank < b->rank);
}

static void
push(struct list *l, double time, int rank)
{
	const struct event e = {time, rank};
	int64_t i = l->event.n;

	VEC_PUSH(l->s, &l->event, e);
	for (; i && earlier(&e, &l->event.at[(i - 1) / 2]); i = (i - 1) / 2)
		l->event.at[i] = l->event.at[(i - 1) / 2];
	l->event.at[i] = e;
}

static struct event
pop(struct list *l)
{
	const struct event first = l->event.at[0], last = VEC_POP(&l->event);
	int64_t i = 0;

	for (int64_t k = 1; k < l->event.n; k = 2 * i + 1) {
		if (k + 1 < l->event.n && earlier(&l->event.at[k + 1], &l->event.at[k]))
			k++;
		if (!earlier(&l->event.at[k], &last))
			break;
		l->event.at[i] = l->event.at[k];
		i = k;
	}
	if (l->event.n)
		l->event.at[i] = last;
	return first;
}

/* --- what is ready --- */

static int64_t
at(const struct list *l, int stage, int step)
{
	return (int64_t)stage * l->shape->nsteps + step;
}

/* When the value made by stage `from` arrives at stage `to`, an adjacent stage. */
static double
arrival(const struct list *l, const double *done, int from, int to, int step)
{
	const bool apart = list_rank(l->shape, from) != list_rank(l->shape, to);

	return done[at(l, from, step)] +
	       (apart ? l->shape->stage[from < to ? from : to].message : 0);
}

/* Does another forward of stage s fit into the rank's memory? The tolerance is for rounding of
 * sums. */
static bool
fits(const struct list *l, int rank, int s)
{
	const double most = l->how->live[rank];
	return l->live[rank] + l->shape->stage[s].live <= most * (1 + 1e-9);
}

static bool
may_forward(const struct list *l, int rank, int s)
{
	return l->nforward[s] < l->shape->nsteps && fits(l, rank, s) &&
	       l->nforward[s] - l->ninput[s] < l->how->flight[s];
}

static bool
forward_ready(const struct list *l, int rank, int s, double now)
{
	return may_forward(l, rank, s) &&
	       (!s || arrival(l, l->forward, s - 1, s, l->nforward[s]) <= now);
}

static bool
input_ready(const struct list *l, int s, double now)
{
	const int k = l->ninput[s];

	return k < l->nforward[s] && l->forward[at(l, s, k)] <= now &&
	       (s + 1 == l->shape->nstages || arrival(l, l->input, s + 1, s, k) <= now);
}

/* Does action (s, k) come before (other_s, other_k) of the same kind? */
static bool
precedes(const struct list *l, enum schedule_kind kind, int s, int k, int other_s, int other_k)
{
	const int round = l->how->round ? l->how->round : l->shape->nsteps;
	/* In whole rounds, forwards go from the first stage on, and backwards from the last one. */
	const bool first = l->how->round > 1 && kind == SCHEDULE_FORWARD;

	if (k / round != other_k / round)
		return k / round < other_k / round;
	if (l->how->round > 1 || l->how->deep_first)
		return first ? s < other_s : s > other_s;
	return k != other_k ? k < other_k : s > other_s;
}

static void
offer(const struct list *l, struct choice *c, enum schedule_kind kind, int s, int k)
{
	if (!c->found || precedes(l, kind, s, k, c->stage, c->step))
		*c = (struct choice){kind, s, k, true};
}

/* Iterates over the stages of a rank, first to last: *s is -1 before the first. */
static bool
next_stage(const struct list_shape *shape, int rank, int *s)
{
	if (*s < 0) {
		*s = rank;
	} else {
		const int before = *s;
		*s += shape->nranks;
		if (shape->place == LIST_V)
			*s = before / shape->nranks % 2 ? before + 1 + 2 * rank
							: before + 2 * (shape->nranks - rank) - 1;
	}
	return *s < shape->nstages;
}

/* The next W: of the stage with the most outstanding ones. */
static void
offer_weight(const struct list *l, struct choice *c, int rank)
{
	int most = 0;

	for (int s = -1; next_stage(l->shape, rank, &s);)
		if (l->ninput[s] - l->nweight[s] >= (most ? most : 1)) {
			most = l->ninput[s] - l->nweight[s];
			*c = (struct choice){SCHEDULE_WEIGHT, s, l->nweight[s], true};
		}
}

static struct choice
choose(const struct list *l, int rank, double now, bool waits)
{
	const enum schedule_kind backward = l->shape->split ? SCHEDULE_INPUT : SCHEDULE_BACKWARD;
	struct choice f = {0}, b = {0}, w = {0}, wanted = {0};
	int backlog = 0;

	for (int s = -1; next_stage(l->shape, rank, &s);) {
		if (waits && may_forward(l, rank, s))
			offer(l, &wanted, SCHEDULE_FORWARD, s, l->nforward[s]);
		if (forward_ready(l, rank, s, now))
			offer(l, &f, SCHEDULE_FORWARD, s, l->nforward[s]);
		if (input_ready(l, s, now))
			offer(l, &b, backward, s, l->ninput[s]);
		backlog += l->ninput[s] - l->nweight[s];
	}
	if (wanted.found)
		return f.found && f.stage == wanted.stage && f.step == wanted.step
			       ? f
			       : (struct choice){0};
	const struct choice best = b.found && (l->how->backward_first || !f.found) ? b : f;
	const bool weight_first = l->left[rank] && backlog >= l->how->backlog[rank];
	if (l->shape->split && backlog && (weight_first || !best.found))
		offer_weight(l, &w, rank);
	return w.found ? w : best;
}

/* --- running --- */

static void
run(struct list *l, int rank, struct choice c, double now)
{
	const struct schedule_stage *t = &l->shape->stage[c.stage];
	const double end = now + (c.kind == SCHEDULE_FORWARD         ? t->forward
					 : c.kind == SCHEDULE_INPUT  ? t->input
					 : c.kind == SCHEDULE_WEIGHT ? t->weight
								     : t->input + t->weight);

	schedule_add(l->s, rank, c.kind, c.stage, c.step);
	l->todo--;
	l->free[rank] = end;
	l->makespan = fmax(l->makespan, end);
	push(l, end, rank);
	if (c.kind == SCHEDULE_WEIGHT) {
		l->nweight[c.stage]++;
		l->live[rank] -= t->live * t->kept;
		return;
	}
	const bool forward = c.kind == SCHEDULE_FORWARD;
	const int next = c.stage + (forward ? 1 : -1);
	if (forward) {
		l->forward[at(l, c.stage, c.step)] = end;
		l->nforward[c.stage]++;
		l->left[rank]--;
		l->live[rank] += t->live;
	} else {
		l->input[at(l, c.stage, c.step)] = end;
		l->ninput[c.stage]++;
		l->live[rank] -= c.kind == SCHEDULE_INPUT ? t->live * (1 - t->kept) : t->live;
	}
	if (next >= 0 && next < l->shape->nstages) {
		const double there =
			arrival(l, forward ? l->forward : l->input, c.stage, next, c.step);
		push(l, there, list_rank(l->shape, next));
	}
}

static void
run_all(struct list *l)
{
	for (int r = 0; r < l->shape->nranks; r++)
		push(l, 0, r);
	while (l->event.n) {
		const struct event e = pop(l);
		if (l->free[e.rank] > e.time)
			continue;
		const struct choice c = choose(l, e.rank, e.time, l->how->waits);
		if (c.found)
			run(l, e.rank, c, e.time);
	}
}

struct schedule *
list_make(const void *owner, const struct list_shape *shape, const struct list_settings *how,
	double *makespan)
{
	struct list l = {.shape = shape, .how = how, .s = schedule_create(owner, shape->nranks)};
	const int64_t n = (int64_t)shape->nstages * shape->nsteps;
	void *scratch = alloc_scratch(NULL);

	l.forward = NEW_ARRAY(scratch, double, n);
	l.input = NEW_ARRAY(scratch, double, n);
	for (int64_t i = 0; i < n; i++)
		l.forward[i] = l.input[i] = INFINITY;
	l.nforward = ZERO_ARRAY(scratch, int, shape->nstages);
	l.ninput = ZERO_ARRAY(scratch, int, shape->nstages);
	l.nweight = ZERO_ARRAY(scratch, int, shape->nstages);
	l.left = ZERO_ARRAY(scratch, int, shape->nranks);
	l.live = ZERO_ARRAY(scratch, double, shape->nranks);
	l.free = ZERO_ARRAY(scratch, double, shape->nranks);
	for (int s = 0; s < shape->nstages; s++)
		l.left[list_rank(shape, s)] += shape->nsteps;
	l.todo = n * (shape->split ? 3 : 2);
	run_all(&l);
	VEC_FREE(&l.event);
	talloc_free(scratch);
	*makespan = l.makespan;
	if (!l.todo) {
		schedule_finish(l.s);
		return l.s;
	}
	talloc_free(l.s);
	return NULL;
}
