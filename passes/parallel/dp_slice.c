/*
 * Changes of layout that dp inserts: collectives right after the op that makes the value, and
 * slices of copied values, which are computed in slices where that is possible.
 */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "passes/parallel/dp_impl.h"

/* A value that was made again in slices along a dim. */
struct dp_sliced {
	struct dp_sliced *next; /* of the same value, along another dim */
	struct ir_value *v;
	int dim;
};

/*
 * A longer chain of ops is not made again in slices: the walk along it is recursive. Its end is
 * cut.
 */
enum { SLICE_MAX_DEPTH = 1000 };

/* The result of an op with that code on this axis (and dim, if it has one) that reads v, or
 * NULL. */
static struct ir_value *
find_change(const struct dp *p, const struct ir_value *v, enum op_code code, int dim)
{
	IR_FOR_USES (u, v)
		if (u->op->code == code && u->op->noperands == 1 &&
			ir_attr_int(u->op, "axis", -1) == p->axis &&
			ir_attr_int(u->op, "dim", dim) == dim)
			return &u->op->result[0];
	return NULL;
}

/* Over micro-batches a sum or a whole is known only after the last of them. */
static enum op_code
code_over_time(enum op_code code)
{
	return code == OP_allreduce ? OP_reduce : code == OP_allgather ? OP_combine : code;
}

/*
 * Changes the layout of v, right after v. An existing op for that is moved there, since its new
 * reader may be earlier in the text.
 */
struct ir_value *
dp_change(struct dp *p, struct ir_value *v, enum op_code asked, int dim)
{
	const enum op_code code = p->time ? code_over_time(asked) : asked;
	struct ir_value *have = find_change(p, v, code, dim);
	struct ir_attr attr[2] = {
		ir_make_axis(p->m->ctx, "axis", p->axis), ir_make_int(p->m->ctx, "dim", dim)};

	if (have) {
		ir_op_unlink(have->op);
		ir_insert_after(v->op, have->op);
		return have;
	}
	struct ir_builder b = {
		.m = p->m, .block = v->op->block, .before = v->op->next, .loc = v->op->loc};
	const bool along = code == OP_partition || code == OP_reducescatter;
	struct ir_value *new = ir_build(&b, code, &v, 1, attr, along ? 2 : 1);
	if (new)
		pass_count(p->run, op_name(code), 1);
	return new;
}

/*
 * Does the op that makes v read less than it writes? Then making v again costs no more than slicing
 * it.
 */
static bool
repeats(const struct ir_op *op, const struct ir_value *v)
{
	for (int j = 0; j < op->noperands; j++)
		if (ir_type_elements(ir_operand_type(op, j)) >= ir_type_elements(v->type))
			return false;
	return true;
}

/*
 * A copy of the op that makes v, on slices of its operands, or NULL. Only where v has no other
 * reader or only repeats smaller values, so that little is computed twice.
 */
static struct ir_op *
slice_op(struct dp *p, struct ir_value *v, int dim, int depth)
{
	struct ir_op *op = v->op;
	struct ir_value *operand[FORM_MAX_INPUTS];
	struct form f;

	if ((v->uses->next && !repeats(op, v)) || !op_is(op, TRAIT_PURE) ||
		op_is(op, TRAIT_PARALLEL | TRAIT_WRITTEN) || !form_exists((enum op_code)op->code) ||
		!form_shape(p->m, op, v->type, &f, NULL))
		return NULL;
	for (int j = 0; j < f.ninputs; j++) {
		int at = form_access_dim(&f.in[j], f.out.index[dim]);
		operand[j] = ir_operand(op, j);
		if (operand[j]->type->axis[p->axis].kind != IR_COPIED)
			return NULL;
		if (at >= 0 && !(operand[j] = dp_slice(p, operand[j], at, depth + 1)))
			return NULL;
	}
	return ir_op_clone(p->m, op, operand);
}

static void
remember(struct dp *p, const struct ir_value *v, int dim, struct ir_value *slice)
{
	struct dp_sliced *s = NEW(p->run->scratch, struct dp_sliced);

	if (v->id >= p->nids)
		return;
	*s = (struct dp_sliced){p->sliced[v->id], slice, dim};
	p->sliced[v->id] = s;
}

/* The slices of a value that have been made so far. */
static const struct dp_sliced *
slices_of(const struct dp *p, const struct ir_value *v)
{
	return v->id < p->nids ? p->sliced[v->id] : NULL;
}

/*
 * The slice of a copied value along dim that a device needs. Constants, broadcasts and pointwise
 * ops on them are computed in slices; other values are sliced.
 */
struct ir_value *
dp_slice(struct dp *p, struct ir_value *v, int dim, int depth)
{
	struct ir_op *op = v->op, *copy = NULL;
	struct ir_type t = *v->type;

	for (const struct dp_sliced *s = slices_of(p, v); s; s = s->next)
		if (s->dim == dim)
			return s->v;
	if (!op_is(op, TRAIT_WRITTEN))
		copy = depth < SLICE_MAX_DEPTH ? slice_op(p, v, dim, depth) : NULL;
	else if (op_is(op, TRAIT_PURE))
		copy = ir_op_clone(p->m, op, NULL);
	if (!copy)
		return dp_change(p, v, OP_partition, dim);
	t.axis[p->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&t, dim)};
	const struct ir_type *type = ir_type_intern(p->m->ctx, &t);
	bool before = diag_mute(p->m->ctx->diag, true);
	bool fits = ir_infer(p->m, copy, &type);
	diag_mute(p->m->ctx->diag, before);
	if (!fits) {
		ir_op_erase(copy);
		return dp_change(p, v, OP_partition, dim);
	}
	ir_insert_after(op, copy);
	remember(p, v, dim, &copy->result[0]);
	return &copy->result[0];
}

/* Moves the op of a value without readers from its block to the list. */
static void
take_dead(struct ir_value *v, struct ir_op **list)
{
	struct ir_op *op = v->op;

	if (v->uses || !op->block || !op_is(op, TRAIT_PURE) || op->nresults != 1)
		return;
	ir_op_unlink(op);
	op->next = *list;
	*list = op;
}

/* Erases the op of a value without readers, and the ops that only it needed. */
void
dp_drop_dead(struct ir_value *v)
{
	struct ir_value *operand[FORM_MAX_INPUTS];
	struct ir_op *list = NULL;

	take_dead(v, &list);
	while (list) {
		struct ir_op *op = list;
		int n = op->noperands < FORM_MAX_INPUTS ? op->noperands : FORM_MAX_INPUTS;
		list = op->next;
		for (int j = 0; j < n; j++)
			operand[j] = ir_operand(op, j);
		ir_op_erase(op);
		for (int j = 0; j < n; j++)
			take_dead(operand[j], &list);
	}
}
