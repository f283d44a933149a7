/*
 * Bundles (ir/memory/bundle.h) in the sources of a program:
 *
 *     actions   k1  k2  product  k3  k4        kernels.cu   DOPT_KERNEL(bundle_0 ...) { block ->
 *                \___\____________\___\                     member -> its kernel's body }
 *                         launched here        step.c       one launch with the arguments of all
 */
#ifndef LOWER_CUDA_BUNDLE_H
#define LOWER_CUDA_BUNDLE_H

#include "ir/memory/bundle.h"
#include "lower/cuda/kernel.h"
#include "lower/plan/plan.h"

struct cuda_bundle {
	int at;      /* launched before this action; nactions: at the end of the step */
	int *action; /* [n] the actions that are launched, at least two */
	int n;
	int launch; /* row of the table of kernels */
};

struct cuda_bundles {
	struct cuda_bundle *bundle;
	int n;
	int *of; /* by action: its bundle, or -1 */
};

/* A launch function that may be part of a bundle. */
struct cuda_part {
	const char *name;
	struct cuda_single single; /* body NULL: it may not */
};

/* The bundles of a step by its actions, owned by `owner`. */
struct cuda_bundles *cuda_bundles_create(const void *owner, const struct lower_plan *p);

/* Writes their kernels, and sets their launches. */
void cuda_bundles_write(struct cuda_bundles *b, struct cuda_sources *src,
	const struct lower_plan *p, const struct cuda_part *part, int nparts, const int *part_of,
	const char *prefix);

#endif
