/*
 * alpha-beta by weighted least squares: with y = alpha u + gamma x and weights 1/y, minimize the
 * sum of ((alpha u_i + gamma x_i) / y_i - 1)^2, so that 2 us of 10 count as much as 2 ms of 10. The
 * normal equations are two by two; if a coefficient would be negative, it is 0 and the other is
 * fitted alone. All measurements have equal weight: one off the line is as likely a property of the
 * network as a disturbance, and `error` tells whether a line fits.
 */
#include "passes/analysis/fit/alpha_beta.h"

#include <math.h>
#include <stddef.h>

struct rows {
	const double *u, *x, *y; /* u: NULL for all 1 */
	int n;
	double alpha, gamma;
};

static void
solve(struct rows *r)
{
	double su = 0, sv = 0, uu = 0, uv = 0, vv = 0;
	for (int i = 0; i < r->n; i++) {
		double u = (r->u ? r->u[i] : 1) / r->y[i], v = r->x[i] / r->y[i];
		su += u, sv += v;
		uu += u * u, uv += u * v, vv += v * v;
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

/* The root of the mean of the squares of the relative errors. */
static double
error_of(const struct rows *r)
{
	double sum = 0;
	for (int i = 0; i < r->n; i++) {
		double u = r->u ? r->u[i] : 1;
		double error = (r->alpha * u + r->gamma * r->x[i]) / r->y[i] - 1;
		sum += error * error;
	}
	return r->n ? sqrt(sum / r->n) : 0;
}

double
alpha_beta_fit_rows(const double *latencies, const double *bytes, const double *seconds, int n,
	double *alpha, double *beta)
{
	struct rows r = {latencies, bytes, seconds, n, 0, 0};
	solve(&r);
	*alpha = r.alpha;
	*beta = r.gamma > 0 ? 1 / r.gamma : INFINITY;
	return error_of(&r);
}

double
alpha_beta_fit(const double *bytes, const double *seconds, int n, double *alpha, double *beta)
{
	return alpha_beta_fit_rows(NULL, bytes, seconds, n, alpha, beta);
}
