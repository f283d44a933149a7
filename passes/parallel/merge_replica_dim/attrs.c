/* merge-replica-dim: attributes of an op after merging its two dims. */
#include "ir/product.h"
#include "passes/parallel/merge_replica_dim/op.h"

/* The number of dim d after merging dims `at` and at + 1; -1: d is the second of them. */
static int64_t
renumber(int64_t d, int rank, int at)
{
	d = d < 0 ? d + rank : d;
	return d <= at ? d : d - 1;
}

/* dims of a reduction: it has both of the pair or neither. */
static bool
fold_dims(struct replica_merge *p, struct ir_op *copy, const char *key, int rank, int at, bool both)
{
	int64_t dim[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(copy, key, dim, IR_MAX_RANK);
	bool first = false, second = false;
	int k = 0;

	if (n < 0)
		return both;
	for (int i = 0; i < n; i++) {
		const int64_t d = dim[i] < 0 ? dim[i] + rank : dim[i];
		first = first || d == at;
		second = second || d == at + 1;
		if (d != at + 1)
			out[k++] = renumber(d, rank, at);
	}
	if (first != second || (first && !both))
		return false;
	const struct ir_attr attr = ir_make_ints(p->m, key, out, k);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

static bool
fold_dim(struct replica_merge *p, struct ir_op *copy, const char *key, int rank, int at)
{
	const struct ir_attr *a = ir_attr_find(copy, key);
	const int64_t otherwise =
		copy->code == OP_sort || copy->code == OP_topk || copy->code == OP_split ? -1 : 0;
	int64_t d = a ? a->i : otherwise;

	d = d < 0 ? d + rank : d;
	if (d == at || d == at + 1)
		return false;
	const struct ir_attr attr = ir_make_int(p->m->ctx, key, renumber(d, rank, at));
	ir_attr_set(p->m, copy, &attr);
	return true;
}

/* perm of a transpose that keeps the pair together; shape and dims of a broadcast that does. */
static bool
fold_perm(struct replica_merge *p, struct ir_op *copy, const struct ir_op *op, int at)
{
	int64_t perm[IR_MAX_RANK], out[IR_MAX_RANK];
	const int rank = transpose_order(op, perm);
	int k = 0;

	for (int i = 0; i < rank; i++) {
		if (perm[i] != at + 1)
			out[k++] = renumber(perm[i], rank, at);
	}
	const struct ir_attr attr = ir_make_ints(p->m, "perm", out, k);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

static bool
fold_broadcast(
	struct replica_merge *p, struct ir_op *copy, const struct ir_op *op, int at, int at_out)
{
	const struct ir_type *t = ir_operand_type(op, 0), *r = op->result[0].type;
	int64_t dims[IR_MAX_RANK], shape[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK);
	int k = 0;

	for (int d = 0; d < t->rank; d++) {
		const int64_t to = n < 0         ? r->rank - t->rank + d
				   : dims[d] < 0 ? dims[d] + r->rank
						 : dims[d];
		if (d != at + 1)
			out[k++] = renumber(to, r->rank, at_out);
	}
	const struct ir_attr attr[] = {
		ir_make_ints(p->m, "shape", shape, replica_merged(r, at_out, shape)),
		ir_make_ints(p->m, "dims", out, k)};
	ir_attr_set(p->m, copy, &attr[0]);
	ir_attr_set(p->m, copy, &attr[1]);
	return true;
}

/* The spec with the letter of the pair's first dim left out. */
static bool
fold_spec(
	struct replica_merge *p, struct ir_op *copy, const struct form *f, const struct pair *pair)
{
	char spec[(FORM_MAX_INPUTS + 1) * (IR_MAX_RANK + 2)];
	int n = 0;

	for (int k = 0; k <= f->ninputs; k++) {
		const struct form_access *x = k < f->ninputs ? &f->in[k] : &f->out;
		if (k)
			spec[n++] = k == f->ninputs ? '-' : ',';
		if (k == f->ninputs)
			spec[n++] = '>';
		for (int d = 0; d < x->rank; d++)
			if (x->index[d] != pair->first)
				spec[n++] = (char)('a' + x->index[d]);
	}
	spec[n] = '\0';
	const struct ir_attr attr = ir_make_string(p->m->ctx, "spec", spec);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

/* Attributes that refer to dims, for an operand that has the pair at `at`. */
bool
replica_attrs(struct replica_merge *p, struct ir_op *copy, const struct ir_op *op,
	const struct form *f, const struct pair *pair, int at, int at_out)
{
	const int rank = ir_operand_type(op, 0)->rank;

	switch (op->code) {
	case OP_contract: return fold_spec(p, copy, f, pair);
	case OP_sum:
	case OP_mean:
	case OP_max:
	case OP_min:
	case OP_prod:
	case OP_any:
	case OP_all: return fold_dims(p, copy, "dims", rank, at, true);
	case OP_argmax:
	case OP_argmin:
	case OP_reverse: return fold_dims(p, copy, "dims", rank, at, false);
	case OP_slice:
	case OP_pad: return ir_attr_find(op, "dims") && fold_dims(p, copy, "dims", rank, at, false);
	case OP_transpose: return fold_perm(p, copy, op, at);
	case OP_broadcast: return fold_broadcast(p, copy, op, at, at_out);
	case OP_split:
	case OP_concat:
	case OP_cumsum:
	case OP_dynamic_slice:
	case OP_dynamic_update_slice:
	case OP_dynamic_pad: return fold_dim(p, copy, "dim", rank, at);
	case OP_matmul: /* by position from the right: leading dims alone */
	case OP_conv2d:
	case OP_conv2d_data:
	case OP_conv2d_filter:
	case OP_avg_pool:
	case OP_avg_pool_grad:
	case OP_max_pool:
	case OP_max_pool_count:
	case OP_max_pool_pick:
	case OP_max_pool_grad:
	case OP_pick:
	case OP_put:
	case OP_gather:
	case OP_scatter_add:
	case OP_one_hot: return true;
	case OP_gather_nd:
	case OP_scatter_nd: return false;
	default: return f->reduce == REDUCE_NONE; /* pointwise */
	}
}
