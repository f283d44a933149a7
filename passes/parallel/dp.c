/*
 * dp: data parallelism. Splits dim 0 of every input over a device axis and propagates that through
 * the step, op by op in order. Where an op cannot take its operands as they are, a parallelization
 * op is inserted for an operand that is
 *
 *     partial                allreduce, right after the op that makes the value, where a gradient
 *                            becomes available; reducescatter where another operand is split and
 *                            only a slice is read. A sum of partials alone stays partial, so that a
 *                            gradient of several terms is communicated once; so does a value that
 *                            is read only by ops that make it smaller
 *     copied, another split  a slice (partition); nothing is communicated. Constants, broadcasts
 *                            and what is computed from copied values alone are made in slices
 *     split, no rule fits    allgather
 *
 * Right because these ops never change what a value means; the verifier infers every layout again.
 * Params and states stay copied. Outputs go to the end of the step, so that nothing waits for a
 * report. Works on forward steps and on steps with gradients alike.
 */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "ir/ops/special.h"
#include "passes/parallel/dp.h"
#include "passes/parallel/reshard.h"

#include <string.h>

/* A value that was made again in slices along a dim. */
struct sliced {
	struct sliced *next; /* of the same value, along another dim */
	struct ir_value *v;
	int dim;
};

/* Ops behind one another that are made anew in slices; what is left of a longer chain is cut. */
enum { SLICE_MAX_DEPTH = 1000 };

struct dp {
	struct pass_run *run;
	struct ir_module *m;
	int axis;
	bool time;              /* the axis is one of micro-batches */
	struct sliced **sliced; /* by value->id, of values that were there before this pass */
	uint32_t nids;
};

static struct ir_state
state_of(const struct dp *p, const struct ir_value *v)
{
	return v->type->axis[p->axis];
}

/* The result of an op of that code on this axis (and dim, if it has one) that reads v, or NULL. */
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

/* Behind v, or what there is already, moved there: whoever asks may stand before it. */
static struct ir_value *
change(struct dp *p, struct ir_value *v, enum op_code asked, int dim)
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

static struct ir_value *slice(struct dp *p, struct ir_value *v, int dim, int depth);

/* Does the op that makes v read less than it writes? Then to make v again costs no more than to cut
 * it. */
static bool
repeats(const struct ir_op *op, const struct ir_value *v)
{
	for (int j = 0; j < op->noperands; j++)
		if (ir_type_elements(ir_operand_type(op, j)) >= ir_type_elements(v->type))
			return false;
	return true;
}

/*
 * A copy of the op that makes v, on slices of its operands, or NULL. Only where nobody else reads v
 * or v only repeats what is smaller, so that little is computed twice.
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
		if (at >= 0 && !(operand[j] = slice(p, operand[j], at, depth + 1)))
			return NULL;
	}
	return ir_op_clone(p->m, op, operand);
}

static void
remember(struct dp *p, const struct ir_value *v, int dim, struct ir_value *slice)
{
	struct sliced *s = NEW(p->run->scratch, struct sliced);

	if (v->id >= p->nids)
		return;
	*s = (struct sliced){p->sliced[v->id], slice, dim};
	p->sliced[v->id] = s;
}

/* The slices of a value that are there. */
static const struct sliced *
slices_of(const struct dp *p, const struct ir_value *v)
{
	return v->id < p->nids ? p->sliced[v->id] : NULL;
}

/*
 * The slice of a copied value along dim that a place needs: made as such where the ops behind it
 * can (a constant, a broadcast, pointwise ops on those), else cut out.
 */
static struct ir_value *
slice(struct dp *p, struct ir_value *v, int dim, int depth)
{
	struct ir_op *op = v->op, *copy = NULL;
	struct ir_type t = *v->type;

	for (const struct sliced *s = slices_of(p, v); s; s = s->next)
		if (s->dim == dim)
			return s->v;
	if (!op_is(op, TRAIT_WRITTEN))
		copy = depth < SLICE_MAX_DEPTH ? slice_op(p, v, dim, depth) : NULL;
	else if (op_is(op, TRAIT_PURE))
		copy = ir_op_clone(p->m, op, NULL);
	if (!copy)
		return change(p, v, OP_partition, dim);
	t.axis[p->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&t, dim)};
	const struct ir_type *type = ir_type_intern(p->m->ctx, &t);
	bool before = diag_mute(p->m->ctx->diag, true);
	bool fits = ir_infer(p->m, copy, &type);
	diag_mute(p->m->ctx->diag, before);
	if (!fits) {
		ir_op_erase(copy);
		return change(p, v, OP_partition, dim);
	}
	ir_insert_after(op, copy);
	remember(p, v, dim, &copy->result[0]);
	return &copy->result[0];
}

/* Takes the op of a value that nobody reads any more out of its block, onto the list. */
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

/* Erases the op of a value that nobody reads any more, and what was there for it alone. */
static void
drop_dead(struct ir_value *v)
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

static bool
set_fitted(struct ir_op *op, int operand, struct ir_value *v)
{
	struct ir_value *old = ir_operand(op, operand);

	if (!v)
		return false;
	ir_set_operand(op, operand, v);
	drop_dead(old);
	return true;
}

static bool
all_partial(const struct dp *p, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (state_of(p, ir_operand(op, j)).kind != IR_PARTIAL)
			return false;
	return true;
}

/* How far ahead dp looks for what makes a partial value smaller: a gradient is sliced, summed and
 * reshaped within a few ops. */
static const int max_ahead = 6;

/* Does the op make of a sum over the places one that is no larger? */
static bool
shrinks(const struct ir_op *op)
{
	switch (op->code) {
	case OP_sum:
	case OP_mean:
	case OP_slice:
	case OP_split:
	case OP_reverse:
	case OP_reshape:
	case OP_transpose: return true;
	default: return false;
	}
}

/*
 * Is nothing lost by communicating the partial value v only behind the ops that read it? All of
 * them shrink it, to no more elements together than it has. `message` is what has to be
 * communicated then, or now.
 */
static bool
can_wait(const struct ir_value *v, int ahead, int64_t *message)
{
	int64_t later = 0, behind = 0;

	*message = ir_type_elements(v->type);
	IR_FOR_USES (u, v) {
		if (!shrinks(u->op) || !ahead)
			return false;
		can_wait(&u->op->result[0], ahead - 1, &behind);
		later += behind;
	}
	if (later > *message)
		return false;
	*message = later;
	return true;
}

/* Does the op take partial values as they are? */
static bool
passes_partial(const struct dp *p, const struct ir_op *op)
{
	int64_t message;

	if (op->code == OP_add)
		return all_partial(p, op);
	/* What is added up over the micro-batches first is communicated once. */
	return (op_is(op, TRAIT_PARALLEL) && !p->time) || op->code == OP_barrier ||
	       op_is(op, TRAIT_COPY) ||
	       (shrinks(op) && can_wait(ir_operand(op, 0), max_ahead, &message));
}

/* Operand j to a split on its dim of `index`, or to copied where it has none. */
static bool
fit_operand(struct dp *p, struct ir_op *op, int j, int want_dim)
{
	struct ir_value *v = ir_operand(op, j);
	struct ir_state s = state_of(p, v);

	if (s.kind == IR_SPLIT && s.dim == want_dim)
		return true;
	if (s.kind == IR_SPLIT && !set_fitted(op, j, change(p, v, OP_allgather, 0)))
		return false;
	if (want_dim < 0)
		return true;
	return set_fitted(op, j, slice(p, ir_operand(op, j), want_dim, 0));
}

/*
 * What is known only after the last micro-batch, next to an operand that is split into them: the op
 * is done in a second loop over the micro-batches, for which what it reads of the first is kept.
 */
static bool
repeat_late(struct dp *p, struct ir_op *op)
{
	bool apart = false;

	for (int j = 0; j < op->noperands; j++)
		apart = apart || state_of(p, ir_operand(op, j)).kind == IR_SPLIT;
	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *v = ir_operand(op, j);
		if (!apart || state_of(p, v).kind != IR_SINGLE)
			continue;
		pass_remark(p->run, op, PASS_MISSED,
			"%s needs a result of all micro-batches: a second loop over them starts "
			"here, and values of all of them are kept for it",
			op_name((enum op_code)op->code));
		if (!set_fitted(op, j, change(p, v, OP_replicate, 0)))
			return false;
	}
	return true;
}

/* The index that the first split operand picks; none: -1. A reduction that is no sum cannot be
 * split. */
static int
picked_index(const struct dp *p, const struct ir_op *op, const struct form *f)
{
	for (int j = 0; j < f->ninputs; j++) {
		struct ir_state s = state_of(p, ir_operand(op, j));
		int index = s.kind == IR_SPLIT ? f->in[j].index[s.dim] : -1;
		bool summed = f->reduce == REDUCE_SUM || f->reduce == REDUCE_NONE;
		if (index >= 0 && (summed || !(f->reduced >> index & 1)))
			return index;
	}
	return -1;
}

/* The dim of operand j in which it is going to be split because another operand is; -1: none. */
static int
dim_beside_split(struct dp *p, const struct ir_op *op, int j)
{
	struct form f;

	if (!op->nresults || !form_exists((enum op_code)op->code) || op_is(op, TRAIT_PARALLEL) ||
		!form_shape(p->m, op, NULL, &f, NULL))
		return -1;
	const int index = picked_index(p, op, &f);
	return index < 0 || f.at[index] ? -1 : form_access_dim(&f.in[j], index);
}

static bool
divides(const struct dp *p, const struct ir_value *v, int dim)
{
	return ir_type_local_dim(p->m, v->type, dim) % p->m->axis[p->axis].size == 0;
}

static bool
fit_partials(struct dp *p, struct ir_op *op)
{
	if (passes_partial(p, op))
		return true;
	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *v = ir_operand(op, j);
		if (state_of(p, v).kind != IR_PARTIAL)
			continue;
		const int dim = dim_beside_split(p, op, j);
		const bool slice = dim >= 0 && !v->uses->next && divides(p, v, dim) && !p->time;
		if (!set_fitted(op, j,
			    change(p, v, slice ? OP_reducescatter : OP_allreduce, slice ? dim : 0)))
			return false;
	}
	return true;
}

static bool
fit_splits(struct dp *p, struct ir_op *op)
{
	struct form f;

	if (!form_shape(p->m, op, op->result[0].type, &f, NULL))
		return false;
	int index = picked_index(p, op, &f);
	for (int j = 0; j < f.ninputs; j++)
		if (!fit_operand(p, op, j, index < 0 ? -1 : form_access_dim(&f.in[j], index)))
			return false;
	return !p->time || repeat_late(p, op);
}

/* A new value of a param must have the param's layout. */
static bool
fit_update(struct dp *p, struct ir_op *op)
{
	struct ir_builder b = {.m = p->m, .block = op->block, .before = op, .loc = op->loc};

	return set_fitted(op, 1, reshard(&b, ir_operand(op, 1), ir_operand_type(op, 0)));
}

static bool
fit_reshape(struct dp *p, struct ir_op *op)
{
	struct ir_type t;
	bool before = diag_mute(p->m->ctx->diag, true);
	bool fits = special_reshape(p->m, op, &t);

	diag_mute(p->m->ctx->diag, before);
	return fits || fit_operand(p, op, 0, -1);
}

/* Ops with rules of their own take a split that fits them, else a whole operand. */
static bool
fit_own(struct dp *p, struct ir_op *op)
{
	struct ir_type t[OWN_MAX_RESULTS];
	bool before = diag_mute(p->m->ctx->diag, true), ok = true;
	bool fits = special_op((enum op_code)op->code)->infer(p->m, op, t);

	diag_mute(p->m->ctx->diag, before);
	for (int j = 0; j < op->noperands && !fits && ok; j++)
		ok = fit_operand(p, op, j, -1);
	return ok;
}

/* `now`, with the splits over other axes that `before` has and nothing in the operands decides. */
static const struct ir_type *
with_chosen_splits(const struct dp *p, const struct ir_type *before, const struct ir_type *now)
{
	struct ir_type t = *now;
	struct ir_state *here = &t.axis[p->axis];
	bool added = false;

	for (int a = 0; a < p->m->naxes; a++)
		if (a != p->axis && before->axis[a].kind == IR_SPLIT &&
			t.axis[a].kind == IR_COPIED) {
			t.axis[a] = before->axis[a];
			added = true;
		}
	if (added && here->kind == IR_SPLIT) {
		const uint8_t dim = here->dim;
		*here = (struct ir_state){.kind = IR_COPIED};
		*here = (struct ir_state){IR_SPLIT, dim, (uint16_t)ir_type_split_depth(&t, dim)};
	}
	return ir_type_intern(p->m->ctx, &t);
}

/* A broadcast in slices over another axis stays one: its layout there was chosen, not inferred. */
static bool
infer_again(struct dp *p, struct ir_op *op)
{
	const struct ir_type *before = op->nresults == 1 ? op->result[0].type : NULL;

	if (op_is(op, TRAIT_WRITTEN))
		return ir_infer(p->m, op, &before);
	if (!ir_infer(p->m, op, NULL))
		return false;
	if (!before || op_is(op, TRAIT_PARALLEL) || !form_exists((enum op_code)op->code))
		return true;
	const struct ir_type *chosen = with_chosen_splits(p, before, op->result[0].type);
	return chosen == op->result[0].type || ir_infer(p->m, op, &chosen);
}

/* A collective takes slices of what it changes, or what they are put together to: of a dim that is
 * split over two axes only the innermost split comes off, and this one has just become that. */
static bool
fit_parallel(struct dp *p, struct ir_op *op)
{
	const bool before = diag_mute(p->m->ctx->diag, true), fits = ir_infer(p->m, op, NULL);
	bool ok = true;

	diag_mute(p->m->ctx->diag, before);
	for (int j = 0; j < op->noperands && !fits && ok; j++)
		ok = fit_operand(p, op, j, -1);
	return ok;
}

/* What leaves the step is whole: only devices may hold slices of it. */
static bool
fit_effect(struct dp *p, struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (!fit_operand(p, op, j, -1))
			return false;
	return true;
}

static bool
carry(struct dp *p, struct ir_op *op)
{
	if (!fit_partials(p, op))
		return false;
	if (p->time && op_is(op, TRAIT_EFFECT) && !fit_effect(p, op))
		return false;
	if (op_is(op, TRAIT_PARALLEL) && !fit_parallel(p, op))
		return false;
	if (op->code == OP_update && !fit_update(p, op))
		return false;
	if (op->code == OP_reshape && !fit_reshape(p, op))
		return false;
	if (op_is(op, TRAIT_OWN) && !fit_own(p, op))
		return false;
	if (form_exists((enum op_code)op->code) && op->noperands && !op_is(op, TRAIT_PARALLEL) &&
		!fit_splits(p, op))
		return false;
	return infer_again(p, op);
}

static bool
split_input(struct dp *p, struct ir_op *op, int dim)
{
	struct ir_type t = *op->result[0].type;

	if (t.axis[p->axis].kind != IR_COPIED || !t.rank) {
		pass_remark(p->run, op, PASS_MISSED, "input %s is %s: not split", op->symbol,
			t.rank ? "already laid out over the axis" : "a scalar");
		return true;
	}
	t.axis[p->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&t, dim)};
	if (!ir_type_check(p->m, &t, op->loc,
		    dim ? "spatial: height of the input" : "dp: batch of the input"))
		return false;
	op->result[0].type = ir_type_intern(p->m->ctx, &t);
	pass_count(p->run, "input(s) split", 1);
	return true;
}

/* A report is not worth waiting for in the middle of a step. */
static void
move_outputs_last(struct ir_block *block)
{
	struct ir_op *last = block->last;

	IR_FOR_OPS_SAFE (op, block) {
		bool done = op == last;
		if (op->code == OP_output) {
			ir_op_unlink(op);
			ir_block_append(block, op);
		}
		if (done)
			break;
	}
}

bool
dp_split_over(struct pass_run *run, struct ir_module *m, int axis, int dim, dp_choice *takes,
	const void *data)
{
	struct ir_func *f = ir_func_find(m, "main");
	struct dp p = {
		.run = run, .m = m, .axis = axis, .time = m->axis[axis].time, .nids = m->value_ids};

	p.sliced = ARRAY_ZERO(run->scratch, struct sliced *, p.nids);
	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_input && takes(op, data) && !split_input(&p, op, dim))
			return false;
	IR_FOR_OPS (op, &f->body)
		if (!carry(&p, op))
			return false;
	move_outputs_last(&f->body);
	return true;
}

static bool
has_rank(const struct ir_op *input, const void *rank)
{
	return input->result[0].type->rank >= *(const int *)rank;
}

bool
dp_split(struct pass_run *run, struct ir_module *m, int dim, int rank)
{
	const int axis = pass_axis(run, "axis");

	if (m->axis[axis].time) {
		diag_error(run->ctx->diag, pass_option_loc(run, "axis"),
			"%s: %s is a time axis; expected a device axis", run->pass->name,
			m->axis[axis].name);
		return false;
	}
	return dp_split_over(run, m, axis, dim, has_rank, &rank);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return dp_split(run, m, 0, 0);
}

static const struct pass_option options[] = {
	{"axis", PASS_AXIS, NULL, "device axis over which the batch is split", NULL, 0, 0},
	{0},
};

const struct pass pass_dp = {
	.name = "dp",
	.family = "parallelize",
	.summary = "data parallelism: split the batch over an axis and sum each "
		   "gradient when it becomes available",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
