/*
 * Brings ops into canonical form by local rewrites, applied from the first op to the last, and
 * again to ops that a later rewrite leaves with fewer readers: the rules of
 * passes/rules/canonical.rules, which are proven, and rows of the tables below, with proofs above
 * them. Rows do what rules cannot express: they compute with constants, lists of dims and specs, or
 * test layouts and all uses of a value. Every rewrite gives a value of the same type, layout
 * included. None undoes another: each removes an op, moves a slice up or replaces constants, so
 * this terminates; each is O(1), and the pass O(ops).
 *
 * Exact: results are bitwise equal, and dopt -check compares them that way. So x * 0 stays (x may
 * be infinite), x + 0 mostly does (-0 + 0 is 0), and sums are not put in another order.
 *
 * The rows for parallelization ops are in canonicalize_parallel.c, those for transposes around
 * products in canonicalize_products.c, those for slices and updates at known positions in
 * canonicalize_updates.c.
 */
#include "ir/base/number.h"
#include "ir/interp/interp.h"
#include "ir/ops/literal.h"
#include "ir/product.h"
#include "passes/prepare/canonicalize.h"
#include "passes/rules/match.h"
#include "passes/rules/set.h"

#include <math.h>

static bool
is_float_type(const struct ir_type *t)
{
	return ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT;
}

/* --- constants -------------------------------------------------------------------------------- */

/*
 * Constant folding: the interpreter computes the op for the constants' numbers, in the op's element
 * type, with rounding and wrapping. Non-finite results are not folded, so that their origin remains
 * visible, nor are u64 results that do not fit into i64, which a constant cannot hold. Partial
 * results are not folded: the place that would hold the constant is not known here.
 */
static struct ir_value *
fold_constants(struct canon *c, struct ir_op *op)
{
	const struct ir_type *t = op->result[0].type;
	const bool is_float = is_float_type(t);
	union cell x[2], r;

	if (op->noperands > 2 || ir_type_has(c->m, t, 1 << IR_PARTIAL))
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

/* All elements of a constant are equal, so moving them has no effect. */
static struct ir_value *
move_constant(struct canon *c, struct ir_op *op)
{
	const struct ir_op *from = canon_made_by(op, 0, OP_constant);

	if (!from || ir_type_has(c->m, op->result[0].type, 1 << IR_PARTIAL))
		return NULL;
	return ir_build_typed(
		&c->b, OP_constant, NULL, NULL, 0, from->attr, from->nattrs, op->result[0].type);
}

/* If all elements are equal, the result is a constant. */
static struct ir_value *
equal_elements(struct canon *c, struct ir_op *op)
{
	struct ir_attr value;

	if (!literal_is_constant(c->m, op, &value))
		return NULL;
	return ir_build_typed(&c->b, OP_constant, NULL, NULL, 0, &value, 1, op->result[0].type);
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* A reshape only keeps the order of the elements in memory, so the first of two is redundant. */
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
	 * With split dims, slices may stay together step by step and not at once: keep both.
	 */
	if (ir_type_has(c->m, x->type, 1 << IR_SPLIT))
		return NULL;
	const struct ir_type *t = op->result[0].type;
	struct ir_attr shape = ir_make_ints(c->m, "shape", t->dim, t->rank);
	return ir_build_typed(&c->b, OP_reshape, NULL, &x, 1, &shape, 1, t);
}

/*
 * Dim i of the outer result is dim p[i] of the inner, which is dim q[p[i]] of x. If that is i for
 * all i, the result is x.
 */
struct ir_value *
canon_transpose_twice(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = canon_made_by(op, 0, OP_transpose);
	int64_t p[IR_MAX_RANK], q[IR_MAX_RANK];
	int rank = transpose_order(op, p);
	bool idle = true;

	if (inner)
		transpose_order(inner, q);
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

/* A broadcast to the operand's own shape repeats nothing, unless it moves dims of equal size. */
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

/* The dims of a type whose sizes are not 1, in order. Returns their number. */
static int
long_dims(const struct ir_type *t, int64_t *dim)
{
	int n = 0;

	for (int d = 0; d < t->rank; d++)
		if (t->dim[d] != 1)
			dim[n++] = d;
	return n;
}

/*
 * A reshape that only adds or removes dims of size 1 moves them: a broadcast to the new shape does
 * the same. The operand first loses its own dims of size 1. Kernels compute a broadcast where they
 * read it, but not through a reshape.
 */
static struct ir_value *
reshape_broadcast(struct canon *c, struct ir_op *op)
{
	const struct ir_op *inner = canon_made_by(op, 0, OP_broadcast);
	const struct ir_type *t = op->result[0].type, *wide = ir_operand_type(op, 0);
	int64_t old[IR_MAX_RANK], new[IR_MAX_RANK], from[IR_MAX_RANK], to[IR_MAX_RANK],
		size[IR_MAX_RANK];

	if (!inner || inner->result[0].uses->next || ir_type_has(c->m, t, IR_NOT_COPIED))
		return NULL;
	struct ir_value *x = canon_operand(inner);
	const int n = long_dims(wide, old), given = ir_attr_ints(inner, "dims", from, IR_MAX_RANK),
		  all = long_dims(x->type, size);
	if (!all || n != long_dims(t, new))
		return NULL;
	for (int i = 0; i < n; i++)
		if (wide->dim[old[i]] != t->dim[new[i]])
			return NULL;
	for (int i = 0; i < all; i++) {
		const int64_t d = size[i],
			      at = given > 0 ? from[d] : d + wide->rank - x->type->rank;
		int k = 0;
		while (old[k] != (at < 0 ? at + wide->rank : at))
			k++;
		to[i] = new[k];
		size[i] = x->type->dim[d];
	}
	const struct ir_attr shape = ir_make_ints(c->m, "shape", size, all),
			     attr[] = {ir_make_ints(c->m, "shape", t->dim, t->rank),
				     ir_make_ints(c->m, "dims", to, all)};
	if (all < x->type->rank)
		x = ir_build(&c->b, OP_reshape, &x, 1, &shape, 1);
	return ir_build(&c->b, OP_broadcast, &x, 1, attr, 2);
}

/* A sum of one element: it is added to 0, which makes -0 a 0, so that kernels need no loop. */
static struct ir_value *
sum_of_one(struct canon *c, struct ir_op *op)
{
	struct ir_value *x = ir_operand(op, 0);
	const struct ir_type *t = op->result[0].type;

	if (ir_type_has(c->m, x->type, IR_NOT_COPIED) ||
		ir_type_elements(x->type) != ir_type_elements(t) || !ir_type_elements(t))
		return NULL;
	const struct ir_attr shape = ir_make_ints(c->m, "shape", t->dim, t->rank);
	x = ir_build_typed(&c->b, OP_reshape, NULL, &x, 1, &shape, 1, t);
	if (!is_float_type(t))
		return x;
	return ir_build2(&c->b, OP_add, x, ir_build_scalar(&c->b, (enum ir_dtype)t->dtype, 0));
}

/* --- the table -------------------------------------------------------------------------------- */

static const char folded[] = "constant(s) folded", shapes[] = "shape op(s) merged",
		  ones[] = "sum(s) of one element";

static const struct rewrite rewrites[] = {
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
	{OP_reshape, reshape_broadcast, shapes},
	{OP_sum, sum_of_one, ones},
	{OP_mean, sum_of_one, ones},
	{OP_transpose, canon_transpose_twice, shapes},
	{OP_broadcast, broadcast_idle, shapes},
	{0},
};

enum {
	AGAIN_DEPTH = 3,    /* depth of ops in a rewrite that require one reader, and the root */
	AGAIN_READERS = 64, /* of a gather: they are converted before it if all of them are
			       conversions */
};

static bool
is_unused(const struct ir_op *op)
{
	return op && op_is(op, TRAIT_PURE) && op->nresults == 1 && !op->result[0].uses;
}

/* Queues op for another visit, and then its readers, as long as each has a single reader. */
static void
look_again(struct canon *c, struct ir_op *op)
{
	for (int depth = 0; op && depth < AGAIN_DEPTH; depth++) {
		const struct ir_use *u = op->nresults == 1 ? op->result[0].uses : NULL;
		VEC_PUSH(c->run->scratch, &c->again, op);
		op = u && !u->next ? u->op : NULL;
	}
}

/*
 * Erases an op. If an operand then has one other reader, or is a gather with some, these may now be
 * rewritten.
 */
static void
erase(struct canon *c, struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *v = ir_operand(op, i);
		const int most = !v->op || !v->op->noperands   ? 0
				 : v->op->code == OP_allgather ? AGAIN_READERS
							       : 1;
		int n = 0;
		IR_FOR_USES (u, v) {
			n += u->op != op;
			if (n > most)
				break;
		}
		if (n <= most)
			IR_FOR_USES (u, v)
				if (u->op != op)
					look_again(c, u->op);
	}
	ir_op_erase(op);
}

/* Drops an op that is unused now, and then its operands that are unused in turn: a chain, or the
 * transposes before a product. */
static void
drop_unused(struct canon *c, struct ir_op *op)
{
	while (is_unused(op)) {
		struct ir_op *next = op->noperands == 1 ? ir_operand(op, 0)->op : NULL;
		struct ir_op *from[FORM_MAX_INPUTS];
		const int n =
			op->noperands > 1 && op->noperands <= FORM_MAX_INPUTS ? op->noperands : 0;
		for (int i = 0; i < n; i++)
			from[i] = canon_made_by(op, i, OP_transpose);
		erase(c, op);
		for (int i = 0; i < n; i++)
			if (from[i] && from[i]->block && is_unused(from[i]))
				erase(c, from[i]);
		op = next;
	}
}

/* Drops a value that a row made but does not need: x + 0 where 0 is the larger tensor. */
static void
drop_made(const struct ir_op *op, struct ir_value *v)
{
	if (v->op && v->op->next == op && !v->uses)
		ir_op_erase(v->op);
}

static void
replace(struct canon *c, struct ir_op *op, struct ir_value *v, const char *count)
{
	pass_remark(c->run, op, PASS_APPLIED, "%s: %s", op_name((enum op_code)op->code),
		number_noun(c->run->scratch, 1, count));
	pass_count(c->run, count, 1);
	if (v->op && !v->name)
		v->name = op->result[0].name;
	ir_replace_uses(&op->result[0], v);
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
	replace(c, op, v, r->count);
	return true;
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool
is_left(const struct rule_built *b, const struct ir_op *op)
{
	const struct rule_pattern *p = b->match->pattern;

	IR_FOR_OPS (want, &p->rule->side[RULE_LEFT]->body)
		if (want->nresults && rule_matched(b->match, &want->result[0])->op == op)
			return true;
	return false;
}

/* Is everything on the left side unused except what the right side reads? */
static bool
is_used_once(const struct rule_built *b)
{
	IR_FOR_OPS (want, &b->match->pattern->rule->side[RULE_LEFT]->body) {
		const struct ir_value *v =
			want->nresults ? rule_matched(b->match, &want->result[0]) : NULL;
		bool once = true;
		if (!v || v->op == b->match->at)
			continue;
		IR_FOR_USES (u, v) {
			bool known = is_left(b, u->op);
			RULE_FOR_BUILT (op, b)
				known = known || u->op == op;
			once = once && known;
		}
		if (!once)
			return false;
	}
	return true;
}

/*
 * The replacement of an op exists already, or is an op of the same kind that reads earlier values,
 * or its operands become unused. Over time axes no collectives are made.
 */
static bool
is_plainer(const struct canon *c, const struct rule_built *b)
{
	int n = 0;
	bool same = true;

	RULE_FOR_BUILT (op, b) {
		const int axis = (int)ir_attr_int(op, "axis", -1);
		if (op_is(op, TRAIT_VARIADIC) && c->m->axis[axis].time)
			return false;
		same = op->code == b->match->at->code;
		n++;
	}
	return n == 0 || (n == 1 && same) || is_used_once(b);
}

static bool
apply_rule(struct canon *c, struct ir_op *op)
{
	struct rule_next next = {0};
	struct rule_match match;
	struct rule_built b;

	while (rule_match_next(c->rules, c->m, op, &next, &match)) {
		if (!rule_build(c->m, &match, &b))
			continue;
		if (is_plainer(c, &b)) {
			replace(c, op, b.to[0],
				op_is(op, TRAIT_PARALLEL) ? canon_joined : "identit(y/ies)");
			return true;
		}
		rule_undo(&b);
	}
	return false;
}

/* Applies the first matching rule, or row of the tables. */
static bool
rewrite_op(struct canon *c, struct ir_op *op)
{
	const struct rewrite *const tables[] = {
		op_is(op, TRAIT_PARALLEL) ? canon_parallel : rewrites, canon_products,
		canon_updates};

	if (apply_rule(c, op))
		return true;
	c->b = (struct ir_builder){.m = c->m, .block = op->block, .before = op, .loc = op->loc};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct rewrite *r = tables[i]; r->apply; r++)
			if (r->code == op->code && apply_row(c, r, op))
				return true;
	return false;
}

/* Rewrites an op, and drops ops that become unused. *made: the first of the new ops, if there are
 * any. */
static bool
rewrite_and_drop(struct canon *c, struct ir_op *op, struct ir_op **made)
{
	struct ir_op *prev = op->prev;
	struct ir_block *b = op->block;
	const bool message = op_is(op, TRAIT_VARIADIC) && op->noperands != 1;

	if (op->nresults != 1 || message || !rewrite_op(c, op))
		return false;
	struct ir_op *first = prev ? prev->next : b->first;
	*made = first != op ? first : NULL;
	drop_unused(c, op);
	return true;
}

/* Walks over a block and its bodies. New ops precede the old one and are visited next. */
static void
walk(struct canon *c, struct ir_block *b)
{
	struct ir_op *op = b->first;

	while (op && !c->b.failed) {
		struct ir_op *next = op->next, *made = NULL;
		if (op->body)
			walk(c, op->body);
		if (op_is(op, TRAIT_VARIADIC) && ir_parts(op) == 1)
			ir_attr_remove(op, "parts"); /* which is what no word says */
		op = rewrite_and_drop(c, op, &made) && made ? made : next;
	}
}

/* Visits queued ops again that the walk has passed, and then the readers of what changed. */
static void
settle(struct canon *c)
{
	for (int64_t i = 0; i < c->again.n && !c->b.failed; i++) {
		struct ir_op *op = c->again.at[i], *next = op->next, *made = NULL;
		const int64_t before = c->again.n;
		if (!op->block)
			continue;
		for (struct ir_use *u = op->nresults ? op->result[0].uses : NULL; u; u = u->next)
			look_again(c, u->op);
		if (!rewrite_and_drop(c, op, &made))
			c->again.n = before;
		for (; made && made != next; made = made->next)
			look_again(c, made);
	}
}

static bool
canonicalize_run(struct pass_run *run, struct ir_module *m)
{
	struct canon c = {.run = run, .m = m, .rules = rule_set_canonical(run->ctx)};
	struct ir_func *f = ir_func_find(m, "main");

	if (f)
		walk(&c, &f->body);
	settle(&c);
	return !c.b.failed;
}

const struct pass pass_canonicalize = {
	.name = "canonicalize",
	.family = "prepare",
	.summary = "simplify ops to a canonical form by local rewrites",
	.run = canonicalize_run,
	.keeps_bits = true,
};
