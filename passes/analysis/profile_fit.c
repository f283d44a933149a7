/*
 * alpha-beta by weighted least squares: with y = alpha + gamma x and weights 1/y, minimize the sum
 * of
 * ((alpha + gamma x_i) / y_i - 1)^2, so that 2 us of 10 count as much as 2 ms of 10. The normal
 * equations are two by two; where a coefficient would be negative it is 0 and the other is fitted
 * alone.
 */
#include "passes/analysis/profile.h"

#include <math.h>

struct sums {
	double u, v, uu, uv, vv; /* of u = 1/y and v = x/y */
};

static double
fit_error(const double *x, const double *y, int n, double alpha, double gamma)
{
	double sum = 0;
	for (int i = 0; i < n; i++) {
		double e = (alpha + gamma * x[i]) / y[i] - 1;
		sum += e * e;
	}
	return n ? sqrt(sum / n) : 0;
}

double
profile_fit(const double *bytes, const double *seconds, int n, double *alpha, double *beta)
{
	struct sums s = {0, 0, 0, 0, 0};
	for (int i = 0; i < n; i++) {
		double u = 1 / seconds[i], v = bytes[i] / seconds[i];
		s.u += u, s.v += v;
		s.uu += u * u, s.uv += u * v, s.vv += v * v;
	}
	double det = s.uu * s.vv - s.uv * s.uv, a = 0, g = 0;
	if (det > 1e-12 * s.uu * s.vv) {
		a = (s.u * s.vv - s.v * s.uv) / det;
		g = (s.v * s.uu - s.u * s.uv) / det;
	} else if (n) {
		a = s.u / s.uu; /* one size: all of it is latency */
	}
	if (g < 0) {
		g = 0;
		a = s.u / s.uu;
	} else if (a < 0) {
		a = 0;
		g = s.v / s.vv;
	}
	*alpha = a;
	*beta = g > 0 ? 1 / g : INFINITY;
	return fit_error(bytes, seconds, n, a, g);
}
