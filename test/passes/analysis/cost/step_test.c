/*
 * A step that is changed against one that is built anew after every change: a matrix of who waits
 * for whom, groups by name, and a replay of all of it.
 */
#include "passes/analysis/cost/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <cmocka.h>

enum { EVENTS = 24, EXTRA = 40, ROOM = EVENTS + EXTRA, STREAMS = 4 };

/* The plain step. */
struct plain {
	uint32_t n, norder, order[ROOM];
	uint16_t stream[ROOM];
	replay_time duration[ROOM];
	bool waits[ROOM][ROOM]; /* [a][b]: a waits for b */
	uint32_t group[ROOM];   /* what it runs as */
	uint32_t into[ROOM];    /* what it was merged into; itself: nothing */
	replay_time end[ROOM];  /* of what runs */
	replay_time makespan;
};

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static bool
group_waits(const struct plain *p, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; a != b && i < p->n; i++)
		for (uint32_t k = 0; p->group[i] == a && k < p->n; k++)
			if (p->group[k] == b && p->waits[i][k])
				return true;
	return false;
}

static bool
runs(const struct plain *p, uint32_t e)
{
	return p->group[e] == e;
}

/* Is everything issued behind what it waits for? */
static bool
plain_is_valid(const struct plain *p)
{
	for (uint32_t i = 0; i < p->norder; i++)
		for (uint32_t k = i + 1; k < p->norder; k++)
			if (runs(p, p->order[i]) && runs(p, p->order[k]) &&
				group_waits(p, p->order[i], p->order[k]))
				return false;
	return true;
}

static void
plain_replay(struct plain *p)
{
	replay_time free_at[STREAMS] = {0};
	p->makespan = 0;
	for (uint32_t i = 0; i < p->norder; i++) {
		uint32_t e = p->order[i];
		if (!runs(p, e))
			continue;
		replay_time t = free_at[p->stream[e]];
		for (uint32_t k = 0; k < i; k++)
			if (runs(p, p->order[k]) && group_waits(p, e, p->order[k]) &&
				p->end[p->order[k]] > t)
				t = p->end[p->order[k]];
		t += p->duration[e];
		p->end[e] = free_at[p->stream[e]] = t;
		p->makespan = t > p->makespan ? t : p->makespan;
	}
}

static struct step *
make_random(const void *owner, struct plain *p, uint64_t *seed)
{
	memset(p, 0, sizeof *p);
	uint16_t stream[EVENTS];
	replay_time duration[EVENTS];
	uint32_t dep_first[EVENTS + 1] = {0}, dep[EVENTS * 4], ndeps = 0;
	uint32_t n = 1 + (uint32_t)(next(seed) % EVENTS);
	uint32_t nstreams = 1 + (uint32_t)(next(seed) % STREAMS);
	p->n = p->norder = n;
	for (uint32_t i = 0; i < n; i++) {
		p->order[i] = i;
		for (uint32_t k = (uint32_t)(next(seed) % (i + 1)), t = p->order[k]; k != i;
			k = i) {
			p->order[k] = p->order[i];
			p->order[i] = t;
		}
	}
	uint32_t position[EVENTS];
	for (uint32_t i = 0; i < n; i++)
		position[p->order[i]] = i;
	for (uint32_t e = 0; e < n; e++) {
		p->group[e] = p->into[e] = e;
		stream[e] = p->stream[e] = (uint16_t)(next(seed) % nstreams);
		duration[e] = p->duration[e] = (replay_time)(next(seed) % 20);
		for (uint32_t k = (uint32_t)(next(seed) % 4); position[e] && k; k--) {
			uint32_t on = p->order[next(seed) % position[e]];
			dep[ndeps++] = on;
			p->waits[e][on] = true;
		}
		dep_first[e + 1] = ndeps;
	}
	struct replay_graph g = {n, nstreams, stream, duration, dep_first, dep, p->order};
	assert_true(replay_check(&g));
	return step_create(owner, &g, EXTRA);
}

/* --- the same changes on either --- */

static void
plain_merge(struct plain *p, uint32_t into, uint32_t from, replay_time duration)
{
	for (uint32_t e = 0; e < p->n; e++)
		if (p->group[e] == from)
			p->group[e] = into;
	p->into[from] = into;
	p->duration[into] = duration;
}

/* Was e merged into `from`, at whatever remove? */
static bool
came_with(const struct plain *p, uint32_t e, uint32_t from)
{
	for (; e != from; e = p->into[e])
		if (p->into[e] == e)
			return false;
	return true;
}

static void
plain_unmerge(struct plain *p, uint32_t from, replay_time rest, replay_time duration)
{
	uint32_t group = p->group[from];
	p->into[from] = from;
	for (uint32_t e = 0; e < p->n; e++)
		if (p->group[e] == group && came_with(p, e, from))
			p->group[e] = from;
	p->duration[group] = rest;
	p->duration[from] = duration;
}

static void
plain_place(struct plain *p, uint32_t e, uint32_t position)
{
	memmove(&p->order[position + 1], &p->order[position],
		(p->norder++ - position) * sizeof *p->order);
	p->order[position] = e;
}

static uint32_t
plain_position(const struct plain *p, uint32_t e)
{
	uint32_t i = 0;
	while (p->order[i] != e)
		i++;
	return i;
}

static void
plain_move(struct plain *p, uint32_t e, uint32_t position)
{
	uint32_t from = plain_position(p, e);
	memmove(&p->order[from], &p->order[from + 1], (--p->norder - from) * sizeof *p->order);
	plain_place(p, e, position);
}

static void
plain_split(struct plain *p, uint32_t e, uint32_t n, const replay_time *duration)
{
	uint32_t first = p->n, position = plain_position(p, e);
	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t part = first + i;
		for (uint32_t m = 0; m < first; m++)
			for (uint32_t k = 0; k < first && p->group[m] == e; k++)
				p->waits[part][k] |= p->waits[m][k] && p->group[k] != e;
		p->stream[part] = p->stream[e];
		p->duration[part] = duration[i];
		p->group[part] = p->into[part] = part;
		plain_place(p, part, position + i);
	}
	/* One that never runs waits for the parts, whatever becomes of them. */
	uint32_t wait = first + n - 1;
	for (uint32_t i = 0; i + 1 < n; i++)
		p->waits[wait][first + i] = true;
	p->stream[wait] = p->stream[e];
	p->group[wait] = p->into[wait] = e;
	p->duration[e] = duration[n - 1];
	p->n = first + n;
}

/* One random change of both; what is refused must not be valid. Returns whether it was made. */
static bool
change(struct step *s, struct plain *p, uint64_t *seed)
{
	struct plain *q = malloc(sizeof *q);
	memcpy(q, p, sizeof *q);
	uint32_t a = (uint32_t)(next(seed) % p->norder), b = (uint32_t)(next(seed) % p->norder);
	replay_time t = (replay_time)(next(seed) % 20), u = (replay_time)(next(seed) % 20);
	uint64_t what = next(seed) % 16;
	bool done;
	a = p->order[a];
	uint32_t near = b;
	b = p->order[b];
	if (!runs(p, a)) {
		plain_unmerge(q, a, t, u);
		done = step_unmerge(s, a, t, u);
	} else if (what < 3) {
		q->duration[a] = t;
		step_set_duration(s, a, t);
		done = true;
	} else if (what < 9 && runs(p, b)) {
		bool same = p->stream[a] == p->stream[b] && a != b;
		plain_merge(q, a, b, t);
		done = step_merge(s, a, b, t);
		assert_true(same || !done);
		if (!same) {
			free(q);
			return false;
		}
	} else if (what < 11 && p->n + 4 < ROOM) {
		const replay_time duration[] = {t, u, t / 2, u / 2};
		uint32_t n = 1 + (uint32_t)(next(seed) % 4), part[4];
		plain_split(q, a, n, duration);
		done = step_split(s, a, n, duration, part);
		for (uint32_t i = 0; i + 1 < n; i++)
			assert_int_equal(part[i], p->n + i);
	} else {
		plain_move(q, a, near);
		done = step_move(s, a, near);
	}
	assert_int_equal(done, plain_is_valid(q));
	if (done)
		memcpy(p, q, sizeof *p);
	free(q);
	return done;
}

static void
check_times(const struct step *s, const struct plain *p)
{
	for (uint32_t e = 0; e < p->n; e++)
		assert_int_equal(step_end(s, e), p->end[p->group[e]]);
}

/* The snapshot is the same step: a full replay of it says the same. */
static void
check_snapshot(const struct step *s, const struct plain *p)
{
	struct step_snapshot *shot = step_snapshot(NULL, s);
	replay_time end[ROOM], free_at[STREAMS];
	struct replay_result r = {.end = end, .free_at = free_at};
	assert_true(replay_check(&shot->graph));
	replay_run(&shot->graph, &r);
	assert_int_equal(r.makespan, p->makespan);
	for (uint32_t i = 0; i < shot->graph.n; i++) {
		assert_int_equal(end[i], p->end[shot->event[i]]);
		assert_int_equal(step_runs_as(s, shot->event[i]), shot->event[i]);
	}
	talloc_free(shot);
}

static void
changes_equal_a_step_built_anew(void **state)
{
	(void)state;
	uint64_t seed = 1, made = 0;
	for (int trial = 0; trial < 3000; trial++) {
		struct plain p;
		struct step *s = make_random(NULL, &p, &seed);
		plain_replay(&p);
		assert_int_equal(step_replay(s), p.makespan);
		for (int i = 0; i < 12; i++) {
			made += change(s, &p, &seed);
			/* Now and then several changes between two replays. */
			if (next(&seed) % 4 == 0)
				continue;
			plain_replay(&p);
			assert_int_equal(step_replay(s), p.makespan);
			check_times(s, &p);
		}
		plain_replay(&p);
		assert_int_equal(step_replay(s), p.makespan);
		check_snapshot(s, &p);
		talloc_free(s);
	}
	assert_true(made > 10000);
}

static void
undo_gives_back_the_bits(void **state)
{
	(void)state;
	uint64_t seed = 2;
	for (int trial = 0; trial < 2000; trial++) {
		struct plain p[4];
		uint32_t mark[4];
		struct step *s = make_random(NULL, &p[0], &seed);
		for (int level = 0; level < 4; level++) {
			for (uint64_t i = next(&seed) % 4; i; i--)
				change(s, &p[level], &seed);
			plain_replay(&p[level]);
			assert_int_equal(step_replay(s), p[level].makespan);
			mark[level] = step_mark(s);
			if (level < 3)
				p[level + 1] = p[level];
		}
		for (int level = 3; level >= 0; level--) {
			step_undo(s, mark[level]);
			/* Changes that are not replayed are undone as well. */
			struct plain scratch = p[level];
			for (uint64_t i = next(&seed) % 3; i; i--)
				change(s, &scratch, &seed);
			step_undo(s, mark[level]);
			check_times(s, &p[level]);
			assert_int_equal(step_replay(s), p[level].makespan);
			check_snapshot(s, &p[level]);
		}
		talloc_free(s);
	}
}

static void
partial_replay_equals_full(void **state)
{
	(void)state;
	uint64_t seed = 3;
	for (int trial = 0; trial < 2000; trial++) {
		struct plain p;
		struct step *s = make_random(NULL, &p, &seed);
		for (int i = 0; i < 6; i++)
			change(s, &p, &seed);
		plain_replay(&p);
		uint32_t e = p.order[next(&seed) % p.norder];
		assert_int_equal(step_replay_to(s, e), p.end[p.group[e]]);
		for (uint32_t i = 0; i < plain_position(&p, p.group[e]); i++)
			if (runs(&p, p.order[i]))
				assert_int_equal(step_end(s, p.order[i]), p.end[p.order[i]]);
		assert_int_equal(step_replay(s), p.makespan);
		check_times(s, &p);
		talloc_free(s);
	}
}

static void
a_few_events_are_replayed_by_themselves(void **state)
{
	(void)state;
	uint64_t seed = 4;
	for (int trial = 0; trial < 2000; trial++) {
		struct plain p;
		struct step *s = make_random(NULL, &p, &seed);
		for (int i = 0; i < 6; i++)
			change(s, &p, &seed);
		plain_replay(&p);
		step_replay(s);
		replay_time before = p.makespan;
		/* The events from some position on, in any order; only their times change. */
		uint32_t set[ROOM], n = 0, from = (uint32_t)(next(&seed) % p.norder);
		for (uint32_t i = p.norder; i-- > from;)
			if (runs(&p, p.order[i]))
				set[n++] = p.order[i];
		uint32_t mark = step_mark(s);
		for (uint32_t i = 0; i < n; i++) {
			p.duration[set[i]] = (replay_time)(next(&seed) % 20);
			step_set_duration(s, set[i], p.duration[set[i]]);
		}
		replay_time start[ROOM], end[ROOM];
		step_replay_set(s, set, n, start, end);
		plain_replay(&p);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(end[i], p.end[set[i]]);
			assert_int_equal(start[i], p.end[set[i]] - p.duration[set[i]]);
		}
		/* It changed nothing: neither what is to be replayed nor what can be undone. */
		assert_int_equal(step_replay(s), p.makespan);
		step_undo(s, mark);
		assert_int_equal(step_replay(s), before);
		talloc_free(s);
	}
}

static void
fusion_worked_out_by_hand(void **state)
{
	(void)state;
	/* a0 10, a1 20, c2 8 after a0, c3 8 after a1, a4 5 after both. */
	const uint16_t stream[] = {0, 0, 1, 1, 0};
	const replay_time duration[] = {10, 20, 8, 8, 5};
	const uint32_t dep_first[] = {0, 0, 0, 1, 2, 4}, dep[] = {0, 1, 2, 3};
	struct replay_graph g = {5, 2, stream, duration, dep_first, dep, NULL};
	struct step *s = step_create(NULL, &g, 4);
	assert_int_equal(step_replay(s), 43); /* a1 30, c3 38, a4 43 */
	uint32_t mark = step_mark(s);
	/* Both collectives as one, behind a1: 30 + 12 + 5. */
	assert_true(step_merge(s, 3, 2, 12));
	assert_int_equal(step_replay(s), 47);
	assert_int_equal(step_end(s, 2), 42);
	/* Of two streams, or with c2 between them in the order: no. */
	assert_false(step_merge(s, 4, 3, 1));
	step_undo(s, mark);
	assert_int_equal(step_end(s, 2), 18);
	assert_false(step_merge(s, 0, 4, 15));
	/* c3 in two parts of 5: 30 + 10 + 5. */
	const replay_time parts[] = {5, 5};
	uint32_t part[1];
	assert_true(step_split(s, 3, 2, parts, part));
	assert_int_equal(step_replay(s), 45);
	assert_int_equal(step_end(s, part[0]), 35);
	assert_int_equal(step_position(s, part[0]), 3);
	assert_int_equal(step_position(s, 3), 4);
	/* There is room for two more. */
	const replay_time many[] = {1, 1, 1};
	uint32_t more[2];
	assert_false(step_split(s, 3, 3, many, more));
	step_forget(s);
	assert_int_equal(step_mark(s), 0);
	assert_int_equal(step_events(s), 7);
	talloc_free(s);
}

static void
an_empty_step_takes_no_time(void **state)
{
	(void)state;
	const uint32_t dep_first[] = {0};
	struct replay_graph g = {0, 0, NULL, NULL, dep_first, NULL, NULL};
	struct step *s = step_create(NULL, &g, 0);
	assert_int_equal(step_replay(s), 0);
	talloc_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fusion_worked_out_by_hand),
		cmocka_unit_test(an_empty_step_takes_no_time),
		cmocka_unit_test(changes_equal_a_step_built_anew),
		cmocka_unit_test(undo_gives_back_the_bits),
		cmocka_unit_test(partial_replay_equals_full),
		cmocka_unit_test(a_few_events_are_replayed_by_themselves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
