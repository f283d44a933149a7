/*
 * How dp propagates layouts from an op's operands to its results: each operand gets a layout that
 * the op takes. See dp.c.
 */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "ir/ops/special.h"
#include "passes/parallel/dp_impl.h"
#include "passes/parallel/reshard.h"

#include <inttypes.h>

static bool
set_fitted(struct ir_op *op, int operand, struct ir_value *v)
{
	struct ir_value *old = ir_operand(op, operand);

	if (!v)
		return false;
	ir_set_operand(op, operand, v);
	dp_drop_dead(old);
	return true;
}

static bool
all_partial(const struct dp *p, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (dp_state(p, ir_operand(op, j)).kind != IR_PARTIAL)
			return false;
	return true;
}

/* How many ops ahead dp looks for ops that shrink a partial value: a gradient is sliced, summed and
 * reshaped within a few ops. */
static const int max_ahead = 6;

/* Given a partial operand, is the result of the op partial and not larger? */
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
 * Can the partial value v be communicated after the ops that read it, at no cost? All of them
 * shrink it, to no more elements in total than it has. *message: the number of elements
 * communicated then, or that of v if it cannot wait. `ahead`: ops to look ahead.
 */
static bool
can_wait(const struct ir_value *v, int ahead, int64_t *message)
{
	int64_t later = 0, after = 0;

	*message = ir_type_elements(v->type);
	IR_FOR_USES (u, v) {
		if (!shrinks(u->op) || !ahead)
			return false;
		can_wait(&u->op->result[0], ahead - 1, &after);
		later += after;
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
	/* A value that is summed over the micro-batches first is communicated once. */
	return (op_is(op, TRAIT_PARALLEL) && !p->time) || op->code == OP_barrier ||
	       op_is(op, TRAIT_COPY) ||
	       (shrinks(op) && can_wait(ir_operand(op, 0), max_ahead, &message));
}

/* Brings operand j to a split on dim want_dim, or to copied if that is negative. */
static bool
fit_operand(struct dp *p, struct ir_op *op, int j, int want_dim)
{
	struct ir_value *v = ir_operand(op, j);
	struct ir_state s = dp_state(p, v);

	if (s.kind == IR_SPLIT && s.dim == want_dim)
		return true;
	if (s.kind == IR_SPLIT && !set_fitted(op, j, dp_change(p, v, OP_allgather, 0)))
		return false;
	if (want_dim < 0)
		return true;
	return set_fitted(op, j, dp_slice(p, ir_operand(op, j), want_dim, 0));
}

/* The most ops that a remark names: a line of text. */
enum { NAMES_SHOWN = 4 };

void
dp_names_add(struct pass_run *run, struct dp_names *names, const struct ir_op *op)
{
	const char *name = op->nresults ? op->result[0].name : NULL;

	if (!names->n++)
		names->first = op;
	if (names->n > NAMES_SHOWN + 1 || !pass_remarks_wanted(run))
		return;
	const char *before = names->text ? TEXT(run->scratch, "%s, ", names->text) : "";
	if (names->n > NAMES_SHOWN)
		names->text = TEXT(run->scratch, "%s...", before);
	else if (name)
		names->text = TEXT(
			run->scratch, "%s%s (%%%s)", before, op_name((enum op_code)op->code), name);
	else
		names->text = TEXT(run->scratch, "%s%s", before, op_name((enum op_code)op->code));
}

void
dp_remark_late(struct dp *p)
{
	static const char text[] = "a second loop over them starts here, and values of all of them "
				   "are kept for it";

	if (p->late.n == 1)
		pass_remark(p->run, p->late.first, PASS_MISSED,
			"%s needs a result of all micro-batches: %s",
			op_name((enum op_code)p->late.first->code), text);
	else if (p->late.n)
		pass_remark(p->run, p->late.first, PASS_MISSED,
			"%" PRId64 " ops need results of all micro-batches: %s: %s", p->late.n,
			text, p->late.text ? p->late.text : "");
}

/*
 * An op that reads a result of all micro-batches and an operand that is split into them runs in a
 * second loop over the micro-batches; values of the first loop that it reads are kept for it.
 */
static bool
repeat_late(struct dp *p, struct ir_op *op)
{
	bool apart = false, late = false;

	for (int j = 0; j < op->noperands; j++)
		apart = apart || dp_state(p, ir_operand(op, j)).kind == IR_SPLIT;
	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *v = ir_operand(op, j);
		if (!apart || dp_state(p, v).kind != IR_SINGLE)
			continue;
		late = true;
		if (!set_fitted(op, j, dp_change(p, v, OP_replicate, 0)))
			return false;
	}
	if (late)
		dp_names_add(p->run, &p->late, op);
	return true;
}

/*
 * The index over which the first split operand is split; -1: none. Only sums can be split along the
 * index that they reduce.
 */
static int
picked_index(const struct dp *p, const struct ir_op *op, const struct form *f)
{
	for (int j = 0; j < f->ninputs; j++) {
		struct ir_state s = dp_state(p, ir_operand(op, j));
		int index = s.kind == IR_SPLIT ? f->in[j].index[s.dim] : -1;
		bool summed = f->reduce == REDUCE_SUM || f->reduce == REDUCE_NONE;
		if (index >= 0 && (summed || !(f->reduced >> index & 1)))
			return index;
	}
	return -1;
}

/* The dim of operand j to be split because another operand is split on the same index; -1: none. */
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
		if (dp_state(p, v).kind != IR_PARTIAL)
			continue;
		const int dim = dim_beside_split(p, op, j);
		const bool slice = dim >= 0 && !v->uses->next && divides(p, v, dim) && !p->time;
		if (!set_fitted(op, j,
			    dp_change(p, v, slice ? OP_reducescatter : OP_allreduce,
				    slice ? dim : 0)))
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

/* The new value of a param must have the param's layout. */
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

/* `now`, plus the splits over other axes that `before` has and that no operand determines. */
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
	if (added) /* this axis may have split a dim further outside */
		ir_type_close_splits(&t);
	if (added && here->kind == IR_SPLIT) {
		const uint8_t dim = here->dim;
		*here = (struct ir_state){.kind = IR_COPIED};
		*here = (struct ir_state){IR_SPLIT, dim, (uint16_t)ir_type_split_depth(&t, dim)};
	}
	return ir_type_intern(p->m->ctx, &t);
}

/*
 * A broadcast that was split over another axis stays split: its layout there was chosen, not
 * inferred.
 */
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

/*
 * An op with layout rules of its own takes a split that fits the rules, or else whole operands. So
 * does a collective, which reads slices or the whole tensor that they form: if a dim is split over
 * two axes, only the innermost split can be removed, which is now the one over this axis.
 */
static bool
fit_rules(struct dp *p, struct ir_op *op)
{
	const bool before = diag_mute(p->m->ctx->diag, true), fits = ir_infer(p->m, op, NULL);
	bool ok = true;

	diag_mute(p->m->ctx->diag, before);
	for (int j = 0; j < op->noperands && !fits && ok; j++)
		ok = fit_operand(p, op, j, -1);
	return ok;
}

/* On a time axis, outputs of the step are whole: slices exist only on devices. */
static bool
fit_effect(struct dp *p, struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (!fit_operand(p, op, j, -1))
			return false;
	return true;
}

bool
dp_carry(struct dp *p, struct ir_op *op)
{
	if (!fit_partials(p, op))
		return false;
	if (p->time && op_is(op, TRAIT_EFFECT) && !fit_effect(p, op))
		return false;
	if (op_is(op, TRAIT_PARALLEL | TRAIT_OWN) && !fit_rules(p, op))
		return false;
	if (op->code == OP_update && !fit_update(p, op))
		return false;
	if (op->code == OP_reshape && !fit_reshape(p, op))
		return false;
	if (form_exists((enum op_code)op->code) && op->noperands && !op_is(op, TRAIT_PARALLEL) &&
		!fit_splits(p, op))
		return false;
	return infer_again(p, op);
}
