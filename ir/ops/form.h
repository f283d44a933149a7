/*
 * The form of an op: its index notation with sizes filled in. Shapes, layouts, gradients, kernels
 * and costs are derived from it.
 *
 *     matmul   a[..,m,k], b[..,k,n] -> [..,m,n] = sum(k) a * b        the row
 *     f32[64,784], f32[784,512]                                       the operands
 *     index 0 = m: 64, 1 = n: 512, 2 = k: 784                         the form
 *     in[0] = (0, 2)   in[1] = (2, 1)   out = (0, 1)   SUM over {2}
 *     body = mul(load 0, load 1)
 *
 * Meaning: out[i0,i1,...] = reduce over the reduced indices of body, where load j reads operand j
 * at its own indices; a dimension of access -1 has size 1 there and is read at 0.
 *
 * An index with `at` is computed: it is not a loop, its position is the value of that expression.
 *
 *     slice    a[..{start + here}] -> [..]       at[1] = start + index 0, in[0] = (1), out = (0)
 *     gather   t[{i},*], i[..] -> [..,*]         at[2] = load 1, in[0] = (2, 1), in[1] = (0)
 *     put      u[..], i[..] -> [..,{i}=size]     the same on the side of the result
 *
 * Where a position is outside the dimension, the load gives `fill`, and a write is dropped; an
 * element of the result that is not written has the initial value of the reduction.
 */
#ifndef IR_FORM_H
#define IR_FORM_H

#include "ir/base/api.h"
#include "ir/ir.h"

DOPT_API_BEGIN

enum scalar_fn {
#define SCALAR(name, ...) FN_##name,
#include "ir/ops/scalar.def"
#undef SCALAR
	FN_COUNT
};

enum fn_work { WORK_CHEAP, WORK_LONG, WORK_DIVISION, WORK_CALL, WORK_RANDOM };

enum fn_law {
	LAW_ODD = 1 << 0,        /* f(-x) = -f(x) */
	LAW_EVEN = 1 << 1,       /* f(-x) = f(x) */
	LAW_IDEMPOTENT = 1 << 2, /* f(f(x)) = f(x) */
	LAW_COMMUTES = 1 << 3,
	LAW_BOOL = 1 << 4,  /* 0 or 1 */
	LAW_WHOLE = 1 << 5, /* f(n) = n for whole n */
};

enum form_limit {
	FORM_MAX_INDICES = 24, /* of one op: a contraction of 8-dimensional operands has at most
				  24 */
	FORM_MAX_INPUTS = 8,   /* operands of a contract */
};

enum expr_kind {
	EXPR_LOAD,  /* operand `id` at its access */
	EXPR_INDEX, /* the value of index `id`: its position in the whole tensor; i64 */
	EXPR_CONST, /* `value` */
	EXPR_CALL,  /* scalar function `id` of arg[] */
};

/* A scalar expression; nodes live in an arena and are shared freely. */
struct expr {
	uint8_t kind;  /* enum expr_kind */
	uint8_t dtype; /* element type of the value */
	uint8_t nargs;
	uint8_t id;
	double value;
	union {
		int64_t whole; /* EXPR_CONST of an integer type: its value; the bits of a u64 */
		const struct ir_op *literal; /* FN_element: the literal op */
	};
	const struct expr *arg[3];
};

enum form_reduce {
	REDUCE_NONE,
	REDUCE_SUM,
	REDUCE_MAX,
	REDUCE_MIN,
	REDUCE_PROD,
	REDUCE_ARGMAX,
	REDUCE_ARGMIN
};

/* Is the result a position among the reduced indices, not a value of the body's type? */
static inline bool
form_reduce_is_place(enum form_reduce r)
{
	return r == REDUCE_ARGMAX || r == REDUCE_ARGMIN;
}

struct form_access {
	uint8_t rank;
	int8_t index[IR_MAX_RANK]; /* index of each dimension; -1: size 1, no index */
};

/* The dimension that has the index; -1: none. */
static inline int
form_access_dim(const struct form_access *a, int index)
{
	for (int d = 0; d < a->rank; d++)
		if (a->index[d] == index)
			return d;
	return -1;
}

static inline bool
form_access_has(const struct form_access *a, int index)
{
	return index >= 0 && form_access_dim(a, index) >= 0;
}

struct form {
	uint8_t nindices, ninputs;
	uint8_t reduce;                 /* enum form_reduce */
	uint8_t dtype;                  /* of the result */
	uint32_t reduced;               /* set of reduced indices (bit i = index i) */
	int64_t size[FORM_MAX_INDICES]; /* whole sizes; form_localize makes them local */
	struct form_access in[FORM_MAX_INPUTS], out;
	const struct expr *at[FORM_MAX_INDICES]; /* i64, a function of loops and of loads without
						    computed index; NULL: the index is a loop */
	double fill[FORM_MAX_INPUTS]; /* minus infinity: the lowest value of the element type */
	const struct expr *body;
};

/* Is the index a loop? */
static inline bool
form_is_loop(const struct form *f, int index)
{
	return index >= 0 && !f->at[index];
}

/* Does the access have a computed index? */
static inline bool
form_is_computed(const struct form *f, const struct form_access *a)
{
	for (int d = 0; d < a->rank; d++)
		if (a->index[d] >= 0 && f->at[a->index[d]])
			return true;
	return false;
}

/* Are elements of the result written at computed positions? */
static inline bool
form_is_scatter(const struct form *f)
{
	return form_is_computed(f, &f->out);
}

/* Does the form have a computed index? */
static inline bool
form_has_computed(const struct form *f)
{
	for (int i = 0; i < f->nindices; i++)
		if (f->at[i])
			return true;
	return false;
}

/*
 * The form of an op with typed operands. `written` gives the shape of an op without operands.
 * Expressions are allocated in `a`. Returns false after an error, reported at the op, if operands
 * do not fit the row; returns false without a message if the op has no form (see form_exists).
 */
bool form_make(const struct ir_module *m, struct arena *a, const struct ir_op *op,
	const struct ir_type *written, struct form *f);

/*
 * Moves a constant by which every summand is divided out of the sum: the body becomes the dividend,
 * and the caller divides the sum once. Returns the constant, 0 if there is none.
 */
double form_take_divisor(struct form *f);

/* The row-major number of the element among those that are reduced together; i64. */
const struct expr *form_place(struct arena *a, const struct form *f);

/* Does the op's row have index notation (in the table or made by code, as for contract)? */
bool form_exists(enum op_code code);

/*
 * The same, without the body if `a` is NULL: what inference needs of every op. form_contract makes
 * the form of a contract from its spec (contract.c), form_concat that of a concat (concat.c),
 * form_gather_nd and form_scatter_nd those of gather_nd and scatter_nd (gather_nd.c), form_window
 * that of a window (window.c).
 */
bool form_shape(const struct ir_module *m, const struct ir_op *op, const struct ir_type *written,
	struct form *f, struct arena *a);
/* Reports that two operands have sizes a and b of one index, with the shapes of all operands and
 * whether they fit in the other order. Returns false. */
bool form_sizes_differ(const struct ir_module *m, const struct ir_op *op, struct ir_loc loc,
	char name, int64_t a, int64_t b);
bool form_contract(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);
/*
 * Converts a computed index to a loop with a condition; the reduction must be a sum or none, and
 * reads outside the dimension must give 0.
 *
 *     pick   y[r] = a[r,{i}]          y[r] = sum(v) i[r] == v ? a[r,v] : 0
 *     put    y[r,{i}] = u[r]          y[r,v] = i[r] == v ? u[r] : 0
 */
void form_open(struct arena *a, struct form *f, int index);
/*
 * If a localized form is a prefix sum along an index of its result, replaces it by the summand,
 * which must be accumulated along that index, forward or in reverse: form_scan.c.
 */
struct form_scan {
	bool found, reverse;
	int index;
};
struct form_offset;
struct form_scan form_take_scan(struct arena *a, struct form *f, const struct form_offset *offset);
/* Drops the body and the expressions of computed indices, which remain marked as computed. */
void form_forget(struct form *f);
bool form_concat(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);
bool form_gather_nd(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);
bool form_scatter_nd(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);
bool form_window(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);

/*
 * Local sizes for a typed op: index i of size n, split over axes, becomes n / factor.
 * offset[i] is set to the type and dimension that determine where the local range of index i starts
 * (see ir_type_slice): start = slice * local size; NULL if the index is not split.
 */
struct form_offset {
	const struct ir_type *type; /* NULL: starts at 0 */
	int dim;
};
void form_localize(const struct ir_module *m, const struct ir_op *op, struct form *f,
	struct form_offset offset[FORM_MAX_INDICES]);

/* The layout of the result type, from the operands' layouts and its element type: layout.c. Reports
 * and returns false if no layout fits. */
bool form_layout(const struct ir_module *m, const struct ir_op *op, const struct form *f,
	const struct ir_type *written, struct ir_type *result);

/* The scalar functions. */
/* Random numbers: their arguments are seeds, counters and positions, and so i64. */
static inline bool
fn_is_random(int fn)
{
	return fn == FN_uniform || fn == FN_normal || fn == FN_draw_uniform ||
	       fn == FN_draw_normal || fn == FN_draw_bits;
}
/* Functions whose first argument is the key of an op: a constant that is different for each op. */
static inline bool
fn_is_keyed(int fn)
{
	return fn == FN_draw_uniform || fn == FN_draw_normal || fn == FN_draw_bits;
}
/* Bits of the mantissa that a float type stores. */
int fn_mantissa_bits(enum ir_dtype t);
const char *fn_name(enum scalar_fn f);
int fn_arity(enum scalar_fn f);
enum fn_work fn_work(enum scalar_fn f);
unsigned fn_laws(enum scalar_fn f); /* set of enum fn_law */
/* The C expression of f in x, y, z, with M_... for math functions: see scalar.def. */
const char *fn_c_text(enum scalar_fn f);

/* Building expressions with simplification of constants (x*1, x+0, x*0 ...) and typed results. */
const struct expr *expr_call(struct arena *a, enum scalar_fn fn, const struct expr *x,
	const struct expr *y, const struct expr *z);
const struct expr *expr_const(struct arena *a, enum ir_dtype t, double v);
/* A constant of an integer type; for u64 its bits. */
const struct expr *expr_const_int(struct arena *a, enum ir_dtype t, int64_t v);
const struct expr *expr_load(struct arena *a, enum ir_dtype t, int operand);
const struct expr *expr_index(struct arena *a, int index);
/* Element `at`, i64, of a literal of that type. */
const struct expr *expr_element(
	struct arena *a, enum ir_dtype t, const struct expr *at, const struct ir_op *literal);
/* The bits of x as type t of the same width. */
const struct expr *expr_bitcast(struct arena *a, enum ir_dtype t, const struct expr *x);
/* x converted to element type t (x itself if it has that type). */
const struct expr *expr_convert(struct arena *a, enum ir_dtype t, const struct expr *x);
/* The expression with load j replaced by with[j] (NULL: kept) and index i by index_map[i]; used by
 * fusion. */
const struct expr *expr_substitute(struct arena *a, const struct expr *e,
	const struct expr *const *with, const int *index_map);
/*
 * The element type to which constant e of `body` is rounded: its own if it is the whole body, as in
 * `constant`, else the type of the computation, which is f32 for 16-bit floats.
 */
enum ir_dtype expr_const_dtype(const struct expr *e, const struct expr *body);

/* Number of arithmetic operations. */
int expr_flops(const struct expr *e);
/* Has it only cheap functions: sums, products, comparisons, and, in f32 and f16, those that are one
 * GPU instruction? */
bool expr_is_cheap(const struct expr *e);
bool expr_is_const(const struct expr *e, double v);
bool expr_uses_index(const struct expr *e, int index);
/*
 * Is the body linear in the set of loads (bit j = load j), all together?
 * LINEAR_CONST: does not depend on them; LINEAR_YES: homogeneous of degree one; LINEAR_NO.
 */
enum expr_linear { LINEAR_CONST, LINEAR_YES, LINEAR_NO };
enum expr_linear expr_linearity(const struct expr *e, uint32_t loads);
/* d body / d load j, an expression over the same loads and, if that is simpler, load `result_load`
 * for the value itself. */
const struct expr *expr_derivative(
	struct arena *a, struct ir_context *ctx, const struct expr *e, int j, int result_load);

/* The parsed derivatives of scalar.def: a row for each function, an entry for each argument (NULL:
 * none). */
struct term;
const struct term *(*fn_parse_derivatives(struct ir_context *ctx))[3];

/* Work of an op on one device, derived from the form or the op's own rule: arithmetic operations,
 * bytes read and written. */
struct op_work {
	double flops, bytes;
};
struct op_work op_work(const struct ir_module *m, const struct ir_op *op);

DOPT_API_END

#endif
