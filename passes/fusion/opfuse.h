/*
 * What the policies of opfuse work on: the ops of a block, shared out among kernels.
 *
 * At first each op is a kernel of its own, of its number. Kernels join; an op that others read may
 * also have copies in the kernels that read it. Nothing of the module changes before opfuse_apply.
 *
 * A kernel's place is the number of one of its ops. In the order of places every kernel follows the
 * kernels that it reads; opfuse_may_join keeps it so, opfuse_apply relies only on the existence of
 * such an order.
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
	uint32_t *op; /* ascending, copies included */
	uint32_t n;   /* 0: it was joined into another kernel */
	uint32_t place;
	uint32_t into;  /* this kernel, or the one that it was joined into (follow the chain) */
	uint32_t alone; /* storage for `op` while the kernel has one op */
};

struct opfuse_list VEC(uint32_t);

struct apart;

struct opfuse {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_block *block;
	struct alike *alike; /* of the ops, before any change */
	struct fuse_table *table;
	uint32_t nops;
	struct ir_numbering *ops;     /* ops of the block */
	struct ir_op **op;            /* [nops] by number */
	struct opfuse_kernel *kernel; /* [nops] */
	uint32_t *home;               /* [nops] the kernel whose result others read */
	struct opfuse_list *copies;   /* [nops] other kernels that contain it */
	double *bytes;                /* [nops] of the op's first result, on one device */
	/* Ops that read op i, each once, ascending: reader[first[i]] ... reader[first[i + 1] -
	 * 1]. */
	uint32_t *first, *reader;
	/* The op that makes operand j of op i is maker[operands[i] + j], in the module before any
	 * change. */
	uint32_t *operands, *maker;
	uint32_t *stamp, now;       /* for sets of kernels: stamp[k] == now */
	struct arena *lists;        /* memory of lists of ops */
	struct opfuse_list operand; /* result of opfuse_operands */
	/* [nops + 1] number of marked ops before each op; no op is moved across a marked op. NULL:
	 * none. */
	uint32_t *marks;
	struct ir_op **fuse; /* [nops] the fuse made of kernel k, NULL: none; set by opfuse_apply */
	bool silent;         /* true in a trial: no remarks, no statistics */
	struct apart *order; /* state of opfuse_join_apart; NULL: not called yet */
};

/* Makes each op of @main's block a kernel. Owned by the run's scratch memory. */
struct opfuse *opfuse_create(struct pass_run *run, struct ir_module *m);

/* The number of the op that makes operand j of an op; OPFUSE_NONE: the op is not in the block. */
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

/* Is op too expensive to be copied into other kernels, which compute cheap ops again? */
bool opfuse_heavy(const struct opfuse *u, uint32_t op);

/* Does op number `reader` read a result of op? */
bool opfuse_reads(const struct opfuse *u, uint32_t reader, uint32_t op);

/* The number of opfuse_copy calls for op, and the kernel of the i-th; OPFUSE_NONE where that kernel
 * has become the home of op. A kernel may occur more than once. */
static inline size_t
opfuse_ncopies(const struct opfuse *u, uint32_t op)
{
	return (size_t)u->copies[op].n;
}
uint32_t opfuse_copy_at(const struct opfuse *u, uint32_t op, size_t i);

/* Writes the kernels that read op from outside, each once, to out[room]. Returns how many there
 * are, or room + 1 if there are more. */
uint32_t opfuse_readers(struct opfuse *u, uint32_t op, uint32_t *out, uint32_t room);

/* The ops that a kernel reads from outside, each once, ascending, without scalar constants. *n: how
 * many. Valid until the next call. */
const uint32_t *opfuse_operands(struct opfuse *u, uint32_t kernel, uint32_t *n);

/* Could the ops of a and b form one kernel, whatever stands between them? */
enum fuse_verdict opfuse_check_join(struct opfuse *u, uint32_t a, uint32_t b);

/* Joins kernel a into b, which then stands at `place`. */
void opfuse_join(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place);

/* Can these n ops of one kernel, in ascending order, be copied into kernel k, with no marked op and,
 * but for `across`, no barrier between them? */
bool opfuse_may_copy(struct opfuse *u, const uint32_t *op, uint32_t n, uint32_t k, bool across);

/* Copies op into kernel k. */
void opfuse_copy(struct opfuse *u, uint32_t op, uint32_t k);

/*
 * As opfuse_join, unless a path leads from one kernel through others to the other: then false.
 * After the first call, no other function may join kernels or copy ops.
 */
bool opfuse_join_apart(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place);

/*
 * Turns the kernels into fuses and puts the block in order. Ops that are no longer read, because
 * all of their readers have copies, are erased.
 */
void opfuse_apply(struct opfuse *u);

/*
 * The ops whose results have one of these names, separated by commas, are not fused:
 * opfuse_unfused.c. No kernels may have been joined yet.
 */
void opfuse_unfused(struct opfuse *u, const char *names);

/* Is there a value for each name in the option `unfused`? False: reported. */
bool opfuse_check_unfused(const struct pass_run *run, const struct ir_module *m);

/* Gives sums over leading dims kernels of their own where that is faster: opfuse_sums.c. No kernels
 * may be joined after that. */
void opfuse_split_sums(struct opfuse *u);

/* The policies: each joins kernels and copies ops. */
typedef void opfuse_policy(struct opfuse *u);

/* Forms kernels by a policy; a step that fits the budget, in bytes, still fits afterwards:
 * opfuse_budget.c. False: reported. */
bool opfuse_within(
	struct pass_run *run, struct ir_module *m, opfuse_policy *policy, uint64_t budget);

/* Forms kernels of several products, whose intermediate results are never stored: online.h. */
void opfuse_online(struct pass_run *run, struct ir_module *m);

void opfuse_greedy(struct opfuse *u);
void opfuse_xla(struct opfuse *u);

#endif
