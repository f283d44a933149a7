/*
 * grad: the gradient of the loss by every param, in reverse (Griewank and Walther, "Evaluating
 * Derivatives", section 3.2: one backward sweep over the ops).
 *
 * Walks the ops from the loss back to the first. A value's gradient is the sum of the contributions
 * of its uses (adjoint.c); it is completed just before the op that defines the value is
 * differentiated. It works on meanings: the gradient of a parallelization op is the gradient
 * itself, and an op is inserted only if a gradient arrives in another layout than required
 * (passes/parallel/reshard.c). This yields Unity's pairs partition/combine, replicate/reduce, the
 * allgather/reducescatter of sharded training and the f/g operators of tensor parallelism. If the
 * ops of a gradient do not support the layout of their op, they get another layout
 * (adjoint_layout.c). Ops that cannot be differentiated are reported at their location, with the
 * reason.
 *
 * With a scaled loss (amp.h) it starts from the scale instead of 1 and divides the reported
 * gradients by it: the gradients in between are larger, so that small ones do not vanish in 16
 * bits.
 *
 * Adds output("grad.w", %g) for every param w, which an optimizer pass consumes. A param that the
 * loss depends on only through integers has none: an error that shows the path.
 * It must not change the forward ops or their order.
 */
#include "ir/base/alloc.h"
#include "passes/parallel/kept.h"
#include "passes/parallel/reshard.h"
#include "passes/pass.h"
#include "passes/train/adjoint.h"
#include "passes/train/amp.h"
#include "passes/train/total.h"

#include <string.h>

struct sweep {
	struct pass_run *run;
	struct ir_builder b;
	struct arena *a;
	struct ir_value **grad; /* by value->id: the gradient so far, or NULL */
	uint32_t *left;         /* by value->id: uses still to be differentiated */
	bool *wanted;           /* by value->id: does its gradient lead to a param? */
	uint32_t nids;          /* of the forward ops */
	struct ir_value *scale; /* of the loss, or NULL */
	bool wide;              /* 16-bit gradients are summed over time axes in f32 */
};

enum accumulate { ACCUMULATE_F32, ACCUMULATE_OWN }; /* choices of the option, in its order */

static bool
is_float(const struct ir_type *t)
{
	return ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT;
}

/* Is result i of the op its operand i, in the same layout? */
static bool
is_identity(const struct ir_op *op)
{
	return op->code == OP_barrier || op_is(op, TRAIT_COPY);
}

/*
 * A value is wanted if it is a floating-point param or computed from one. Nothing is computed for
 * the others, such as inputs; stop_gradient ends the dependence.
 */
static bool
leads_to_param(const struct sweep *s, const struct ir_op *op, const struct ir_value *v)
{
	if (!is_float(v->type) || op->code == OP_stop_gradient)
		return false;
	if (is_identity(op))
		return s->wanted[ir_operand(op, (int)v->index)->id];
	for (int j = 0; j < op->noperands; j++)
		if (s->wanted[ir_operand(op, j)->id])
			return true;
	return op->code == OP_param;
}

/* --- ops that cannot be differentiated -------------------------------------------------------- */

/* " %x", or nothing if the value has no name. */
static const char *
name_of(struct sweep *s, const struct ir_value *v)
{
	return v->name ? TEXT(s->run->scratch, " %%%s", v->name) : "";
}

static const char *
type_of(struct sweep *s, const struct ir_value *v)
{
	return ir_type_text(s->run->scratch, s->b.m, v->type);
}

/* Reports that the op has no gradient by operand j: because of the op, or of the layouts that meet
 * at it.
 */
static bool
refuse(struct sweep *s, const struct ir_op *op, int j, const struct ir_value *g)
{
	const char *what = op_name((enum op_code)op->code);
	char *text;

	s->b.failed = true;
	if (adjoint_lacks(op)) {
		diag_error(s->run->ctx->diag, op->loc,
			"grad: %s has no gradient for how = \"%s\": %s", what,
			ir_attr_string(op, "how", ""), adjoint_lacks(op));
		return false;
	}
	text = TEXT(s->run->scratch, "the gradient of its result is %s", type_of(s, g));
	for (int i = 0; i < op->noperands; i++)
		text = text_append(text, ", operand %d%s is %s", i + 1,
			name_of(s, ir_operand(op, i)), type_of(s, ir_operand(op, i)));
	diag_error(s->run->ctx->diag, op->loc,
		"grad: %s cannot be differentiated with respect to operand %d%s in this "
		"layout: %s, and no parallelization op converts them to a layout in "
		"which the gradient can be computed",
		what, j + 1, name_of(s, ir_operand(op, j)), text);
	return false;
}

static bool
is_narrow(const struct ir_type *t)
{
	return t->dtype == IR_f16 || t->dtype == IR_bf16;
}

/*
 * Sums a 16-bit gradient over the micro-batches in f32, if it must be whole on time axes: each
 * addition to a sum of n of them in 16 bits would lose up to half of the n-th part of the last
 * addend's digits. The type stays, so that messages have 16 bits.
 */
static struct ir_value *
sum_over_time(struct sweep *s, struct ir_value *g, const struct ir_type *want)
{
	const enum ir_dtype t = (enum ir_dtype)g->type->dtype;
	struct ir_type whole = *g->type;
	bool any = false;

	for (int i = 0; i < s->b.m->naxes; i++) {
		const enum ir_state_kind to = (enum ir_state_kind)want->axis[i].kind;
		if (!s->b.m->axis[i].time || whole.axis[i].kind != IR_PARTIAL ||
			(to != IR_COPIED && to != IR_SINGLE))
			continue;
		whole.axis[i] = want->axis[i];
		any = true;
	}
	if (!s->wide || !is_narrow(g->type) || !any)
		return g;
	whole.dtype = IR_f32;
	g = total_convert(&s->b, g, IR_f32);
	g = g ? reshard(&s->b, g, ir_type_intern(s->run->ctx, &whole)) : NULL;
	return total_convert(&s->b, g, t);
}

/* Converts the gradient to the required layout; NULL after a report at the op that made v. */
static struct ir_value *
bring(struct sweep *s, const struct ir_value *v, struct ir_value *g)
{
	const struct ir_type *want = gradient_type(s->b.m, v->type);
	const bool before = diag_mute(s->run->ctx->diag, true);
	struct ir_value *sum = sum_over_time(s, g, want),
			*r = sum ? reshard(&s->b, sum, want) : NULL;

	diag_mute(s->run->ctx->diag, before);
	if (r)
		return r;
	s->b.failed = true;
	diag_error(s->run->ctx->diag, v->op->loc,
		"grad: the gradient of%s, a result of %s, is %s but must be %s; no "
		"parallelization op converts it",
		v->name ? name_of(s, v) : " this value", op_name((enum op_code)v->op->code),
		type_of(s, g), ir_type_text(s->run->scratch, s->b.m, want));
	return NULL;
}

/* Adds a contribution. Two in different layouts are first brought to the required one. */
static bool
accumulate(struct sweep *s, struct ir_value *v, struct ir_value *g)
{
	struct ir_value **slot = &s->grad[v->id];

	if (*slot && (*slot)->type != g->type) {
		struct ir_value *here = *slot;
		*slot = NULL;
		if (!(here = bring(s, v, here)) || !(g = bring(s, v, g)))
			return false;
		*slot = here;
	}
	*slot = *slot ? ir_build2(&s->b, OP_add, *slot, g) : g;
	return *slot != NULL;
}

static void
name_gradient(struct sweep *s, const struct ir_value *v, struct ir_value *g)
{
	if (v->name && !g->name && g->op)
		g->name = ir_name(s->b.m->ctx, TEXT(s->run->scratch, "d_%s", v->name));
}

/* The complete gradient of v in the required layout; NULL: none, or an error (b.failed). */
static struct ir_value *
complete(struct sweep *s, struct ir_value *v)
{
	struct ir_value *g = s->grad[v->id];

	if (!g)
		return NULL;
	name_gradient(s, v, g);
	g = bring(s, v, g);
	s->grad[v->id] = g;
	return g;
}

/*
 * An identity on meaning: the gradient of result i is passed to operand i unchanged. The layout is
 * converted there, so a sum that arrives partial after an allgather is scattered directly. A
 * barrier is not needed for the gradients: they are computed once, from each other. Nor are copies
 * to the host and back: gradients stay on the device.
 */
static bool
back_parallel(struct sweep *s, struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		struct ir_value *g = s->grad[op->result[i].id];
		if (!g || !s->wanted[ir_operand(op, i)->id])
			continue;
		name_gradient(s, &op->result[i], g);
		if (!accumulate(s, ir_operand(op, i), g))
			return false;
	}
	return true;
}

static struct ir_value *
operand_gradient(struct sweep *s, struct ir_op *op, int j, struct ir_value *g, bool *none)
{
	uint32_t axes = 0;
	struct ir_value *d =
		adjoint_lacks(op) ? NULL : adjoint_fitted(&s->b, s->a, op, j, g, none, &axes);

	if (!d && !*none)
		refuse(s, op, j, g);
	for (int i = 0; d && i < s->b.m->naxes; i++)
		if (axes >> i & 1)
			pass_remark(s->run, op, PASS_MISSED,
				"the gradient with respect to operand %d%s does not fit the "
				"layout of %s, so the values that it reads are gathered on axis %s",
				j + 1, name_of(s, ir_operand(op, j)),
				op_name((enum op_code)op->code), s->b.m->axis[i].name);
	return d;
}

/*
 * The gradient of the operand of a conversion to 16 bits: the unrounded sum over micro-batches in
 * f32, if g is just that sum rounded. NULL: it is not.
 */
static struct ir_value *
unrounded_sum(struct sweep *s, const struct ir_op *op, struct ir_value *g)
{
	struct ir_value *sum = g->op && g->op->code == OP_convert ? ir_operand(g->op, 0) : NULL;

	if (op->code != OP_convert || !sum || !sum->op || sum->op->code != OP_reduce || g->uses ||
		sum->type->dtype != ir_operand_type(op, 0)->dtype)
		return NULL;
	ir_op_erase(g->op);
	s->grad[op->result[0].id] = NULL;
	return sum;
}

/* A while whose number of iterations data decides would have to save what each of them carries. */
static bool
back_while(struct sweep *s, struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		if (!s->grad[op->result[i].id] || !s->wanted[op->result[i].id])
			continue;
		diag_error(s->run->ctx->diag, op->loc,
			"grad: the loss depends on a param through result %d%s of this while, "
			"which cannot be differentiated; a stop_gradient on its operands declares "
			"that they are not trained",
			i + 1, name_of(s, &op->result[i]));
		s->b.failed = true;
	}
	return !s->b.failed;
}

static bool
back_uses(struct sweep *s, struct ir_op *op)
{
	if (op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR) || !op->nresults)
		return true;
	if (op_is(op, TRAIT_PARALLEL) || is_identity(op))
		return back_parallel(s, op);
	if (op->code == OP_while)
		return back_while(s, op);
	struct ir_value *g = complete(s, &op->result[0]);
	if (s->b.failed || !g)
		return !s->b.failed;
	struct ir_value *sum = unrounded_sum(s, op, g);
	if (sum)
		return accumulate(s, ir_operand(op, 0), sum);
	for (int j = 0; j < op->noperands; j++) {
		bool none = !s->wanted[ir_operand(op, j)->id];
		struct ir_value *d = none ? NULL : operand_gradient(s, op, j, g, &none);
		if (none)
			continue;
		if (!d || !accumulate(s, ir_operand(op, j), d))
			return false;
	}
	return true;
}

/* A param's gradient is completed, and so communicated, right after its last use is processed. */
static bool
back_op(struct sweep *s, struct ir_op *op)
{
	s->b.loc = op->loc;
	if (!back_uses(s, op))
		return false;
	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *v = ir_operand(op, j);
		if (--s->left[v->id] == 0 && v->op && op_is(v->op, TRAIT_PERSISTENT))
			complete(s, v);
	}
	return !s->b.failed;
}

/* The output named by the option, which must be a floating-point scalar. */
static struct ir_op *
find_loss(struct pass_run *run, struct ir_func *f)
{
	const char *name = pass_string(run, "loss");
	struct ir_op *found = NULL;

	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_output && strcmp(op->symbol, name) == 0)
			found = op;
	if (!found)
		diag_error(run->ctx->diag, pass_option_loc(run, "loss"),
			"grad: there is no output named \"%s\"; name the loss with grad{loss=NAME}",
			name);
	else if (ir_operand_type(found, 0)->rank != 0 || !is_float(ir_operand_type(found, 0)))
		diag_error(run->ctx->diag, found->loc,
			"grad: the loss must be a floating-point scalar");
	else
		return found;
	return NULL;
}

/* Counts the uses of the values, and determines which values are wanted. */
static void
count_uses(struct sweep *s, struct ir_block *block)
{
	const uint32_t n = s->b.m->value_ids;

	s->nids = n;
	s->grad = ARRAY_ZERO(s->run->scratch, struct ir_value *, n);
	s->left = ARRAY_ZERO(s->run->scratch, uint32_t, n);
	s->wanted = ARRAY_ZERO(s->run->scratch, bool, n);
	IR_FOR_OPS (op, block) {
		for (int j = 0; j < op->noperands; j++)
			s->left[ir_operand(op, j)->id]++;
		for (int i = 0; i < op->nresults; i++)
			s->wanted[op->result[i].id] = leads_to_param(s, op, &op->result[i]);
	}
}

/* d loss / d loss: 1 or the scale, known at every micro-batch. */
static bool
seed(struct sweep *s, struct ir_value *loss)
{
	struct ir_type t = *loss->type;
	struct ir_attr one = ir_make_float(s->b.m->ctx, "value", 1);

	for (int i = 0; i < s->b.m->naxes; i++)
		if (s->b.m->axis[i].time)
			t.axis[i] = (struct ir_state){.kind = IR_COPIED};
	struct ir_value *g = ir_build_typed(
		&s->b, OP_constant, NULL, NULL, 0, &one, 1, ir_type_intern(s->run->ctx, &t));
	if (s->scale)
		g = ir_build2(
			&s->b, OP_mul, g, total_convert(&s->b, s->scale, (enum ir_dtype)t.dtype));
	if (g)
		s->grad[loss->id] = g;
	return g != NULL;
}

/* --- paths that end at integers --------------------------------------------------------------- */

/* Number of values of a path that are named at each of its ends, to keep the message short. */
enum { WAY_SHOWN = 6 };

/*
 * The op on the path from a value to the loss, by value->id; NULL if there is none. stop_gradient
 * ends a path: it means that no gradient is wanted beyond it.
 */
static struct ir_op **
find_ways(struct sweep *s, struct ir_op *last, const struct ir_op *loss)
{
	struct ir_op **way = ARRAY_ZERO(s->run->scratch, struct ir_op *, s->nids);

	for (struct ir_op *op = last; op; op = op->prev) {
		bool leads = op == loss;
		for (int i = 0; i < op->nresults; i++)
			leads = leads || way[op->result[i].id];
		for (int j = 0; leads && op->code != OP_stop_gradient && j < op->noperands; j++)
			if (!is_identity(op) || way[op->result[j].id])
				way[ir_operand(op, j)->id] = op;
	}
	return way;
}

/* The result of op from which the path continues. */
static const struct ir_value *
next_on_way(struct ir_op *const *way, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		if (way[op->result[i].id])
			return &op->result[i];
	return NULL;
}

/* Where the path from v to the loss leaves floating point: the first other value, or NULL. */
static const struct ir_value *
first_integer(struct ir_op *const *way, const struct ir_value *v)
{
	while (v && is_float(v->type))
		v = way[v->id] ? next_on_way(way, way[v->id]) : NULL;
	return v;
}

/* "%w -> %i (convert, i32) -> %f (convert) -> %l (sum) -> the loss". */
static char *
way_text(struct sweep *s, struct ir_op *const *way, const struct ir_value *v)
{
	char *text = TEXT(s->run->scratch, "%%%s", v->op->symbol);
	int length = 0, n = 0;

	for (const struct ir_value *x = v; x; x = next_on_way(way, way[x->id]))
		length++;
	while ((v = next_on_way(way, way[v->id]))) {
		if (++n == WAY_SHOWN && length > 2 * WAY_SHOWN)
			text = text_append(text, " -> ...");
		if (n >= WAY_SHOWN && n <= length - WAY_SHOWN)
			continue;
		text = v->name ? text_append(text, " -> %%%s (%s", v->name,
					 op_name((enum op_code)v->op->code))
			       : text_append(text, " -> (%s", op_name((enum op_code)v->op->code));
		if (!is_float(v->type))
			text = text_append(
				text, ", %s", ir_dtype_name((enum ir_dtype)v->type->dtype));
		text = text_append(text, ")");
	}
	return text_append(text, " -> the loss");
}

/* Explains a missing gradient: no dependence and stop_gradient are remarks, integers an error. */
static void
explain(struct sweep *s, const struct ir_op *param, struct ir_op *const *way)
{
	const struct ir_value *v = &param->result[0],
			      *at = is_float(v->type) ? first_integer(way, v) : NULL;

	if (!at) {
		pass_remark(s->run, param, PASS_MISSED, "param %s: %s", param->symbol,
			way[v->id] && is_float(v->type) ? "its gradient is zero everywhere"
			: is_float(v->type)             ? "the loss does not depend on it"
							: "it is not a floating-point tensor");
		return;
	}
	diag_error(s->run->ctx->diag, param->loc,
		"grad: param %s has no gradient: the loss depends on it only through integers: %s",
		param->symbol, way_text(s, way, v));
	diag_note(s->run->ctx->diag, at->op->loc,
		"it becomes %s here; a stop_gradient before this op "
		"declares that it is not trained",
		ir_dtype_name((enum ir_dtype)at->type->dtype));
	s->b.failed = true;
}

/* --- the report ------------------------------------------------------------------------------- */

/* The gradient of the loss itself. */
static struct ir_value *
unscaled(struct sweep *s, struct ir_value *g)
{
	if (!s->scale)
		return g;
	return ir_build2(
		&s->b, OP_div, g, total_convert(&s->b, s->scale, (enum ir_dtype)g->type->dtype));
}

/* Appends output("grad.w", %g) to the block, in the order of the params. A step without any has
 * nothing to train. */
static bool
report_gradients(
	struct sweep *s, struct ir_block *block, struct ir_op *last, const struct ir_op *loss)
{
	struct ir_op **way = find_ways(s, last, loss);
	int n = 0;

	IR_FOR_OPS (op, block) {
		if (op->code != OP_param)
			continue;
		struct ir_value *g = s->grad[op->result[0].id];
		s->b.loc = op->loc;
		if (g) {
			char *name = TEXT(s->run->scratch, "grad.%s", op->symbol);
			g = unscaled(s, g);
			ir_build_typed(&s->b, OP_output, name, &g, 1, NULL, 0, NULL);
			pass_count(s->run, "gradient(s)", 1);
			n++;
		} else {
			explain(s, op, way);
		}
		if (op == last)
			break;
	}
	if (!n && !s->b.failed)
		diag_error(s->run->ctx->diag, loss->loc,
			"grad: the loss does not depend on any param");
	return n && !s->b.failed;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");
	struct ir_op *loss = f ? find_loss(run, f) : NULL;

	if (!loss)
		return false;
	struct sweep s = {.run = run,
		.b = {.m = m, .block = &f->body, .loc = loss->loc},
		.scale = amp_scale(m),
		.wide = pass_enum(run, "accumulate") == ACCUMULATE_F32};
	struct ir_op *last = f->body.last;
	s.a = arena_create(run->scratch);
	count_uses(&s, &f->body);
	if (!seed(&s, ir_operand(loss, 0)))
		return false;
	for (struct ir_op *op = last; op; op = op->prev)
		if (!back_op(&s, op))
			return false;
	if (!report_gradients(&s, &f->body, last, loss))
		return false;
	kept_remark(run, m);
	return true;
}

static const struct pass_option options[] = {
	{"loss", PASS_STRING, "loss", "name of the output to differentiate", NULL, 0, 0},
	{"accumulate", PASS_ENUM, "f32",
		"element type in which 16-bit gradients are summed over micro-batches; own: theirs",
		"f32,own", 0, 0},
	{0},
};

const struct pass pass_grad = {
	.name = "grad",
	.family = "train",
	.summary =
		"reverse-mode differentiation: gradients of the loss with respect to every param",
	.options = options,
	.needs = "no-calls",
	.provides = "grad,backward",
	.conflicts = "grad,fused",
	.run = run,
	.keeps_bits = true,
};
