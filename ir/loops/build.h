/* Shared by the files that make schemes: query.c, segment.c, finish.c, scheme.c ... */
#ifndef IR_SCHEME_BUILD_H
#define IR_SCHEME_BUILD_H

#include "ir/loops/scheme.h"

#include <assert.h>

/*
 * Classes of indices, as union-find: parent[scheme_node(op, index)] leads to the smallest node of the
 * class. scheme_start_classes makes each index a class of its own; the array is [nops + 1] times
 * FORM_MAX_INDICES.
 */
static inline int
scheme_node(int op, int index)
{
	return op * FORM_MAX_INDICES + index;
}

static inline int
scheme_class_of(const int *parent, int node)
{
	while (parent[node] != node)
		node = parent[node];
	return node;
}

int *scheme_start_classes(const struct scheme *s, int *parent);

/* Joins the classes of the indices of two accesses of a tensor that are loops, dim by dim. */
void scheme_join_access(const struct scheme *s, int *parent, int op1, const struct form_access *x1,
	int op2, const struct form_access *x2);

/* Is it a loop of more than one iteration? -1 is none. */
bool scheme_is_loop(const struct scheme_op *o, int index);

struct scheme_build {
	int *parent; /* classes of indices */
	int *saved;  /* copy for undoing a step */
	int *list;   /* ops that are placed together */
};

/* Adds op number `op` to the last segment. */
void scheme_append(struct scheme *s, struct scheme_segment *g, int op);

/*
 * Classes, loop order, outer nest and stages of a segment of loops from its list of ops. False
 * if the ops cannot share a segment: two indices of one op would be one loop, or the rows would not
 * fit in the cache.
 */
bool scheme_analyse(struct scheme *s, struct scheme_build *b, struct scheme_segment *g);

/* Cuts the indices of a kernel of several products into slabs; then finds scratch for the slabs of
 * operands and results that are copied. */
void scheme_cut_slabs(struct scheme *s);
void scheme_place_slabs(struct scheme *s);

/* Sets kept[ntensors] for tensors that are whole in scratch, or in row buffers of more bytes in a
 * segment than `rows` (0: no limit), although recomputing them where they are read would be cheap.
 * Returns whether there are any. */
bool scheme_find_kept(const struct scheme *s, int64_t rows, bool *kept);

/* Before segments are made: lets each reader of these tensors recompute them. */
void scheme_repeat(struct scheme *s, const bool *kept);

/* Bytes of tensor t in scratch: whole, a row of its segment, or the block of a product. */
int64_t scheme_bytes_in_scratch(const struct scheme *s, int t);

/* Allocates bytes in scratch; returns their offset. */
int64_t scheme_take_scratch(struct scheme *s, int64_t bytes);

/* Once all segments are made: where tensors are stored, which classes are merged, which products
 * are computed by blocks. */
void scheme_finish(struct scheme *s);

/*
 * Sets `computed`, `scatter` ... from the positions of an op. In a fused kernel, a data-dependent
 * position is turned back into a loop with a condition if the op can then share loops with others:
 * if it reads a value made in the kernel, or writes each element once.
 */
void scheme_classify(struct scheme *s, struct scheme_op *o);

/* Does op o need its own kind of loops, and so its own segment? */
static inline bool
scheme_is_alone(const struct scheme_op *o)
{
	return o->scatter || o->scan.found;
}

/* The class along which op o is a prefix sum; -1: it is not one. */
static inline int
scheme_scan_class(const struct scheme_op *o)
{
	return o->scan.found ? o->cls[o->scan.index] : -1;
}

/* Is op o a sum of floats that is cut if it is long? After how many summands? */
bool scheme_is_cut(const struct scheme_op *o);
int64_t scheme_sum_block(const struct scheme_op *o);

/* Where to cut a sum over the n loops, outermost first, after at most `most` summands; where to cut
 * the sum that op o makes in memory: sum.c. */
struct scheme_cut scheme_cut_loops(
	const struct scheme_segment *g, const int8_t *loop, int n, int64_t most);
struct scheme_cut scheme_cut_memory(const struct scheme *s, const struct scheme_op *o);

/* Loads in an expression; loads of all that an op reads: sets. */
uint32_t scheme_loads(const struct expr *e);
uint32_t scheme_reads(const struct scheme_op *o);

/* The tensor whose memory t shares, or t. */
int scheme_root(const struct scheme *s, int t);

/* Is tensor t made by an op of segment number `segment`? */
static inline bool
scheme_made_in(const struct scheme *s, int t, int segment)
{
	return s->tensor[t].op >= 0 && s->op[s->tensor[t].op].segment == segment;
}

/* The outer classes of a segment, as a set. */
static inline uint32_t
scheme_outer_set(const struct scheme_segment *g)
{
	uint32_t set = 0;
	for (int i = 0; i < g->nouter; i++)
		set |= 1u << g->order[i];
	return set;
}

#endif
