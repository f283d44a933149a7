/*
 * Brings ops into their plain form by local rewrites, one row each in the table below, applied from
 * the first op to the last until none fits. Every rewrite gives a value of the same type, layout
 * included, and the same meaning; its proof stands above it. None undoes another: each takes an op
 * away or replaces constants, so the walk ends; each is O(1), and a walk O(ops).
 *
 * Exact: results are the same to the bit, and dopt -check compares them so. So x * 0 stays (x may
 * be infinite), x + 0 mostly does (-0 + 0 is 0), and sums are not put in another order.
 *
 * The rows for parallelization ops stand in canonicalize_parallel.c, for transposes around products
 * in canonicalize_products.c.
 */
#include "ir/base/number.h"
#include "ir/interp/interp.h"
#include "ir/ops/literal.h"
#include "passes/prepare/canonicalize.h"

#include "ir/ops/form.h"

#include <math.h>

static bool
is_float_type(const struct ir_type *t)
{
	return ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT;
}

/* Is operand i a constant? Then *value is the number that all its elements are. */
static bool
constant_operand(const struct ir_op *op, int i, double *value)
{
	const struct ir_op *from = canon_made_by(op, i, OP_constant);

	if (!from)
		return false;
	const enum ir_dtype t = (enum ir_dtype)from->result[0].type->dtype;
	const union ir_number n = literal_of_constant(from);
	*value = ir_dtype_class(t) == IR_FLOAT ? n.f : ir_dtype_double(t, n.i);
	return true;
}

static bool
operand_is(const struct ir_op *op, int i, double number)
{
	double value;

	return constant_operand(op, i, &value) && value == number;
}

static bool
is_split(const struct ir_module *m, const struct ir_type *t)
{
	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_SPLIT)
			return true;
	return false;
}

static bool
is_partial(const struct ir_module *m, const struct ir_type *t)
{
	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_PARTIAL)
			return true;
	return false;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

/* What gives numbers of at least 0, and so never -0. */
static bool
is_never_minus_zero(const struct ir_value *v)
{
	if (!is_float_type(v->type))
		return true;
	switch (v->op ? (enum op_code)v->op->code : OP_NCODES) {
	case OP_exp:
	case OP_sigmoid:
	case OP_softplus:
	case OP_abs:
	case OP_square:
	case OP_relu: return true;
	default: return false;
	}
}

/* Is adding operand i, or its opposite, nothing to x? -0 is nothing; +0 makes +0 of -0. */
static bool
adds_nothing(const struct ir_op *op, int i, bool opposite, const struct ir_value *x)
{
	double zero;

	return constant_operand(op, i, &zero) && zero == 0 &&
	       (!signbit(zero) == opposite || is_never_minus_zero(x));
}

/* x + -0 = -0 + x = x; x + 0 = x where x is never -0. */
static struct ir_value *
add_zero(struct canon *c, struct ir_op *op)
{
	struct ir_value *x = ir_operand(op, 0), *y = ir_operand(op, 1);

	(void)c;
	return adds_nothing(op, 1, false, x) ? x : adds_nothing(op, 0, false, y) ? y : NULL;
}

/* x - 0 = x; x - -0 = x where x is never -0. */
static struct ir_value *
sub_zero(struct canon *c, struct ir_op *op)
{
	(void)c;
	return adds_nothing(op, 1, true, ir_operand(op, 0)) ? ir_operand(op, 0) : NULL;
}

/* x * 1 = 1 * x = x. */
static struct ir_value *
mul_one(struct canon *c, struct ir_op *op)
{
	(void)c;
	return operand_is(op, 1, 1)   ? ir_operand(op, 0)
	       : operand_is(op, 0, 1) ? ir_operand(op, 1)
				      : NULL;
}

/* x / 1 = x, x to the power 1 = x. */
static struct ir_value *
right_one(struct canon *c, struct ir_op *op)
{
	(void)c;
	return operand_is(op, 1, 1) ? ir_operand(op, 0) : NULL;
}

/* The larger of x and x is x; so are the smaller, both, and either. */
static struct ir_value *
both_same(struct canon *c, struct ir_op *op)
{
	(void)c;
	return ir_operand(op, 0) == ir_operand(op, 1) ? ir_operand(op, 0) : NULL;
}

/* x and true = x, x or false = x, x xor false = x, where true is all bits; the constant on either
 * side. */
static struct ir_value *
logic_neutral(struct canon *c, struct ir_op *op)
{
	const enum ir_dtype t = (enum ir_dtype)op->result[0].type->dtype;
	const double all = t == IR_bool ? 1
			   : ir_dtype_class(t) == IR_UINT
				   ? ir_dtype_double(IR_u64, ir_dtype_wrap(t, -1))
				   : -1;
	double neutral = op->code == OP_and ? all : 0;

	(void)c;
	return operand_is(op, 1, neutral)   ? ir_operand(op, 0)
	       : operand_is(op, 0, neutral) ? ir_operand(op, 1)
					    : NULL;
}

/* The opposite of the opposite of x is x: negative, not. */
static struct ir_value *
involution(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = canon_made_by(op, 0, (enum op_code)op->code);

	(void)c;
	return inner ? canon_operand(inner) : NULL;
}

/* What leaves its own results as they are: abs, relu, rounding, stop_gradient. */
static struct ir_value *
idempotent(struct canon *c, struct ir_op *op)
{
	(void)c;
	return canon_made_by(op, 0, (enum op_code)op->code) ? ir_operand(op, 0) : NULL;
}

/* a where c holds, else a, is a; with a constant c it is one of the two. */
static struct ir_value *
select_known(struct canon *c, struct ir_op *op)
{
	double condition;

	(void)c;
	if (ir_operand(op, 1) == ir_operand(op, 2))
		return ir_operand(op, 1);
	return constant_operand(op, 0, &condition) ? ir_operand(op, condition != 0 ? 1 : 2) : NULL;
}

/* Does every number of type a have its equal in type b? */
static bool
holds_exactly(enum ir_dtype a, enum ir_dtype b)
{
	bool same = ir_dtype_class(a) == ir_dtype_class(b) && ir_dtype_class(a) != IR_BOOL;

	/* The 16-bit floats are not parts of each other; every wider float has all of both. */
	return same && ir_dtype_bytes(b) > ir_dtype_bytes(a);
}

/* To its own type: x. To a type that holds x exactly, and back: x. */
static struct ir_value *
convert_back(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = canon_made_by(op, 0, OP_convert);

	(void)c;
	if (ir_operand_type(op, 0) == op->result[0].type)
		return ir_operand(op, 0);
	if (!inner || ir_operand_type(inner, 0) != op->result[0].type)
		return NULL;
	enum ir_dtype narrow = (enum ir_dtype)op->result[0].type->dtype;
	return holds_exactly(narrow, (enum ir_dtype)ir_operand_type(op, 0)->dtype)
		       ? canon_operand(inner)
		       : NULL;
}

/* --- constants -------------------------------------------------------------------------------- */

/*
 * The op on constants is a constant: what the interpreter computes for their numbers, in the op's
 * element type, rounding and wrapping included. What is not finite stays, so that it can be seen
 * where it comes from; so does a u64 that no i64 is, which a constant cannot say. A partial result
 * stays: the place that would hold the constant is not known here.
 */
static struct ir_value *
fold_constants(struct canon *c, struct ir_op *op)
{
	const struct ir_type *t = op->result[0].type;
	const bool is_float = is_float_type(t);
	union cell x[2], r;

	if (op->noperands > 2 || is_partial(c->m, t))
		return NULL;
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *from = canon_made_by(op, i, OP_constant);
		if (!from)
			return NULL;
		const union ir_number n = literal_of_constant(from);
		if (is_float_type(from->result[0].type))
			x[i].f = n.f;
		else
			x[i].i = n.i;
	}
	if (!interp_fold(c->m, op, x, &r) || (is_float && !isfinite(r.f)) ||
		(t->dtype == IR_u64 && r.i < 0))
		return NULL;
	struct ir_attr value = is_float ? ir_make_float(c->m->ctx, "value", r.f)
					: ir_make_int(c->m->ctx, "value", r.i);
	return ir_build_typed(&c->b, OP_constant, NULL, NULL, 0, &value, 1, t);
}

/* All elements of a constant are one number, wherever they are moved to. */
static struct ir_value *
move_constant(struct canon *c, struct ir_op *op)
{
	const struct ir_op *from = canon_made_by(op, 0, OP_constant);

	if (!from || is_partial(c->m, op->result[0].type))
		return NULL;
	return ir_build_typed(
		&c->b, OP_constant, NULL, NULL, 0, from->attr, from->nattrs, op->result[0].type);
}

/* Equal elements are a constant's. */
static struct ir_value *
equal_elements(struct canon *c, struct ir_op *op)
{
	struct ir_attr value;

	if (!literal_is_constant(c->m, op, &value))
		return NULL;
	return ir_build_typed(&c->b, OP_constant, NULL, NULL, 0, &value, 1, op->result[0].type);
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* The order of the elements in memory is all that a reshape keeps, so the first of two is idle. */
static struct ir_value *
reshape_twice(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = canon_made_by(op, 0, OP_reshape);

	if (ir_operand_type(op, 0) == op->result[0].type)
		return ir_operand(op, 0);
	if (!inner)
		return NULL;
	struct ir_value *x = canon_operand(inner);
	if (x->type == op->result[0].type)
		return x;
	/*
	 * Where dims are split, slices may stay together step by step and not at once: leave those.
	 */
	if (is_split(c->m, x->type))
		return NULL;
	const struct ir_type *t = op->result[0].type;
	struct ir_attr shape = ir_make_ints(c->m, "shape", t->dim, t->rank);
	return ir_build_typed(&c->b, OP_reshape, NULL, &x, 1, &shape, 1, t);
}

int
canon_permutation(const struct ir_op *op, int64_t perm[IR_MAX_RANK])
{
	int rank = ir_operand_type(op, 0)->rank, n = ir_attr_ints(op, "perm", perm, IR_MAX_RANK);

	for (int i = 0; i < rank; i++)
		perm[i] = n < 0 ? rank - 1 - i : perm[i] < 0 ? perm[i] + rank : perm[i];
	return rank;
}

/*
 * Dim i of the outer result is dim p[i] of the inner, which is dim q[p[i]] of x. Where that is i
 * for all i the result is x.
 */
static struct ir_value *
transpose_twice(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = canon_made_by(op, 0, OP_transpose);
	int64_t p[IR_MAX_RANK], q[IR_MAX_RANK];
	int rank = canon_permutation(op, p);
	bool idle = true;

	if (inner)
		canon_permutation(inner, q);
	for (int i = 0; i < rank; i++) {
		p[i] = inner ? q[p[i]] : p[i];
		idle = idle && p[i] == i;
	}
	struct ir_value *x = inner ? canon_operand(inner) : ir_operand(op, 0);
	if (idle)
		return x;
	if (!inner)
		return NULL;
	struct ir_attr perm = ir_make_ints(c->m, "perm", p, rank);
	return ir_build(&c->b, OP_transpose, &x, 1, &perm, 1);
}

/* A broadcast to the shape that is there repeats nothing, unless it moves dims of equal size. */
static struct ir_value *
broadcast_idle(struct canon *c, struct ir_op *op)
{
	int64_t dims[IR_MAX_RANK];
	int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK), rank = op->result[0].type->rank;

	(void)c;
	if (ir_operand_type(op, 0) != op->result[0].type)
		return NULL;
	for (int i = 0; i < n; i++)
		if ((dims[i] < 0 ? dims[i] + rank : dims[i]) != i)
			return NULL;
	return ir_operand(op, 0);
}

/* --- the table -------------------------------------------------------------------------------- */

static const char identity[] = "identit(y/ies)", folded[] = "constant(s) folded",
		  shapes[] = "shape op(s) merged";

static const struct rewrite rewrites[] = {
	{OP_add, add_zero, identity},
	{OP_sub, sub_zero, identity},
	{OP_mul, mul_one, identity},
	{OP_div, right_one, identity},
	{OP_pow, right_one, identity},
	{OP_maximum, both_same, identity},
	{OP_minimum, both_same, identity},
	{OP_and, both_same, identity},
	{OP_or, both_same, identity},
	{OP_and, logic_neutral, identity},
	{OP_or, logic_neutral, identity},
	{OP_xor, logic_neutral, identity},
	{OP_neg, involution, identity},
	{OP_not, involution, identity},
	{OP_abs, idempotent, identity},
	{OP_relu, idempotent, identity},
	{OP_floor, idempotent, identity},
	{OP_ceil, idempotent, identity},
	{OP_round, idempotent, identity},
	{OP_round_away, idempotent, identity},
	{OP_trunc, idempotent, identity},
	{OP_sign, idempotent, identity},
	{OP_stop_gradient, idempotent, identity},
	{OP_select, select_known, identity},
	{OP_convert, convert_back, identity},
	{OP_convert, canon_convert_before_gather, "message(s) made smaller"},
	{OP_add, fold_constants, folded},
	{OP_sub, fold_constants, folded},
	{OP_mul, fold_constants, folded},
	{OP_div, fold_constants, folded},
	{OP_maximum, fold_constants, folded},
	{OP_minimum, fold_constants, folded},
	{OP_neg, fold_constants, folded},
	{OP_abs, fold_constants, folded},
	{OP_sqrt, fold_constants, folded},
	{OP_relu, fold_constants, folded},
	{OP_not, fold_constants, folded},
	{OP_and, fold_constants, folded},
	{OP_or, fold_constants, folded},
	{OP_literal, equal_elements, folded},
	{OP_broadcast, move_constant, folded},
	{OP_transpose, move_constant, folded},
	{OP_reshape, move_constant, folded},
	{OP_reshape, reshape_twice, shapes},
	{OP_transpose, transpose_twice, shapes},
	{OP_broadcast, broadcast_idle, shapes},
	{0},
};

static bool
is_unused(const struct ir_op *op)
{
	return op && op_is(op, TRAIT_PURE) && op->nresults == 1 && !op->result[0].uses;
}

/* Drops an op that nothing uses any more, and then what only it used: a chain, or the transposes in
 * front of a product. */
static void
drop_unused(struct ir_op *op)
{
	while (is_unused(op)) {
		struct ir_op *next = op->noperands == 1 ? ir_operand(op, 0)->op : NULL;
		struct ir_op *from[FORM_MAX_INPUTS];
		const int n =
			op->noperands > 1 && op->noperands <= FORM_MAX_INPUTS ? op->noperands : 0;
		for (int i = 0; i < n; i++) {
			from[i] = canon_made_by(op, i, OP_transpose);
			for (int k = 0; k < i; k++)
				from[i] = from[k] == from[i] ? NULL : from[i];
		}
		ir_op_erase(op);
		for (int i = 0; i < n; i++)
			if (is_unused(from[i]))
				ir_op_erase(from[i]);
		op = next;
	}
}

/* A value that a row has made and that is not wanted: x + 0 where 0 is the larger tensor. */
static void
drop_made(const struct ir_op *op, struct ir_value *v)
{
	if (v->op && v->op->next == op && !v->uses)
		ir_op_erase(v->op);
}

static bool
apply_row(struct canon *c, const struct rewrite *r, struct ir_op *op)
{
	struct ir_value *v = r->apply(c, op);

	if (!v)
		return false;
	if (v->type != op->result[0].type) {
		drop_made(op, v);
		return false;
	}
	pass_remark(c->run, op, PASS_APPLIED, "%s: %s", op_name((enum op_code)op->code),
		number_noun(c->run->scratch, 1, r->count));
	pass_count(c->run, r->count, 1);
	if (v->op && !v->name)
		v->name = op->result[0].name;
	ir_replace_uses(&op->result[0], v);
	return true;
}

/* The first row of the tables that fits. */
static bool
rewrite_op(struct canon *c, struct ir_op *op)
{
	const struct rewrite *const tables[] = {
		op_is(op, TRAIT_PARALLEL) ? canon_parallel : rewrites, canon_products};

	c->b = (struct ir_builder){.m = c->m, .block = op->block, .before = op, .loc = op->loc};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct rewrite *r = tables[i]; r->apply; r++)
			if (r->code == op->code && apply_row(c, r, op))
				return true;
	return false;
}

/*
 * One walk over a block and its bodies. A new op stands before the old one and is looked at next.
 */
static bool
walk(struct canon *c, struct ir_block *b)
{
	bool changed = false;
	struct ir_op *op = b->first;

	while (op && !c->b.failed) {
		struct ir_op *prev = op->prev, *next = op->next;
		if (op->body)
			changed |= walk(c, op->body);
		if (op_is(op, TRAIT_VARIADIC) && ir_parts(op) == 1)
			ir_attr_remove(op, "parts"); /* which is what no word says */
		bool message = op_is(op, TRAIT_VARIADIC) && op->noperands != 1;
		if (op->nresults != 1 || message || !rewrite_op(c, op)) {
			op = next;
			continue;
		}
		changed = true;
		/* The op and what it alone used go; what was made is between prev and next. */
		struct ir_op *made = op->prev != prev ? op->prev : NULL;
		drop_unused(op);
		op = made ? made : next;
	}
	return changed;
}

static bool
canonicalize_run(struct pass_run *run, struct ir_module *m)
{
	struct canon c = {.run = run, .m = m};
	struct ir_func *f = ir_func_find(m, "main");

	while (f && walk(&c, &f->body))
		;
	return !c.b.failed;
}

const struct pass pass_canonicalize = {
	.name = "canonicalize",
	.family = "prepare",
	.summary = "simplify ops to a canonical form by local rewrites",
	.run = canonicalize_run,
	.keeps_bits = true,
};
