/*
 * The gradient of an op whose layout does not fit the ops of the gradient. The forward op fits its
 * operands, but its gradient reads another mix of them: windows across the slices of another
 * operand; a gradient that is known only after all micro-batches, together with an operand that is
 * split into micro-batches.
 *
 * So the gradient is tried in one layout after the other, and the first that fits is taken:
 *
 *   as it is
 *   g known at every micro-batch (replicate): a second pass over the micro-batches
 *   g, operands and results whole on one axis that splits them; on all such axes of devices; on all
 *
 * Whole means copied on an axis of devices, and on a time axis single at the last place. The op in
 * the other layout is a shadow of the op: it exists while the gradient is built, and is erased
 * before it is returned. Ops of failed attempts are erased.
 */
#include "passes/train/adjoint.h"
#include "passes/parallel/reshard.h"

struct attempt {
	struct ir_builder *b;
	struct arena *a;
	struct ir_op *op;
	int operand;
	struct ir_value *g;
	bool *none;
};

static uint32_t
axes_of(const struct ir_module *m, bool time)
{
	uint32_t axes = 0;

	for (int i = 0; i < m->naxes; i++)
		axes |= m->axis[i].time == time ? 1u << i : 0;
	return axes;
}

/* The axes on which the type is split or partial. */
static uint32_t
axes_apart(const struct ir_module *m, const struct ir_type *t)
{
	uint32_t axes = 0;

	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_SPLIT || t->axis[i].kind == IR_PARTIAL)
			axes |= 1u << i;
	return axes;
}

/* v whole on these axes; NULL if no op converts it. */
static struct ir_value *
whole(struct ir_builder *b, struct ir_value *v, uint32_t axes)
{
	struct ir_type want = *v->type;

	for (int i = 0; i < b->m->naxes; i++) {
		const struct ir_axis *axis = &b->m->axis[i];
		if (!(axes_apart(b->m, v->type) & axes & 1u << i))
			continue;
		want.axis[i] = axis->time ? (struct ir_state){.kind = IR_SINGLE,
						    .order = (uint16_t)(axis->size - 1)}
					  : (struct ir_state){.kind = IR_COPIED};
	}
	ir_type_close_splits(&want);
	return reshard(b, v, ir_type_intern(b->m->ctx, &want));
}

/* g known at every micro-batch of the axes on which it is single. */
static struct ir_value *
known_always(struct ir_builder *b, struct ir_value *g, uint32_t axes)
{
	for (int i = 0; g && i < b->m->naxes; i++) {
		const struct ir_attr attr = ir_make_axis(b->m->ctx, "axis", i);
		if ((axes >> i & 1) && g->type->axis[i].kind == IR_SINGLE)
			g = ir_build(b, OP_replicate, &g, 1, &attr, 1);
	}
	return g;
}

static struct ir_value *
through_shadow(const struct attempt *x, uint32_t axes)
{
	enum { MOST = 16 }; /* operands of an op with a gradient: a contract or a concat */
	struct ir_builder *b = x->b;
	struct ir_value *v[MOST], *r[MOST];
	const int n = x->op->noperands, nresults = x->op->nresults;

	if (n > MOST || nresults > MOST)
		return NULL;
	for (int i = 0; i < n; i++)
		if (!(v[i] = whole(b, ir_operand(x->op, i), axes)))
			return NULL;
	struct ir_op *shadow = ir_op_clone(b->m, x->op, v);
	bool fits = ir_infer(b->m, shadow, NULL);
	ir_block_append(b->block, shadow);
	for (int i = 0; fits && i < nresults; i++) {
		r[i] = reshard(b, &x->op->result[i], shadow->result[i].type);
		fits = r[i] && r[i]->type == shadow->result[i].type;
	}
	struct ir_value *g =
		fits ? reshard(b, x->g, gradient_type(b->m, shadow->result[0].type)) : NULL;
	g = known_always(b, g, axes_of(b->m, true) & ~axes);
	struct ir_value *d = g ? adjoint(b, x->a, shadow, x->operand, g, x->none) : NULL;
	for (int i = 0; d && i < nresults; i++)
		ir_replace_uses(&shadow->result[i], r[i]);
	if (d)
		ir_op_erase(shadow);
	return d;
}

/* Erases unused ops after `last`. */
static void
drop_after(struct ir_block *b, const struct ir_op *last, const struct ir_value *used)
{
	for (struct ir_op *op = b->last, *prev; op && op != last; op = prev) {
		bool needed = false;
		prev = op->prev;
		for (int i = 0; i < op->nresults; i++)
			needed = needed || op->result[i].uses || &op->result[i] == used;
		if (!needed)
			ir_op_erase(op);
	}
}

static struct ir_value *
as_it_is(const struct attempt *x, uint32_t axes)
{
	(void)axes;
	return adjoint(x->b, x->a, x->op, x->operand, x->g, x->none);
}

static struct ir_value *
in_a_second_pass(const struct attempt *x, uint32_t axes)
{
	struct ir_value *g = known_always(x->b, x->g, axes);

	return g ? adjoint(x->b, x->a, x->op, x->operand, g, x->none) : NULL;
}

/* Tries one layout; ops that turn out to be unused are erased. */
static struct ir_value *
attempt(const struct attempt *x, struct ir_value *(*how)(const struct attempt *x, uint32_t axes),
	uint32_t axes)
{
	struct ir_op *last = x->b->block->last;
	struct ir_value *d = how(x, axes);

	drop_after(x->b->block, last, d);
	x->b->failed = false;
	return d;
}

struct ir_value *
adjoint_fitted(struct ir_builder *b, struct arena *a, struct ir_op *op, int operand,
	struct ir_value *g, bool *none, uint32_t *axes)
{
	const struct attempt x = {b, a, op, operand, g, none};
	uint32_t apart = axes_apart(b->m, g->type) | axes_apart(b->m, op->result[0].type);
	const bool before = diag_mute(b->m->ctx->diag, true);

	for (int i = 0; i < op->noperands; i++)
		apart |= axes_apart(b->m, ir_operand_type(op, i));
	*axes = 0;
	struct ir_value *d = attempt(&x, as_it_is, 0);
	if (!d && !*none)
		d = attempt(&x, in_a_second_pass, axes_of(b->m, true));
	for (int i = 0; !d && !*none && i < b->m->naxes; i++)
		if (apart >> i & 1)
			d = attempt(&x, through_shadow, *axes = 1u << i);
	const uint32_t sets[] = {apart & axes_of(b->m, false), apart};
	for (int i = 0; !d && !*none && i < 2; i++)
		if (sets[i])
			d = attempt(&x, through_shadow, *axes = sets[i]);
	diag_mute(b->m->ctx->diag, before);
	return d;
}
