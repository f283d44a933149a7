/*
 * Templates: functions that `call` inlines. In a template sizes and types are expression trees and
 * values have no types; in an instance both are evaluated:
 *
 *     func @dense(%x) {                                 call @dense(%h) {N = 10, as = "fc"}
 *       %w = param("w") : f32[dim(%x, -1),N]    -->     %fc.w = param("fc.w")  : f32[512,10]
 *       %y = matmul(%x, %w)                             %fc.y = matmul(%h, %fc.w) : f32[64,10]
 *       return(%y)
 *     }
 *
 * A name in a size is an attribute of the call or, if there is none of that name, a let of the
 * module. An attribute of the call may also be a number with a fraction, for attributes that are
 * not part of a shape: {rate = 0.1}. Trees are immutable and allocated in the arena of the context,
 * so that clones of a module share them.
 */
#ifndef IR_TEMPLATE_H
#define IR_TEMPLATE_H

#include "ir/ir.h"

#include <string.h>

enum template_limit {
	SIZE_MAX_DEPTH = 200,         /* nesting of an expression; evaluation recurses */
	TEMPLATE_MAX_DEPTH = 100,     /* calls within calls; real models have five */
	TEMPLATE_MAX_REPEAT = 100000, /* blocks in a chain */
	TEMPLATE_MAX_OPS = 5000000,   /* with all calls inlined: nested repeats multiply */
};

/* Every function but @main, whose values have types. */
static inline bool
ir_func_is_template(const struct ir_func *f)
{
	return strcmp(f->name, "main") != 0;
}

enum size_kind { SIZE_INT, SIZE_NAME, SIZE_DIM, SIZE_NEG, SIZE_ADD, SIZE_SUB, SIZE_MUL, SIZE_DIV };

/* A size expression. */
struct ir_size {
	uint8_t kind;   /* enum size_kind */
	uint16_t depth; /* of the tree; at most SIZE_MAX_DEPTH */
	struct ir_loc loc;
	int64_t i;                    /* SIZE_INT */
	const char *name;             /* SIZE_NAME: interned; SIZE_DIM: the value, without the % */
	const struct ir_size *arg[2]; /* SIZE_DIM: arg[0] is the dimension */
};

/* "+axis" or "@axis=place" after a shape. */
struct ir_type_suffix {
	const char *axis;            /* interned */
	const struct ir_size *place; /* NULL: partial */
	struct ir_loc loc;
};

/* A written type. Splits are part of the sizes: f32[B/dp,4] has B divided by the name dp. */
struct ir_type_text {
	enum ir_dtype dtype;
	enum ir_memory memory;
	const char *letter; /* of a rule: any type of its class, instead of dtype; NULL: none */
	bool dots;          /* of a rule: any dims come first */
	bool param;         /* of a rule: computed from params and constants alone */
	int rank, nsuffixes;
	struct ir_loc loc;
	const struct ir_size *const *dim;
	const struct ir_type_suffix *suffix;
	const struct ir_type_text *next; /* of the op's next result */
};

/* The scope of names in sizes. */
struct ir_size_scope {
	struct ir_module *m;      /* its lets and axes */
	const struct ir_op *call; /* its other attributes are sizes; NULL: none */
	/* The type of the value of that name, NULL if there is none; the function may be NULL. */
	const struct ir_type *(*type_of)(const void *data, const char *name);
	const void *data;
};

/*
 * The number of an attribute: as ir_size_eval if all names in it are integers. If the call gives
 * one of them a number with a fraction, it is evaluated in floating point, with real division, and
 * *fraction is set.
 */
bool ir_size_number(
	const struct ir_size_scope *scope, const struct ir_size *s, double *value, bool *fraction);

/* The value of a size. False, reported at its place: a name is not set or a number does not fit. */
bool ir_size_eval(const struct ir_size_scope *scope, const struct ir_size *s, int64_t *value);

/* The written type with its sizes evaluated, or NULL after an error. */
const struct ir_type *ir_type_resolve(
	const struct ir_size_scope *scope, const struct ir_type_text *t);

/* x and y joined by an operator of sizes; false: not an integer, or not one of 64 bits. */
bool ir_size_join(enum size_kind kind, int64_t x, int64_t y, int64_t *to);
double ir_size_join_real(enum size_kind kind, double x, double y);

/* Calls `see` for every name in a size, in the sizes of an attribute, or in those of a template, in
 * types and in attributes. */
typedef void ir_see_name(void *data, const char *name);
void ir_size_names(const struct ir_size *s, ir_see_name *see, void *data);
void ir_attr_names(const struct ir_attr *a, ir_see_name *see, void *data);
void ir_template_names(const struct ir_func *f, ir_see_name *see, void *data);

/*
 * Types of the results of a call that stays in the IR, found with a temporary instance, which equal
 * calls share. `written` as for ir_infer, which calls this. Reports, with a note at the call, and
 * returns false if the call is invalid: unknown function, recursion, number of arguments or
 * results, a size not set, an op that does not fit. A fault inside a template is reported once for
 * each set of argument types and sizes.
 */
bool ir_infer_call(struct ir_module *m, struct ir_op *call, const struct ir_type *const *written);

/*
 * Replaces the typed calls of a function by the ops of their functions, recursively; adds their
 * number to *inlined. Returns false after an error, also where names collide in the result. If that
 * would have more than TEMPLATE_MAX_OPS ops, reports this before making any.
 */
bool ir_inline_calls(struct ir_module *m, struct ir_func *f, unsigned *inlined);

/* The number of ops that the function would have; more than TEMPLATE_MAX_OPS are not counted. */
int64_t ir_ops_inlined(struct ir_module *m, const struct ir_func *f);

/* Notes that errors of this function have been reported: calls of it fail without a message. */
void ir_template_poison(struct ir_module *m, const struct ir_func *f);

#endif
