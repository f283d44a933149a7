/* Random numbers by position: published vectors, moments, and order of the batches. */
#include <stdlib.h>
#include "runtime/data/batch.h"
#include "runtime/kernel/init.h"
#include "test/unit.h"

/* Lines "philox4x32 10" of Random123's kat_vectors. */
static void
philox_gives_the_published_vectors(void **state)
{
	(void)state;
	static const struct {
		struct rt_philox counter;
		uint32_t key[2];
		struct rt_philox want;
	} cases[] = {
		{{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
		{{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u},
			{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
		{{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0},
			{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct rt_philox got =
			rt_philox4x32(cases[i].counter, cases[i].key[0], cases[i].key[1]);
		assert_memory_equal(&got, &cases[i].want, sizeof got);
	}
}

/* Mean, variance and fourth moment of n numbers within five standard errors of what they should
 * be. */
static void
check_moments(double (*draw)(uint64_t, uint64_t), double mean, double variance, double fourth)
{
	enum { N = 1 << 18 };
	double m1 = 0, m2 = 0, m4 = 0;
	for (uint64_t i = 0; i < N; i++) {
		const double d = draw(rt_key(7, 0, "w"), i) - mean;
		m1 += d;
		m2 += d * d;
		m4 += d * d * d * d;
	}
	assert_true(fabs(m1 / N) < 5 * sqrt(variance / N));
	assert_true(fabs(m2 / N - variance) < 5 * sqrt((fourth - variance * variance) / N));
	assert_true(fabs(m4 / N - fourth) < 0.05 * fourth);
}

static void
uniform_numbers_have_the_right_moments(void **state)
{
	(void)state;
	check_moments(rt_uniform, 0.5, 1.0 / 12, 1.0 / 80);
	for (uint64_t i = 0; i < 100000; i++) {
		const double u = rt_uniform(1, i);
		assert_true(u >= 0 && u < 1);
	}
}

static void
normal_numbers_have_the_right_moments(void **state)
{
	(void)state;
	check_moments(rt_normal, 0, 1, 3);
}

static double
draw_uniform(uint64_t key, uint64_t i)
{
	return rt_draw_uniform((int64_t)key, (int64_t)(i >> 9), (int64_t)(i & 511));
}

static double
draw_normal(uint64_t key, uint64_t i)
{
	return rt_draw_normal((int64_t)key, (int64_t)(i >> 9), (int64_t)(i & 511));
}

/* Over steps and positions together. */
static void
drawn_numbers_have_the_right_moments(void **state)
{
	(void)state;
	check_moments(draw_uniform, 0.5, 1.0 / 12, 1.0 / 80);
	check_moments(draw_normal, 0, 1, 3);
}

/* Chi-square over 256 buckets, 255 degrees of freedom: below 152 and above 377 is one in a million,
 * for a normal number of mean 255 and variance 510 beyond it. */
static void
check_chi_square(const int *count, int total)
{
	double chi = 0;
	for (int i = 0; i < 256; i++)
		chi += pow(count[i] - total / 256.0, 2) * 256 / total;
	assert_true(chi > 152 && chi < 377);
}

/* Neighbours in position, in step, in key: the buckets of one, and of two numbers together. */
static void
drawn_numbers_fill_their_buckets_evenly(void **state)
{
	(void)state;
	enum { N = 1 << 16 };
	for (int along = 0; along < 3; along++) {
		int one[256] = {0}, pair[256] = {0}, bits[256] = {0}, before = 0;
		for (int64_t i = 0; i < N; i++) {
			const int64_t key = along == 2 ? i : 5, n = along == 1 ? i : 3,
				      at = along == 0 ? i : 9;
			const double u = rt_draw_uniform(key, n, at);
			assert_true(u >= 0 && u < 1 && (float)u < 1);
			one[(int)(u * 256)]++;
			pair[before * 16 + (int)(u * 16)]++;
			before = (int)(u * 16);
			bits[rt_draw_bits(key, n, at) >> 48 & 255]++;
		}
		check_chi_square(one, N);
		check_chi_square(pair, N);
		check_chi_square(bits, N);
	}
}

static void
keys_depend_on_both_seeds_and_on_the_name(void **state)
{
	(void)state;
	const uint64_t key = rt_key(1, 2, "w");
	assert_true(key == rt_key(1, 2, "w"));
	assert_true(key != rt_key(2, 2, "w"));
	assert_true(key != rt_key(1, 3, "w"));
	assert_true(key != rt_key(2, 1, "w"));
	assert_true(key != rt_key(1, 2, "v"));
}

static void
every_initial_value_has_the_documented_scale(void **state)
{
	(void)state;
	struct rt_tensor t = {.name = "w", .rank = 3, .dims = {5, 8, 24}, .scale = 1, .mean = 3};
	const uint64_t key = rt_key(9, 0, "w");
	static const struct {
		enum rt_init init;
		double factor; /* of a normal number, or of 2u-1 */
		int normal;
	} cases[] = {{RT_INIT_NORMAL, 1, 1}, {RT_INIT_UNIFORM, 1, 0}, {RT_INIT_HE, 0.5, 1},
		{RT_INIT_XAVIER, 0.4330127018922193, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		t.init = cases[i].init;
		const struct rt_initer in = rt_initer_of(&t, 9);
		const double unit =
			cases[i].normal ? rt_normal(key, 77) : 2 * rt_uniform(key, 77) - 1;
		assert_true(fabs(rt_init_value(&in, 77) - (3 + cases[i].factor * unit)) < 1e-12);
	}
	t.init = RT_INIT_CONSTANT;
	struct rt_initer in = rt_initer_of(&t, 9);
	assert_true(rt_init_value(&in, 0) == 3);
	t.init = RT_INIT_ONES;
	in = rt_initer_of(&t, 9);
	assert_true(rt_init_value(&in, 0) == 1);
}

/* A filter [out,in,height,width] sums in * height * width numbers; each goes into out * height *
 * width. */
static void
filters_are_scaled_by_what_a_result_sums(void **state)
{
	(void)state;
	struct rt_tensor t = {
		.name = "w", .rank = 4, .dims = {8, 2, 3, 5}, .scale = 1, .init = RT_INIT_HE};
	assert_true(fabs(rt_initer_of(&t, 0).scale - sqrt(2.0 / 30)) < 1e-15);
	t.init = RT_INIT_XAVIER;
	assert_true(fabs(rt_initer_of(&t, 0).scale - sqrt(6.0 / (30 + 120))) < 1e-15);
}

static void
an_epoch_has_every_row_once(void **state)
{
	(void)state;
	for (int64_t rows = 1; rows <= 130; rows++) {
		int *seen = calloc((size_t)rows, sizeof *seen);
		/* Five epochs in batches of five, which cross the epochs' borders. */
		for (int64_t step = 0; step < rows; step++)
			for (int64_t i = 0; i < 5; i++)
				seen[rt_batch_row(4, step, i, rows, 5)]++;
		for (int64_t r = 0; r < rows; r++)
			assert_int_equal(seen[r], 5);
		free(seen);
	}
}

static void
seeds_and_epochs_change_the_order(void **state)
{
	(void)state;
	int same_seed = 0, same_epoch = 0, in_place = 0;
	for (int64_t i = 0; i < 1000; i++) {
		const int64_t row = rt_batch_row(1, 0, i, 1000, 1000);
		same_seed += row == rt_batch_row(2, 0, i, 1000, 1000);
		same_epoch += row == rt_batch_row(1, 1, i, 1000, 1000);
		in_place += row == i;
	}
	/* Of random permutations 1 row in 1000 is the same; 10 are very unlikely. */
	assert_true(same_seed < 10 && same_epoch < 10 && in_place < 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_gives_the_published_vectors),
		cmocka_unit_test(uniform_numbers_have_the_right_moments),
		cmocka_unit_test(normal_numbers_have_the_right_moments),
		cmocka_unit_test(drawn_numbers_have_the_right_moments),
		cmocka_unit_test(drawn_numbers_fill_their_buckets_evenly),
		cmocka_unit_test(keys_depend_on_both_seeds_and_on_the_name),
		cmocka_unit_test(every_initial_value_has_the_documented_scale),
		cmocka_unit_test(filters_are_scaled_by_what_a_result_sums),
		cmocka_unit_test(an_epoch_has_every_row_once),
		cmocka_unit_test(seeds_and_epochs_change_the_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
