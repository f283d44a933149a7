/* What the files of the scheme share: scheme.c, segment.c, finish.c. */
#ifndef IR_SCHEME_BUILD_H
#define IR_SCHEME_BUILD_H

#include "ir/loops/scheme.h"

#include <assert.h>

struct scheme_build {
	int *parent; /* union-find over (op of the scheme, index of the op) */
	int *saved;  /* room to undo a step */
	int *list;   /* ops that are placed together */
};

/* Adds op number `op` to the last segment. */
void scheme_append(struct scheme *s, struct scheme_segment *g, int op);

/*
 * Classes, loop order, outer nest and stages of a segment of loops from its list of ops. False
 * where the ops do not go together: two indices of one op would be one loop, or the rows would not
 * fit the cache.
 */
bool scheme_analyse(struct scheme *s, struct scheme_build *b, struct scheme_segment *g);

/* Cuts the indices of a kernel of several products into slabs; places for those of operands and results that are
 * copied. */
void scheme_cut_slabs(struct scheme *s);
void scheme_place_slabs(struct scheme *s);

/* The tensors that are kept whole in scratch although it would be cheap to compute them again where they are read:
 * kept[ntensors]. Are there any? */
bool scheme_find_kept(const struct scheme *s, bool *kept);

/* Before there are segments: whoever reads one of these tensors computes it itself. */
void scheme_repeat(struct scheme *s, const bool *kept);

/* A place of that many bytes in scratch. */
int64_t scheme_take_scratch(struct scheme *s, int64_t bytes);

/* Where every tensor lies, which classes become one, which products go by blocks: once all segments
 * are there. */
void scheme_finish(struct scheme *s);

/*
 * Sets what the positions of an op make it. In a fused kernel a position that data give is turned
 * back into a loop with a condition where that lets the op share loops with others: when it reads
 * what the kernel itself makes, or writes each element once.
 */
void scheme_classify(struct scheme *s, struct scheme_op *o);

/* Has op o loops of its own kind, and so a segment of its own? */
static inline bool
scheme_is_alone(const struct scheme_op *o)
{
	return o->scatter || o->scan.found;
}

/* The class that op o sums up along; -1: it does not. */
static inline int
scheme_scan_class(const struct scheme_op *o)
{
	return o->scan.found ? o->cls[o->scan.index] : -1;
}

/* Is op o a sum of floats that is cut where it is long? After how many summands? */
bool scheme_is_cut(const struct scheme_op *o);
int64_t scheme_sum_block(const struct scheme_op *o);

/* Where a sum over all of these loops, outermost first, is cut after `most` summands; where the sum
 * is that op o makes in memory: sum.c. */
struct scheme_cut scheme_cut_loops(
	const struct scheme_segment *g, const int8_t *loop, int n, int64_t most);
struct scheme_cut scheme_cut_memory(const struct scheme *s, const struct scheme_op *o);

/* Loads in an expression; loads that an op reads at all. */
uint32_t scheme_loads(const struct expr *e);
uint32_t scheme_reads(const struct scheme_op *o);

/* The tensor whose memory t is. */
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
