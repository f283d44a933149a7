/* Schedules that are searched for: against those with a name, against a simulation, against all orders. */
#include "passes/pipeline/schedule.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *
search_text(void *owner, const struct schedule_request *q)
{
	const struct schedule_found *found = schedule_search(owner, diag_create(owner), q);
	char *text, *copy;
	size_t n;
	FILE *f = text_stream(&text, &n);

	schedule_write(f, found->schedule);
	text_stream_close(f);
	copy = talloc_strdup(owner, text);
	free(text);
	return copy;
}

/* Checks what is found by what others say of it; returns by how much it beats the best with a name. */
static double
check_search(void *owner, const struct schedule_request *q)
{
	struct diag *diag = diag_create(owner);
	struct schedule_found *f = schedule_search(owner, diag, q);
	double named = INFINITY;

	assert_non_null(f);
	const int nstages = f->schedule->nstages;
	const struct schedule_cost *c = schedule_cost(owner, f->schedule, diag, SCHEDULE_QUEUED,
		schedule_divide(owner, q->piece, q->npieces, nstages));
	assert_non_null(c);
	assert_true(fabs(c->makespan - f->makespan) <= 1e-9 * f->makespan);
	assert_true(c->peak <= q->memory * (1 + 1e-9));
	assert_true(f->makespan >= f->bound * (1 - 1e-9));
	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		const int own = schedule_per_rank((enum schedule_name)i);
		const int per_rank = own ? own : q->per_rank ? q->per_rank : 2;
		if (q->per_rank && per_rank != q->per_rank)
			continue;
		struct schedule *s = schedule_make(
			owner, diag, (enum schedule_name)i, q->nranks, per_rank, q->nsteps);
		const struct schedule_cost *other = schedule_cost(owner, s, diag, SCHEDULE_QUEUED,
			schedule_divide(owner, q->piece, q->npieces, s->nstages));
		if (other->peak <= q->memory * (1 + 1e-9))
			named = fmin(named, other->makespan);
	}
	assert_true(f->makespan <= named * (1 + 1e-9));
	assert_true(f->named_makespan == named);
	return named - f->makespan;
}

/* Of 36 settings with equal ranks: F:I:W, ranks, micro-batches, and memory for p or 2p of them. Under sanitizers
 * those of one F:I:W, and fewer of the others below. */
enum { TIMES = SANITIZED ? 1 : 3, UNEQUAL = SANITIZED ? 4 : 16, SMALL = SANITIZED ? 6 : 24 };

static void
named_schedules_are_beaten(void **state)
{
	static const double times[][3] = {{2, 3, 1}, {1, 1, 1}, {1, 2, 1}};
	int faster = 0;

	for (int k = 0; k < TIMES; k++)
		for (int p = 2; p <= 4; p += 2)
			for (int m = p; m <= 4 * p; m *= 2)
				for (int d = 1; d <= 2; d++) {
					void *scratch = talloc_new(*state);
					struct schedule_stage piece[4];
					const struct schedule_request q = {
						p, m, 0, piece, p, d * p};
					for (int i = 0; i < p; i++)
						piece[i] = (struct schedule_stage){times[k][0],
							times[k][1], times[k][2], 0, 1, 1};
					faster += check_search(scratch, &q) > 1e-9;
					talloc_free(scratch);
				}
	assert_true(faster >= 20 * TIMES / 3);
}

static void
unequal_stages_and_messages(void **state)
{
	for (uint64_t seed = 0; seed < UNEQUAL; seed++) {
		void *scratch = talloc_new(*state);
		uint64_t draw = seed;
		const int p = 1 + (int)mix64_below(&draw, 5), m = 1 + (int)mix64_below(&draw, 12);
		const int n = seed < 12 ? p * (1 + (int)mix64_below(&draw, 2)) : p;
		struct schedule_stage piece[10];
		for (int i = 0; i < n; i++)
			piece[i] = (struct schedule_stage){1 + mix64_below(&draw, 5),
				1 + mix64_below(&draw, 5), mix64_below(&draw, 5),
				mix64_below(&draw, 3) * 0.25, 1 + mix64_below(&draw, 2) * 0.5,
				mix64_below(&draw, 3) * 0.5};
		const struct schedule_request q = {p, m, seed < 12 ? 0 : (int)(seed - 12) + 1,
			piece, n,
			mix64_below(&draw, 2) ? INFINITY : 2. * n * (1 + mix64_below(&draw, 2))};
		check_search(scratch, &q);
		/* Every time the same. */
		if (seed < 3)
			assert_string_equal(search_text(scratch, &q), search_text(scratch, &q));
		talloc_free(scratch);
	}
}

static void
one_micro_batch_has_to_fit(void **state)
{
	const struct schedule_stage piece[2] = {{1, 1, 1, 0, 1, 1}, {1, 1, 1, 0, 1, 1}};
	const struct schedule_request q = {2, 4, 0, piece, 2, 0.9};
	struct diag *diag = diag_create(*state);

	diag_mute(diag, true);
	assert_null(schedule_search(*state, diag, &q));
}

/* --- the optimum, from all orders of all ranks --- */

enum {
	MOST_ACTIONS = 9,
	MOST_RANKS = 3,
	OF_THREE = SANITIZED ? 1 : 4 /* steps of three micro-batches: seconds each */
};

struct all {
	const struct schedule_stage *stage;
	int nranks, nsteps;
	double memory, best;
	int order[MOST_RANKS][MOST_ACTIONS]; /* micro-batch * 3 + 0 for F, 1 for I, 2 for W */
};

/* Ranks take turns as far as they get. */
static double
run_order(const struct all *a)
{
	double done[MOST_RANKS][MOST_ACTIONS], free_at[MOST_RANKS] = {0}, last = 0;
	int at[MOST_RANKS] = {0};

	for (int r = 0; r < MOST_RANKS; r++)
		for (int i = 0; i < MOST_ACTIONS; i++)
			done[r][i] = -1;
	for (bool moved = true; moved;) {
		moved = false;
		for (int r = 0; r < a->nranks; r++)
			while (at[r] < 3 * a->nsteps) {
				const int x = a->order[r][at[r]];
				const int from = x % 3 == 0 ? r - 1 : x % 3 == 1 ? r + 1 : -1;
				const struct schedule_stage *t = &a->stage[r];
				double start = free_at[r];
				if (from >= 0 && from < a->nranks) {
					if (done[from][x] < 0)
						break;
					start = fmax(start,
						done[from][x] +
							a->stage[from < r ? from : r].message);
				}
				done[r][x] = free_at[r] = start + (x % 3 == 0          ? t->forward
									  : x % 3 == 1 ? t->input
										       : t->weight);
				at[r]++;
				moved = true;
			}
	}
	for (int r = 0; r < a->nranks; r++) {
		if (at[r] < 3 * a->nsteps)
			return INFINITY;
		last = fmax(last, free_at[r]);
	}
	return last;
}

/* All orders of rank r from position i on, of which `next` has the next action of each micro-batch. */
static void
try_all(struct all *a, int r, int i, int *next, double live)
{
	if (i == 3 * a->nsteps) {
		int fresh[MOST_ACTIONS] = {0};
		if (r + 1 == a->nranks)
			a->best = fmin(a->best, run_order(a));
		else
			try_all(a, r + 1, 0, fresh, 0);
		return;
	}
	for (int k = 0; k < a->nsteps; k++) {
		const struct schedule_stage *t = &a->stage[r];
		/* Micro-batches are alike: those of the first rank begin in order. */
		if (next[k] == 3 || (!r && !next[k] && k && !next[k - 1]))
			continue;
		const double change = next[k] == 0   ? t->live
				      : next[k] == 1 ? -t->live * (1 - t->kept)
						     : -t->live * t->kept;
		if (live + change > a->memory)
			continue;
		a->order[r][i] = k * 3 + next[k]++;
		try_all(a, r, i + 1, next, live + change);
		next[k]--;
	}
}

static void
small_ones_are_optimal(void **state)
{
	for (uint64_t seed = 0; seed < SMALL; seed++) {
		void *scratch = talloc_new(*state);
		uint64_t draw = seed;
		const int p = 2 + (int)mix64_below(&draw, 2), m = p == 2 && seed < OF_THREE ? 3 : 2;
		struct schedule_stage piece[MOST_RANKS];
		int next[MOST_ACTIONS] = {0};
		for (int i = 0; i < p; i++)
			piece[i] = (struct schedule_stage){1 + mix64_below(&draw, 5),
				1 + mix64_below(&draw, 5), 1 + mix64_below(&draw, 5),
				mix64_below(&draw, 3), 1, mix64_below(&draw, 3) * 0.5};
		const struct schedule_request q = {p, m, 1, piece, p, 1 + mix64_below(&draw, 2)};
		struct all a = {.stage = piece,
			.nranks = p,
			.nsteps = m,
			.memory = q.memory,
			.best = INFINITY};
		try_all(&a, 0, 0, next, 0);
		const struct schedule_found *f = schedule_search(scratch, diag_create(scratch), &q);
		if (fabs(f->makespan - a.best) > 1e-9)
			fail_msg("seed %d: %g, but %g is possible", (int)seed, f->makespan, a.best);
		talloc_free(scratch);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			named_schedules_are_beaten, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			unequal_stages_and_messages, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			one_micro_batch_has_to_fit, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(small_ones_are_optimal, make_scratch, free_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
