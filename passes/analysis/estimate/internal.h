/* What the files of the estimator share, with each other and with the cost model. See estimate.h.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_INTERNAL_H
#define PASSES_ANALYSIS_ESTIMATE_INTERNAL_H

#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/nest.h"
#include "passes/analysis/estimate/network.h"
#include "passes/analysis/estimate/reach.h"
#include "passes/fuse/role.h"

/* A single op. */
struct estimate_op {
	double arithmetic; /* seconds */
	double flops;
	double bytes;   /* that it reads and writes */
	double seconds; /* from the cost model, without what-ifs of ops */
	double roofline;
	double results;  /* bytes */
	double elements; /* of the result */
	double points;   /* of its loop nest */
	uint16_t code;
	uint8_t noperands, dtype;
	uint8_t narrowest; /* smallest element size of its operands, bytes */
	bool measured, product;
	struct reach_op reach; /* on a device whose reached rates are known */
	/* With a network only: */
	struct fuse_role role;
	struct nest_op alone; /* its loops if it is a kernel of its own */
};

/* What a kernel computes: the same for a fuse and for ops that may become one. */
struct estimate_kernel {
	uint32_t n;
	const struct estimate_op **op; /* [n] */
	struct nest *nest;             /* only with a network */
	const struct nest_op **loops;  /* [n] of it */
	bool *out;                     /* [n] */
	double *outer;                 /* [n] bytes that it reads from outside the kernel */
	uint32_t *first, *read;        /* as in struct network_graph */
	double bytes;                  /* of memory, in total */
	double bytes_of[REACH_TYPES];  /* of these, by type */
	uint32_t operands;             /* number of operands of the kernel */
	float *feature;                /* [n][NETWORK_OP_FEATURES] */
	uint16_t *code;                /* [n] */
	struct network_graph graph;
};

/* Looks an op up. `a` is for scratch; NULL: its role is not computed. */
struct estimate_op estimate_op(const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_op *op, struct arena *a);

/* Components of the analytic estimate, in seconds and bytes per second. */
struct estimate_parts {
	double launch, rate, excess;
};
struct estimate_parts estimate_parts(const struct estimate_kernel *k, const struct device *d);

/* Seconds that an op takes in addition to memory and the launch. */
double estimate_excess(const struct estimate_parts *p, const struct estimate_op *op);

/* The analytic estimate, seconds. */
double estimate_analytic(const struct estimate_kernel *k, const struct device *d);

/* Classes of kernels with similar errors: few ops or many, without a product or with one. */
uint32_t estimate_sort(uint32_t n, bool product);
uint32_t estimate_sort_of(const struct estimate_kernel *k);

/* Computes from the profile by how much estimates of each class are raised. */
void estimate_careful_load(struct cost_model *model);

/*
 * The kernel of a fuse, owned by `owner`; with what estimate_features needs if `features`. `known`:
 * its ops in the order of the body without scalar constants, which must live as long; NULL: they
 * are looked up.
 */
struct estimate_kernel *estimate_kernel_of(const void *owner, const struct cost_model *model,
	uint32_t kind, const struct ir_module *m, const struct ir_op *fuse, bool features,
	const struct estimate_op *const *known);

/* Fills in k->graph; `analytic`: its analytic estimate. */
void estimate_features(struct estimate_kernel *k, double analytic, const struct device *d);

/* The network's estimate, seconds. */
double estimate_network(struct network *w, struct estimate_kernel *k, const struct device *d);

/* The time of a fuse that is not in the profile: the same as estimator_seconds of its ops. */
double estimate_fuse(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *fuse);

#endif
