/*
 * IR ops on whole tensors, one call each, for importers that need several for an op of StableHLO.
 *
 * Sizes and dims are those of the IR value: leading dims (state.h) are counted. Lists have an entry
 * for each dim of the value. An op that would change nothing is not built: the value itself is
 * returned. Every function accepts NULL for a value that failed and then returns NULL; it reports
 * its own failures. Values belong to the module.
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_BUILD_H
#define PARSER_STABLEHLO_IMPORT_BUILD_BUILD_H

#include "parser/stablehlo/import/import.h"

/* Would a tensor of these sizes have at most 2^IR_MAX_ELEMENTS_LOG2 elements? If not, reports at
 * the current op. Call it before building tensors that attributes enlarge. */
bool build_fits(struct import *im, const int64_t *dim, int rank);

/* Elements start, start + step ... below limit of each dim; step NULL: 1. */
struct ir_value *build_slice(struct import *im, struct ir_value *v, const int64_t *start,
	const int64_t *limit, const int64_t *step);
/* The same of one dim. */
struct ir_value *build_slice_dim(
	struct import *im, struct ir_value *v, int dim, int64_t start, int64_t limit, int64_t step);
/* Element i of a dim, without the dim. */
struct ir_value *build_element(struct import *im, struct ir_value *v, int dim, int64_t i);

/* Zeros before, after and between elements; negative low and high cut off. Also for bool. */
struct ir_value *build_pad_zero(struct import *im, struct ir_value *v, const int64_t *low,
	const int64_t *high, const int64_t *interior);
/* The same with values from `with`, which has only leading dims, all shared with v. */
struct ir_value *build_pad(struct import *im, struct ir_value *v, struct ir_value *with,
	const int64_t *low, const int64_t *high, const int64_t *interior);
/* Removes dim `dim`, of size 1, or inserts one before it. */
struct ir_value *build_squeeze(struct import *im, struct ir_value *v, int dim);
struct ir_value *build_unsqueeze(struct import *im, struct ir_value *v, int dim);
/* `to - from` dims from `from` on become one. */
struct ir_value *build_flatten(struct import *im, struct ir_value *v, int from, int to);
/* Dim i of v goes to dim dims[i] of the shape. */
struct ir_value *build_broadcast(
	struct import *im, struct ir_value *v, const int64_t *shape, int rank, const int64_t *dims);
/* Repeats missing and size 1 dims until v has the shape of `like`, as numpy does, and is split as
 * that is. */
struct ir_value *build_like(struct import *im, struct ir_value *v, const struct ir_value *like);
/* Appends dims of size 1 to v, which has only leading dims, until it has `rank`; a scalar stays
 * one. */
struct ir_value *build_spread(struct import *im, struct ir_value *v, int rank);
struct ir_value *build_concat(struct import *im, struct ir_value *const *v, int n, int dim);
struct ir_value *build_reverse(struct import *im, struct ir_value *v, const int64_t *dims, int n);

struct ir_value *build_convert(struct import *im, struct ir_value *v, enum ir_dtype t);
struct ir_value *build_select(
	struct import *im, struct ir_value *c, struct ir_value *a, struct ir_value *b);
/* A reduction (sum, max, all ...) over these dims, which are removed. */
struct ir_value *build_reduce(
	struct import *im, enum op_code code, struct ir_value *v, const int64_t *dims, int n);
/* contract with that spec. */
struct ir_value *build_contract(
	struct import *im, const char *spec, struct ir_value *a, struct ir_value *b);

/* Zeros of that type, which is copied everywhere; NULL of NULL. */
struct ir_value *build_zeros(struct import *im, const struct ir_type *t);
/* An exact integer constant; 0 ... n - 1 along `dim` of a tensor whose other dims have size 1. Both
 * are copied everywhere. */
struct ir_value *build_int(struct import *im, enum ir_dtype t, int64_t value);
struct ir_value *build_iota(struct import *im, enum ir_dtype t, int rank, int dim, int64_t n);

/*
 * gather_nd and scatter_nd of ir/ops/ops.def on any element type: number[n] are the indices for
 * dims[n] of the table, after `batch` shared dims. sizes[n] are the sizes of dims; how: "add" ...
 */
struct ir_value *build_gather(struct import *im, struct ir_value *table,
	struct ir_value *const *number, int n, const int64_t *dims, int batch);
struct ir_value *build_scatter(struct import *im, struct ir_value *updates,
	struct ir_value *const *number, int n, const int64_t *dims, const int64_t *sizes, int batch,
	const char *how);

/* The value attribute if v is a constant, also if broadcast or reshaped; NULL: it is not. */
const struct ir_attr *build_constant_value(const struct ir_value *v);
/* Is v a constant that changes nothing if combined? */
bool build_is_identity(const struct ir_value *v, enum import_monoid monoid);
/* a and b combined; bool: add is or, mul is and. Not for MONOID_SECOND and OTHER. */
struct ir_value *build_combine(
	struct import *im, enum import_monoid monoid, struct ir_value *a, struct ir_value *b);
/* Elementwise work in which values of 16 bits are better kept wider: f32 of f16 and bf16. */
enum ir_dtype build_wide(enum ir_dtype t);

static inline enum ir_dtype
build_dtype(const struct ir_value *v)
{
	return (enum ir_dtype)v->type->dtype;
}

/* An op of two operands. */
static inline struct ir_value *
build2(struct import *im, enum op_code code, struct ir_value *a, struct ir_value *b)
{
	return ir_build2(&im->builder, code, a, b);
}

#endif
