/* The op profiler: kernels whose time is known are not timed, but leave numbers; numbers that are too
 * small for full precision are zero while kernels run; integers, masks and floats are drawn as in
 * training. In a child, because the profiler takes standard output away. */
#include "runtime/measure/measure.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <math.h>

enum { ELEMENTS = 4096, BYTES = 4 * ELEMENTS, WRONG = 50 };

/* Fails the child: by its status. */
static void
expect(bool right, int status)
{
	if (!right)
		_exit(status);
}

/* It gets what the program is filled with, of mean 2 and spread 1/2, random numbers of the kernel that
 * is only touched, a mask that is random as well, and its product with a number so small that it has
 * to be zero. Bounds are five standard errors. */
static void
kernel(struct rt_ctx *ctx, void *const *operand, void *const *result, void *scratch)
{
	const float *x = operand[0], *touched = operand[1];
	const uint8_t *mask = operand[2];
	double mean = 0, square = 0, other = 0, set = 0, changes = 0;
	float *y = result[0];

	(void)ctx;
	(void)scratch;
	volatile float tiny = 1e-30f;
	tiny *= 1e-10f;
	expect(tiny == 0, WRONG);
	for (int i = 0; i < ELEMENTS; i++) {
		mean += x[i] / ELEMENTS;
		square += (x[i] - 2) * (x[i] - 2) / ELEMENTS;
		other += touched[i] / ELEMENTS;
		expect(mask[i] < 2, WRONG + 1);
		set += mask[i];
		changes += i && mask[i] != mask[i - 1];
		y[i] = 2 * x[i];
	}
	expect(fabs(mean - 2) < 5 * 0.5 / 64, WRONG + 2);
	expect(fabs(square - 0.25) < 5 * 0.25 * sqrt(2) / 64, WRONG + 7);
	expect(touched[0] != 0 && touched[0] != touched[1] && fabs(other) < 0.1, WRONG + 8);
	expect(fabs(set - ELEMENTS / 2) < 5 * 32 && fabs(changes - ELEMENTS / 2) < 5 * 32,
		WRONG + 9);
}

static int
measure(const char *path)
{
	static const struct rt_measure_tensor floats = {.elements = ELEMENTS, .dtype = RT_f32},
					      mask = {.elements = ELEMENTS,
						      .dtype = RT_bool,
						      .range = 2};
	const struct rt_measure_tensor two[] = {floats, floats, mask},
				       four[] = {floats, floats, mask, floats};
	const struct rt_measure_kernel kernels[] = {
		{NULL, true, "known", 0, 3 * BYTES, 1, 2, two, 0},
		{kernel, false, "asked for", 0, 4 * BYTES, 3, 1, four, 0}};
	static const int64_t first[] = {0, BYTES, 3 * BYTES},
			     second[] = {0, BYTES, 3 * BYTES, 2 * BYTES};
	static const struct rt_measure_call calls[] = {{0, first, -1}, {1, second, -1}};
	const struct rt_measure_fill fills[] = {{0, floats, 2, 0.5}};
	const struct rt_measure m = {.backend = "test",
		.nkernels = 2,
		.ncalls = 2,
		.nfills = 1,
		.kernels = kernels,
		.calls = calls,
		.fills = fills,
		.arena_bytes = 4 * BYTES};
	char *argv[] = {"measure", "-o", (char *)path, NULL};

	return rt_measure_main(&m, 3, argv);
}

/* Indices: each of RANGE numbers is as frequent as it is in training, in a piece that is uploaded and
 * behind it. A tensor without a range keeps its zeros. */
enum { INDICES = 3 * 4096 + 100, RANGE = 50, INDEX_BYTES = 4 * INDICES };

static void
index_kernel(struct rt_ctx *ctx, void *const *operand, void *const *result, void *scratch)
{
	const int32_t *index = operand[0], *other = operand[1], *none = operand[2];
	int count[RANGE] = {0}, same = 0;

	(void)ctx, (void)scratch;
	for (int i = 0; i < INDICES; i++) {
		expect(index[i] >= 0 && index[i] < RANGE, WRONG + 3);
		count[index[i]]++;
		same += index[i] == other[i];
		expect(none[i] == 0, WRONG + 4);
	}
	/* 248 of each, with a standard deviation of 15.6 */
	for (int i = 0; i < RANGE; i++)
		expect(count[i] > 150 && count[i] < 350, WRONG + 5);
	expect(same < INDICES / 10, WRONG + 6);
	*(float *)result[0] = 1;
}

static int
measure_indices(const char *path, bool rotate)
{
	static const struct rt_measure_tensor index = {
		.elements = INDICES, .dtype = RT_i32, .range = RANGE};
	const struct rt_measure_tensor tensors[] = {index, index,
		{.elements = INDICES, .dtype = RT_i32}, {.elements = 1, .dtype = RT_f32}};
	const struct rt_measure_kernel kernels[] = {
		{index_kernel, false, "asked for", 0, INDEX_BYTES, 3, 1, tensors, 0}};
	static const int64_t offset[] = {0, INDEX_BYTES, 2 * INDEX_BYTES, 3 * INDEX_BYTES};
	static const struct rt_measure_call calls[] = {{0, offset, -1}};
	const struct rt_measure_fill fills[] = {{0, index, 0, 0}, {INDEX_BYTES, index, 0, 0}};
	const struct rt_measure m = {.backend = "test",
		.rotate = rotate,
		.nkernels = 1,
		.ncalls = 1,
		.nfills = 2,
		.kernels = kernels,
		.calls = calls,
		.fills = fills,
		.arena_bytes = 3 * INDEX_BYTES + 4};
	char *argv[] = {"measure", "-o", (char *)path, NULL};

	return rt_measure_main(&m, 3, argv);
}

static void
indices_are_drawn_below_their_range(void **state)
{
	(void)state;
	for (int rotate = 0; rotate < 2; rotate++) {
		int status = 0;
		const pid_t child = fork();
		if (!child)
			_exit(measure_indices("/dev/null", rotate));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void
what_kernels_read_is_as_in_training(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096], line[1024], ops[1024] = "";
	int status = 0, n = 0;

	(void)state;
	snprintf(path, sizeof path, "%s/measureXXXXXX", tmp && *tmp ? tmp : "/tmp");
	const int file = mkstemp(path);
	assert_true(file >= 0);
	close(file);
	const pid_t child = fork();
	if (!child)
		_exit(measure(path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, "op ", 3) && ++n)
			memcpy(ops, line, sizeof ops);
	fclose(f);
	unlink(path);
	assert_int_equal(n, 1);
	assert_non_null(strstr(ops, " key=asked for\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_kernels_read_is_as_in_training),
		cmocka_unit_test(indices_are_drawn_below_their_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
