/* The role of an op is derived from its form alone: from its loops and from what it reads in them.
 */
#include "passes/fuse/role.h"

#include "ir/ops/form.h"

static bool
is_sum_product(const struct form *f)
{
	return f->reduce == REDUCE_SUM && f->ninputs > 1 && f->body->kind == EXPR_CALL &&
	       f->body->id == FN_mul && f->body->arg[0]->kind == EXPR_LOAD &&
	       f->body->arg[1]->kind == EXPR_LOAD;
}

/* Do the indices of the result come first, in order, and the reduced ones last? */
static bool
reduces_trailing(const struct form *f)
{
	const struct form_access *in = &f->in[0];
	bool seen = false;

	for (int d = 0; d < in->rank; d++) {
		bool reduced = in->index[d] >= 0 && (f->reduced >> in->index[d] & 1);
		if (seen && !reduced)
			return false;
		seen = seen || reduced;
	}
	return f->out.rank > 0;
}

/* Is operand j read at the indices of the result, as numpy broadcasts, or as a prefix? */
static bool
reads_in_order(const struct form *f, int j)
{
	int last = -1;

	for (int d = 0; d < f->in[j].rank; d++) {
		int index = f->in[j].index[d];
		if (index < 0 || f->at[index])
			continue;
		int at = form_access_dim(&f->out, index);
		if (at <= last)
			return false;
		last = at;
	}
	return true;
}

static bool
all_in_order(const struct form *f)
{
	for (int j = 0; j < f->ninputs; j++)
		if (!reads_in_order(f, j))
			return false;
	return true;
}

static uint16_t
computed_operands(const struct form *f)
{
	uint16_t set = 0;

	for (int j = 0; j < f->ninputs; j++)
		if (form_is_computed(f, &f->in[j]))
			set |= (uint16_t)(1u << j);
	return set;
}

static void
open_all(struct arena *a, struct form *f)
{
	for (int i = 0; i < f->nindices; i++)
		if (f->at[i])
			form_open(a, f, i);
}

static enum fuse_kind
kind_of(const struct form *f)
{
	if (is_sum_product(f))
		return FUSE_STARTS;
	/* A transposed operand would be read across rows by all ops that share the loops. */
	if (f->reduce == REDUCE_NONE)
		return all_in_order(f) && !form_is_scatter(f) ? FUSE_MAP : FUSE_NONE;
	if (form_has_computed(f))
		return FUSE_NONE; /* windows have loops of their own */
	return reduces_trailing(f) ? FUSE_ROW : FUSE_LAST;
}

static void
set_space(struct fuse_role *r, const struct form *f)
{
	const bool reads = f->reduce != REDUCE_NONE && f->ninputs && r->kind != FUSE_STARTS;
	const struct form_access *whole = reads ? &f->in[0] : &f->out;

	for (int d = 0; d < whole->rank; d++) {
		r->space[d] = whole->index[d] < 0 ? 1 : f->size[whole->index[d]];
		if (r->space[d] != 1)
			r->rank = (uint8_t)(d + 1);
	}
}

struct fuse_role
fuse_role(const struct ir_module *m, struct arena *a, const struct ir_op *op)
{
	struct fuse_role r = {.kind = FUSE_NONE, .heavy = true};
	struct form f;
	struct form_offset offset[FORM_MAX_INDICES];

	if (!op_is(op, TRAIT_PURE) || op_is(op, TRAIT_PARALLEL | TRAIT_NAMED) ||
		fuse_is_scalar(op) || op->nresults != 1 || !form_make(m, a, op, NULL, &f))
		return r;
	const bool heavy = !expr_is_cheap(f.body);
	form_localize(m, op, &f, offset);
	if (op->code == OP_pick || op->code == OP_put)
		open_all(a, &f); /* the kernel iterates over the row and takes the one element */
	r.kind = (uint8_t)kind_of(&f);
	if (r.kind != FUSE_NONE)
		set_space(&r, &f);
	if (r.kind == FUSE_MAP)
		r.apart = computed_operands(&f);
	r.heavy = heavy || r.kind != FUSE_MAP || r.apart;
	return r;
}
