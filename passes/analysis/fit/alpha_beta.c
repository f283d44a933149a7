/*
 * alpha-beta by weighted least squares: with y = alpha u + gamma x and weights 1/y, minimize the
 * sum of ((alpha u_i + gamma x_i) / y_i - 1)^2, so that 2 us of 10 count as much as 2 ms of 10. The
 * normal equations are two by two; where a coefficient would be negative it is 0 and the other is
 * fitted alone.
 *
 * The robust fit takes the distance for large errors in place of the square (Huber 1964), so that a
 * measurement which was disturbed does not pull the others: the squares are weighted anew until
 * nothing moves.
 */
#include "passes/analysis/fit/alpha_beta.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	TURNS = 50,     /* of new weights; a dozen are enough for what was seen */
	ROBUST_FROM = 5 /* measurements; of fewer, two of them free, none can be called disturbed */
};

/* Errors of so many standard deviations begin to be large: 95 % as good as squares for normal
 * errors. The deviation is estimated from the median of the absolute errors. */
#define LARGE 1.345
#define DEVIATION_OF_MEDIAN 1.4826
/* An error below is no disturbance, even where most are 0. */
#define ROUNDING 1e-9

struct rows {
	const double *u, *x, *y; /* u: NULL for all 1 */
	double *weight, *error;
	int n;
	double alpha, gamma;
};

static void
solve(struct rows *r)
{
	double su = 0, sv = 0, uu = 0, uv = 0, vv = 0;
	for (int i = 0; i < r->n; i++) {
		double u = (r->u ? r->u[i] : 1) / r->y[i], v = r->x[i] / r->y[i], w = r->weight[i];
		su += w * u, sv += w * v;
		uu += w * u * u, uv += w * u * v, vv += w * v * v;
	}
	double det = uu * vv - uv * uv, a = 0, g = 0;
	if (det > 1e-12 * uu * vv) {
		a = (su * vv - sv * uv) / det;
		g = (sv * uu - su * uv) / det;
	} else if (uu > 0) {
		a = su / uu; /* one size: all of it is latency */
	}
	if (g < 0) {
		g = 0;
		a = su / uu;
	} else if (a < 0) {
		a = 0;
		g = sv / vv;
	}
	r->alpha = a;
	r->gamma = g;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The relative error of each row; the root of the mean of their squares. */
static double
find_errors(struct rows *r)
{
	double sum = 0;
	for (int i = 0; i < r->n; i++) {
		double u = r->u ? r->u[i] : 1;
		r->error[i] = fabs((r->alpha * u + r->gamma * r->x[i]) / r->y[i] - 1);
		sum += r->error[i] * r->error[i];
	}
	return r->n ? sqrt(sum / r->n) : 0;
}

/* Weights for the next turn; false where no error is large. */
static bool
weigh(struct rows *r, double *sorted)
{
	find_errors(r);
	memcpy(sorted, r->error, (size_t)r->n * sizeof *sorted);
	qsort(sorted, (size_t)r->n, sizeof *sorted, compare);
	double limit = fmax(LARGE * DEVIATION_OF_MEDIAN * sorted[r->n / 2], ROUNDING);
	for (int i = 0; i < r->n; i++)
		r->weight[i] = r->error[i] > limit ? limit / r->error[i] : 1;
	return sorted[r->n - 1] > limit;
}

static double
fit(const double *latencies, const double *bytes, const double *seconds, int n, int turns,
	double *alpha, double *beta)
{
	double *room = NEW_ARRAY(NULL, double, 3 * (size_t)n);
	struct rows r = {latencies, bytes, seconds, room, room + n, n, 0, 0};
	for (int i = 0; i < n; i++)
		r.weight[i] = 1;
	solve(&r);
	for (int turn = 0; turn < turns && weigh(&r, room + 2 * n); turn++) {
		double a = r.alpha, g = r.gamma;
		solve(&r);
		if (fabs(r.alpha - a) <= 1e-12 * a && fabs(r.gamma - g) <= 1e-12 * g)
			break;
	}
	double error = find_errors(&r);
	talloc_free(room);
	*alpha = r.alpha;
	*beta = r.gamma > 0 ? 1 / r.gamma : INFINITY;
	return error;
}

double
alpha_beta_fit(const double *bytes, const double *seconds, int n, double *alpha, double *beta)
{
	return fit(NULL, bytes, seconds, n, 0, alpha, beta);
}

double
alpha_beta_fit_robust(const double *latencies, const double *bytes, const double *seconds, int n,
	double *alpha, double *beta)
{
	return fit(latencies, bytes, seconds, n, n < ROBUST_FROM ? 0 : TURNS, alpha, beta);
}
