/*
 * Samples for the estimator: the profiled kernels of several ops that take at least 1 us, with the
 * network's inputs for each. And the errors of their estimates.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_DATA_H
#define PASSES_ANALYSIS_ESTIMATE_DATA_H

#include "passes/analysis/estimate/network.h"

struct estimate_data {
	const struct network_graph **graph; /* [n] */
	double *seconds;                    /* [n] measured */
	double *analytic;                   /* [n] the analytic estimate */
	double *weight;                     /* [n] weight of the sample in training */
	const char **key;                   /* [n] */
	uint32_t n;
	uint32_t unread; /* kernels whose key is incomplete: key_read.h */
	char *device;
};

/* Samples of the only device of a profile, or of this machine; owned by `owner`. NULL: reported. */
struct estimate_data *estimate_data_load(const void *owner, struct diag *d, const char *profile);

/* Appends the samples of `from` to `to`; both must stay alive. */
void estimate_data_append(struct estimate_data *to, const struct estimate_data *from);

/* log(measured / analytic) of each: the training target of the network. */
void estimate_data_targets(const struct estimate_data *data, double *target);

/* Error bounds for which a table shows the share of kernels within them. */
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
