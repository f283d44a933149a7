/*
 * Reached rates fitted to profiles: the cluster items that predict measured kernels best (least
 * squares of the logarithm of predicted over measured).
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_REACH_FIT_H
#define PASSES_ANALYSIS_ESTIMATE_REACH_FIT_H

#include "ir/base/diag.h"
#include "ir/cluster/device.h"

#include <stdio.h>

struct reach_data;

/* Suffix of the names of devices that ran f32 products in TF32. */
#define REACH_TF32_DEVICE ", TF32"

/* Empty; `d`: the measured device; shares are relative to its peaks. Owned by `owner`. */
struct reach_data *reach_data_create(const void *owner, const struct device *d);

/* Adds the kernels of a profile. False: reported. */
bool reach_data_add(struct reach_data *data, struct diag *d, const char *profile);

/* Prediction errors of a set of kernels. */
struct reach_error {
	uint32_t n;
	double mean, worst; /* of |predicted / measured - 1|, weighted by their times */
	double sum;         /* predicted over measured, summed over all kernels, minus 1 */
};

/*
 * Fits all of the profiles together, and predicts each from the others. Writes the items as cluster
 * text, with the errors as comments. False after reporting that there are no kernels.
 */
bool reach_data_fit(struct reach_data *data, struct diag *d, FILE *out);

#endif
