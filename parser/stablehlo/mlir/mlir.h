/*
 * MLIR text as a tree: the form in which parser/stablehlo/ reads a StableHLO file, before the
 * meaning of its ops is considered.
 *
 *     text --mlir.l--> tokens --mlir.y--> ops as written --pretty.c--> generic form (this tree)
 *          --import/import.h--> a module
 *
 * In this tree every op has its generic form, whatever form the text had: operands, attributes
 * under their generic names (`dot_dimension_numbers`, `window_strides` ...), regions, a signature.
 * A table by op name (pretty.c) says how the items of a pretty form become these; a region that
 * `applies` abbreviates is built. So later stages see only one form.
 *
 * Sources: MLIR language reference (generic op syntax, attributes, types, locations); the StableHLO
 * specification (attributes by op); assembly formats as JAX prints them.
 *
 * All of it lives in the arena of one mlir_file. Texts are interned in its context (ir_name), so
 * that names compare by pointer.
 */
#ifndef PARSER_STABLEHLO_MLIR_H
#define PARSER_STABLEHLO_MLIR_H

#include "ir/base/arena.h"
#include "ir/ir.h"

enum mlir_limit {
	MLIR_MAX_DEPTH = 200, /* nested regions, types and attributes; readers recurse */
};

enum mlir_type_kind {
	MLIR_TENSOR,   /* ranked; a scalar has rank 0 */
	MLIR_SCALAR,   /* f32, i64, index: the type of an attribute */
	MLIR_TUPLE,    /* item[] */
	MLIR_FUNCTION, /* item[0 ... ninputs) -> item[ninputs ... n) */
	MLIR_OTHER,    /* !stablehlo.token, !quant.uniform<...>, unranked ...: only its text */
};

enum { MLIR_DYNAMIC = -1 }; /* the size `?` */

struct mlir_type {
	uint8_t kind;  /* enum mlir_type_kind */
	int8_t dtype;  /* enum ir_dtype of a tensor or scalar; -1: another one (i4, f8E4M3FN,
			  complex<f32>) */
	uint16_t rank; /* may exceed IR_MAX_RANK, which the importer refuses */
	const int64_t *dim;
	const struct mlir_type *const *item; /* tuple, function */
	uint16_t nitems, ninputs;
	const char *element; /* the element type as text: "f32", "ui4", "index"; interned */
	const char *text;    /* as written; interned */
};

/* Elements of a dense attribute. A splat has one element, whatever the type. */
struct mlir_dense {
	const struct mlir_type *type;
	bool splat;
	bool complex; /* two numbers an element */
	int64_t n;    /* numbers stored: 1 for a splat, else all elements (twice that if complex) */
	bool is_float; /* by the element type: .f, else .i (u64: the same bits) */
	union mlir_number {
		double f;
		int64_t i;
	} * number;
};

enum mlir_attr_kind {
	MLIR_UNIT, /* only a name: is_stable */
	MLIR_INT,  /* 3 : i64 */
	MLIR_FLOAT,
	MLIR_BOOL,   /* in .i */
	MLIR_STRING, /* unescaped in .s */
	MLIR_SYMBOL, /* @name, in .s without the @; @a::@b as "a::b" */
	MLIR_WORD, /* a bare word, an enum: DEFAULT, LT; `#stablehlo<precision DEFAULT>` is DEFAULT
		    */
	MLIR_LIST, /* [..], array<i64: ..>, <[..]>: item[] */
	MLIR_DICT, /* {..}, and the inside of #stablehlo.dot<a = .., b = ..>: item[] with names */
	MLIR_DENSE,
	MLIR_TYPE,
	MLIR_VALUE,  /* %x, only in pretty forms, never in the generic form */
	MLIR_OPAQUE, /* another dialect's: its text in .s */
};

struct mlir_attr {
	const char *name; /* interned; NULL for an item of a list */
	uint8_t kind;     /* enum mlir_attr_kind */
	uint32_t n;       /* items of a list or dict */
	struct ir_loc loc;
	const char *dialect; /* of #stablehlo.dot<..>: "stablehlo.dot"; else NULL; interned */
	union {
		int64_t i;
		double f;
		const char *s;
		const struct mlir_attr *item;
		const struct mlir_dense *dense;
		const struct mlir_type *type;
	};
};

/* A value: an argument of a block, or a result of an op. */
struct mlir_value {
	const char *name;             /* without %, of `%r:2` the name before the colon; interned */
	const struct mlir_type *type; /* known once the op that makes it was read */
	struct mlir_op *op;           /* NULL for an argument */
	struct mlir_block *block;     /* whose argument it is, or NULL */
	uint32_t index;               /* among the results or arguments */
	struct ir_loc loc;
	const struct mlir_attr *attr; /* of a function's argument: {tf.aliasing_output = 0 : i32} */
	uint32_t nattrs;
	const char *debug_name; /* of loc("params['w']"); NULL: none */
	void *data;             /* the importer's */
};

struct mlir_block {
	struct mlir_value *arg;
	uint32_t nargs;
	struct mlir_op *first, *last;
	struct mlir_op *parent;
};

/* A region has one block, as nothing here branches. An empty region has a block without ops and
 * arguments. */

struct mlir_op {
	struct mlir_op *next;
	struct mlir_block *block;
	const char *name; /* "stablehlo.add", "func.func", "module"; interned. Bare `return`, `call`
			     are "func.return", "func.call", and `module` is "builtin.module" */
	struct ir_loc loc; /* of the op's name in the user's text */
	struct mlir_value *const *operand;
	const struct ir_loc *operand_loc;
	struct mlir_value *result;
	const struct mlir_attr *attr; /* properties <{..}> and attributes {..} together */
	struct mlir_block *region;
	uint32_t noperands, nresults, nattrs, nregions;
	const char *debug_name; /* of a trailing loc("..."), resolved through #loc aliases; NULL:
				   none */
	const char *place;   /* "step.py:12", the innermost of its locations that is in the user's
				   files; NULL: none is known */
	const char *refused; /* why the op cannot be imported, found before the import; else
				   NULL */
};

/*
 * func.func: attributes sym_name (STRING), function_type (TYPE), sym_visibility; region 0 has the
 * arguments, which hold their attributes; attributes of results are in res_attrs, a LIST of one
 * DICT for each. builtin.module: sym_name, its attributes, region 0. sdy.mesh: sym_name and mesh,
 * a DICT with `axes`, a LIST of DICTs {name, size}, and perhaps device_ids. sdy.manual_computation:
 * in_shardings, out_shardings (LISTs of sharding DICTs), manual_axes, region 0. A sharding
 * `#sdy.sharding<@mesh, [{"x", ?}, {}], replicated={"y"}>` is a DICT {mesh = SYMBOL, dims = LIST of
 * DICTs {axes = LIST, open = BOOL, priority = INT}, replicated = LIST}; an axis is a STRING, a
 * sub-axis `"x":(1)2` a DICT {name, pre_size, size}.
 */

struct mlir_file {
	struct arena *arena;
	struct ir_context *ctx;
	struct mlir_op
		*module; /* a builtin.module: the text's, or one made around its top-level ops */
	uint32_t nops;
};

/*
 * Reads a text of n bytes; `name` is what messages show. The file is a talloc child of `owner`.
 * Reports all errors (after a syntax error it resumes at the next op) and then returns NULL. It
 * checks the rules of MLIR itself: names defined once and before their uses, numbers of results,
 * types of uses against definitions, dense attributes against their types, nesting.
 */
struct mlir_file *mlir_read(
	const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n);
/* The same; the text is not copied: diag_lend_source. */
struct mlir_file *mlir_read_lent(
	const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n);

/* Does a text look like MLIR and not like .dir? By its first words: for standard input. */
bool mlir_is_text(const char *text, size_t n);

/* NULL if there is none of that name (any text; it is interned here). */
const struct mlir_attr *mlir_attr_find(const struct mlir_op *op, const char *name);
const struct mlir_attr *mlir_item_find(const struct mlir_attr *dict, const char *name);

/*
 * Integers of a LIST of INT or BOOL, or a DENSE of integers (a splat fills its type), into
 * out[max]. Returns their number, -1 if the attribute is another kind or has more.
 */
int mlir_attr_ints(const struct mlir_attr *a, int64_t *out, int max);

#endif
