/* merge-replica-dim: the operands of an op with the two dims as one. */
#include "passes/parallel/merge_replica_dim/op.h"

#include <string.h>

/* Position of the pair in an operand of that rank, with dims matched to the result from the right;
 * may be negative. */
static int
aligned(int at, int rank_out, int rank)
{
	return at - (rank_out - rank);
}

/*
 * Repeats a value that lacks one or both dims of the pair, so that it has both. `at` is the
 * position, existing or not, of the pair's second dim in it, matched from the right.
 */
static struct ir_value *
repeat(struct replica_merge *p, struct ir_value *v, int at, const struct pair *pair)
{
	int64_t dim[IR_MAX_RANK], to[IR_MAX_RANK];
	const struct ir_type *t = v->type;
	struct ir_type type = *t;
	struct ir_value *x = v;
	int n = 0;

	/* Merges the pair into one dim before the dims that follow it; the dims before it have size
	 * 1. */
	for (int d = 0; d < at; d++)
		if (t->dim[d] != 1)
			return NULL;
	if (at >= 0 && t->dim[at] != 1 && t->dim[at] != pair->nsecond)
		return NULL;
	dim[n++] = pair->nfirst * pair->nsecond;
	for (int d = at + 1; d < t->rank; d++)
		dim[n++] = t->dim[d];
	memset(type.dim, 0, sizeof type.dim);
	memcpy(type.dim, dim, (size_t)n * sizeof *dim);
	type.rank = (uint8_t)n;
	for (int a = 0; a < p->m->naxes; a++) {
		const struct ir_state s = pair->like->axis[a];
		if (t->axis[a].kind == IR_SPLIT)
			return NULL; /* slices of slices: not supported */
		if (s.kind != IR_SPLIT || s.dim != pair->at)
			continue;
		if (t->axis[a].kind != IR_COPIED)
			return NULL;
		type.axis[a] = (struct ir_state){IR_SPLIT, 0, s.order};
	}
	const struct ir_type *want = ir_type_intern(p->m->ctx, &type);
	if (v->op && v->op->code == OP_constant)
		return ir_build_try(&p->b, OP_constant, NULL, v->op->attr, v->op->nattrs, want);
	if (at >= 0 && t->dim[at] != 1) {
		/* A broadcast along the batch is one along both. */
		int64_t dims[IR_MAX_RANK];
		const struct ir_op *op = v->op;
		const bool broadcast = op && op->code == OP_broadcast;
		const int k = broadcast ? ir_attr_ints(op, "dims", dims, IR_MAX_RANK) : 0;
		const int have = broadcast ? ir_operand_type(op, 0)->rank : 0;
		bool fits = broadcast;
		for (int d = 0; d < have; d++) {
			const int go = k < 0 ? t->rank - have + d
					     : (int)(dims[d] < 0 ? dims[d] + t->rank : dims[d]);
			fits = fits &&
			       (go > at || (ir_operand_type(op, 0)->dim[d] == 1 && go == at));
			to[d] = go - at;
		}
		if (!fits) {
			/* [n,..] to [R,n,..], and those as one */
			int64_t apart[IR_MAX_RANK + 1] = {pair->nfirst};
			struct ir_type both = type;
			if (t->rank - at + 1 > IR_MAX_RANK)
				return NULL;
			for (int d = at; d < t->rank; d++) {
				apart[d - at + 1] = t->dim[d];
				to[d - at] = d - at + 1;
			}
			both.rank = (uint8_t)(t->rank - at + 1);
			memcpy(both.dim, apart, (size_t)both.rank * sizeof *apart);
			x = replica_reshape(p, v, t->dim + at, t->rank - at);
			const struct ir_attr attr[] = {
				ir_make_ints(p->m, "shape", apart, both.rank),
				ir_make_ints(p->m, "dims", to, t->rank - at)};
			x = x ? ir_build_try(&p->b, OP_broadcast, x, attr, 2,
					ir_type_intern(p->m->ctx, &both))
			      : NULL;
			return replica_reshape(p, x, dim, n);
		}
		x = ir_operand(op, 0);
		const struct ir_attr attr[] = {
			ir_make_ints(p->m, "shape", dim, n), ir_make_ints(p->m, "dims", to, have)};
		return ir_build_try(&p->b, OP_broadcast, x, attr, 2, want);
	}
	return NULL;
}

/*
 * Operand k of the op with the pair as one dim. Ops other than pointwise ones match it by position
 * as well: their leading dims.
 */
struct ir_value *
replica_operand(struct replica_merge *p, struct ir_op *op, const struct form *f, int k,
	const struct pair *pair, int at_out)
{
	struct ir_value *v = ir_operand(op, k);
	const struct folded *have = replica_folded(p, v);
	const int first = form_access_dim(&f->in[k], pair->first),
		  second = form_access_dim(&f->in[k], pair->second);
	int64_t dim[IR_MAX_RANK];

	if (have && have->at == first && second == first + 1)
		return have->whole;
	if (first >= 0 && second == first + 1)
		return replica_reshape(p, v, dim, replica_merged(v->type, first, dim));
	if (first >= 0 && second >= 0)
		return NULL;
	const bool by_letter = op->code == OP_contract;
	if (by_letter)
		return first < 0 && second < 0 ? v : NULL;
	if (at_out < 0)
		return first < 0 && second < 0 ? v : NULL;
	const int at = aligned(at_out + 1, f->out.rank, v->type->rank);
	if (first < 0 && second < 0) {
		/* Dims of size 1 in the place of the pair become one. */
		return at <= 0 || op->code == OP_matmul
			       ? v
			       : replica_reshape(p, v, dim, replica_merged(v->type, at - 1, dim));
	}
	if (first < 0)
		return repeat(p, v, second, pair);
	/* Only the first dim, with size 1 in the place of the second: repeated along the batch. */
	if (second < 0 && at == first + 1 && v->type->dim[at] == 1) {
		struct ir_type t = *v->type;
		t.dim[at] = pair->nsecond;
		const struct ir_attr attr[] = {ir_make_ints(p->m, "shape", t.dim, t.rank)};
		struct ir_value *x = ir_build_try(&p->b, OP_broadcast, v, attr, 1, NULL);
		return x ? replica_reshape(p, x, dim, replica_merged(x->type, first, dim)) : NULL;
	}
	return NULL;
}
