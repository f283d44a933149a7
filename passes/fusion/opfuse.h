/*
 * What the policies of opfuse work on: the ops of a block, shared out among kernels.
 *
 * At first each op is a kernel of its own, of its number. Kernels join; an op that others read may
 * also have copies in the kernels that read it. Nothing of the module changes before opfuse_apply.
 *
 * A kernel's place is the number of one of its ops. In the order of places every kernel stands
 * behind those that it reads; opfuse_may_join keeps it so, opfuse_apply needs no more than that
 * there is such an order.
 */
#ifndef PASSES_OPFUSE_H
#define PASSES_OPFUSE_H

#include "passes/fuse/fuse.h"
#include "passes/fuse/role.h"
#include "passes/pass.h"

#define OPFUSE_NONE UINT32_MAX

struct opfuse_kernel {
	uint32_t *op; /* ascending; copies too */
	uint32_t n;   /* 0: it went into another */
	uint32_t place;
};

struct opfuse {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_block *block;
	struct fuse_table *table;
	uint32_t nops;
	struct ir_op **op;            /* by number */
	struct opfuse_kernel *kernel; /* [nops] */
	uint32_t *home;               /* [nops] the kernel whose result others read */
	uint32_t **copies;            /* [nops] talloc array of other kernels that have it; NULL */
	double *bytes;                /* [nops] of its first result, at one place */
	bool *heavy;                  /* [nops] computes what is no cheap function */
	/* Ops that read from op i, each once, ascending: reader[first[i]] ... reader[first[i + 1] -
	 * 1]. */
	uint32_t *first, *reader;
	uint32_t *stamp, now; /* for sets of kernels: stamp[k] == now */
};

/* The block of @main, every op a kernel. Owned by the run's scratch memory. */
struct opfuse *opfuse_create(struct pass_run *run, struct ir_module *m);

bool opfuse_has(const struct opfuse *u, uint32_t kernel, uint32_t op);

/* The kernels that read op from outside, each once, into out[]; returns how many there are, no more
 * than `room` of them in out. */
uint32_t opfuse_readers(struct opfuse *u, uint32_t op, uint32_t *out, uint32_t room);

/* The ops that a kernel reads from outside, each once, ascending; talloc array of scratch. */
uint32_t *opfuse_operands(struct opfuse *u, uint32_t kernel, uint32_t *n);

/* Would the ops of both be one kernel, whatever stands between? */
enum fuse_verdict opfuse_check_join(struct opfuse *u, uint32_t a, uint32_t b);

/* Kernel a becomes part of b, which stands at `place` then. */
void opfuse_join(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place);

/* Would kernel k be one with op in it? */
enum fuse_verdict opfuse_check_copy(struct opfuse *u, uint32_t op, uint32_t k);

/* Kernel k computes op itself. */
void opfuse_copy(struct opfuse *u, uint32_t op, uint32_t k);

/* Does anything that stands between lead from a through others to b? */
bool opfuse_path(struct opfuse *u, uint32_t a, uint32_t b);

/*
 * Makes the kernels fuses and puts the block in order. What nobody reads any more, because all who
 * read it have copies, is gone.
 */
void opfuse_apply(struct opfuse *u);

/* The policies. */
void opfuse_greedy(struct opfuse *u);
void opfuse_xla(struct opfuse *u);

#endif
