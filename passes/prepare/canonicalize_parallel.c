/*
 * Joins parallelization ops that follow one another on one axis: `reduce` and `replicate` are an
 * `allreduce`, a `partition` and its `allgather` are nothing. Conversions are done where messages
 * become smaller, or can be joined. Meaning stays, since all of these are
 * identities on it; each row's comment says why the layouts are the same.
 *
 * Two ops become one only where nothing else reads the value between, and on device axes: time axes
 * have no collectives. Pairs that cancel go on any axis.
 */
#include "passes/prepare/canonicalize.h"

#include "ir/ops/row.h"

#include <string.h>

static bool
used_once(const struct ir_op *op)
{
	return op->result[0].uses && !op->result[0].uses->next;
}

static int
axis_of(const struct ir_op *op)
{
	return (int)ir_attr_int(op, "axis", -1);
}

/* A dim attribute, counted from the front. */
static int64_t
dim_of(const struct ir_op *op, const char *key)
{
	int64_t d = ir_attr_int(op, key, 0);

	return d < 0 ? d + ir_operand_type(op, 0)->rank : d;
}

static struct ir_op *
made_on_axis(const struct ir_op *op, enum op_code code)
{
	struct ir_op *from = canon_made_by(op, 0, code);

	return from && op->noperands == 1 && axis_of(from) == axis_of(op) ? from : NULL;
}

/* The same, where both ops may become one collective. */
static struct ir_op *
joined_with(const struct canon *c, const struct ir_op *op, enum op_code code)
{
	struct ir_op *from = made_on_axis(op, code);

	return from && used_once(from) && !c->m->axis[axis_of(op)].time ? from : NULL;
}

/* `code` on the operand of `inner`, with the attributes given, but for the last ones that `code` has
 * none of: parts, each. */
static struct ir_value *
join(struct canon *c, enum op_code code, const struct ir_op *inner, const struct ir_attr *attr,
	int nattrs)
{
	struct ir_value *x = canon_operand(inner);

	while (nattrs && !row_attr_find(&c->m->ctx->row[code], attr[nattrs - 1].key))
		nattrs--;
	return ir_build(&c->b, code, &x, 1, attr, nattrs);
}

/* replicate: single -> copied. */
static struct ir_value *
join_replicate(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner;
	struct ir_attr axis = ir_make_axis(c->m->ctx, "axis", axis_of(op));

	/* partial -> single -> copied is partial -> copied. */
	if ((inner = joined_with(c, op, OP_reduce)))
		return join(c, OP_allreduce, inner, &axis, 1);
	/* split -> single -> copied is split -> copied. */
	if ((inner = joined_with(c, op, OP_combine)))
		return join(c, OP_allgather, inner, &axis, 1);
	/* Copies of what place a sent to place b are copies of what place a has. */
	if ((inner = joined_with(c, op, OP_send)))
		return join(c, OP_replicate, inner, &axis, 1);
	return NULL;
}

/* Split by dim `from`, put together, split by dim `to`: the same slices, or an exchange of them. */
static struct ir_value *
join_slices(struct canon *c, struct ir_op *op, enum op_code gather)
{
	struct ir_op *inner = made_on_axis(op, gather);
	int64_t to = dim_of(op, "dim");

	if (!inner)
		return NULL;
	struct ir_value *x = canon_operand(inner);
	int64_t from = x->type->axis[axis_of(op)].dim;
	if (from == to)
		return x->type == op->result[0].type ? x : NULL;
	if (!joined_with(c, op, gather))
		return NULL;
	const struct ir_attr attr[] = {ir_make_int(c->m->ctx, "from", from),
		ir_make_int(c->m->ctx, "to", to), ir_make_axis(c->m->ctx, "axis", axis_of(op))};
	return join(c, OP_alltoall, inner, attr, 3);
}

/* A slice of a sum along another axis is the sum of slices, a smaller message. */
static struct ir_value *
slice_before_sum(struct canon *c, struct ir_op *op)
{
	const struct ir_op *sum = canon_made_by(op, 0, OP_allreduce);

	if (!sum || sum->noperands != 1 || axis_of(sum) == axis_of(op) || !used_once(sum))
		return NULL;
	struct ir_value *slice = join(c, OP_partition, sum, op->attr, op->nattrs);
	return ir_build(&c->b, OP_allreduce, &slice, 1, sum->attr, sum->nattrs);
}

/* A slice of a sum in another element type is the slice of the sum, converted: the sum can be scattered. */
static struct ir_value *
slice_before_convert(struct canon *c, struct ir_op *op)
{
	const struct ir_op *convert = canon_made_by(op, 0, OP_convert);

	if (!convert || !used_once(convert))
		return NULL;
	const struct ir_op *sum = canon_made_by(convert, 0, OP_allreduce);
	if (!sum || sum->noperands != 1 || axis_of(sum) != axis_of(op) || !used_once(sum))
		return NULL;
	struct ir_value *slice = join(c, OP_partition, convert, op->attr, op->nattrs);
	return ir_build(&c->b, OP_convert, &slice, 1, convert->attr, convert->nattrs);
}

/* partition: single or copied -> split. */
static struct ir_value *
join_partition(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner;

	/* partial -> single or copied -> split is partial -> split. */
	if ((inner = joined_with(c, op, OP_reduce)) || (inner = joined_with(c, op, OP_allreduce)))
		return join(c, OP_reducescatter, inner, op->attr, op->nattrs);
	/* single -> copied -> split is single -> split. */
	if ((inner = made_on_axis(op, OP_replicate)))
		return join(c, OP_partition, inner, op->attr, op->nattrs);
	struct ir_value *v = join_slices(c, op, OP_allgather);
	if (!v)
		v = join_slices(c, op, OP_combine);
	if (!v)
		v = slice_before_convert(c, op);
	return v ? v : slice_before_sum(c, op);
}

/* Each reader gathers what it converts: cse makes one of these. */
struct ir_value *
canon_convert_before_gather(struct canon *c, struct ir_op *op)
{
	const struct ir_op *gather = canon_made_by(op, 0, OP_allgather);
	const struct ir_type *t = op->result[0].type;

	if (!gather || gather->noperands != 1 ||
		ir_dtype_bytes((enum ir_dtype)t->dtype) >=
			ir_dtype_bytes((enum ir_dtype)gather->result[0].type->dtype))
		return NULL;
	IR_FOR_USES (u, &gather->result[0])
		if (u->op->code != OP_convert || u->op->result[0].type != t)
			return NULL;
	struct ir_value *x = join(c, OP_convert, gather, op->attr, op->nattrs);
	return ir_build(&c->b, OP_allgather, &x, 1, gather->attr, gather->nattrs);
}

/* allgather: split -> copied. */
static struct ir_value *
join_allgather(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = made_on_axis(op, OP_partition);

	/* Slices of what all have, put together by all: what all have. */
	if (inner && canon_operand(inner)->type == op->result[0].type)
		return canon_operand(inner);
	/* Slices from one place, put together by all: copies of what that place has. */
	if (inner && used_once(inner))
		return join(c, OP_replicate, inner, op->attr, op->nattrs);
	/* partial -> split -> copied is partial -> copied. */
	if ((inner = joined_with(c, op, OP_reducescatter)))
		return join(c, OP_allreduce, inner, op->attr, op->nattrs);
	/* Exchanged slices are slices of the same tensor. */
	if ((inner = joined_with(c, op, OP_alltoall)))
		return join(c, OP_allgather, inner, op->attr, op->nattrs);
	return NULL;
}

/*
 * combine: split -> single. The pair with a partition cancels where it ends at the place it began
 * at.
 */
static struct ir_value *
join_combine(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = made_on_axis(op, OP_partition);

	(void)c;
	return inner && canon_operand(inner)->type == op->result[0].type ? canon_operand(inner)
									 : NULL;
}

/* Exchanged and exchanged back: the type says where the slices are. */
static struct ir_value *
join_alltoall(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = made_on_axis(op, OP_alltoall);

	(void)c;
	return inner && canon_operand(inner)->type == op->result[0].type ? canon_operand(inner)
									 : NULL;
}

/* From a to b to c is from a to c; where c is a it is no way at all. */
static struct ir_value *
join_send(struct canon *c, struct ir_op *op)
{
	struct ir_op *inner = made_on_axis(op, OP_send);

	if (ir_operand_type(op, 0) == op->result[0].type)
		return ir_operand(op, 0);
	if (!inner)
		return NULL;
	if (canon_operand(inner)->type == op->result[0].type)
		return canon_operand(inner);
	if (!used_once(inner))
		return NULL;
	const struct ir_attr attr[] = {ir_make_axis(c->m->ctx, "axis", axis_of(op)),
		ir_make_int(c->m->ctx, "from", ir_attr_int(inner, "from", 0)),
		ir_make_int(c->m->ctx, "to", ir_attr_int(op, "to", 0))};
	return join(c, OP_send, inner, attr, 3);
}

static const char joined[] = "parallelization op(s) merged";

const struct rewrite canon_parallel[] = {
	{OP_replicate, join_replicate, joined},
	{OP_partition, join_partition, joined},
	{OP_allgather, join_allgather, joined},
	{OP_combine, join_combine, joined},
	{OP_alltoall, join_alltoall, joined},
	{OP_send, join_send, joined},
	{0},
};
