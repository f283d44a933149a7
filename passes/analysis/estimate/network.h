/*
 * The graph network that estimates kernels (DisCo, section 4.3): ops are nodes, and an edge joins a
 * reader to the op that it reads.
 *
 *     features of each op, and of its code
 *        -> 6 graph attention layers of 4 heads, over what an op reads, what reads it, and itself
 *        -> the sum over the ops, with features of the whole kernel
 *        -> 3 dense layers with ReLU
 *        -> log(seconds / analytic estimate)
 *
 * Forward and backward are written out here, on the sgemm of oneDNN. The loss is of the difference
 * d = log(predicted) - log(measured): an error of 10 % counts the same for a kernel of 1 us and of
 * 1 ms. It is d^2, or 2 s^2 log cosh(d/s), which is the same near 0 and a straight line where a
 * kernel is off by more than s: so a few wrong measurements do not distort the fit of the others.
 * (DisCo prints log((y - y')^2), which falls to minus infinity at the first sample that is met
 * exactly, so that nothing would be left to learn of the others.)
 *
 * Several networks may answer together: the mean of their answers.
 */
#ifndef PASSES_ANALYSIS_NETWORK_H
#define PASSES_ANALYSIS_NETWORK_H

#include "ir/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum network_size {
	NETWORK_WIDTH = 32, /* of a node; more did not help in our samples */
	NETWORK_HEADS = 4,
	NETWORK_LAYERS = 6,   /* of attention, as in the paper */
	NETWORK_DENSE = 64,   /* of the dense layers */
	NETWORK_MEMBERS = 16, /* averaged members, at most: bounds the contents of a file */
	NETWORK_OP_FEATURES = 67,
	NETWORK_KERNEL_FEATURES = 63,
};

/* One kernel. Arrays are owned by the caller. */
struct network_graph {
	uint32_t n;           /* ops */
	const float *op;      /* [n][NETWORK_OP_FEATURES] */
	const uint16_t *code; /* [n] enum op_code */
	/* Op i reads the results of ops read[first[i]] ... read[first[i + 1] - 1] of the graph. */
	const uint32_t *first, *read;
	float kernel[NETWORK_KERNEL_FEATURES];
};

struct network;

/* Random weights, the same for a seed on all machines. Owned by `owner`. */
struct network *network_create(const void *owner, uint64_t seed);

/* From now on answers are averaged with those of `other`, which w then owns. */
void network_join(struct network *w, struct network *other);

/* log(seconds / analytic estimate) of each graph. Not thread-safe. */
void network_evaluate(
	struct network *w, const struct network_graph *const *g, uint32_t n, double *answer);

enum network_loss { NETWORK_SQUARE, NETWORK_LOGCOSH };

/* s above: repeated measurements seldom differ by more. */
#define NETWORK_LOGCOSH_SCALE 0.15

/*
 * The mean over the graphs of the loss of the difference to target[i], times weight[i] (NULL: 1);
 * and its gradient by all weights, which is kept for a step of training. Of w alone, without the networks
 * joined to it. Not thread-safe.
 */
double network_gradient(struct network *w, const struct network_graph *const *g,
	const double *target, const double *weight, uint32_t n);

/* Selects the loss; squares by default. */
void network_set_loss(struct network *w, enum network_loss loss);

/* All weights and their gradients, by index: for tests. */
size_t network_weights(const struct network *w);
float *network_weight(struct network *w, size_t i);
float network_derivative(const struct network *w, size_t i);

/* Sets the shift and scale of features so that over these graphs each has mean 0 and variance 1. */
void network_normalize(struct network *w, const struct network_graph *const *g, uint32_t n);

/* A copy without the training state; owned by `owner`. */
struct network *network_clone(const void *owner, const struct network *w);

struct network_training {
	uint64_t seed;
	uint32_t epochs, batch; /* graphs a step */
	enum network_loss loss;
	double rate;  /* initial rate of Adam; decays to 0 along a cosine */
	double noise; /* noise added to features, at most this many standard deviations: they
			 derive from measurements, too */
	/* Called after each epoch with the mean loss; NULL: not called. */
	void (*progress)(void *data, uint32_t epoch, double loss);
	void *data;
};

/* The settings that we train with: docs/estimator.md says why. */
struct network_training network_training_defaults(void);

/* Trains on these graphs; the target is log(measured / analytic estimate), and the error of graph i
 * has weight[i] (NULL: 1). Deterministic. */
void network_train(struct network *w, const struct network_graph *const *g, const double *target,
	const double *weight, uint32_t n, const struct network_training *t);

/*
 * Weights as a safetensors file that also stores `device`, the name of the measured device. False,
 * NULL: reported.
 */
bool network_save(const struct network *w, struct diag *d, const char *path, const char *device);
struct network *network_load(const void *owner, struct diag *d, const char *path);

/* The device named in the file that it was loaded from; "" for a network made in this process. */
const char *network_device(const struct network *w);

#endif
