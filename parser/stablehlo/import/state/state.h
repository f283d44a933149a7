/*
 * The state of an import: values, messages, and builders that all files of the importer use.
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
#ifndef PARSER_STABLEHLO_IMPORT_STATE_STATE_H
#define PARSER_STABLEHLO_IMPORT_STATE_STATE_H

#include "ir/base/vec.h"
#include "ir/interp/interp.h"
#include "ir/ir.h"
#include "parser/stablehlo/mlir/mlir.h"

enum import_limit {
	IMPORT_MAX_UNROLLED = 1 << 16, /* most ops that a loop or window is unrolled to */
	IMPORT_MAX_TRIPS = 1 << 10, /* most iterations that are unrolled: layers and micro-batches
					  are fewer, and C sources of more copies of a body compile
					  for minutes; longer loops, such as scans over a sequence,
					  stay loops */
	IMPORT_MAX_CALLS = 100,     /* nesting of calls */
	IMPORT_MAX_OPS = 1 << 23,   /* imported, counted for each call and iteration: calls
					  that double at each level would exhaust memory */
	IMPORT_MAX_MISSING = 200,   /* messages of unsupported ops */
	IMPORT_MAX_KNOWN = 1 << 20, /* elements of a value that import_known computes: enough
					  for sizes and indices */
};

/* The imported form of an mlir_value. */
struct import_value {
	struct ir_value *value;       /* NULL: token, tuple, empty tensor, or failed */
	const struct mlir_type *type; /* on one process; static, even if the text says `?` */
	uint32_t varies; /* bit a: it has a leading dim for mesh axis a, in ascending order */
	bool failed;     /* its op failed: no more messages */
	uint32_t nitems; /* of a tuple */
	const struct import_value *item;
};

struct import;

/*
 * Imports one op: `in` its operands, `out` its results (zeroed). Returns false after reporting, or
 * after import_unsupported. The caller has checked the row of import.def: numbers of operands,
 * results and regions; that operands are tensors with elements (if the row says `t`). It compares
 * the results' types with those written, and sets out[i].type if it is NULL. So a function reads
 * in[i].type, not the type in the text, and checks what inference would not: element types, dims in
 * range, signatures of regions.
 */
typedef bool import_function(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out);

/* The outcome of an import, for -expect. */
struct import_outcome {
	const char *name; /* of the program: its entry function, or its module if that is main;
			     interned, NULL: not read so far */
	bool unsupported; /* the program is valid, but something in it is not supported */
	unsigned checks;  /* outputs check.0 ... */
};

/* -D b=64: the value of a size that the text leaves open. */
struct import_size {
	const char *name;
	int64_t value;
};

struct import_options {
	const struct import_size *size;
	int nsizes;
	bool *used; /* [nsizes] set if an argument has it */
	const char
		*carry; /* -carry: "auto", "none" or "0,2:1,4-6:2-4": argument:result; NULL: auto */
	int64_t replicas;  /* -replicas: for programs that leave it open (groups of one); 0: none */
	const char *entry; /* -entry: the function of the step; NULL: main, or the only public one,
			      or the first */
	struct import_outcome *outcome; /* filled in if not NULL */
	bool expect; /* outputs check.N.found, .expected and .agrees in addition to check.N */
};

struct import {
	const struct mlir_file *file;
	const struct import_options *options;
	struct ir_module *module;
	struct ir_builder builder; /* .loc is that of the current op */
	struct diag *diag;
	struct arena *arena; /* of values and scratch, until the import ends */
	int depth;           /* of nested calls */
	const char *caller;  /* place of the innermost call that has one: mlir_op.place; or NULL */
	int pointwise;       /* above 0: in a region whose scalars may be whole tensors */
	uint32_t nops;       /* imported so far */
	const struct import_row *row; /* the table of ops */
	int nrows;
	struct ptr_map *rows;               /* op name -> struct import_row */
	struct ptr_map *funcs;              /* function name -> func.func */
	struct VEC(const char *) open_name; /* of each `?` in arguments, in order */
	struct ptr_map *templates;          /* calls of templates -> modules: build/template.c */
	struct ptr_map *symbols;            /* names of inputs and outputs in use */
	struct import_missing *missing;     /* unsupported ops: name, first place, how often */
	struct import_known *known;         /* known.c */
	uint32_t nchecks;                   /* check.c */
	struct import_probe *probes;        /* check.c: the last one first */
	bool failed;                        /* an error was reported or will be */
	void *spmd;                         /* spmd.c */
};

/*
 * Notes that the op, or a form of it, cannot be expressed. Nothing is printed yet: the import ends
 * with one message for each op and reason, with the first place and the number of occurrences.
 * `why` ends a sentence, "a comparator that is not an order", or is NULL. Returns false.
 */
bool import_unsupported(struct import *im, const struct mlir_op *op, const char *why);

/* The same with a formatted reason: printf-like. */
bool import_unsupported_form(struct import *im, const struct mlir_op *op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct import_missing *import_missing_create(const void *owner);
/* Reports all that is not supported, at the end. */
void import_missing_report(struct import *im);

/* A message at the op. Returns false. */
bool import_error(struct import *im, const struct mlir_op *op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- building --------------------------------------------------------------------------------- */

/* Number of leading dims. */
static inline int
import_lead(const struct import_value *v)
{
	return __builtin_popcount(v->varies);
}

/*
 * The IR type of a value that has type `t` on one process and varies over the axes `varies`:
 * leading dims split. NULL after reporting: unsupported element type, dynamic size, rank above
 * IR_MAX_RANK.
 */
const struct ir_type *import_type(
	struct import *im, const struct mlir_op *op, const struct mlir_type *t, uint32_t varies);

/* Makes n operands vary over the same axes: adds missing leading dims, either of size 1, which
 * pointwise ops repeat, or (broadcast = true) repeated to the size of the axis and split. */
void import_align(struct import *im, struct import_value *v, int n, bool broadcast);

/* Result `i` of `op` from an IR value that varies over `varies`. The local type is the op's. */
struct import_value import_result(
	const struct mlir_op *op, int i, struct ir_value *value, uint32_t varies);
/* The same, into out[i]. False: there is no value, as something before failed. */
bool import_give(const struct mlir_op *op, int i, struct ir_value *value, uint32_t varies,
	struct import_value *out);

/* Has result i the sizes dim[rank], as far as its written type has them? Reports if not: for results
 * that get no value of the IR, as they or their operands are empty. */
bool import_check_shape(
	struct import *im, const struct mlir_op *op, int i, const int64_t *dim, int rank);

/* A scalar constant of element type `t`, copied everywhere; integers and bool exact. */
struct ir_value *import_scalar(struct import *im, enum ir_dtype t, double value);
struct ir_value *import_integer(struct import *im, enum ir_dtype t, int64_t value);

/* A constant from a dense attribute: constant() of a splat, else literal(). NULL after reporting.
 */
struct ir_value *import_dense(
	struct import *im, const struct mlir_op *op, const struct mlir_dense *d);

/* A constant of n elements that are not all the same. */
struct ir_value *import_build_literal(
	struct import *im, const struct ir_type *type, const union cell *v, int64_t n);

/* A constant from a tensor. */
struct ir_value *import_tensor_value(struct import *im, const struct tensor *t);

/* A type on one process, in the file's arena: tensor<4x3xf32>. */
const struct mlir_type *import_local_type(
	struct import *im, enum ir_dtype dtype, int rank, const int64_t *dim);

/* Same element type and sizes (those that are known). */
bool import_same_type(const struct mlir_type *a, const struct mlir_type *b);
bool import_same_shape(const struct mlir_type *a, const struct mlir_type *b);

/* Has the type a dim of size 0? Such a value has no ir_value, which is never empty. */
bool import_is_empty(const struct mlir_type *t);
bool import_is_static(const struct mlir_type *t);

/*
 * Ops on all dims, leading ones too; a value that would not change is returned itself, and NULL is
 * of NULL: build/build.h has more of them. Dim i of a transpose is dim perm[i] of v; a swap
 * exchanges two dims.
 */
struct ir_value *build_reshape(
	struct import *im, struct ir_value *v, const int64_t *shape, int rank);
struct ir_value *build_transpose(struct import *im, struct ir_value *v, const int64_t *perm);
struct ir_value *build_swap(struct import *im, struct ir_value *v, int dim, int other);

/*
 * Ops on local dims, which keep the leading dims of v. Shape changes: reshape to `dim`; broadcast
 * to `dim`, where local dim i of v becomes dims[i] (any order, size 1 is repeated), dims NULL: the
 * last ones; transpose, result dim i is dim perm[i].
 */
struct ir_value *import_build_reshape(
	struct import *im, const struct import_value *v, int rank, const int64_t *dim);
struct ir_value *import_build_broadcast(struct import *im, const struct import_value *v, int rank,
	const int64_t *dim, const int64_t *dims);
struct ir_value *import_build_transpose(
	struct import *im, const struct import_value *v, const int64_t *perm);

/* Element by element: operands are aligned, scalars and missing dims repeated. */
struct ir_value *import_build_point(struct import *im, enum op_code code,
	const struct import_value *v, int n, const struct ir_attr *attr, int nattrs,
	uint32_t *varies);

/* Converts the element type as stablehlo.convert does: to bool is != 0. */
struct ir_value *import_build_convert(struct import *im, struct ir_value *v, enum ir_dtype to);

/*
 * The value of v if it depends only on constants, computed by the reference interpreter: a tensor
 * owned by `owner`; NULL if it is not constant. For trip counts, branches, dynamic shapes.
 */
struct tensor *import_known(const void *owner, struct import *im, const struct import_value *v);
struct import_known *import_known_create(const void *owner);

/* Integers of a known value of rank 0 or 1 into out[max]; their number, -1: unknown or too many. */
int import_known_ints(struct import *im, const struct import_value *v, int64_t *out, int max);

/* --- a map from pointers to pointers (ptr_map.c) ---------------------------------------------- */

struct ptr_map;
struct ptr_map *ptr_map_create(const void *owner);
void ptr_map_set(struct ptr_map *m, const void *key, const void *value);
const void *ptr_map_get(const struct ptr_map *m, const void *key); /* NULL: none */

/* The function of that name (a func.func), or NULL. */
static inline const struct mlir_op *
import_func(const struct import *im, const char *name)
{
	return ptr_map_get(im->funcs, ir_name(im->module->ctx, name));
}

#endif
