/*
 * Layouts that fit an op, on each axis by itself, from its indices (design: "Which layouts fit"):
 *
 *   - some operand split on the axis picks an index: operands that have it must be split there, the
 *     others copied; the result is split if it has the index, partial if it is summed away;
 *   - no operand split: all copied -> copied; copied or single(k) -> single(k);
 *   - operands partial, or single at different places, together with copied ones -> partial, if the
 *     op is jointly linear in them (a single tensor is a sum whose other terms are zero);
 *   - an index that no operand has (put, one_hot, sources) may be split as the written type says.
 *
 * And the transitions of parallelization ops, from their rows. A split is put on and taken off as
 * the innermost of its dimension, so that a slice of a slice is what a place already holds.
 */
#include "ir/ops/form.h"

#include "ir/ops/row.h"
#include "ir/ops/special.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct judge {
	const struct ir_module *m;
	const struct ir_op *op;
	const struct form *f;
	int axis;
	enum ir_dtype dtype; /* of the result */
	const char *op_name, *axis_name;
};

static bool
complain(const struct judge *j, int operand, const char *expected)
{
	struct diag *d = j->m->ctx->diag;
	struct ir_value *v = ir_operand(j->op, operand);
	char *state = ir_state_text(NULL, v->type->axis[j->axis]);

	diag_error(d, j->op->loc, "%s: operand %d%s%s is %s on axis %s; %s", j->op_name,
		operand + 1, v->name ? " %" : "", v->name ? v->name : "", state, j->axis_name,
		expected);
	talloc_free(state);
	return false;
}

static struct ir_state
operand_state(const struct judge *j, int operand)
{
	return ir_operand_type(j->op, operand)->axis[j->axis];
}

/* The body, made only here: most ops have no partial operand. */
static enum expr_linear
linear_in(const struct judge *j, uint32_t loads)
{
	struct arena *a =
		arena_create(j->m->ctx); /* the module of an instance is not a talloc chunk */
	struct form f;
	enum expr_linear l = LINEAR_NO;
	const bool made = form_shape(j->m, j->op, NULL, &f, a);
	if (made)
		l = expr_linearity(expr_convert(a, j->dtype, f.body), loads);
	for (int i = 0; made && i < f.nindices; i++)
		if (f.at[i] && expr_linearity(f.at[i], loads) != LINEAR_CONST)
			l = LINEAR_NO; /* a position cannot be partial */
	for (int k = 0; made && k < f.ninputs; k++)
		if ((loads >> k & 1) && f.fill[k] != 0 && form_is_computed(&f, &f.in[k]))
			l = LINEAR_NO; /* every place would add the fill of reads outside */

	talloc_free(a);
	return l;
}

static const char across_slices[] = "it is read across the slices of this axis; it must be copied "
				    "(allgather first) or split on another dim";

/*
 * Operand `first` is split in a dim that is read at computed positions: a place reads elements that
 * it does not have as 0, so the results of all places sum to the whole if the body is linear in it.
 */
static bool
judge_computed(const struct judge *j, int first, struct ir_state *result)
{
	const struct form *f = j->f;

	if (f->fill[first] != 0 || f->reduce == REDUCE_MAX || f->reduce == REDUCE_MIN ||
		linear_in(j, 1u << first) != LINEAR_YES)
		return complain(j, first, across_slices);
	*result = (struct ir_state){.kind = IR_PARTIAL};
	return true;
}

/* The state of operand k, which lacks the index that another operand is split on, is not copied. */
static bool
complain_apart(const struct judge *j, int k)
{
	const struct ir_state s = operand_state(j, k);
	const int index = s.kind == IR_SPLIT ? j->f->in[k].index[s.dim] : -1;

	return complain(j, k,
		index >= 0 && j->f->at[index] ? across_slices
					      : "it must be copied: another operand is split on an "
						"index that this one does not have");
}

/* Operand `first` is split: every operand with that index must be split there, the others copied.
 */
static bool
judge_split(const struct judge *j, int first, struct ir_state *result)
{
	const struct form *f = j->f;
	int index = f->in[first].index[operand_state(j, first).dim];

	if (index < 0)
		return complain(j, first, "a dim of size 1 that is broadcast cannot be split");
	for (int k = 0; k < f->ninputs; k++) {
		struct ir_state s = operand_state(j, k);
		if (!form_access_has(&f->in[k], index)) {
			if (s.kind != IR_COPIED)
				return complain_apart(j, k);
		} else if (s.kind != IR_SPLIT || f->in[k].index[s.dim] != index) {
			char text[96];
			snprintf(text, sizeof text,
				"operand %d is split there, so it must be split on dim %d",
				first + 1, form_access_dim(&f->in[k], index));
			return complain(j, k, text);
		} else if (s.order != operand_state(j, first).order) {
			return complain(j, k,
				"the axes that split this dim are in a different "
				"order in another operand");
		}
	}
	if (f->at[index])
		return judge_computed(j, first, result);
	if (!(f->reduced >> index & 1)) {
		*result = (struct ir_state){IR_SPLIT, (uint8_t)form_access_dim(&f->out, index),
			operand_state(j, first).order};
		return true;
	}
	if (f->reduce != REDUCE_SUM)
		return complain(j, first,
			"a reduction over a split dim that is not a sum needs an allgather first");
	*result = (struct ir_state){.kind = IR_PARTIAL};
	return true;
}

/* No operand is split. */
static bool
judge_whole(const struct judge *j, struct ir_state *result)
{
	uint32_t loads = 0;
	int first = -1, place = -1;
	bool partial = false;

	for (int k = 0; k < j->f->ninputs; k++) {
		struct ir_state s = operand_state(j, k);
		if (s.kind == IR_COPIED)
			continue;
		loads |= 1u << k;
		partial = partial || s.kind == IR_PARTIAL || (place >= 0 && place != s.order);
		if (s.kind == IR_SINGLE)
			place = s.order;
		if (first < 0 || s.kind == IR_PARTIAL)
			first = k;
	}
	if (!loads) {
		*result = (struct ir_state){.kind = IR_COPIED};
		return true;
	}
	if (!partial) {
		*result = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)place};
		return true;
	}
	if ((j->f->reduce != REDUCE_NONE && j->f->reduce != REDUCE_SUM) ||
		linear_in(j, loads) != LINEAR_YES)
		return complain(j, first,
			"the op is not linear in its partial operands alone, so their sum over "
			"the axis must be completed first (allreduce or reduce)");
	*result = (struct ir_state){.kind = IR_PARTIAL};
	return true;
}

static bool
index_in_operands(const struct form *f, int index)
{
	for (int k = 0; k < f->ninputs; k++)
		if (form_access_has(&f->in[k], index))
			return true;
	return false;
}

/* May the result be split as written although the operands are copied? If only the result has the
 * index. */
static bool
choice_fits(const struct judge *j, const struct ir_type *written, struct ir_state inferred)
{
	struct ir_state s = written->axis[j->axis];

	if (inferred.kind != IR_COPIED)
		return false;
	if (!j->f->ninputs)
		return s.kind != IR_PARTIAL;
	return s.kind == IR_SPLIT && !index_in_operands(j->f, j->f->out.index[s.dim]);
}

bool
form_layout(const struct ir_module *m, const struct ir_op *op, const struct form *f,
	const struct ir_type *written, struct ir_type *result)
{
	struct judge j = {.m = m, .op = op, .f = f, .op_name = op_name((enum op_code)op->code)};
	bool ok = true;

	j.dtype = (enum ir_dtype)result->dtype;

	for (int i = 0; i < m->naxes; i++) {
		int split = -1;
		j.axis = i;
		j.axis_name = m->axis[i].name;
		for (int k = 0; k < f->ninputs && split < 0; k++)
			if (operand_state(&j, k).kind == IR_SPLIT)
				split = k;
		bool fits = split >= 0 ? judge_split(&j, split, &result->axis[i])
				       : judge_whole(&j, &result->axis[i]);
		if (fits && written && choice_fits(&j, written, result->axis[i]))
			result->axis[i] = written->axis[i];
		ok = ok && fits;
	}
	return ok;
}

void
form_localize(const struct ir_module *m, const struct ir_op *op, struct form *f,
	struct form_offset offset[FORM_MAX_INDICES])
{
	memset(offset, 0, sizeof *offset * FORM_MAX_INDICES);
	for (int k = -1; k < f->ninputs; k++) {
		const struct form_access *access = k < 0 ? &f->out : &f->in[k];
		const struct ir_type *t = k < 0 ? op->result[0].type : ir_operand_type(op, k);
		for (int d = 0; d < access->rank; d++) {
			int index = access->index[d];
			if (index < 0 || offset[index].type || ir_type_split_factor(m, t, d) == 1)
				continue;
			offset[index] = (struct form_offset){t, d};
			f->size[index] = ir_type_local_dim(m, t, d);
		}
	}
}

static bool
transition_dim(const struct judge *j, const struct ir_type *t, const char *key, int *dim)
{
	const struct ir_attr *a = ir_attr_find(j->op, key);
	int64_t d = a->i < 0 ? a->i + t->rank : a->i;

	*dim = (int)d;
	if (d >= 0 && d < t->rank)
		return true;
	diag_error(j->m->ctx->diag, a->loc.begin ? a->loc : j->op->loc,
		"%s: dim %" PRId64 " is not one of the %d dims of the operand", j->op_name, a->i,
		t->rank);
	return false;
}

static bool
check_from(const struct judge *j, int operand, struct ir_state s)
{
	static const char *const wants[] = {"copied", "split", "partial", "single"};
	const struct ir_row *row = op_row(j->m->ctx, j->op);
	char text[80] = "it must be";

	for (int k = 0; k < 4; k++)
		if (row->from >> k & 1) {
			size_t n = strlen(text);
			snprintf(text + n, sizeof text - n, "%s %s", n > 10 ? " or" : "", wants[k]);
		}
	return (row->from >> s.kind & 1) || complain(j, operand, text);
}

/* The state before: what leaves. */
static bool
leave_state(const struct judge *j, int operand, const struct ir_type *t)
{
	struct ir_state s = t->axis[j->axis];
	int dim;

	if (!check_from(j, operand, s))
		return false;
	if (s.kind == IR_SPLIT && s.order != ir_type_split_depth(t, s.dim) - 1)
		return complain(j, operand,
			"another axis splits its slices further; undo that split first");
	if (j->op->code == OP_alltoall) {
		if (!transition_dim(j, t, "from", &dim))
			return false;
		if (dim != s.dim)
			return complain(j, operand, "`from` names a different dim");
	}
	if (j->op->code == OP_send && ir_attr_int(j->op, "from", -1) != s.order)
		return complain(j, operand, "`from` names a different position on the axis");
	return true;
}

/* The state after. t is the operand's type, still with the old state. */
static bool
enter_state(const struct judge *j, const struct ir_type *t, struct ir_state *s)
{
	const struct ir_axis *axis = &j->m->axis[j->axis];
	int64_t place = ir_attr_int(j->op, "to", axis->time ? axis->size - 1 : 0);
	int dim = 0;

	*s = (struct ir_state){.kind = (uint8_t)op_row(j->m->ctx, j->op)->to};
	switch ((enum ir_state_kind)s->kind) {
	case IR_COPIED:
	case IR_PARTIAL: return true;
	case IR_SINGLE:
		if (place < 0 || place >= ir_axis_stages(axis)) {
			diag_error(j->m->ctx->diag, j->op->loc,
				"%s: position %" PRId64 " is out of range on axis %s of size %d",
				j->op_name, place, axis->name, ir_axis_stages(axis));
			return false;
		}
		s->order = (uint16_t)place;
		return true;
	case IR_SPLIT:
		if (!transition_dim(j, t, j->op->code == OP_alltoall ? "to" : "dim", &dim))
			return false;
		if (j->op->code == OP_alltoall && dim == t->axis[j->axis].dim) {
			diag_error(j->m->ctx->diag, j->op->loc,
				"alltoall: from and to are the same dim");
			return false;
		}
		s->dim = (uint8_t)dim;
		s->order = (uint16_t)ir_type_split_depth(t, dim);
		return true;
	}
	return false;
}

bool
layout_transition(
	const struct ir_module *m, const struct ir_op *op, int operand, struct ir_type *result)
{
	struct judge j = {.m = m,
		.op = op,
		.axis = (int)ir_attr_find(op, "axis")->i,
		.op_name = op_name((enum op_code)op->code)};
	const struct ir_type *t = ir_operand_type(op, operand);

	j.axis_name = m->axis[j.axis].name;
	*result = *t;
	return leave_state(&j, operand, t) && enter_state(&j, t, &result->axis[j.axis]);
}
