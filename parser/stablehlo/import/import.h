/*
 * From the generic form of StableHLO (mlir.h) to a module: shared by the files of the importer.
 *
 *     import.c       entry point: the entry function, its arguments and results
 *     names.c        names of arguments and results; which result replaces which argument
 *     rows.c         the table of ops (import.def)
 *     constraints.c  what the specification requires of element types, on the tree as written
 *     block.c        ops one by one: checks that apply to all of them
 *     region.c       inlined bodies; which ones are a known monoid
 *     control.c      calls, loops, branches
 *     complex*.c     complex numbers as pairs of real ones, before the import
 *     state/         values, types and constants; messages; values that follow from constants
 *     build/         attributes read; gathers, windows and bodies as IR ops
 *     ops/ sum/ collective/    the functions of the table
 *     ../spmd/       the mesh, and which values vary over it
 */
#ifndef PARSER_STABLEHLO_IMPORT_H
#define PARSER_STABLEHLO_IMPORT_H

#include "parser/stablehlo/import/state/state.h"

/* The module of a file; owned by `owner`. NULL after errors. */
struct ir_module *stablehlo_import(
	const void *owner, const struct mlir_file *file, const struct import_options *options);

/* --- regions ---------------------------------------------------------------------------------- */

/*
 * Imports the body of a region in place, with `in` as its arguments (which may be larger than the
 * region's scalar arguments: all ops of the body are then taken element by element, and have to be
 * pointwise). Fills out[] with what its terminator returns. Returns false after reporting or
 * import_unsupported.
 */
bool import_region(struct import *im, const struct mlir_op *op, int region,
	const struct import_value *in, int nin, struct import_value *out, int nout);

/* The monoid that a region of two scalars computes, if it is one of these: MONOID_MAX for maximum
 * and for compare with select alike. */
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

/* The IR op that reduces with the monoid on element type t; OP_NCODES: none. */
enum op_code import_monoid_reduction(enum import_monoid m, enum ir_dtype t);

/* The elementwise op of a monoid, on numbers or bool; OP_NCODES for OTHER and SECOND. */
enum op_code import_monoid_op(enum import_monoid m, enum ir_dtype t);

/*
 * Has region r of the op n arguments and nout results, of the types of those values? NULL:
 * arguments are any scalars, results are of any type. If not, reports and returns false.
 */
bool import_check_region(struct import *im, const struct mlir_op *op, uint32_t r,
	const struct import_value *arg, int n, const struct import_value *result, int nout);

/* --- the table -------------------------------------------------------------------------------- */

enum import_pointwise { POINTWISE_NO, POINTWISE_YES, POINTWISE_SHAPE };

/* What results are, for narrow elements: computed, elements of operands, or a matter of where bits
 * are. */
enum import_values { VALUES_COMPUTED, VALUES_MOVED, VALUES_BITS };

/* A row of import.def. */
struct import_row {
	const char *name;
	import_function *function; /* NULL: element by element, or refused */
	const char *operands;      /* t: a tensor, e: one that may be empty, x: anything; * and +
				      after the last: any number, one or more */
	int8_t results, regions;   /* -1: any number */
	uint8_t pointwise;         /* enum import_pointwise */
	uint8_t values;            /* enum import_values */
	int16_t numbers, bools;    /* of POINT: IR ops; OP_NCODES: none */
	const char *refused;       /* known, but not supported: why */
	const char *template;      /* the function of templates.dir that computes it; NULL: none */
	bool table;                /* it has tables along the last dim, of size 1 in operands */
};

/* The row for an op name (interned), NULL: unknown. */
const struct import_row *import_find(const struct import *im, const char *name);

/* The row for the parts of complex numbers has this before the op's name. */
#define IMPORT_COMPLEX "complex "

/* Does the tree meet the constraints of element types? False after reporting: constraints.c. */
bool import_constraints(struct import *im);

/* Rewrites the tree so that each complex value is a pair of real ones: complex.c. */
void import_complex(struct import *im);

/* Binds a value of the tree (an argument, a result) to an imported value. */
void import_bind(struct import *im, struct mlir_value *v, const struct import_value *value);
/* The imported value of v. */
struct import_value import_get(const struct mlir_value *v);

/* Imports the ops of a block up to its terminator, whose operands go to out[]. */
bool import_block(struct import *im, const struct mlir_op *op, const struct mlir_block *b,
	struct import_value *out, int nout);

/* Erases the unused ops after `after`, or all unused ops (NULL): conditions of loops, constants
 * that became attributes. */
void import_sweep(struct ir_block *b, const struct ir_op *after);

/* Element by element: rows of POINT. */
bool import_point(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out);

/* As the row says, without checks of operands and results. */
bool import_by_row(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out);

/* Has the type elements of fewer bits than the one that holds them here (ops/narrow.c)? A value
 * rounded, or wrapped, to such elements; NULL after reporting. */
bool import_is_narrow(const struct mlir_type *t);
struct ir_value *import_narrow(struct import *im, struct ir_value *v, const struct mlir_type *t);

/* Element by element, by a function of templates.dir: rows of TEMPLATE. */
bool import_template(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out);

/* The name of a func.func; "" if it has none. */
const char *import_function_name(const struct mlir_op *func);

/* A call of a function. */
bool import_call_function(struct import *im, const struct mlir_op *op, const struct mlir_op *func,
	const struct import_value *in, int nin, struct import_value *out, int nout);

/* --- arguments, results, names (names.c) ------------------------------------------------------ */

/* A name made valid ("params['w']" -> "params.w") and unique; `otherwise` if nothing is left of
 * it. Interned. */
const char *import_symbol(struct import *im, const char *text, const char *otherwise);

/* Sets carried[i] to the result that is argument i's next value, or -1. False after reporting. */
bool import_carried(struct import *im, const struct mlir_op *func, int *carried);

/* Names the open sizes of the arguments (open_sizes.c); then the type of an argument with its
 * sizes, NULL after reporting. */
void import_open_sizes(struct import *im, const struct mlir_block *b);
const struct mlir_type *import_sized(
	struct import *im, const struct mlir_op *func, uint32_t argument);

/* An output of that name, made unique, with these attributes. */
bool import_output(struct import *im, const char *name, const struct import_value *v,
	const struct ir_attr *attr, int nattrs);

#endif
