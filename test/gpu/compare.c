/*
 * compare WANT HAVE [ROUNDINGS KIND]: are the tensors of two safetensors files equal? Floats but
 * for rounding, zeros with their sign, everything else exactly. Prints the worst tensor of each
 * kind of failure.
 *
 * A float may differ by what another order of sums makes of it, relative to the largest element of
 * its tensor; and by a multiple of what single precision makes of it, which the file ROUNDINGS has
 * from the interpreter, in lines "KIND SIZE NAME": acosh of a number near 1 makes much of the last
 * place of its operand, and an output in f64 may come from f32.
 */
#include "runtime/kernel/half.h"
#include "runtime/data/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The interpreter rounds each result once, to half a unit in the last place; CUDA's functions are
 * within 2 units, some within 4 (the CUDA guide's table), and what is wanted comes from another
 * processor's, which are as good. */
#define ROUNDINGS_MOST 16

/* What sums in another order and other polynomials make of one element, over the largest of its
 * tensor. */
static double
tolerance(const char *type)
{
	static const struct {
		const char *type;
		double most;
	} rows[] = {{"F64", 1e-10}, {"F32", 5e-5}, {"F16", 1e-2}, {"BF16", 5e-2}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].type, type))
			return rows[i].most;
	return 0;
}

static double
element(const struct rt_st_tensor *t, int64_t i)
{
	const char *at = t->data;
	double f64;
	float f32;
	uint16_t half;
	int64_t i64;
	int32_t i32;

	if (!strcmp(t->dtype, "F64"))
		return memcpy(&f64, at + i * 8, 8), f64;
	if (!strcmp(t->dtype, "F32"))
		return memcpy(&f32, at + i * 4, 4), f32;
	if (!strcmp(t->dtype, "F16"))
		return memcpy(&half, at + i * 2, 2), rt_f16_to_f32(half);
	if (!strcmp(t->dtype, "BF16"))
		return memcpy(&half, at + i * 2, 2), rt_bf16_to_f32(half);
	if (!strcmp(t->dtype, "I64"))
		return memcpy(&i64, at + i * 8, 8), (double)i64;
	if (!strcmp(t->dtype, "I32"))
		return memcpy(&i32, at + i * 4, 4), i32;
	return !strcmp(t->dtype, "I8") ? (signed char)at[i] : (unsigned char)at[i];
}

/* What single precision makes of a tensor; 0 where the file has no line for it. */
static double
rounding(const char *path, const char *kind, const char *name)
{
	char line[4096], of[16];
	double size, found = 0;
	int behind = 0;
	FILE *f = path ? fopen(path, "r") : NULL;

	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%15s %lf %n", of, &size, &behind) == 2 && !strcmp(of, kind) &&
			!strcmp(line + behind, name))
			found = size;
	}
	if (f)
		fclose(f);
	return found;
}

/* Prints what is wrong with a tensor; is it right? */
static bool
compare(const struct rt_st_tensor *want, const struct rt_st_tensor *have, double single)
{
	if (!have || strcmp(want->dtype, have->dtype) ||
		want->end - want->begin != have->end - have->begin) {
		printf("%s: not there, or of another type or size\n", want->name);
		return false;
	}
	int64_t n = 1, worst = -1;
	double largest = 0, most = 0;
	for (int d = 0; d < want->rank; d++)
		n *= want->dims[d];
	for (int64_t i = 0; i < n; i++) {
		const double x = element(want, i), y = element(have, i);
		if (isfinite(x) && fabs(x) > largest)
			largest = fabs(x);
		const bool same = x == y ? !signbit(x) == !signbit(y) : isnan(x) && isnan(y);
		const double difference = same                        ? 0
					  : isfinite(x - y) && x != y ? fabs(x - y)
								      : INFINITY;
		if (difference > most) {
			most = difference;
			worst = i;
		}
	}
	if (most <= tolerance(want->dtype) * largest + ROUNDINGS_MOST * single)
		return true;
	printf("%s[%lld]: %.9g wanted, %.9g found\n", want->name, (long long)worst,
		element(want, worst), element(have, worst));
	return false;
}

int
main(int argc, char **argv)
{
	struct rt_st_file want, have;
	struct rt_status st = {0};

	if ((argc != 3 && argc != 5) || !rt_st_open(&want, argv[1], &st) ||
		!rt_st_open(&have, argv[2], &st)) {
		printf("%s\n", st.code ? st.text : "usage: compare WANT HAVE [ROUNDINGS KIND]");
		return 2;
	}
	bool same = true;
	for (int i = 0; i < want.count; i++) {
		const char *name = want.tensors[i].name;
		const double single = argc == 5 ? rounding(argv[3], argv[4], name) : 0;
		same &= compare(&want.tensors[i], rt_st_find(&have, name), single);
	}
	rt_st_close(&want);
	rt_st_close(&have);
	return !same;
}
