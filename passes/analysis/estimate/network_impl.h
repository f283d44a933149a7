/* What the files of the network share. */
#ifndef PASSES_ANALYSIS_NETWORK_IMPL_H
#define PASSES_ANALYSIS_NETWORK_IMPL_H

#include "ir/ir.h"
#include "passes/analysis/estimate/gemm.h"
#include "passes/analysis/estimate/network.h"

enum {
	WIDTH = NETWORK_WIDTH,
	HEADS = NETWORK_HEADS,
	HEAD = WIDTH / HEADS,
	LAYERS = NETWORK_LAYERS,
	DENSE = NETWORK_DENSE,
	OP_FEATURES = NETWORK_OP_FEATURES,
	KERNEL_FEATURES = NETWORK_KERNEL_FEATURES,
	POOLED = WIDTH + KERNEL_FEATURES,
};

/* Relations of a node to a neighbour: itself, an op that it reads, an op that reads it. */
enum { SELF, READS, READ_BY, NDIRECTIONS };

struct network_layer {
	float weight[WIDTH][WIDTH]; /* [in][out], heads next to each other */
	float bias[WIDTH];
	float to[WIDTH], from[WIDTH]; /* attention: of the node, of its neighbour */
	float direction[HEADS][NDIRECTIONS];
};

/* All learned weights; usable as an array of floats. */
struct network_weights {
	float in[OP_FEATURES][WIDTH], in_bias[WIDTH];
	float code[OP_NCODES][WIDTH];
	struct network_layer layer[LAYERS];
	float dense1[POOLED][DENSE], bias1[DENSE];
	float dense2[DENSE][DENSE], bias2[DENSE];
	float dense3[DENSE], bias3[1];
};

enum { NWEIGHTS = sizeof(struct network_weights) / sizeof(float) };

/* (x - shift) * scale */
struct network_norm {
	float op_shift[OP_FEATURES], op_scale[OP_FEATURES];
	float kernel_shift[KERNEL_FEATURES], kernel_scale[KERNEL_FEATURES];
};

struct network_edge {
	uint32_t from;      /* node */
	uint32_t direction; /* enum value: relation to the node */
};

/* Intermediate values of the network for a batch of graphs; room grows. */
struct network_batch {
	uint32_t ngraphs, nnodes, nedges;
	uint32_t graphs_room, nodes_room, edges_room;
	uint32_t *graph;           /* [nnodes] */
	uint16_t *code;            /* [nnodes] */
	uint32_t *first;           /* [nnodes + 1] */
	struct network_edge *edge; /* [nedges] */
	float *features;           /* [nnodes][OP_FEATURES] normalized */
	/* [LAYERS + 1] input of each layer, [LAYERS] that times the weights, and the output of
	 * attention before ReLU: each [nnodes][WIDTH]. */
	float *h[LAYERS + 1], *z[LAYERS], *o[LAYERS];
	float *alpha[LAYERS], *logit[LAYERS];      /* [nedges][HEADS] */
	float *pooled, *d1, *d2, *y;               /* [ngraphs][...] */
	float *gh, *gz, *gpooled, *gd1, *gd2, *gy; /* gradients */
	float *score;                              /* [nnodes][2 * HEADS] */
};

struct network_random {
	uint64_t state;
};

struct network {
	struct network_weights w;
	struct network_norm norm;
	char *device;
	struct network_batch b;
	struct network_weights *gradient, *m, *v; /* NULL before training */
	uint64_t steps;
	enum network_loss loss;
	struct network *next;        /* next member of the average; NULL: none */
	struct gemm_library library; /* opened for the first batch */
	float noise; /* half the width of the noise that training adds to features; 0: none */
	struct network_random random;
};

/* Puts the graphs into w->b and computes w->b.y. */
void network_forward(struct network *w, const struct network_graph *const *g, uint32_t n);

#endif
