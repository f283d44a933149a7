/*
 * The IR: a module holds functions, a function a list of ops, an op its operands, attributes and
 * results. Ops and values live in the module's arena; the lists are intrusive and every value knows
 * its uses, so that any change is O(1).
 *
 *   context   types, names and the op table, shared by modules
 *     module    axes, functions
 *       func      @main: one training step; the others are templates that `call` inlines
 *         block     ops in issue order
 *           op        operands (uses), attributes, results (values), for fuse and while a block of
 *                     its own
 *
 * In a template no value has a type yet (value->type is NULL, op->written keeps the written types)
 * and attributes may be size expressions; inlining resolves both.
 *
 * Ops and values have ids among those of their module, which stay until ir_module_renumber. To
 * attach data to ops or values, keep an array of module->op_ids or module->value_ids entries, by id
 * (ir/numbering.h: positions); the module itself is not changed.
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "ir/base/api.h"
#include "ir/base/arena.h"
#include "ir/base/diag.h"
#include "ir/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

DOPT_API_BEGIN

enum op_code {
#define OP(name, ...) OP_##name,
#include "ir/ops/ops.def"
#undef OP
	OP_NCODES
};

enum op_trait {
	TRAIT_PURE = 1 << 0,       /* result depends only on operands and attributes */
	TRAIT_COMMUTES = 1 << 1,   /* its two operands may be exchanged */
	TRAIT_WRITTEN = 1 << 2,    /* no operands: the written type is the type */
	TRAIT_NAMED = 1 << 3,      /* has a name in quotes (a function for call): op->symbol */
	TRAIT_PERSISTENT = 1 << 4, /* keeps its value from step to step */
	TRAIT_EFFECT = 1 << 5,     /* never dead, and no results */
	TRAIT_PARALLEL = 1 << 6,   /* identity on meaning, changes a layout */
	TRAIT_VARIADIC = 1 << 7,   /* any number of operands, one result for each: one collective */
	TRAIT_REGION = 1 << 8,     /* has a body */
	TRAIT_TERMINATOR = 1 << 9, /* the last op of a body */
	TRAIT_CALLS = 1 << 10,     /* a call of a template */
	/* has a name in quotes, op->symbol, on which its random numbers depend:
	   two ops of the same name draw the same numbers */
	TRAIT_KEYED = 1 << 11,
	TRAIT_OWN = 1 << 12,  /* a kernel without index notation: struct special_op */
	TRAIT_SUMS = 1 << 13, /* with TRAIT_PARALLEL: adds partial values up, so no result is -0 */
	TRAIT_COPY = 1 << 14, /* identity on meaning, copies between a device and its host */
	TRAIT_ANY_MEMORY = 1 << 15, /* operands may be in host memory; those of other ops may not */
	/* with TRAIT_PARALLEL: not over time axes, on which slices of
	   different dims exist only one after another */
	TRAIT_DEVICES = 1 << 16,
	TRAIT_PRODUCT = 1 << 17, /* sums of products: computed by matrix units in 16 bits */
	TRAIT_NARROW = 1 << 18,  /* loses no more in 16 bits than the rounding of its result */
	TRAIT_MOVES = 1 << 19,   /* elements in other places, or one of two */
};

enum attr_kind {
	ATTR_INT,
	ATTR_FLOAT,
	ATTR_STRING,
	ATTR_NAME,     /* a bare word, not an axis or dtype: true, false, ring ... */
	ATTR_AXIS,     /* an axis of the module, by number in .i */
	ATTR_DTYPE,    /* an element type, enum ir_dtype in .i */
	ATTR_BOOL,     /* .i is 0 or 1 */
	ATTR_QUANTITY, /* a number with a unit, 25MB, 3us, 450GB/s: .f in base units (bytes, s,
			  bytes/s), .n the unit */
	ATTR_LIST,     /* .n items in .list, of any kind */
	ATTR_SIZE,     /* in templates: a size expression still to be evaluated */
};

enum { IR_MAX_LIST = UINT16_MAX }; /* operands, results, attributes: counted in 16 bits */

/* Chunks of a collective. With more, even 64 MB would be sent in chunks of 16 KB, whose latency is
 * larger than their transfer time on all current links. */
enum { IR_MAX_PARTS = 4096 };

struct ir_size;      /* a size expression: template.h */
struct ir_type_text; /* a written type with size expressions: template.h */

struct ir_attr {
	const char *key; /* interned; NULL for an item of a list */
	uint16_t kind;   /* enum attr_kind */
	uint16_t n;
	struct ir_loc loc; /* of the value */
	union {
		int64_t i;
		double f;
		const char *s; /* interned */
		const struct ir_attr *list;
		const struct ir_size *size;
	};
};

struct ir_value {
	const struct ir_type *type; /* NULL in a template */
	const char *name;           /* without the %; interned; NULL: printed as a number */
	struct ir_op *op;           /* its producer, or NULL for an argument of a block */
	struct ir_use *uses;        /* most recent first */
	uint32_t index;             /* among the results or arguments */
	uint32_t id;                /* unique in its module */
};

struct ir_use {
	struct ir_value *value;
	struct ir_op *op;
	struct ir_use *next, **link;
};

/* The arguments of a block, after a pointer to it, so that other values need no such pointer. */
struct ir_args {
	struct ir_block *block;
	struct ir_value arg[];
};

struct ir_block {
	struct ir_op *first, *last;
	struct ir_func *func;
	struct ir_op *parent; /* the fuse or while it is the body of, or NULL */
	struct ir_value *arg; /* array that ir_block_args made */
	uint32_t nargs;
};

struct ir_op {
	struct ir_op *prev, *next;
	struct ir_block *block;
	uint16_t code; /* enum op_code */
	uint16_t nattrs;
	uint16_t noperands, nresults;
	struct ir_loc loc;
	struct ir_use *operand; /* array of noperands */
	struct ir_attr *attr;   /* array of nattrs, in the order of the op's row */
	struct ir_block *body;  /* of a fuse or while */
	const char *symbol;     /* interned: the name of a param, the callee of a call ... */
	const struct ir_type_text *written; /* in templates */
	uint32_t id;                        /* unique in its module */
	struct ir_value result[];           /* nresults */
};

struct ir_func {
	const char *name; /* without the @ */
	struct ir_module *module;
	struct ir_func *next;
	struct ir_block body; /* arguments: the parameters of a template */
	struct ir_loc loc;
	bool prelude; /* from the prelude: printed only where the module's text contains it */
};

struct ir_let {
	const char *name;
	int64_t value;
	struct ir_loc loc;
};

struct ir_module {
	struct ir_context *ctx;
	struct arena *arena;
	const char *name;           /* without the @ */
	uint32_t op_ids, value_ids; /* given so far: all ids are smaller */
	uint32_t op_ids_before;     /* op_ids at the last renumbering, or when complete */
	struct ir_axis axis[IR_MAX_AXES];
	int naxes;
	struct ir_let *let; /* sizes in scope of templates, in order; talloc array */
	int nlets;
	struct map *let_map;             /* of names to their numbers; NULL: no lets */
	const struct ir_attr *mesh_attr; /* {devices = [...]} or NULL */
	int nmesh_attrs;
	struct ir_func *func, **last_func; /* list in order of the text */
	struct infer_memo *memo;           /* infer_memo.h */
	struct ir_templates *templates;    /* types of calls so far: template.c; NULL: none */
};

struct rule_index;

struct ir_context {
	struct arena *arena;
	struct diag *diag;
	struct ir_intern *intern;            /* names and types: context.c */
	const struct ir_row *row;            /* the op table, parsed: ir/ops/row.h */
	const struct term *(*derivative)[3]; /* of every scalar function for each argument */
	/* rules of canonicalize, once it has run: rules/set.h */
	const struct rule_index *canonical;
};

/* A new context owned by `owner`, with its own diagnostics reporter. Never NULL. */
struct ir_context *ir_context_create(const void *owner);

/* The interned copy of a name: equal names are the same pointer. */
const char *ir_name(struct ir_context *ctx, const char *s);
const char *ir_name_n(struct ir_context *ctx, const char *s, size_t n);

/* Modules and functions. The module is a talloc child of `owner`. */
struct ir_module *ir_module_create(const void *owner, struct ir_context *ctx, const char *name);
struct ir_func *ir_func_create(struct ir_module *m, const char *name, struct ir_loc loc);
/* Adds a let; its name is interned and must differ from those of other lets. */
void ir_let_add(struct ir_module *m, struct ir_let let);
/* The let of an interned name, or NULL. */
const struct ir_let *ir_let_find(const struct ir_module *m, const char *name);
struct ir_func *ir_func_find(
	const struct ir_module *m, const char *name);          /* NULL if there is none */
int ir_axis_find(const struct ir_module *m, const char *name); /* -1 if there is none */
/* Devices: the product of the sizes of the device axes. Places: of all axes, device and time. */
int64_t ir_devices(const struct ir_module *m);
int64_t ir_places(const struct ir_module *m);
/* Coordinates of a place, row-major over the axes in declared order, the last innermost. */
void ir_place_coord(const struct ir_module *m, int64_t place, int coord[IR_MAX_AXES]);

/* Entries of the op table. */
const char *op_name(enum op_code c);
extern const unsigned op_trait_table[];
int op_find(const char *name); /* op code, or -1 */

static inline unsigned
op_traits(enum op_code c)
{
	return op_trait_table[c];
}

static inline bool
op_is(const struct ir_op *op, unsigned trait)
{
	return (op_traits((enum op_code)op->code) & trait) != 0;
}

/*
 * Making and changing ops. An op is created outside any block, then inserted. Results get types
 * from ir_infer or are set by hand. `attr` is copied and sorted in the order of the op's row;
 * missing attributes are not added.
 */
struct ir_op *ir_op_create(struct ir_module *m, enum op_code code, struct ir_loc loc,
	struct ir_value *const *operands, int noperands, const struct ir_attr *attr, int nattrs,
	int nresults);
void ir_block_append(struct ir_block *b, struct ir_op *op);
void ir_insert_before(struct ir_op *at, struct ir_op *op);
void ir_insert_after(struct ir_op *at, struct ir_op *op);
/* Removes the op from its block; its uses stay. To move an op, unlink and insert it. */
void ir_op_unlink(struct ir_op *op);
/* Removes the op from its block and drops its uses. Its results must have no uses. */
void ir_op_erase(struct ir_op *op);
void ir_set_operand(struct ir_op *op, int i, struct ir_value *v);
/* Replaces all operands; the number may change. */
void ir_set_operands(struct ir_module *m, struct ir_op *op, struct ir_value *const *v, int n);
void ir_replace_uses(struct ir_value *from, struct ir_value *to);
/* A copy outside any block with the same attributes, symbol, types and body, and with the
 * given operands. */
struct ir_op *ir_op_clone(
	struct ir_module *m, const struct ir_op *op, struct ir_value *const *operands);
/* An array of n arguments for block->arg, zeroed except for indices and the link to the block. */
struct ir_value *ir_block_args(struct ir_module *m, struct ir_block *b, uint32_t n);
/* Gives a fuse or while an empty body with one argument for each operand, of its type; those of a
 * fuse also have its name. */
struct ir_block *ir_op_make_body(struct ir_module *m, struct ir_op *op);
/* A deep copy of a module in the same context, owned by `owner`. */
struct ir_module *ir_module_clone(const void *owner, const struct ir_module *m);
/* Gives `to` all that `from` has, a module of the same context; `from` must not be used again. */
void ir_module_take(struct ir_module *to, struct ir_module *from);
/* Renumbers all ids, 0, 1, 2 ... in the order of the text, so that tables by id have no entries for
 * erased ops. if_sparse: only if the number of ids has doubled, so that passes which change little
 * do not wait for it. Tables by id are invalid afterwards. */
void ir_module_renumber(struct ir_module *m);
void ir_module_renumber_if_sparse(struct ir_module *m);

static inline struct ir_value *
ir_operand(const struct ir_op *op, int i)
{
	return op->operand[i].value;
}

/* Value k of the op's operands and results, which follow them. */
static inline const struct ir_value *
ir_op_value(const struct ir_op *op, int k)
{
	return k < op->noperands ? ir_operand(op, k) : &op->result[k - op->noperands];
}

/* The block whose argument it is; the block of its producer. */
static inline struct ir_block *
ir_value_block(const struct ir_value *v)
{
	const char *first = (const char *)(v - v->index);

	if (v->op)
		return v->op->block;
	return ((const struct ir_args *)(const void *)(first - offsetof(struct ir_args, arg)))
		->block;
}

/* May the body of `parent` (a fuse or while) contain ops of this code? */
bool ir_body_allows(enum op_code parent, enum op_code code);

/* The operand for an argument of a fuse body; any other value itself. */
static inline const struct ir_value *
ir_value_outside(const struct ir_value *v)
{
	const struct ir_op *fuse = v->op ? NULL : ir_value_block(v)->parent;

	return fuse && fuse->code == OP_fuse ? ir_operand(fuse, (int)v->index) : v;
}

/* The body of a fuse; NULL for any other op. */
static inline struct ir_block *
ir_fuse_body(const struct ir_op *op)
{
	return op->code == OP_fuse ? op->body : NULL;
}

static inline const struct ir_type *
ir_operand_type(const struct ir_op *op, int i)
{
	return op->operand[i].value->type;
}

#define IR_FOR_OPS(op, block) for (struct ir_op *op = (block)->first; op; op = op->next)
/* Allows the op to be erased or moved in the loop. */
#define IR_FOR_OPS_SAFE(op, block)                                                                 \
	for (struct ir_op *op = (block)->first, *op##_next = op ? op->next : NULL; op;             \
		op = op##_next, op##_next = op ? op->next : NULL)
#define IR_FOR_USES(u, value) for (struct ir_use *u = (value)->uses; u; u = u->next)

/* Attributes. Getters return `otherwise` if the op has no attribute of that name. */
const struct ir_attr *ir_attr_find(const struct ir_op *op, const char *key); /* NULL if absent */
int64_t ir_attr_int(const struct ir_op *op, const char *key, int64_t otherwise);
double ir_attr_float(const struct ir_op *op, const char *key, double otherwise);
const char *ir_attr_string(const struct ir_op *op, const char *key, const char *otherwise);
/* Copies a list of integers to out[max]; returns their number, -1 if the attribute is absent. */
int ir_attr_ints(const struct ir_op *op, const char *key, int64_t *out, int max);
/* The shape in which files and initial values have a param, state or output of type t: its attribute
 * `shape`, or that of the type. Returns the rank. */
int ir_file_shape(const struct ir_op *op, const struct ir_type *t, int64_t dim[IR_MAX_RANK]);
/* Sets or replaces one attribute (copied). attr->key names it. */
void ir_attr_set(struct ir_module *m, struct ir_op *op, const struct ir_attr *attr);
void ir_attr_remove(struct ir_op *op, const char *key);
bool ir_attr_equal(const struct ir_attr *a, const struct ir_attr *b);
/* Are all attributes of two ops of one code equal? */
bool ir_attrs_equal(const struct ir_op *a, const struct ir_op *b);

/* Number of chunks in which a collective is sent; 1 if the op has no `parts`. */
uint32_t ir_parts(const struct ir_op *op);
/* The op's row must have the attribute; 1 removes it. */
void ir_set_parts(struct ir_module *m, struct ir_op *op, uint32_t parts);

/* Attribute values for ir_op_create. The context interns their names. */
struct ir_attr ir_make_int(struct ir_context *ctx, const char *key, int64_t i);
struct ir_attr ir_make_float(struct ir_context *ctx, const char *key, double f);
struct ir_attr ir_make_string(struct ir_context *ctx, const char *key, const char *s);
struct ir_attr ir_make_axis(struct ir_context *ctx, const char *key, int axis);
struct ir_attr ir_make_dtype(struct ir_context *ctx, const char *key, enum ir_dtype t);
struct ir_attr ir_make_bool(struct ir_context *ctx, const char *key, bool b);
struct ir_attr ir_make_ints(struct ir_module *m, const char *key, const int64_t *v, int n);

/*
 * Infers and sets the types of an op's results from its operands, its attributes and, for ops that
 * need them or allow several layouts, the written types (NULL: none; else an array with one entry
 * for each result, entries may be NULL). Reports and returns false if the op is invalid or the
 * written type does not fit. Works for every op but call (template.h).
 */
bool ir_infer(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written);

/*
 * Builds ops at an insertion point, in order, with inferred types: what passes use.
 * A failure to infer is a bug of the pass: it is reported, `failed` is set and NULL returned.
 */
struct ir_builder {
	struct ir_module *m;
	struct ir_block *block;
	struct ir_op *before; /* NULL: at the end of the block */
	struct ir_loc loc;
	bool failed;
};

struct ir_value *ir_build(struct ir_builder *b, enum op_code code, struct ir_value *const *operands,
	int noperands, const struct ir_attr *attr, int nattrs);
/* The same for ops whose type must be written (constant, iota, state ...) or is not unique. */
struct ir_value *ir_build_typed(struct ir_builder *b, enum op_code code, const char *symbol,
	struct ir_value *const *operands, int noperands, const struct ir_attr *attr, int nattrs,
	const struct ir_type *type);
struct ir_value *ir_build1(struct ir_builder *b, enum op_code code, struct ir_value *x);
struct ir_value *ir_build2(
	struct ir_builder *b, enum op_code code, struct ir_value *x, struct ir_value *y);
/* A barrier of n >= 1 values, whose results are an array. */
struct ir_value *ir_build_barrier(struct ir_builder *b, struct ir_value *const *operands, int n);
/* A concat of any number of values: a tree of concats. part[] is overwritten. */
struct ir_value *ir_build_concat(struct ir_builder *b, struct ir_value **part, int64_t n, int dim);
/* A scalar constant of that element type. */
struct ir_value *ir_build_scalar(struct ir_builder *b, enum ir_dtype t, double value);

/*
 * Verifier: types and layouts (by inferring again), dominance, operand counts, attributes (known,
 * typed, none missing), names of persistent tensors unique, terminators, use lists. Reports every
 * error.
 */
bool ir_verify(struct ir_module *m);
/* The same without types, for a module whose types have just been inferred. */
bool ir_verify_structure(struct ir_module *m);

/* Prints the module; the text parses to an equal module. ir_print_op prints one line. */
void ir_print(FILE *out, const struct ir_module *m);
void ir_print_op(FILE *out, const struct ir_module *m, const struct ir_op *op);

DOPT_API_END

#endif
