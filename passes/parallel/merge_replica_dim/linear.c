/*
 * merge-replica-dim, sums over replicas through other ops. A dim of replicas is split down to one
 * element per device, so that a sum over it computes nothing: the element of a device becomes its
 * part of a partial value. If an op is linear in those of its operands that have the dim, taken
 * together, the sum may be moved to them:
 *
 *     sum(convert(x) / c, r)            convert(sum(x, r)) / c
 *     sum(concat(x, y), r)              concat(sum(x, r), sum(y, r))
 *     allreduce(sum(x + y, r))          allreduce(sum(x, r)) + n y        y lacks r, n replicas
 *
 * Devices do the same arithmetic on the same numbers, except in the last line.
 */
#include "passes/parallel/merge_replica_dim/merge_replica_dim.h"

#include "ir/ops/form.h"

#include <talloc.h>

/* The only dim that the op sums over, if split down to one element; -1: the op is not such a
 * sum. */
static int
replica_dim_of(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	int64_t dim[IR_MAX_RANK];

	if (op->code != OP_sum || ir_attr_int(op, "keep", 0) ||
		ir_attr_ints(op, "dims", dim, IR_MAX_RANK) != 1)
		return -1;
	const int d = (int)(dim[0] < 0 ? dim[0] + t->rank : dim[0]);
	return t->dim[d] > 1 && ir_type_split_factor(m, t, d) == t->dim[d] ? d : -1;
}

static struct ir_value *
build_sum(struct ir_builder *b, struct ir_value *x, int64_t dim)
{
	const struct ir_attr attr = ir_make_ints(b->m, "dims", &dim, 1);

	return ir_build(b, OP_sum, &x, 1, &attr, 1);
}

/* The operands that have the index of dim d of the result, if the op is linear in them together, a
 * set; 0: it is not, or there are none. */
static uint32_t
linear_operands(
	struct pass_run *run, struct ir_module *m, const struct ir_op *op, int d, struct form *f)
{
	struct arena *a = arena_create(run->scratch);
	uint32_t with = 0;
	bool fits = form_make(m, a, op, op->result[0].type, f) &&
		    (f->reduce == REDUCE_NONE || f->reduce == REDUCE_SUM);
	const int index = fits ? f->out.index[d] : -1;

	fits = index >= 0 && !f->at[index] && !expr_uses_index(f->body, index);
	for (int i = 0; fits && i < f->nindices; i++)
		fits = !f->at[i] || !expr_uses_index(f->at[i], index);
	for (int k = 0; fits && k < f->ninputs; k++)
		with |= form_access_has(&f->in[k], index) ? 1u << k : 0;
	for (int k = 0; fits && k < f->ninputs; k++)
		fits = !(with >> k & 1) || f->fill[k] == 0 || !form_is_computed(f, &f->in[k]);
	for (int i = 0; fits && i < f->nindices; i++)
		fits = !f->at[i] || expr_linearity(f->at[i], with) == LINEAR_CONST;
	fits = fits && with &&
	       expr_linearity(expr_convert(a, (enum ir_dtype)op->result[0].type->dtype, f->body),
		       with) == LINEAR_YES;
	talloc_free(a);
	form_forget(f);
	return fits ? with : 0;
}

/* A list of dims without d: later dims move up by one. False if d is in it. */
static bool
without_dim(struct ir_module *m, struct ir_op *op, const char *key, int rank, int d)
{
	int64_t dim[IR_MAX_RANK];
	const int n = ir_attr_ints(op, key, dim, IR_MAX_RANK);

	if (n < 0)
		return false; /* all dims */
	for (int i = 0; i < n; i++) {
		dim[i] = dim[i] < 0 ? dim[i] + rank : dim[i];
		if (dim[i] == d)
			return false;
		dim[i] -= dim[i] > d;
	}
	const struct ir_attr attr = ir_make_ints(m, key, dim, n);
	ir_attr_set(m, op, &attr);
	return true;
}

static bool
drop_broadcast_dim(struct ir_module *m, struct ir_op *copy, const struct ir_op *op, int d)
{
	const struct ir_type *from = ir_operand_type(op, 0), *to = op->result[0].type;
	int64_t dims[IR_MAX_RANK], shape[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK);
	int k = 0, rank = 0;

	for (int i = 0; i < from->rank; i++) {
		const int64_t at = n < 0         ? to->rank - from->rank + i
				   : dims[i] < 0 ? dims[i] + to->rank
						 : dims[i];
		if (at != d)
			out[k++] = at - (at > d);
	}
	for (int i = 0; i < to->rank; i++)
		if (i != d)
			shape[rank++] = to->dim[i];
	const struct ir_attr attr[] = {
		ir_make_ints(m, "shape", shape, rank), ir_make_ints(m, "dims", out, k)};
	ir_attr_set(m, copy, &attr[0]);
	ir_attr_set(m, copy, &attr[1]);
	return true;
}

/* The attributes of an op whose dim d has been removed. */
static bool
drop_dim(struct ir_module *m, struct ir_op *copy, const struct ir_op *op, const struct form *f,
	int d)
{
	const int rank = op->result[0].type->rank;

	switch (op->code) {
	case OP_broadcast: return drop_broadcast_dim(m, copy, op, d);
	case OP_slice:
	case OP_pad:
	case OP_reverse: return without_dim(m, copy, "dims", rank, d);
	case OP_concat: {
		int64_t at = ir_attr_int(op, "dim", 0);
		at = at < 0 ? at + rank : at;
		const struct ir_attr attr = ir_make_int(m->ctx, "dim", at - (at > d));
		ir_attr_set(m, copy, &attr);
		return at != d;
	}
	default: /* pointwise */
		for (int i = 0; i < f->nindices; i++)
			if (f->at[i])
				return false;
		return f->reduce == REDUCE_NONE;
	}
}

/* The operand v without dim d of the result, whose rank is rank_out. v has size 1 there, or lacks
 * the dim; NULL otherwise. */
static struct ir_value *
without_one(struct ir_builder *b, struct ir_value *v, int d, int rank_out)
{
	const int at = d - (rank_out - v->type->rank);
	int64_t dim[IR_MAX_RANK];
	int n = 0;

	if (at < 0)
		return v;
	for (int i = 0; i < v->type->rank; i++)
		if (i != at)
			dim[n++] = v->type->dim[i];
	if (v->type->dim[at] != 1)
		return NULL;
	const struct ir_attr shape = ir_make_ints(b->m, "shape", dim, n);
	return ir_build(b, OP_reshape, &v, 1, &shape, 1);
}

struct ir_value *
replica_sum_of_linear(struct pass_run *run, struct ir_builder *b, const struct ir_op *op,
	const struct ir_op *inner)
{
	const int d = replica_dim_of(b->m, op);
	struct ir_value *v[FORM_MAX_INPUTS];
	struct form f;

	if (d < 0 || inner->nresults != 1 || inner->noperands > FORM_MAX_INPUTS ||
		op_is(inner, TRAIT_PARALLEL) || !form_exists((enum op_code)inner->code))
		return NULL;
	const uint32_t with = linear_operands(run, b->m, inner, d, &f);
	if (!with)
		return NULL;
	for (int k = 0; k < f.ninputs; k++) {
		v[k] = ir_operand(inner, k);
		v[k] = with >> k & 1 ? build_sum(b, v[k], form_access_dim(&f.in[k], f.out.index[d]))
				     : without_one(b, v[k], d, f.out.rank);
		if (!v[k])
			return NULL;
	}
	struct ir_op *copy = ir_op_clone(b->m, inner, v);
	if (drop_dim(b->m, copy, inner, &f, d) && ir_infer(b->m, copy, NULL) &&
		copy->result[0].type == op->result[0].type) {
		ir_insert_before(b->before, copy);
		return &copy->result[0];
	}
	ir_op_erase(copy);
	return NULL;
}

/* y times the number of replicas. */
static struct ir_value *
times(struct ir_builder *b, struct ir_value *y, int64_t n)
{
	struct ir_value *scale =
		y ? ir_build_scalar(b, (enum ir_dtype)y->type->dtype, (double)n) : NULL;

	return scale ? ir_build2(b, OP_mul, y, scale) : NULL;
}

struct ir_value *
replica_sum_beside(struct ir_builder *b, const struct ir_op *op, const struct ir_op **sum)
{
	const struct ir_value *s = op->noperands == 1 ? ir_operand(op, 0) : NULL;
	const struct ir_op *inner = s && s->op && s->op->code == OP_sum && !s->uses->next
					    ? ir_operand(s->op, 0)->op
					    : NULL;
	const int d = inner ? replica_dim_of(b->m, s->op) : -1;

	if (d < 0 || (inner->code != OP_add && inner->code != OP_sub) ||
		inner->result[0].uses->next)
		return NULL;
	const int rank = inner->result[0].type->rank;
	struct ir_value *v[2];
	bool has[2];
	for (int k = 0; k < 2; k++) {
		v[k] = ir_operand(inner, k);
		const int at = d - (rank - v[k]->type->rank);
		has[k] = at >= 0 && v[k]->type->dim[at] != 1;
	}
	if (has[0] == has[1])
		return NULL;
	const int with = has[0] ? 0 : 1;
	const int64_t n = inner->result[0].type->dim[d];
	/* The operand with replicas must have full rank; otherwise its sum has a lower rank. */
	if (v[with]->type->rank != rank)
		return NULL;
	struct ir_value *part = build_sum(b, v[with], d);
	*sum = part ? part->op : NULL;
	v[with] = part ? ir_build(b, OP_allreduce, &part, 1, op->attr, op->nattrs) : NULL;
	v[!with] = times(b, without_one(b, v[!with], d, rank), n);
	return v[0] && v[1] ? ir_build2(b, (enum op_code)inner->code, v[0], v[1]) : NULL;
}
