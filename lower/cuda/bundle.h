/*
 * Bundles: small kernels that do not depend on each other become one launch. A launch takes a GPU
 * about 2 us, and a kernel on a vector of a few thousand elements, such as an optimizer's for a
 * bias or a moving average of a batch normalization, takes no longer.
 *
 *     actions   k1  k2  product  k3  k4        kernels.cu   DOPT_KERNEL(bundle_0 ...) { block ->
 *                \___\____________\___\                     member -> its kernel's body }
 *                         launched here        step.c       one launch with the arguments of all
 *
 * A bundle is launched right before the first action that reads what one of its kernels writes, or
 * writes what one of them reads or writes. Kernels that follow that action join it if they do not
 * depend on what runs in between. Actions are compared by the bytes of the buffers that they use, so
 * that also reuse of memory is respected.
 */
#ifndef LOWER_CUDA_BUNDLE_H
#define LOWER_CUDA_BUNDLE_H

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

/* Pointers that the kernel of an action has as arguments: operands, results, scratch. */
int cuda_bundle_words(const struct lower_action *a);

/* Plans the bundles of a step, owned by `owner`. `part_of`: by row of the plan's table of kernels,
 * the number of its part. */
struct cuda_bundles *cuda_bundles_create(const void *owner, const struct lower_plan *p,
	const struct cuda_part *part, const int *part_of);

/* Writes their kernels, and sets their launches. */
void cuda_bundles_write(struct cuda_bundles *b, struct cuda_sources *src,
	const struct lower_plan *p, const struct cuda_part *part, int nparts, const int *part_of,
	const char *prefix);

#endif
