/*
 * The graph network that estimates kernels (DisCo, section 4.3): ops are nodes, and what one reads
 * of another an edge.
 *
 *     features of each op, and of its code
 *        -> 6 graph attention layers of 4 heads, over what an op reads, what reads it, and itself
 *        -> the sum over the ops, beside features of the whole kernel
 *        -> 3 dense layers with ReLU
 *        -> log(seconds / analytic estimate)
 *
 * Forward and backward are written out here, on the sgemm of oneDNN. The loss is the mean square of
 * log(predicted) - log(measured): an error of 10 % counts the same for a kernel of 1 us and of 1
 * ms. (DisCo prints log((y - y')^2), which falls to minus infinity at the first sample that is met
 * exactly, so that nothing would be left to learn of the others.)
 */
#ifndef PASSES_ANALYSIS_NETWORK_H
#define PASSES_ANALYSIS_NETWORK_H

#include "ir/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum network_size {
	NETWORK_WIDTH = 32, /* of a node; more did not help in our samples */
	NETWORK_HEADS = 4,
	NETWORK_LAYERS = 6, /* of attention, as in the paper */
	NETWORK_DENSE = 64, /* of the dense layers */
	NETWORK_OP_FEATURES = 28,
	NETWORK_KERNEL_FEATURES = 22,
};

/* One kernel. Arrays belong to whoever made it. */
struct network_graph {
	uint32_t n;           /* ops */
	const float *op;      /* [n][NETWORK_OP_FEATURES] */
	const uint16_t *code; /* [n] enum op_code */
	/* Op i reads what ops read[first[i]] ... read[first[i + 1] - 1] of the graph make. */
	const uint32_t *first, *read;
	float kernel[NETWORK_KERNEL_FEATURES];
};

struct network;

/* Random weights, the same for a seed everywhere. Owned by `owner`. */
struct network *network_create(const void *owner, uint64_t seed);

/* log(seconds / analytic estimate) of each graph. Not by several threads at once. */
void network_evaluate(
	struct network *w, const struct network_graph *const *g, uint32_t n, double *answer);

/*
 * The mean over the graphs of the squared difference to target[i]; and its gradient by all weights,
 * which is kept for network_step. Not by several threads at once.
 */
double network_gradient(
	struct network *w, const struct network_graph *const *g, const double *target, uint32_t n);

/* One step of Adam, with that rate, along the gradient of the last call. */
void network_step(struct network *w, double rate);

/* All weights, one after another, and their gradients: for tests. */
size_t network_weights(const struct network *w);
float *network_weight(struct network *w, size_t i);
float network_derivative(const struct network *w, size_t i);

/* Sets by how much features are shifted and scaled, so that over these graphs each has mean 0 and
 * variance 1. */
void network_normalize(struct network *w, const struct network_graph *const *g, uint32_t n);

/* A copy, without what training needs; owned by `owner`. */
struct network *network_clone(const void *owner, const struct network *w);

struct network_training {
	uint64_t seed;
	uint32_t epochs, batch; /* graphs a step */
	double rate;            /* of Adam at first; it falls to 0 as a cosine */
	double noise; /* up to so many standard deviations are added to features: what they are
			 made of was measured, too */
	/* Called after each epoch with the mean loss; NULL: nobody. */
	void (*progress)(void *data, uint32_t epoch, double loss);
	void *data;
};

/* What we train with: docs/estimator.md says why. */
struct network_training network_training_defaults(void);

/* Trains on these graphs, whose target is log(measured / analytic estimate). Deterministic. */
void network_train(struct network *w, const struct network_graph *const *g, const double *target,
	uint32_t n, const struct network_training *t);

/*
 * Weights as a safetensors file, with `device` beside them: the name of what was measured. False,
 * NULL: reported.
 */
bool network_save(const struct network *w, struct diag *d, const char *path, const char *device);
struct network *network_load(const void *owner, struct diag *d, const char *path);

/* The device of the file that it was loaded from; "" for one that was made here. */
const char *network_device(const struct network *w);

#endif
