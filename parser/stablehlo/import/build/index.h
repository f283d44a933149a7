/*
 * Index vectors of gather and scatter (StableHLO, both), as a number for each dim of the table.
 *
 * Both have a table (operand, input), index vectors [batch dims] x K, and windows of the table that
 * begin at a vector. A dim of the table is
 *
 *     shared    one of the batching dims: the vector's own position in a batch dim of the indices
 *     looked up with a number that the vector has, or from 0; windows of more than one element
 *               along it add a dim of positions to the numbers
 *     whole     the window is all of it, and begins at 0
 *
 * which is what gather_nd and scatter_nd (ir/ops/ops.def) work on: tables [shared.., looked up and
 * whole..], numbers [shared.., batch dims.., window positions..].
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_INDEX_H
#define PARSER_STABLEHLO_IMPORT_BUILD_INDEX_H

#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/take.h"

struct index {
	struct import *im;
	const struct mlir_op *op;

	/* Filled in by the op. */
	const struct mlir_type *table, *indices;
	struct dims collapsed, table_batch, index_batch; /* the last two: pairs */
	struct dims map;    /* entry k of a vector is for this dim of the table */
	int64_t vector_dim; /* of the indices; their rank: vectors have one entry, and no dim */
	int64_t window[IR_MAX_RANK]; /* sizes, of all dims of the table */
	int lead;

	/* By index_check. */
	int nbatch;                 /* batch dims of the indices */
	int64_t batch[IR_MAX_RANK]; /* their sizes */

	/* By index_numbers. */
	int nshared;                          /* leading and batching dims */
	int nnumbers;                         /* looked up dims */
	struct ir_value *number[IR_MAX_RANK]; /* [lead.., shared.., others.., positions..] */
	int64_t dims[IR_MAX_RANK]; /* looked up dims of the table, moved by index_table_perm */
	int npositions;
	int position_dim[IR_MAX_RANK]; /* the table's dim of a dim of positions */
	int nwhole;
	int whole_dim[IR_MAX_RANK];   /* the table's */
	int batch_order[IR_MAX_RANK]; /* of the numbers: batch dims of the indices, shared first */
	int64_t table_perm[IR_MAX_RANK]; /* with leading dims: shared first */
};

/* How an op calls the lists of its dimension numbers, and the attribute that has them. */
struct index_names {
	const char *attribute, *window, *collapsed, *table_batch, *index_batch, *map;
};

/* Takes the dimension numbers; those of `window` are below `limit`. False after reporting. */
bool index_take(struct index *x, const struct index_names *names, int limit, struct dims *window);

/* Checks what the two ops have in common and fills in the batch dims. */
bool index_check(struct index *x);

/* The start indices. clamp: moved so that windows are inside (gather); else those of windows that
 * are not inside become -1. False after reporting. */
bool index_numbers(struct index *x, struct ir_value *indices, bool clamp);

/* Slices, which have the batch dims of the indices and, at window_dims, the kept dims of the
 * table: into the order [lead.., shared.., other batch dims.., positions.., whole..] and back.
 */
struct ir_value *index_pack(
	const struct index *x, struct ir_value *v, const struct dims *window_dims, int rank);
struct ir_value *index_unpack(
	const struct index *x, struct ir_value *v, const struct dims *window_dims, int rank);
/* A table with its shared dims first, and back. */
struct ir_value *index_table(const struct index *x, struct ir_value *v);
struct ir_value *index_untable(const struct index *x, struct ir_value *v);

/* The window dims in slices of updates and results that belong to looked up or to whole dims: those
 * that are not collapsed and not shared, ascending. */
static inline bool
index_is_kept(const struct index *x, int dim)
{
	return !dims_has(&x->collapsed, dim) && !dims_has(&x->table_batch, dim);
}

#endif
