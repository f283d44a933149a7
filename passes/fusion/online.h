/*
 * Chains of a product, what is done with it element by element, reductions of its rows and products
 * that read it again: kernels in which the result of the first product never exists as a whole
 * (attention: Dao et al., "FlashAttention", 2022; Rabe and Staats, "Self-attention Does Not Need
 * O(n^2) Memory", 2021). online.c finds them, online_nest.c makes kernels of them.
 *
 *     s = contract(q, k)            values that have indices of both operands of the product, rows
 *     e = exp(s - max(s))           and columns, are wide: kernels compute them, each for itself
 *     o = contract(e / sum(e), v)   max, sum, o and the gradients of q, k, v are ends: they have
 *                                   indices of one of both, and are what kernels leave
 *
 * A kernel goes over rows or over columns, according to the indices of its ends, and computes again
 * what it reads of the wide values. So wide values of the forward pass are not stored although ops
 * of the gradient read them. An end may read a reduction of the same kernel (as `e` reads the
 * maximum) if one pass suffices: online_separable.c.
 */
#ifndef PASSES_FUSION_ONLINE_H
#define PASSES_FUSION_ONLINE_H

#include "ir/base/arena.h"
#include "ir/ops/form.h"
#include "passes/fusion/opfuse.h"

enum online_limit {
	ONLINE_MAX_ENDS = 16,  /* of one chain; attention has 8 */
	ONLINE_MAX_WIDE = 512, /* wide values of one chain: larger ones are given up */
	ONLINE_MAX_PATH = 512, /* ops visited in search of a path before one is assumed to exist */
};

/* On which side of the first product the index of a class lies. */
enum online_side { ONLINE_BATCH = 0, ONLINE_ROWS = 1, ONLINE_COLUMNS = 2, ONLINE_BOTH = 3 };

enum online_kind {
	ONLINE_WIDE, /* computed by each kernel that reads it */
	ONLINE_MASK, /* the same; depends on no product, so it may belong to several chains */
	ONLINE_END,
};

/* An op of the chain. */
struct online_op {
	uint32_t chain;          /* number of the chain for which the other fields are valid */
	uint8_t kind;            /* enum online_kind */
	bool taken;              /* a wide value of a chain for which kernels were formed */
	bool joined;             /* one of such a kernel's ends, or between its ends */
	int8_t cls[IR_MAX_RANK]; /* classes of the dims of its result; -1: none */
};

/* One kernel. */
struct online_nest {
	uint8_t side;               /* enum online_side that its ends have */
	struct opfuse_list end;     /* ascending */
	struct opfuse_list between; /* narrow ops between an end and its readers in the kernel */
	struct opfuse_list wide;
	bool passes_on; /* one of the ends reads another */
};

struct online {
	struct opfuse *u;
	struct arena *arena;  /* forms of one chain */
	struct online_op *op; /* [nops] */
	/* The chain: */
	uint32_t chain, seed;
	int8_t nclasses;
	uint8_t side[IR_MAX_RANK];    /* by class */
	int64_t size[IR_MAX_RANK];    /* per class */
	struct opfuse_list wide, end; /* in the order in which they were found; ends ascending */
	struct online_nest nest[ONLINE_MAX_ENDS];
	int nnests;
	uint32_t *seen, now; /* [nops] sets of ops: seen[i] == now */
	uint32_t *far;       /* [nops] last op of the kernels with a result at or before this op */
	uint8_t *form_of;    /* [nops] online_separable.c: enum form_of of visited ops */
};

/* Is op in the list? */
static inline bool
online_lists(const struct opfuse_list *list, uint32_t op)
{
	for (int64_t i = 0; i < list->n; i++)
		if (list->at[i] == op)
			return true;
	return false;
}

static inline bool
online_has(const struct online *o, uint32_t op, enum online_kind kind)
{
	return op != OPFUSE_NONE && o->op[op].chain == o->chain && o->op[op].kind == kind;
}

/* Is op computed by each kernel that reads it? */
static inline bool
online_is_wide(const struct online *o, uint32_t op)
{
	return online_has(o, op, ONLINE_WIDE) || online_has(o, op, ONLINE_MASK);
}

/* Which sides do the dims of a value have indices of? */
enum online_side online_side_of(const struct online *o, const int8_t *cls, int rank);

/* Writes the index notation of op to *f; for a kernel, memory that lasts as long as the chain.
 * False: op has none. */
bool online_form(struct online *o, uint32_t op, struct form *f);

/* Forms the kernels of the chain, o->nest. False: no kernel has an end that reads another of its
 * ends, so that nothing is gained. */
bool online_plan(struct online *o);

/* Turns the kernels of the chain, o->nest, into kernels of o->u. */
void online_commit(struct online *o);

/*
 * Can the reduction `end` be accumulated in one pass with the ends of `nest` that it reads? See
 * online_separable.c.
 */
bool online_separable(struct online *o, const struct online_nest *nest, uint32_t end);

/* Replaces sums over rows of p * dP by sums over o * dO: online_sum.c. Returns how many. */
int online_move_sums(struct online *o);

#endif
