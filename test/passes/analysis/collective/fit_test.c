/* Times between and beyond measured sizes, and links from measurements. */
#include "ir/cluster/device.h"
#include "passes/analysis/collective/fit.h"
#include "passes/analysis/fit/alpha_beta.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>

static void
near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance * fabs(expected)))
		fail_msg("%.17g instead of %.17g", got, expected);
}

/* Latency and bandwidth: met between the points and beyond them. */
static void
a_line_is_met_everywhere(void **state)
{
	double bytes[12], seconds[12];
	for (int i = 0; i < 12; i++) {
		bytes[i] = 64 * pow(7, 11 - i); /* any order */
		seconds[i] = 20e-6 + bytes[i] / 5e9;
	}
	struct collective_curve *c = collective_curve_create(*state, bytes, seconds, 12);
	for (double b = 1; b < 1e15; b *= 1.7)
		near(collective_curve_seconds(c, b), 20e-6 + b / 5e9, 1e-9);
	near(collective_curve_seconds(c, 0), 20e-6, 1e-9);
}

/* Two protocols with a knee between: each end follows its own. */
static void
both_ends_follow_their_protocol(void **state)
{
	double bytes[20], seconds[20];
	for (int i = 0; i < 20; i++) {
		bytes[i] = ldexp(64, i);
		seconds[i] = bytes[i] < 70000 ? 5e-6 + bytes[i] / 2e9 : 30e-6 + bytes[i] / 10e9;
	}
	struct collective_curve *c = collective_curve_create(*state, bytes, seconds, 20);
	near(collective_curve_seconds(c, 0), 5e-6, 1e-6);
	near(collective_curve_seconds(c, 32), 5e-6 + 32 / 2e9, 1e-6);
	near(collective_curve_seconds(c, 1e12), 30e-6 + 1e12 / 10e9, 1e-6);
	for (int i = 0; i < 20; i++)
		near(collective_curve_seconds(c, bytes[i]), seconds[i], 1e-12);
}

/* Sizes of an all_reduce_perf of 16 H100 in two nodes (github.com/lessizzmore/create-a3mega-ztan-fork), each
 * from those around it. */
static void
a_curve_predicts_the_sizes_between(void **state)
{
	/* us of 8 bytes, 16 and so on, in place */
	static const double us[] = {123.5, 122.3, 122.7, 122.9, 122.7, 122.7, 123.4, 123.1, 124.6,
		125.6, 130.6, 137.6, 153.1, 157.6, 169.0, 163.9, 171.0, 207.2, 252.9, 356.6, 563.5,
		951.6, 1054.0, 1270.2, 1636.7, 2359.9, 3828.0, 6737.4, 12641, 24365, 47743};
	enum { N = sizeof us / sizeof *us };
	double sum = 0;

	for (int left_out = 1; left_out < N - 1; left_out++) {
		double bytes[N], seconds[N];
		uint32_t n = 0;
		for (int i = (left_out + 1) % 2; i < N; i += 2) {
			bytes[n] = ldexp(8, i);
			seconds[n++] = us[i] * 1e-6;
		}
		struct collective_curve *c = collective_curve_create(*state, bytes, seconds, n);
		sum += fabs(
			collective_curve_seconds(c, ldexp(8, left_out)) * 1e6 / us[left_out] - 1);
	}
	assert_true(sum / (N - 2) < 0.025);
}

static void
time_never_descends(void **state)
{
	uint64_t seed = 3;
	for (int trial = 0; trial < 200; trial++) {
		double bytes[9], seconds[9], before = 0;
		uint32_t n = 1 + (uint32_t)trial % 9;
		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (double)((seed >> 33) % 5000);
			seconds[i] = 1e-6 * (1 + (double)(seed >> 50));
		}
		struct collective_curve *c = collective_curve_create(*state, bytes, seconds, n);
		for (double b = 0; b < 12000; b += 37) {
			double t = collective_curve_seconds(c, b);
			assert_true(t >= before && isfinite(t));
			before = t;
		}
	}
}

/* Of 2, 3 and 4 us the median; of 6 and 4 in the wrong order sum(1/y) / sum(1/y^2). */
static void
sizes_that_repeat_and_times_that_descend_are_pooled(void **state)
{
	const double bytes[] = {100, 100, 100, 200, 300, 400};
	const double seconds[] = {2e-6, 4e-6, 3e-6, 6e-6, 4e-6, 8e-6};
	struct collective_curve *c = collective_curve_create(*state, bytes, seconds, 6);
	assert_int_equal(c->n, 4);
	near(collective_curve_seconds(c, 100), 3e-6, 1e-12);
	double both = (1 / 6.0 + 1 / 4.0) / (1 / 36.0 + 1 / 16.0) * 1e-6;
	near(collective_curve_seconds(c, 200), both, 1e-12);
	near(collective_curve_seconds(c, 250), both, 1e-12);
	near(collective_curve_seconds(c, 300), both, 1e-12);
	near(collective_curve_seconds(c, 350), (both + 8e-6) / 2, 1e-12);
}

static void
one_size_is_all_latency_and_none_is_no_curve(void **state)
{
	const double bytes = 1e6, seconds = 1e-3;
	struct collective_curve *c = collective_curve_create(*state, &bytes, &seconds, 1);
	near(collective_curve_seconds(c, 0), 1e-3, 1e-12);
	near(collective_curve_seconds(c, 1e9), 1e-3, 1e-12);
	assert_null(collective_curve_create(*state, NULL, NULL, 0));
}

/* Of three messages of one size that take 1, 1 and 2 no one is left out: the constant of least
 * squared relative errors is sum(1/y) / sum(1/y^2). The curve takes the median of one size, and of
 * several sizes each as it was measured, also the one that no line would meet. */
static void
no_measurement_is_left_out(void **state)
{
	double alpha, beta;
	const double same[] = {100, 100, 100}, seconds[] = {1e-6, 1e-6, 2e-6};
	alpha_beta_fit(same, seconds, 3, &alpha, &beta);
	double expected = (1 + 1 + 0.5) / (1 + 1 + 0.25) * 1e-6;
	near(alpha + 100 / beta, expected, 1e-9);

	double bytes[10], slow[10];
	for (int i = 0; i < 10; i++) {
		bytes[i] = ldexp(1e4, i);
		slow[i] = 20e-6 + bytes[i] / 5e9;
	}
	slow[7] *= 1.9; /* as where a network waits for its receiver from some size on */
	struct collective_curve *c = collective_curve_create(*state, bytes, slow, 10);
	for (int i = 0; i < 10; i++)
		near(collective_curve_seconds(c, bytes[i]), slow[i], 1e-12);
	near(collective_curve_seconds(c, 1.5 * bytes[7]), (slow[7] + slow[8]) / 2, 1e-12);
}

/* Times of collectives of several kinds on a star give back its links, and by what algorithm. */
static void
links_come_back_from_times_on_them(void **state)
{
	struct device *d = device_generic(*state);
	d->link_latency = 7e-6;
	d->link_bandwidth = 12e9;
	struct cluster *c = cluster_of_device(*state, d);
	static const uint32_t device[] = {0, 1, 2, 3, 4, 5, 6, 7};
	static const struct {
		enum collective_algorithm algorithm;
		enum rt_coll_kind kind[2];
	} cases[] = {{COLLECTIVE_RING, {RT_ALLREDUCE, RT_ALLGATHER}},
		{COLLECTIVE_RING, {RT_ALLTOALL, RT_SEND}},
		{COLLECTIVE_TREE, {RT_ALLREDUCE, RT_BROADCAST}},
		{COLLECTIVE_HALVING, {RT_ALLREDUCE, RT_REDUCESCATTER}}};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct collective_sample sample[40];
		for (int i = 0; i < 40; i++) {
			struct collective_request q = {cases[k].kind[i % 2], 1, i % 4 < 2 ? 4 : 8,
				device, pow(3, i / 2), 0, 1, 1};
			sample[i] = (struct collective_sample){q.kind, (int)q.places, q.bytes,
				collective_seconds(c, &q, cases[k].algorithm, NULL)};
		}
		struct collective_links links;
		assert_true(collective_fit_links(sample, 40, COLLECTIVE_AUTO, &links));
		assert_int_equal(links.algorithm, cases[k].algorithm);
		near(links.latency, 7e-6, 1e-6);
		near(links.bandwidth, 12e9, 1e-6);
		assert_true(links.error < 1e-6);
	}
	struct collective_links links;
	const struct collective_sample gather = {RT_GATHER, 4, 1e6, 1e-3};
	assert_false(collective_fit_links(&gather, 1, COLLECTIVE_TREE, &links));
	assert_false(collective_fit_links(&gather, 0, COLLECTIVE_AUTO, &links));
	const struct collective_sample alone = {RT_ALLREDUCE, 1, 1e6, 1e-3};
	assert_false(collective_fit_links(&alone, 1, COLLECTIVE_AUTO, &links));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, free_scratch)
		TEST(a_line_is_met_everywhere),
		TEST(both_ends_follow_their_protocol),
		TEST(a_curve_predicts_the_sizes_between),
		TEST(time_never_descends),
		TEST(sizes_that_repeat_and_times_that_descend_are_pooled),
		TEST(one_size_is_all_latency_and_none_is_no_curve),
		TEST(no_measurement_is_left_out),
		TEST(links_come_back_from_times_on_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
