/* Times of kernels that were measured several times, or badly. See profile.h. */
#include "passes/analysis/profile/profile.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/*
 * Half the width of the 95 % confidence interval of a median, as a multiple of the spread over the
 * root of the number of runs: for normal errors the spread is 1.349 and the standard error of a
 * median 1.253 standard deviations.
 */
static const double HALF_WIDTH = 1.96 * 1.253 / 1.349;

struct profile_op
profile_op_mean(const struct profile_op *a, const struct profile_op *b)
{
	const double all = (double)a->runs + b->runs;
	const double share = a->runs / all;
	struct profile_op mean = *b;

	mean.median = share * a->median + (1 - share) * b->median;
	mean.spread = fmax(fmax(a->spread, b->spread), fabs(a->median - b->median) / mean.median);
	mean.runs = all < INT_MAX ? (int)all : INT_MAX;
	return mean;
}

bool
profile_op_is_fuse(const struct profile_op *op)
{
	static const char fuse[] = "fuse (";

	return !strncmp(op->key, fuse, strlen(fuse));
}

double
profile_op_careful(const struct profile_op *op)
{
	const double half = HALF_WIDTH * op->spread / sqrt(op->runs);

	return op->median * (1 + fmax(0, half - PROFILE_PRECISION));
}
