/* Latency and bandwidth from measured times of messages. */
#ifndef PASSES_ANALYSIS_FIT_ALPHA_BETA_H
#define PASSES_ANALYSIS_FIT_ALPHA_BETA_H

/*
 * Fits alpha and beta of seconds = alpha + bytes / beta to n measurements, by least squares on the
 * relative error, both at least 0. Deterministic; no measurement
 * counts more than another. n = 0 gives 0 and an infinite beta. Returns the
 * root mean square of the relative error.
 */
double alpha_beta_fit(
	const double *bytes, const double *seconds, int n, double *alpha, double *beta);

/* The same of seconds = latencies alpha + bytes / beta (`latencies` NULL: 1). */
double alpha_beta_fit_rows(const double *latencies, const double *bytes, const double *seconds,
	int n, double *alpha, double *beta);

#endif
