/*
 * Bundles: small kernels that do not depend on each other become one launch. A launch takes a GPU
 * about 2 us, and a kernel on a vector of a few thousand elements, such as an optimizer's for a
 * bias or a moving average of a batch normalization, takes no longer.
 *
 *     order of issue   k1  k2  product  k3  k4  k5
 *                       \___\____________\___\
 *                                launched here, before the first op that depends on one of them
 *
 * A bundle is launched right before the first op that reads what one of its kernels writes, or
 * writes what one of them reads or writes. Kernels that follow that op join it if they do not
 * depend on what runs in between. Ops are compared by the bytes of the buffers that they use, so
 * that also reuse of memory is respected. An op that waits for a message (waits.h) uses what the
 * message does.
 *
 * Programs launch exactly these bundles (lower/cuda/bundle.h), and predictions count each of them
 * as one launch.
 */
#ifndef IR_MEMORY_BUNDLE_H
#define IR_MEMORY_BUNDLE_H

#include "ir/memory/storage.h"

struct bundle {
	uint32_t at;        /* launched before the op at this position of the order of issue; the
			       end of the members' loop: after its last op */
	uint32_t *position; /* [n] of its kernels, at least two */
	uint32_t n;
};

struct bundles {
	struct bundle *bundle; /* [n] by `at` */
	uint32_t n;
	int32_t *of; /* by position: the number of its bundle, or -1 */
};

/* The bundles of a step whose buffers have offsets, owned by `owner`; none if its target has none,
 * or makes estimates. */
struct bundles *bundles_create(const void *owner, const struct storage *s);

#endif
