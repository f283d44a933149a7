/* The ops sort and topk: types, layouts, local rows. */
#include "ir/ops/order.h"

#include "runtime/kernel/order.h"

#include <inttypes.h>
#include <math.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

static int
dim_of(const struct ir_op *op)
{
	const int64_t d = ir_attr_int(op, "dim", -1);
	const int rank = ir_operand_type(op, 0)->rank;

	return d < 0 ? (int)(d + rank) : d < rank ? (int)d : -1;
}

struct order
order_of(const struct ir_op *op, const int64_t *dims)
{
	struct order o = {.dim = dim_of(op), .outer = 1, .n = 1, .inner = 1};

	for (int d = 0; d < ir_operand_type(op, 0)->rank; d++)
		*(d < o.dim ? &o.outer : d == o.dim ? &o.n : &o.inner) *= dims[d];
	o.k = op->code == OP_topk ? ir_attr_int(op, "k", 1) : o.n;
	o.descending = op->code == OP_topk || ir_attr_int(op, "descending", 0) != 0;
	return o;
}

struct order
order_local(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	int64_t dims[IR_MAX_RANK];

	for (int d = 0; d < t->rank; d++)
		dims[d] = ir_type_local_dim(m, t, d);
	return order_of(op, dims);
}

/* Only a whole dim can be sorted, and only values that are not partial sums. */
static bool
check_layout(const struct ir_module *m, const struct ir_op *op, int dim)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	const char *name = op_name((enum op_code)op->code);
	bool ok = true;

	for (int i = 0; i < m->naxes; i++) {
		if (t->axis[i].kind == IR_PARTIAL)
			ok = FAIL(m, op,
				"%s: the operand is partial on axis %s; complete its "
				"sum first (allreduce or reduce)",
				name, m->axis[i].name);
		if (t->axis[i].kind == IR_SPLIT && t->axis[i].dim == dim)
			ok = FAIL(m, op,
				"%s: dim %d is split on axis %s; it cannot be sorted across "
				"slices (allgather first, or split another dim)",
				name, dim, m->axis[i].name);
	}
	return ok;
}

bool
order_infer(const struct ir_module *m, const struct ir_op *op, struct ir_type *result)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	const char *name = op_name((enum op_code)op->code);
	const int dim = dim_of(op);

	if (dim < 0)
		return FAIL(m, op, "%s: dim %" PRId64 " is not one of the %d dims", name,
			ir_attr_int(op, "dim", -1), t->rank);
	if (t->dim[dim] > INT32_MAX)
		return FAIL(m, op,
			"%s: dim %d has size %" PRId64 ", too large for positions of type i32",
			name, dim, t->dim[dim]);
	*result = *t;
	if (op->code == OP_topk) {
		const int64_t k = ir_attr_int(op, "k", 1);
		if (k < 1 || k > t->dim[dim])
			return FAIL(m, op,
				"topk: k is %" PRId64 "; expected 1 to %" PRId64
				", the size of dim %d",
				k, t->dim[dim], dim);
		result->dim[dim] = k;
	}
	return check_layout(m, op, dim);
}

double
order_flops(const struct ir_module *m, const struct ir_op *op)
{
	const struct order o = order_local(m, op);

	return (double)(o.outer * o.inner * o.n) * ceil(log2((double)o.k + 1));
}

int64_t
order_scratch(const struct ir_module *m, const struct ir_op *op)
{
	const struct order o = order_local(m, op);

	return rt_order_scratch(o.n, o.k);
}
