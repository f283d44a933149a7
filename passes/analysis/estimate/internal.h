/* What the files of the estimator share, with each other and with the cost model. See estimate.h.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_INTERNAL_H
#define PASSES_ANALYSIS_ESTIMATE_INTERNAL_H

#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/nest.h"
#include "passes/analysis/estimate/network.h"
#include "passes/analysis/estimate/reach.h"
#include "passes/fuse/role.h"

/* An op, alone. */
struct estimate_op {
	double arithmetic; /* seconds */
	double flops;
	double bytes;   /* that it reads and writes */
	double seconds; /* as the cost model has it, what-ifs of ops not included */
	double roofline;
	double results;  /* bytes */
	double elements; /* of the result */
	double points;   /* of its loops */
	uint16_t code;
	uint8_t noperands, dtype;
	uint8_t narrowest; /* bytes of an element of its operands, the least */
	bool measured, product;
	struct reach_op reach; /* on a device whose reached rates are known */
	/* With a network only: */
	struct fuse_role role;
	struct nest_op alone; /* its loops where it has a kernel to itself */
};

/* What a kernel does: the same whether it is a fuse or ops that may become one. */
struct estimate_kernel {
	uint32_t n;
	const struct estimate_op **op; /* [n] */
	struct nest *nest;             /* with a network only */
	const struct nest_op **loops;  /* [n] of it */
	bool *out;                     /* [n] */
	double *outer;                 /* [n] bytes that it reads from outside */
	uint32_t *first, *read;        /* as in struct network_graph */
	double bytes;                  /* of memory, all together */
	double bytes_of[REACH_TYPES];  /* of these, by type */
	uint32_t operands;             /* that it has */
	float *feature;                /* [n][NETWORK_OP_FEATURES] */
	uint16_t *code;                /* [n] */
	struct network_graph graph;
};

/* Looks an op up. `a` is for scratch; NULL: its role is not asked for. */
struct estimate_op estimate_op(const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, struct bands *b, const struct ir_op *op, struct arena *a);

/* What the analytic estimate is made of, seconds and bytes a second. */
struct estimate_parts {
	double launch, rate, beside;
};
struct estimate_parts estimate_parts(const struct estimate_kernel *k, const struct device *d);

/* What an op takes beside memory and the launch. */
double estimate_beside(const struct estimate_parts *p, const struct estimate_op *op);

/* The analytic estimate, seconds. */
double estimate_analytic(const struct estimate_kernel *k, const struct device *d);

/* Kernels whose estimates are off alike: of few ops or of many, without a product and with one. */
uint32_t estimate_sort(uint32_t n, bool product);
uint32_t estimate_sort_of(const struct estimate_kernel *k);

/* Fills in by how much estimates of each sort are raised, from what the profile has. */
void estimate_careful_load(struct cost_model *model);

/*
 * The kernel of a fuse, owned by `owner`; with what estimate_features needs if `features`. `known`:
 * its ops as they stand in the body, scalar constants left out, which must live as long; NULL: they
 * are looked up.
 */
struct estimate_kernel *estimate_kernel_of(const void *owner, const struct cost_model *model,
	uint32_t kind, const struct ir_module *m, struct bands *b, const struct ir_op *fuse,
	bool features, const struct estimate_op *const *known);

/* Fills in k->graph; `analytic`: its estimate. */
void estimate_features(struct estimate_kernel *k, double analytic, const struct device *d);

/* The network's answer, seconds. */
double estimate_network(struct network *w, struct estimate_kernel *k, const struct device *d);

/* What a fuse takes that the profile does not have: what estimator_seconds says of its ops. */
double estimate_fuse(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	struct bands *b, const struct ir_op *fuse);

#endif
