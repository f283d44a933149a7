/*
 * Samples for the estimator: the kernels of several ops that a profile has, of 1 us and more, with
 * what the network is told of each. And how well they are estimated.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_DATA_H
#define PASSES_ANALYSIS_ESTIMATE_DATA_H

#include "passes/analysis/estimate/network.h"

#include <stdio.h>

struct estimate_data {
	const struct network_graph **graph; /* [n] */
	double *seconds;                    /* [n] measured */
	double *analytic;                   /* [n] the analytic estimate */
	double *weight;                     /* [n] how much it says: training counts it so often */
	const char **key;                   /* [n] */
	uint32_t n;
	uint32_t unread; /* kernels whose key does not say all: key_read.h */
	char *device;
};

/* Those of the only device of a profile, or of this machine; owned by `owner`. NULL: reported. */
struct estimate_data *estimate_data_load(const void *owner, struct diag *d, const char *profile);

/* Appends the samples of one to another; both must live. */
void estimate_data_append(struct estimate_data *to, const struct estimate_data *from);

/* log(measured / analytic) of each: what the network learns. */
void estimate_data_targets(const struct estimate_data *data, double *target);

/* Shares of the kernels whose estimate is off by no more than that: what a table shows. */
enum { ESTIMATE_SHARES = 5 };
extern const double estimate_share[ESTIMATE_SHARES];

struct estimate_errors {
	double within[ESTIMATE_SHARES];
	double median; /* of |estimate - measured| / measured */
};

/* `seconds`: estimates of the samples. */
struct estimate_errors estimate_data_errors(
	const struct estimate_data *data, const double *seconds);

/* The network's estimates. */
void estimate_data_network(const struct estimate_data *data, struct network *w, double *seconds);

#endif
