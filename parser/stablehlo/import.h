/*
 * From the generic form of StableHLO (mlir.h) to a module of ours: the importer's shared parts.
 *
 *     import.c          the whole: functions, arguments and results, unsupported ops counted
 *     import_ops.c      the table: op name -> function below; pointwise ops are rows of their own
 *     import_*.c        families: shapes, products, convolutions, reductions, windows, index,
 * order, control flow, collectives, checks spmd.h            the mesh, and which values vary over
 * it
 *
 * An explicit SPMD program says what one process does. Here a value that differs between processes
 * is one whole tensor with one more leading dim for each mesh axis that it varies over, split over
 * that axis: process (i, j) has element [i, j] of it.
 *
 *     tensor<32x784xf32> that varies over dp = 4    ->  f32[4/dp,32,784]
 *     tensor<32x784xf32> that is the same everywhere ->  f32[32,784]
 *
 * Every op is batched over the leading dims, so that dim d of StableHLO is dim `lead + d` here. An
 * all_reduce sums over leading dims, which is a partial sum for free, and then an allreduce. A
 * program for one process has no axes and no leading dims.
 */
#ifndef PARSER_STABLEHLO_IMPORT_H
#define PARSER_STABLEHLO_IMPORT_H

#include "ir/ir.h"
#include "parser/stablehlo/mlir.h"

enum import_limit {
	IMPORT_MAX_UNROLLED = 1 << 16, /* ops that loops and windows may be unrolled to, each */
	IMPORT_MAX_CALLS = 100,        /* functions in each other */
};

/* What an mlir_value became. */
struct import_value {
	struct ir_value *value; /* NULL: a token, or a value whose op failed (no more messages) */
	const struct mlir_type *type; /* at one process */
	uint32_t varies;              /* bit a: it has a leading dim for mesh axis a; ascending */
};

struct import;

/*
 * Imports one op: `in` its operands, `out` its results (zeroed). Returns false after reporting, or
 * after import_unsupported.
 */
typedef bool import_function(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out);

struct import_options {
	const char
		*carry; /* -carry: "auto", "none" or "0,2:1,4-6:2-4": argument:result; NULL: auto */
	int64_t replicas;  /* -replicas: of a program that leaves the number open (groups of one); 0
			    */
	const char *entry; /* -entry: the function that is the step; NULL: main, or the only public
			      one */
};

struct import {
	const struct mlir_file *file;
	const struct import_options *options;
	struct ir_module *module;
	struct ir_builder builder; /* .loc is that of the op at hand */
	struct diag *diag;
	int naxes;                      /* of the module's mesh */
	int depth;                      /* functions in each other */
	struct import_missing *missing; /* unsupported ops: name, first place, how often */
	void *checks;                   /* import_check.c */
	void *spmd;                     /* spmd.c */
};

/* The module of a file; owned by `owner`. NULL after errors. */
struct ir_module *stablehlo_import(
	const void *owner, const struct mlir_file *file, const struct import_options *options);

/*
 * The op, or a form of it, cannot be expressed. Nothing is printed yet: at the end there is one
 * message for each op and reason, with its first place and how often it occurs. `why` is a
 * sentence's end, "a comparator that is not an order", or NULL. Returns false.
 */
bool import_unsupported(struct import *im, const struct mlir_op *op, const char *why);

/* A message at the op. Returns false. */
bool import_error(struct import *im, const struct mlir_op *op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- building
 * ------------------------------------------------------------------------------------- */

/* Number of leading dims. */
static inline int
import_lead(const struct import_value *v)
{
	return __builtin_popcount(v->varies);
}

/*
 * The IR type of a value of that type at one process that varies over these axes: leading dims
 * split. NULL after reporting: element type that is none of ours, dynamic size, rank above
 * IR_MAX_RANK.
 */
const struct ir_type *import_type(
	struct import *im, const struct mlir_op *op, const struct mlir_type *t, uint32_t varies);

/* Makes n operands vary over the same axes: missing leading dims come as size 1 (broadcast =
 * false), which pointwise ops repeat, or repeated to the axis' size and split. */
void import_align(struct import *im, struct import_value *v, int n, bool broadcast);

/* Result `i` of `op` from an IR value that varies over these axes. The local type is the op's. */
struct import_value import_result(
	const struct mlir_op *op, int i, struct ir_value *value, uint32_t varies);

/* A scalar constant of that element type, copied everywhere. */
struct ir_value *import_scalar(struct import *im, enum ir_dtype t, double value);

/* A constant from a dense attribute: constant() of a splat, else literal(). */
struct ir_value *import_dense(
	struct import *im, const struct mlir_op *op, const struct mlir_dense *d);

/*
 * The number that a value is known to be at import: it depends on constants alone, and the
 * reference interpreter computes it. Fills a tensor owned by `owner`; NULL where it is not
 * constant. For trip counts, branches, dynamic shapes.
 */
struct tensor *import_known(const void *owner, struct import *im, const struct import_value *v);

/* --- regions
 * -------------------------------------------------------------------------------------- */

/*
 * The body of a region in place, with its arguments being `in` (which may be larger than the
 * region's scalar arguments: all ops of the body are then taken element by element, and have to be
 * pointwise). Fills out[] with what its terminator returns. Returns false after reporting or
 * import_unsupported.
 */
bool import_region(struct import *im, const struct mlir_op *op, int region,
	const struct import_value *in, int nin, struct import_value *out, int nout);

/* What a region of two scalars is, if it is one of these: max is `max` whatever compare or
 * maximum spells it. */
enum import_monoid {
	MONOID_OTHER,
	MONOID_ADD,
	MONOID_MUL,
	MONOID_MAX,
	MONOID_MIN,
	MONOID_AND,
	MONOID_OR,
	MONOID_XOR,
	MONOID_SECOND /* returns its second argument */
};
enum import_monoid import_region_monoid(const struct mlir_block *region);

/* --- the table
 * ------------------------------------------------------------------------------------ */

/* The function for an op name, NULL: unknown. */
import_function *import_find(const char *name);

/* Imports the ops of a block up to its terminator, whose operands go to out[]. */
bool import_block(
	struct import *im, const struct mlir_block *b, struct import_value *out, int nout);

#endif
