/* Cuts of random lines into stages on devices of different kinds, against all cuts. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/pipeline/cut.h"
#include "test/unit.h"

#include <math.h>

enum { LINES = 400, MOST_OPS = 9, MOST_STAGES = 4 };

/* Bisection ends within 2^-40 of all work. */
static const double rounding = 1e-9;

static double
worst_time(const struct pipeline_line *l, const uint32_t *first)
{
	double worst = 0;

	for (uint32_t k = 0; k < l->stages; k++) {
		const uint32_t end = k + 1 < l->stages ? first[k + 1] : l->n;
		double t = l->cut[k][first[k]] + l->cut[k + 1][end];
		for (uint32_t i = first[k]; i < end; i++)
			t += l->work[k][i];
		worst = fmax(worst, t);
	}
	return worst;
}

/* The largest share of what a stage may have. Stage k keeps the micro-batches that it has begun before its first backward pass: as many as there are
 * stages from k on. */
static double
worst_memory(const struct pipeline_line *l, const uint32_t *first)
{
	double worst = 0;

	for (uint32_t k = 0; k < l->stages; k++) {
		const uint32_t end = k + 1 < l->stages ? first[k + 1] : l->n;
		double bytes = 0;
		for (uint32_t i = first[k]; i < end; i++)
			bytes += l->fixed[i] + l->kept[i] * fmin(l->stages - k, l->micro_batches);
		worst = fmax(worst, bytes / l->memory[k]);
	}
	return worst;
}

struct best {
	double time,
		memory; /* the least time within the line's memory; the least share of it of all */
};

static void
try_all(const struct pipeline_line *l, uint32_t *first, uint32_t k, struct best *b)
{
	if (k == l->stages) {
		b->memory = fmin(b->memory, worst_memory(l, first));
		if (worst_memory(l, first) <= 1)
			b->time = fmin(b->time, worst_time(l, first));
		return;
	}
	for (uint32_t i = k ? first[k - 1] + 1 : 0; i < (k ? l->n : 1); i++) {
		first[k] = i;
		try_all(l, first, k + 1, b);
	}
}

static struct pipeline_line *
draw_line(void *owner, uint64_t *random)
{
	struct pipeline_line *l = NEW(owner, struct pipeline_line);

	l->n = 1 + mix64_below(random, MOST_OPS);
	l->stages = 1 + mix64_below(random, l->n < MOST_STAGES ? l->n : MOST_STAGES);
	l->micro_batches = 1 + mix64_below(random, 4);
	const bool limited = mix64_below(random, 2), alike = mix64_below(random, 2);
	l->work = ARRAY_NEW(l, const double *, l->stages);
	l->cut = ARRAY_NEW(l, const double *, l->stages + 1);
	l->fixed = ARRAY_ZERO(l, double, l->n);
	l->kept = ARRAY_ZERO(l, double, l->n);
	l->memory = ARRAY_NEW(l, double, l->stages);
	for (uint32_t i = 0; i < l->n; i++) {
		l->fixed[i] = mix64_below(random, 40);
		l->kept[i] = mix64_below(random, 20);
	}
	for (uint32_t k = 0; k <= l->stages; k++) {
		const bool inside = k && k < l->stages;
		double *work = ARRAY_NEW(l, double, l->n), *cut = ARRAY_ZERO(l, double, l->n + 1);
		for (uint32_t i = 0; i < l->n; i++) {
			work[i] = mix64_below(random, 100);
			cut[i] = i && inside ? mix64_below(random, 60) : 0;
		}
		l->cut[k] = alike && k > 1 && inside ? l->cut[k - 1] : cut;
		if (k == l->stages)
			break;
		l->work[k] = alike && k ? l->work[k - 1] : work;
		l->memory[k] = !limited     ? INFINITY
			       : alike && k ? l->memory[k - 1]
					    : 20 + mix64_below(random, 200);
	}
	return l;
}

static void
cuts_are_the_best(void **state)
{
	uint32_t within = 0, beyond = 0;
	(void)state;

	for (uint64_t seed = 0; seed < LINES; seed++) {
		uint64_t random = seed;
		struct pipeline_line *l = draw_line(NULL, &random);
		uint32_t first[MOST_STAGES], tried[MOST_STAGES];
		struct best best = {INFINITY, INFINITY};
		try_all(l, tried, 0, &best);
		const bool fits = pipeline_cut(l, first);
		assert_int_equal(fits, best.time < INFINITY);
		assert_int_equal(first[0], 0);
		for (uint32_t k = 1; k < l->stages; k++)
			assert_true(first[k - 1] < first[k] && first[k] < l->n);
		if (fits)
			assert_true(worst_memory(l, first) <= 1 &&
				    fabs(worst_time(l, first) - best.time) <= rounding * 1000);
		else
			assert_true(worst_memory(l, first) <= best.memory * (1 + rounding));
		within += fits && l->memory[0] < INFINITY;
		beyond += !fits;
		talloc_free(l);
	}
	assert_true(within > LINES / 10 && beyond > LINES / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_are_the_best)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
