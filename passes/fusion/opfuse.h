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

#include "ir/base/vec.h"
#include "ir/numbering.h"
#include "ir/ops/alike.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/role.h"
#include "passes/pass.h"

#define OPFUSE_NONE UINT32_MAX

struct opfuse_kernel {
	uint32_t *op; /* ascending; copies too */
	uint32_t n;   /* 0: it went into another */
	uint32_t place;
	uint32_t into;  /* itself, or one that it went into, maybe on the way to a third */
	uint32_t alone; /* room for its op while it has one */
};

struct opfuse_list VEC(uint32_t);

struct apart;

struct opfuse {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_block *block;
	struct alike *alike; /* its ops, as they were */
	struct fuse_table *table;
	uint32_t nops;
	struct ir_numbering *ops;     /* of the block */
	struct ir_op **op;            /* [nops] by number */
	struct opfuse_kernel *kernel; /* [nops] */
	uint32_t *home;               /* [nops] the kernel whose result others read */
	struct opfuse_list *copies;   /* [nops] other kernels that have it */
	double *bytes;                /* [nops] of its first result, at one place */
	/* Ops that read from op i, each once, ascending: reader[first[i]] ... reader[first[i + 1] -
	 * 1]. */
	uint32_t *first, *reader;
	/* What makes operand j of op i: maker[operands[i] + j], as the module was at first. */
	uint32_t *operands, *maker;
	uint32_t *stamp, now;       /* for sets of kernels: stamp[k] == now */
	struct arena *lists;        /* of ops of kernels */
	struct opfuse_list operand; /* room for opfuse_operands */
	/* [nops + 1] how many ops before each number no other op is to be moved across, or NULL. */
	uint32_t *marks;
	struct ir_op **fuse; /* [nops] of kernel k, NULL: none; after opfuse_apply */
	bool silent;         /* no remarks, no statistics: a trial */
	struct apart *order; /* of opfuse_join_apart; NULL: not called yet */
};

/* The block of @main, every op a kernel. Owned by the run's scratch memory. */
struct opfuse *opfuse_create(struct pass_run *run, struct ir_module *m);

/* The number of the op that makes operand j of an op; OPFUSE_NONE: none of the block. */
static inline uint32_t
opfuse_maker(const struct opfuse *u, uint32_t op, uint32_t j)
{
	return u->maker[u->operands[op] + j];
}

static inline uint32_t
opfuse_noperands(const struct opfuse *u, uint32_t op)
{
	return u->operands[op + 1] - u->operands[op];
}

/* Is one of the ops a, a + 1 ... b - 1 marked? */
static inline bool
opfuse_marked(const struct opfuse *u, uint32_t a, uint32_t b)
{
	return u->marks && a < b && u->marks[a] != u->marks[b];
}

bool opfuse_has(const struct opfuse *u, uint32_t kernel, uint32_t op);

/* Does op compute what is no cheap function? */
bool opfuse_heavy(const struct opfuse *u, uint32_t op);

/* Does op number `reader` read a result of op? */
bool opfuse_reads(const struct opfuse *u, uint32_t reader, uint32_t op);

/* Calls of opfuse_copy so far for op; the kernel of one of them, OPFUSE_NONE where it is the home of
 * op by now. Several may be of one kernel. */
static inline size_t
opfuse_ncopies(const struct opfuse *u, uint32_t op)
{
	return (size_t)u->copies[op].n;
}
uint32_t opfuse_copy_at(const struct opfuse *u, uint32_t op, size_t i);

/* The kernels that read op from outside, each once, into out[room]; returns how many there are, or
 * room + 1 where they are more. */
uint32_t opfuse_readers(struct opfuse *u, uint32_t op, uint32_t *out, uint32_t room);

/* The ops that a kernel reads from outside, each once, ascending, scalar constants left out; until
 * the next call. */
const uint32_t *opfuse_operands(struct opfuse *u, uint32_t kernel, uint32_t *n);

/* Would the ops of both be one kernel, whatever stands between? */
enum fuse_verdict opfuse_check_join(struct opfuse *u, uint32_t a, uint32_t b);

/* Kernel a becomes part of b, which stands at `place` then. */
void opfuse_join(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place);

/* Would kernel k be one with op in it, without a mark between them? */
bool opfuse_may_copy(struct opfuse *u, uint32_t op, uint32_t k);

/* Kernel k computes op itself. */
void opfuse_copy(struct opfuse *u, uint32_t op, uint32_t k);

/*
 * The same, unless a path leads from one through others to the other: false then. After the first
 * call no kernels may be joined, and no ops copied, by other functions.
 */
bool opfuse_join_apart(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place);

/*
 * Makes the kernels fuses and puts the block in order. What nobody reads any more, because all who
 * read it have copies, is gone.
 */
void opfuse_apply(struct opfuse *u);

/*
 * The ops whose results have one of these names, separated by commas, stay kernels of their own: opfuse_unfused.c. No kernels may
 * have been joined yet.
 */
void opfuse_unfused(struct opfuse *u, const char *names);

/* Is there a value for each name in the option `unfused`? False: reported. */
bool opfuse_check_unfused(const struct pass_run *run, const struct ir_module *m);

/* The policies, which choose kernels. */
typedef void opfuse_policy(struct opfuse *u);

/* Kernels by a policy so that a step that fits the budget, in bytes, still does: opfuse_budget.c. False: reported. */
bool opfuse_within(
	struct pass_run *run, struct ir_module *m, opfuse_policy *policy, uint64_t budget);

/* Kernels of several products, whose intermediate results are never stored: online.h. */
void opfuse_online(struct pass_run *run, struct ir_module *m);

void opfuse_greedy(struct opfuse *u);
void opfuse_xla(struct opfuse *u);

#endif
