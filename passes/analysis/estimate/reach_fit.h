/*
 * What kernels reach, fitted to profiles: the items of a cluster that predict measured kernels best
 * (least squares of the logarithm of predicted over measured).
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_REACH_FIT_H
#define PASSES_ANALYSIS_ESTIMATE_REACH_FIT_H

#include "ir/base/diag.h"
#include "ir/cluster/device.h"

#include <stdio.h>

struct reach_data;

/* A device whose name ends in it ran products of f32 in TF32. */
#define REACH_TF32_DEVICE ", TF32"

/* None yet; `d`: the device that was measured, whose peaks the shares are of. Owned by `owner`. */
struct reach_data *reach_data_create(const void *owner, const struct device *d);

/* Adds the kernels of a profile. False: reported. */
bool reach_data_add(struct reach_data *data, struct diag *d, const char *profile);

/* How well a set of kernels is predicted. */
struct reach_error {
	uint32_t n;
	double mean, worst; /* of |predicted / measured - 1|, counted by their times */
	double sum;         /* predicted over measured, all kernels together, -1 */
};

/*
 * Fits all of the profiles, and each by the others. Writes the items as text of a cluster, with the
 * errors as comments. False after reporting: there are no kernels.
 */
bool reach_data_fit(struct reach_data *data, struct diag *d, FILE *out);

#endif
