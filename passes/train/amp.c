/*
 * amp: mixed precision (Micikevicius et al., "Mixed Precision Training"). Params stay in f32;
 * expensive ops are computed in bf16 or f16. Every op on f32 values is of one of four kinds, by its
 * traits:
 *
 *     product   computes in the low type: its operands are converted, its result is low
 *     narrow    computes in the low type if all its operands are low; params, constants and masks
 *               are converted to match. With another f32 operand it computes in
 *               f32
 *     moves     the same, as do collectives; and the moved value of a param is still converted to
 *               match
 *     wide      (all others: sums, exp, log, division, roots ...) computes in f32
 *
 * So activations are low from one product to the next, while softmax, norms and losses, which begin
 * with a maximum or a mean, are in f32. So is what is summed of params alone, such as the embeddings
 * that the residual stream of a transformer begins with, and with them the stream; with
 * `params=low` both are low, as in frameworks whose params are in 16 bits where they compute.
 * Conversions are ops: grad differentiates them, and so a gradient is in the type of its value, and
 * in f32 when it reaches a param.
 *
 * Gradients below 2^-24 are 0 in f16, so the loss is scaled (amp.h says how grad and the optimizers
 * learn of it). A static scale is a constant. A dynamic one is a state: doubled after `growth`
 * steps with finite gradients, halved after a step without, which the optimizer has skipped:
 *
 *     good  := finite ? good + 1 : 0                          finite: of the step before
 *     scale := finite ? (good = growth ? 2 scale : scale) : scale / 2
 *     good  := good = growth ? 0 : good
 *
 * It changes only element types, so layouts do not matter. Must run before grad.
 */
#include "ir/base/vec.h"
#include "ir/base/alloc.h"
#include "passes/pass.h"
#include "passes/train/amp.h"
#include "passes/train/total.h"

#include <string.h>

static bool
moves(const struct ir_op *op)
{
	return op_is(op, TRAIT_MOVES | TRAIT_PARALLEL);
}

/* State of a value that existed before the pass. */
struct known {
	bool lowered;           /* it was f32 and is low now */
	bool goes_along;        /* f32 that may be converted to the low type */
	struct ir_value *other; /* the value in the other of the two types; NULL: not made yet */
};

struct amp {
	struct pass_run *run;
	struct ir_module *m;
	enum ir_dtype low;
	struct VEC(struct known *) known; /* by value->id; one entry for both types of a value */
	bool low_params;                  /* what is computed of params alone is low */
};

static struct known *
known_of(const struct amp *a, const struct ir_value *v)
{
	return a->known.at[v->id];
}

/* Shares the entry k with the value v. */
static void
set_known(struct amp *a, const struct ir_value *v, struct known *k)
{
	while (a->known.n <= v->id)
		VEC_PUSH(a->run->scratch, &a->known, NULL);
	a->known.at[v->id] = k;
}

/* --- element types ---------------------------------------------------------------------------- */

/* Is v f32, or was it before this pass? Other values are not changed. */
static bool
concerns(const struct amp *a, const struct ir_value *v)
{
	return v->type->dtype == IR_f32 || known_of(a, v)->lowered;
}

/* Converts operands that were f32 to element type t. One conversion serves all later uses. */
static bool
set_operands(struct amp *a, struct ir_op *op, enum ir_dtype t)
{
	struct ir_builder b = {.m = a->m, .block = op->block, .before = op, .loc = op->loc};

	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *v = ir_operand(op, j);
		struct known *k = known_of(a, v);
		if (!concerns(a, v) || v->type->dtype == t)
			continue;
		if (!k->other) {
			k->other = total_convert(&b, v, t);
			pass_count(a->run, "conversion(s)", 1);
		}
		if (!k->other)
			return false;
		set_known(a, k->other, k);
		ir_set_operand(op, j, k->other);
	}
	return true;
}

/* Makes the op compute in the low type. */
static bool
lower_op(struct amp *a, struct ir_op *op)
{
	const struct ir_type **written =
		NEW_ARRAY(a->run->scratch, const struct ir_type *, op->nresults + 1u);

	if (!set_operands(a, op, a->low))
		return false;
	for (int i = 0; i < op->nresults; i++) {
		struct ir_type t = *op->result[i].type;
		if (t.dtype == IR_f32) {
			t.dtype = (uint8_t)a->low;
			known_of(a, &op->result[i])->lowered = true;
		}
		written[i] = ir_type_intern(a->m->ctx, &t);
	}
	pass_count(a->run, op_is(op, TRAIT_PRODUCT) ? "product(s)" : "other op(s)", 1);
	return ir_infer(a->m, op, written);
}

/* Does the op read a low value, and otherwise nothing that has to stay wide? */
static bool
may_follow(const struct amp *a, const struct ir_op *op)
{
	bool low = false;

	for (int j = 0; j < op->noperands; j++) {
		const struct ir_value *v = ir_operand(op, j);
		const struct known *k = known_of(a, v);
		if (concerns(a, v) && !k->lowered && !k->goes_along)
			return false;
		low = low || k->lowered;
	}
	return low;
}

static bool
all_go_along(const struct amp *a, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (ir_operand_type(op, j)->dtype == IR_f32 &&
			!known_of(a, ir_operand(op, j))->goes_along)
			return false;
	return true;
}

/* Params and constants; masks, whose 0 and 1 are exact; values moved from these. */
static bool
goes_along(const struct amp *a, const struct ir_op *op)
{
	if (op->code == OP_param || op->code == OP_constant || op->code == OP_literal ||
		op->code == OP_one_hot)
		return true;
	if (op->code == OP_convert)
		return ir_operand_type(op, 0)->dtype == IR_bool;
	return moves(op) && all_go_along(a, op);
}

static bool
reads_any(const struct amp *a, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (concerns(a, ir_operand(op, j)))
			return true;
	return false;
}

/* Is it arithmetic of params alone, but no scalar? */
static bool
is_of_params(const struct amp *a, const struct ir_op *op)
{
	return op_is(op, TRAIT_NARROW) && op->result[0].type->rank > 0 && reads_any(a, op) &&
	       all_go_along(a, op);
}

static bool
visit(struct amp *a, struct ir_op *op)
{
	if (op->code == OP_release || op_is(op, TRAIT_KEYED)) /* they read no numbers */
		return true;
	if (op_is(op, TRAIT_PRODUCT) && reads_any(a, op))
		return lower_op(a, op);
	if ((moves(op) || op_is(op, TRAIT_NARROW | TRAIT_PRODUCT)) && may_follow(a, op))
		return lower_op(a, op);
	if (a->low_params && is_of_params(a, op))
		return lower_op(a, op);
	for (int i = 0; i < op->nresults; i++)
		known_of(a, &op->result[i])->goes_along = goes_along(a, op);
	return set_operands(a, op, IR_f32);
}

/* --- the scale of the loss -------------------------------------------------------------------- */

#define LOW_TYPES(ROW) ROW(LOW_BF16, "bf16") ROW(LOW_F16, "f16")

enum low_type { LOW_TYPES(CHOICE_CODE) };

#define PARAM_TYPES(ROW) ROW(PARAMS_F32, "f32") ROW(PARAMS_LOW, "low")

enum param_type { PARAM_TYPES(CHOICE_CODE) };

#define SCALINGS(ROW)                                                                              \
	ROW(AUTO, "auto") ROW(NONE, "none") ROW(STATIC, "static") ROW(DYNAMIC, "dynamic")

enum scaling { SCALINGS(CHOICE_CODE) };

/* Bounds of a dynamic scale, from Apex. Below 1 it would make gradients smaller; 2^24 times a
 * gradient of 1 is far beyond f16, and is reached only if all gradients are 0. */
static const double least_scale = 1, most_scale = 16777216;

static struct ir_value *
new_state(
	struct ir_builder *b, const char *name, enum ir_dtype dtype, const char *init, double value)
{
	const struct ir_type t = {.dtype = (uint8_t)dtype};
	const struct ir_attr attr[] = {
		ir_make_string(b->m->ctx, "init", init), ir_make_float(b->m->ctx, "value", value)};
	struct ir_value *v = ir_build_typed(b, OP_state, name, NULL, 0, attr,
		dtype == IR_bool ? 1 : 2, ir_type_intern(b->m->ctx, &t));

	if (v)
		v->name = ir_name(b->m->ctx, name);
	return v;
}

static struct ir_value *
choose(struct ir_builder *b, struct ir_value *condition, struct ir_value *x, struct ir_value *y)
{
	return ir_build(b, OP_select, (struct ir_value *[]){condition, x, y}, 3, NULL, 0);
}

static void
update(struct ir_builder *b, struct ir_value *state, struct ir_value *next)
{
	ir_build(b, OP_update, (struct ir_value *[]){state, next}, 2, NULL, 0);
}

static struct ir_value *
dynamic_scale(struct ir_builder *b, double start, double growth)
{
	/* -1: there was no step before the first one to count */
	struct ir_value *scale = new_state(b, AMP_SCALE, IR_f32, "constant", start),
			*good = new_state(b, "amp.good", IR_f32, "constant", -1),
			*finite = new_state(b, AMP_FINITE, IR_bool, "ones", 0);
	struct ir_value *zero = ir_build_scalar(b, IR_f32, 0), *one = ir_build_scalar(b, IR_f32, 1),
			*two = ir_build_scalar(b, IR_f32, 2),
			*half = ir_build_scalar(b, IR_f32, 0.5),
			*least = ir_build_scalar(b, IR_f32, least_scale),
			*most = ir_build_scalar(b, IR_f32, most_scale),
			*limit = ir_build_scalar(b, IR_f32, growth);
	struct ir_value *more = ir_build2(b, OP_add, good, one);
	struct ir_value *count = choose(b, finite, more, zero);
	struct ir_value *full = ir_build2(b, OP_ge, count, limit);
	update(b, good, choose(b, full, zero, count));
	struct ir_value *twice = ir_build2(b, OP_mul, scale, two);
	struct ir_value *up = ir_build2(b, OP_minimum, twice, most);
	struct ir_value *halved = ir_build2(b, OP_mul, scale, half);
	struct ir_value *down = ir_build2(b, OP_maximum, halved, least);
	struct ir_value *kept = choose(b, full, up, scale);
	struct ir_value *next = choose(b, finite, kept, down);
	update(b, scale, next);
	return next;
}

/*
 * The selected scaling; by default on for f16, which needs it, and off for bf16, which has the
 * exponents of f32.
 */
static int
scaling(const struct pass_run *run)
{
	const enum scaling asked = (enum scaling)pass_enum(run, "scaling");

	if (asked != AUTO)
		return asked;
	if (pass_given(run, "scale"))
		return STATIC;
	return pass_enum(run, "to") == LOW_F16 ? DYNAMIC : NONE;
}

static bool
add_scale(struct pass_run *run, struct ir_module *m, struct ir_func *f)
{
	struct ir_builder b = {.m = m, .block = &f->body, .before = f->body.first, .loc = f->loc};
	const double scale = pass_float(run, "scale");
	const int how = scaling(run);

	if (how == NONE)
		return true;
	struct ir_value *v = how == STATIC
				     ? ir_build_scalar(&b, IR_f32, scale)
				     : dynamic_scale(&b, scale, (double)pass_int(run, "growth"));
	ir_build_typed(&b, OP_output, AMP_SCALE, &v, 1, NULL, 0, NULL);
	return !b.failed;
}

struct ir_value *
amp_scale(const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_output && strcmp(op->symbol, AMP_SCALE) == 0)
			return ir_operand(op, 0);
	return NULL;
}

struct ir_value *
amp_finite(const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_state && strcmp(op->symbol, AMP_FINITE) == 0)
			return &op->result[0];
	return NULL;
}

/* --- the pass --------------------------------------------------------------------------------- */

static void
know_all(struct amp *a)
{
	const uint32_t n = a->m->value_ids;
	struct known *k = ARRAY_ZERO(a->run->scratch, struct known, n);

	VEC_ROOM(a->run->scratch, &a->known, n);
	for (uint32_t i = 0; i < n; i++)
		VEC_PUSH(a->run->scratch, &a->known, &k[i]);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	static const enum ir_dtype low[] = {[LOW_BF16] = IR_bf16, [LOW_F16] = IR_f16};
	struct ir_func *f = ir_func_find(m, "main");
	struct amp a = {.run = run,
		.m = m,
		.low = low[pass_enum(run, "to")],
		.low_params = pass_enum(run, "params") == PARAMS_LOW};

	know_all(&a);
	IR_FOR_OPS_SAFE (op, &f->body)
		if (!visit(&a, op))
			return false;
	return add_scale(run, m, f);
}

static const struct pass_option options[] = {
	{"to", PASS_ENUM, "bf16", "element type of products and activations",
		CHOICE_LIST(LOW_TYPES), 0, 0},
	{"params", PASS_ENUM, "f32",
		"element type of values computed from params alone, such as sums of "
		"embeddings; low: the type of products",
		CHOICE_LIST(PARAM_TYPES), 0, 0},
	{"scaling", PASS_ENUM, "auto",
		"loss scaling: auto (dynamic for f16, none for bf16, static if scale is "
		"given), none, static or dynamic",
		CHOICE_LIST(SCALINGS), 0, 0},
	{"scale", PASS_FLOAT, "65536", "loss scale (initial value if dynamic)", NULL, 1, 16777216},
	{"growth", PASS_INT, "2000",
		"steps with finite gradients after which a dynamic loss scale is doubled", NULL, 1,
		1e9},
	{0},
};

const struct pass pass_amp = {
	.name = "amp",
	.family = "train",
	.summary = "mixed precision: products and activations in 16 bits, params in f32",
	.options = options,
	.needs = "no-calls",
	.provides = "mixed",
	.conflicts = "mixed,grad,optimizer,fused",
	.run = run,
};
