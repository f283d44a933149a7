/* Schedules that are made, compared with what their papers say of them. */
#include "passes/pipeline/schedule.h"

#include "ir/base/alloc.h"
#include "test/unit.h"

#include <math.h>

/* A rank's share of the model takes F, I and W, and keeps 1. */
static struct schedule_cost *
cost_of(void *owner, const struct schedule *s, double f, double i, double w)
{
	const struct schedule_stage piece = {f, i, w, 0, 1, 1};
	struct schedule_stage *each = NEW_ARRAY(owner, struct schedule_stage, s->nranks);

	for (int r = 0; r < s->nranks; r++)
		each[r] = piece;
	return schedule_cost(owner, s, diag_create(owner), SCHEDULE_QUEUED,
		schedule_divide(owner, each, s->nranks, s->nstages));
}

enum { RANKS = 8 };

/* A schedule's formulas; times of all ranks are equal. */
struct claim {
	enum schedule_name name;
	int per_rank;
	int least,
		multiple; /* micro-batches that it holds for: least * p - less and more, so many at once */
	int less;
	/* Of p, F, I, W and stages of a rank. */
	double (*bubble)(double p, double f, double i, double w, double v);
	double (*peak)(
		double p, double m, double after, double v); /* of a rank, `after` come after it */
};

static double
bubble_1f1b(double p, double f, double i, double w, double v)
{
	return (p - 1) * (f + i + w) / v;
}

static double
bubble_zb1p(double p, double f, double i, double w, double v)
{
	(void)v;
	return (p - 1) * (f + i - w);
}

static double
bubble_none(double p, double f, double i, double w, double v)
{
	(void)p, (void)f, (void)i, (void)w, (void)v;
	return 0;
}

static double
peak_all(double p, double m, double after, double v)
{
	(void)p, (void)after, (void)v;
	return m;
}

static double
peak_1f1b(double p, double m, double after, double v)
{
	(void)p, (void)v;
	return fmin(m, after + 1);
}

static double
peak_interleaved(double p, double m, double after, double v)
{
	return fmin(m, (2 * after + (v - 1) * p + 1) / v);
}

static double
peak_p(double p, double m, double after, double v)
{
	(void)m, (void)after, (void)v;
	return p;
}

static double
peak_zb2p(double p, double m, double after, double v)
{
	(void)m, (void)after, (void)v;
	return 2 * p - 1;
}

static const struct claim claims[] = {
	{SCHEDULE_GPIPE, 1, 0, 1, 0, bubble_1f1b, peak_all},
	{SCHEDULE_1F1B, 1, 0, 1, 0, bubble_1f1b, peak_1f1b},
	{SCHEDULE_INTERLEAVED, 2, 1, 0, 0, bubble_1f1b, peak_interleaved},
	{SCHEDULE_INTERLEAVED, 3, 1, 0, 0, bubble_1f1b, peak_interleaved},
	{SCHEDULE_INTERLEAVED, 4, 1, 0, 0, bubble_1f1b, peak_interleaved},
	{SCHEDULE_ZB1P, 1, 1, 1, 0, bubble_zb1p, peak_p},
	{SCHEDULE_ZB2P, 1, 2, 1, 1, bubble_none, peak_zb2p},
	{SCHEDULE_ZBV, 2, 2, 1, 0, bubble_none, peak_p},
};

static void
check_claim(void *owner, const struct claim *c, int p, int m, const double *t)
{
	struct schedule *s = schedule_make(owner, diag_create(owner), c->name, p, c->per_rank, m);
	assert_non_null(s);
	const struct schedule_cost *cost = cost_of(owner, s, t[0], t[1], t[2]);
	assert_non_null(cost);
	const double bubble = c->bubble(p, t[0], t[1], t[2], c->per_rank);
	double peak = 0;
	if (fabs(cost->bubble - bubble) > 1e-9)
		fail_msg("%s, %d ranks, %d stages each, %d micro-batches: bubble %g, not %g",
			schedule_name_text(c->name), p, c->per_rank, m, cost->bubble, bubble);
	for (int r = 0; r < p; r++) {
		const double most = c->peak(p, m, p - 1 - r, c->per_rank);
		peak = fmax(peak, most);
		if (cost->rank[r].peak > most + 1e-9)
			fail_msg(
				"%s, %d ranks, %d stages each, %d micro-batches: rank %d keeps %g, not %g",
				schedule_name_text(c->name), p, c->per_rank, m, r,
				cost->rank[r].peak, most);
	}
	assert_true(fabs(cost->peak - peak) < 1e-9);
}

static void
bubbles_and_memory_are_those_of_the_papers(void **state)
{
	static const double equal[] = {1, 1, 1};

	for (size_t k = 0; k < sizeof claims / sizeof *claims; k++)
		for (int p = 2; p <= RANKS; p++)
			for (int m = 1; m <= 4 * p + 1; m++) {
				const struct claim *c = &claims[k];
				void *scratch = talloc_new(*state);
				if (m >= c->least * p - c->less && (c->multiple || m % p == 0))
					check_claim(scratch, c, p, m, equal);
				talloc_free(scratch);
			}
}

/* Those whose order fixes the bubble whatever F, I and W are. */
static void
formulas_hold_for_other_times(void **state)
{
	static const double times[][3] = {{2, 3, 1}, {1, 2, 1}, {3, 1, 2}, {1, 1, 0}};

	for (size_t k = 0; k < 6; k++)
		for (int p = 2; p <= RANKS; p++)
			for (int m = p; m <= 4 * p; m += p)
				for (size_t i = 0; i < 4; i++) {
					const struct claim *c = &claims[k];
					void *scratch = talloc_new(*state);
					/* ZB-H1's formula is of W that fits between the others. */
					if (k < 5 || times[i][2] <= times[i][1])
						check_claim(scratch, c, p, m, times[i]);
					talloc_free(scratch);
				}
}

/* V-Half and V-Min: half and a third of what zbv keeps, and little more, and a part of the bubble of 1f1b. */
static void
less_memory_costs_less_than_1f1b(void **state)
{
	static const struct {
		enum schedule_name name;
		double share, more, bubble;
	} rows[] = {{SCHEDULE_VHALF, 1. / 2, 1, 1. / 2}, {SCHEDULE_VMIN, 1. / 3, 4. / 3, 2. / 3}};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (int p = 2; p <= RANKS; p++)
			for (int m = 2 * p; m <= 6 * p; m++) {
				void *scratch = talloc_new(*state);
				struct schedule *s = schedule_make(
					scratch, diag_create(scratch), rows[k].name, p, 0, m);
				const struct schedule_cost *c = cost_of(scratch, s, 1, 1, 1);
				assert_true(c->peak <= p * rows[k].share + rows[k].more + 1e-9);
				assert_true(c->bubble < 3 * (p - 1) * rows[k].bubble);
				talloc_free(scratch);
			}
}

/* By its authors it keeps 2p + 1 micro-batches of a stage, and its bubble is (p - 1)(F&B + B - 3W) of a stage, if F&B ends
 * as a whole; here F ends before B begins, so that it is at most that. */
static void
dualpipev_is_as_its_authors_say(void **state)
{
	static const double times[][3] = {{1, 1, 1}, {2, 3, 1}, {1, 2, 1}, {2, 2, 1}};

	for (int p = 2; p <= RANKS; p++)
		for (int m = 2 * p; m <= 6 * p; m++)
			for (size_t i = 0; i < 4; i++) {
				void *scratch = talloc_new(*state);
				const double f = times[i][0], in = times[i][1], w = times[i][2];
				struct schedule *s = schedule_make(
					scratch, diag_create(scratch), SCHEDULE_DUALPIPEV, p, 0, m);
				const struct schedule_cost *c = cost_of(scratch, s, f, in, w);
				assert_true(fabs(c->peak - (2 * p + 1) / 2.) < 1e-9);
				assert_true(c->bubble <= (p - 1) * (f + 2 * in - w) / 2 + 1e-9);
				talloc_free(scratch);
			}
}

/* Any number of micro-batches, stages and ranks gives a schedule that passes the checks, with sends and
 * receives too, even if ranks wait in them. */
static void
all_are_valid(void **state)
{
	for (int i = 0; i < SCHEDULE_NNAMES; i++)
		for (int p = 1; p <= 6; p++)
			for (int m = 1; m <= 3 * p + 1; m++)
				for (int v = 1; v <= 4; v++) {
					void *scratch = talloc_new(*state);
					struct diag *diag = diag_create(scratch);
					diag_mute(diag, true);
					struct schedule *s = schedule_make(
						scratch, diag, (enum schedule_name)i, p, v, m);
					diag_mute(diag, false);
					if (s) {
						struct schedule *with =
							schedule_lower(scratch, s, diag, m % 2);
						assert_non_null(with);
						assert_true(schedule_verify(
							with, diag, SCHEDULE_QUEUED));
						assert_true(schedule_verify(
							with, diag, SCHEDULE_BLOCKING));
					}
					talloc_free(scratch);
				}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			bubbles_and_memory_are_those_of_the_papers, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			formulas_hold_for_other_times, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			less_memory_costs_less_than_1f1b, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			dualpipev_is_as_its_authors_say, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(all_are_valid, make_scratch, free_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
