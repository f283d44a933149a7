/*
 * Exchanges in a schedule: see sequence.h. The time of a schedule is the length of a longest path,
 * so that only changes on such a path make it shorter: an action on it moves before its predecessor
 * on its rank, or further. An order is kept if it is not worse than the last one, or not much worse
 * than the best one, with a tolerance that shrinks: record-to-record travel (Dueck 1993).
 */
#include "passes/pipeline/sequence.h"

#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

enum {
	F,
	I,
	W,
	KINDS,
	REACH = 12, /* most positions that an action moves: longer moves rarely help */
};

/* Tolerance relative to the best at first; less with fewer simulations than MANY, for which
 * descending directly is better. The values are the best on 90 problems of 0.003, 0.01 and 0.03,
 * and of 0, 5,000 and 20,000. */
#define SLACK 0.01
#define MANY 5000

struct improver {
	struct sequence *o;
	double *finish; /* of each action; -1: not yet */
	int *cause;     /* the action whose end determines its start; -1: none */
	int *rank_of;   /* of each stage */
	int *at;        /* of each rank: the next position */
	int *todo;      /* ranks to be examined, a ring of nranks + 1 */
	bool *waiting;  /* is the rank in `todo`? */
	int *path;      /* positions of actions on a longest path */
	int *position;  /* of each action */
	int npath;
	int64_t work;
	uint64_t seed;
};

struct sequence *
sequence_create(
	const void *owner, const struct list_shape *shape, double memory, const struct schedule *s)
{
	struct sequence *o = NEW(owner, struct sequence);
	int n = 0;

	o->shape = *shape;
	o->memory = memory;
	o->n = shape->nstages * shape->nsteps * KINDS;
	o->action = NEW_ARRAY(o, int, o->n);
	o->first = NEW_ARRAY(o, int, shape->nranks + 1);
	for (int r = 0; r < s->nranks; r++) {
		o->first[r] = n;
		for (int i = 0; i < s->rank[r].n; i++) {
			const struct schedule_action *a = &s->rank[r].action[i];
			const int at = (a->stage * shape->nsteps + a->step) * KINDS;
			const bool b = a->kind == SCHEDULE_BACKWARD;
			if (a->kind == SCHEDULE_FORWARD)
				o->action[n++] = at + F;
			if (a->kind == SCHEDULE_INPUT || b)
				o->action[n++] = at + I;
			if (a->kind == SCHEDULE_WEIGHT || b)
				o->action[n++] = at + W;
		}
	}
	o->first[s->nranks] = n;
	o->makespan = INFINITY;
	return o;
}

struct schedule *
sequence_schedule(const void *owner, const struct sequence *o)
{
	static const enum schedule_kind kinds[] = {
		SCHEDULE_FORWARD, SCHEDULE_INPUT, SCHEDULE_WEIGHT};
	struct schedule *s = schedule_create(owner, o->shape.nranks);
	int *next = ZERO_ARRAY(NULL, int, o->shape.nstages *KINDS);

	for (int r = 0; r < o->shape.nranks; r++)
		for (int i = o->first[r]; i < o->first[r + 1]; i++) {
			const int kind = o->action[i] % KINDS,
				  stage = o->action[i] / KINDS / o->shape.nsteps;
			schedule_add(s, r, kinds[kind], stage, next[stage * KINDS + kind]++);
		}
	talloc_free(next);
	schedule_finish(s);
	return s;
}

/* --- simulation --- */

static int
stage_of(const struct sequence *o, int a)
{
	return a / KINDS / o->shape.nsteps;
}

static double
time_of(const struct sequence *o, int a)
{
	const struct schedule_stage *t = &o->shape.stage[stage_of(o, a)];

	return a % KINDS == F ? t->forward : a % KINDS == I ? t->input : t->weight;
}

/* The action of another stage that action a waits for, or -1. */
static int
source_of(const struct sequence *o, int a)
{
	const int step = o->shape.nsteps * KINDS, stage = stage_of(o, a);

	if (a % KINDS == F)
		return stage ? a - step : -1;
	return a % KINDS == I && stage + 1 < o->shape.nstages ? a + step : -1;
}

static double
delay(const struct improver *m, int from, int to)
{
	const int a = stage_of(m->o, from), b = stage_of(m->o, to);

	return m->rank_of[a] == m->rank_of[b] ? 0 : m->o->shape.stage[a < b ? a : b].message;
}

static void
look_at(struct improver *m, int rank, int *end)
{
	if (m->waiting[rank])
		return;
	m->waiting[rank] = true;
	m->todo[*end] = rank;
	*end = (*end + 1) % (m->o->shape.nranks + 1);
}

/* Runs the next action of the rank if the action that it waits for is done. */
static bool
run(struct improver *m, int rank, int *end)
{
	const struct sequence *o = m->o;
	const int i = m->at[rank], a = o->action[i], source = source_of(o, a);
	double start = 0;

	if (source >= 0 && m->finish[source] < 0)
		return false;
	m->cause[a] = -1;
	if (source >= 0) {
		start = m->finish[source] + delay(m, source, a);
		m->cause[a] = source;
	}
	if (i > o->first[rank] && m->finish[o->action[i - 1]] >= start) {
		start = m->finish[o->action[i - 1]];
		m->cause[a] = o->action[i - 1];
	}
	m->finish[a] = start + time_of(o, a);
	m->position[a] = i;
	m->at[rank]++;
	/* The action of another stage that waits for this one. */
	const int other = stage_of(o, a) + (a % KINDS == F ? 1 : -1);
	if (a % KINDS != W && other >= 0 && other < o->shape.nstages && m->rank_of[other] != rank)
		look_at(m, m->rank_of[other], end);
	return true;
}

/* The makespan; infinite: the order deadlocks. */
static double
simulate(struct improver *m)
{
	const struct sequence *o = m->o;
	int begin = 0, end = 0;
	double makespan = 0;

	for (int a = 0; a < o->n; a++)
		m->finish[a] = -1;
	for (int r = 0; r < o->shape.nranks; r++) {
		m->at[r] = o->first[r];
		m->waiting[r] = false;
		look_at(m, r, &end);
	}
	while (begin != end) {
		const int rank = m->todo[begin];
		begin = (begin + 1) % (o->shape.nranks + 1);
		m->waiting[rank] = false;
		while (m->at[rank] < o->first[rank + 1] && run(m, rank, &end))
			m->work--;
	}
	for (int r = 0; r < o->shape.nranks; r++) {
		if (m->at[r] < o->first[r + 1])
			return INFINITY;
		if (o->first[r + 1] > o->first[r])
			makespan = fmax(makespan, m->finish[o->action[o->first[r + 1] - 1]]);
	}
	return makespan;
}

/* Does a rank stay within the memory limit, and is each F before its I, and each I before its W? */
static bool
fits(const struct sequence *o, int rank)
{
	double live = 0;

	for (int i = o->first[rank]; i < o->first[rank + 1]; i++) {
		const struct schedule_stage *t = &o->shape.stage[stage_of(o, o->action[i])];
		switch (o->action[i] % KINDS) {
		case F: live += t->live; break;
		case I: live -= t->live * (1 - t->kept); break;
		default: live -= t->live * t->kept;
		}
		if (live > o->memory * (1 + 1e-9))
			return false;
	}
	return true;
}

/* --- moves --- */

/* Finds actions on a longest path that start when their predecessor on their rank ends. */
static void
find_path(struct improver *m)
{
	const struct sequence *o = m->o;
	int a = -1;

	m->npath = 0;
	for (int r = 0; r < o->shape.nranks; r++)
		if (o->first[r + 1] > o->first[r]) {
			const int last = o->action[o->first[r + 1] - 1];
			if (a < 0 || m->finish[last] > m->finish[a])
				a = last;
		}
	for (; a >= 0; a = m->cause[a])
		if (m->cause[a] >= 0 &&
			m->rank_of[stage_of(o, a)] == m->rank_of[stage_of(o, m->cause[a])])
			m->path[m->npath++] = m->position[a];
}

static void
move(int *action, int from, int to)
{
	const int a = action[from];

	if (to < from)
		memmove(action + to + 1, action + to, (size_t)(from - to) * sizeof *action);
	else
		memmove(action + from, action + from + 1, (size_t)(to - from) * sizeof *action);
	action[to] = a;
}

/* May the action move from one position to the other without passing one of the same micro-batch
 * and stage? */
static bool
may_move(const struct sequence *o, int from, int to)
{
	const int step = to < from ? -1 : 1;

	for (int i = from + step; i != to + step; i += step)
		if (o->action[i] / KINDS == o->action[from] / KINDS)
			return false;
	return true;
}

static int
rank_at(const struct sequence *o, int position)
{
	int r = 0;

	while (o->first[r + 1] <= position)
		r++;
	return r;
}

/* Draws a move of an action on the path, or of its predecessor; false: the move drawn is not
 * possible. */
static bool
draw_move(struct improver *m, int *rank, int *from, int *to)
{
	const struct sequence *o = m->o;
	const int i = m->path[mix64_below(&m->seed, (uint32_t)m->npath)];
	const int distance = mix64_below(&m->seed, 2) ? 1 : 1 + (int)mix64_below(&m->seed, REACH);
	const bool ahead = mix64_below(&m->seed, 2);

	*rank = rank_at(o, i);
	*from = ahead ? i - 1 : i;
	*to = ahead ? *from + distance : *from - distance;
	return *to >= o->first[*rank] && *to < o->first[*rank + 1] && may_move(o, *from, *to);
}

void
sequence_improve(struct sequence *o, int64_t work, double bound, uint64_t seed)
{
	void *scratch = alloc_scratch(NULL);
	const int nranks = o->shape.nranks;
	struct improver m = {.o = o, .work = work, .seed = seed};
	int *best = NEW_ARRAY(scratch, int, o->n);
	const double slack = SLACK * fmin(1, (double)work / o->n / MANY);

	m.finish = NEW_ARRAY(scratch, double, o->n);
	m.cause = NEW_ARRAY(scratch, int, o->n);
	m.path = NEW_ARRAY(scratch, int, o->n);
	m.position = NEW_ARRAY(scratch, int, o->n);
	m.rank_of = NEW_ARRAY(scratch, int, o->shape.nstages);
	m.at = NEW_ARRAY(scratch, int, nranks);
	m.todo = NEW_ARRAY(scratch, int, nranks + 1);
	m.waiting = NEW_ARRAY(scratch, bool, nranks);
	for (int s = 0; s < o->shape.nstages; s++)
		m.rank_of[s] = list_rank(&o->shape, s);
	double now = o->makespan = simulate(&m);
	memcpy(best, o->action, (size_t)o->n * sizeof *best);
	find_path(&m);
	while (m.work > 0 && m.npath && o->makespan > bound * (1 + 1e-9)) {
		int rank, from, to;
		m.work -= 16; /* drawing a move is work, too */
		if (!draw_move(&m, &rank, &from, &to))
			continue;
		move(o->action, from, to);
		const double after = fits(o, rank) ? simulate(&m) : INFINITY;
		const double worse = slack * (double)m.work / (double)work;
		if (after > fmax(now, o->makespan * (1 + worse)) * (1 + 1e-12)) {
			move(o->action, to, from);
			continue;
		}
		now = after;
		find_path(&m);
		if (after < o->makespan * (1 - 1e-12)) {
			o->makespan = after;
			memcpy(best, o->action, (size_t)o->n * sizeof *best);
		}
	}
	memcpy(o->action, best, (size_t)o->n * sizeof *best);
	talloc_free(scratch);
}
