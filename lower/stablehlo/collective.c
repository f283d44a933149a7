/*
 * Parallelization ops as collectives over the replicas. Replica r is at place r of the mesh,
 * row-major over its axes, so a group of an axis consists of the replicas that differ in that
 * coordinate alone, in its order:
 *
 *     mesh [dp = 2, tp = 2]      groups of dp: [0, 2], [1, 3]        groups of tp: [0, 1], [2, 3]
 *
 * allreduce, allgather, reducescatter, alltoall map to their ops. If only one place needs the
 * result (reduce, combine), all receive it, and the others ignore it. replicate is a
 * collective_broadcast whose groups begin with the place that has the value; send is a
 * collective_permute; partition takes a slice at the replica's place.
 */
#include "lower/stablehlo/hlo.h"

#include "ir/base/alloc.h"

#include <string.h>

/* --- places -------------------------------------------------------------------------------------
 */

/* The distance between neighbouring places on the axis, in replicas. */
static int64_t
axis_stride(const struct ir_module *m, int axis)
{
	int64_t stride = 1;

	for (int a = axis + 1; a < m->naxes; a++)
		stride *= m->axis[a].size;
	return stride;
}

/* This replica's place on an axis: an i64 scalar. */
static struct hlo_value
hlo_coordinate(struct hlo *h, int axis)
{
	const struct ir_module *m = h->m;
	const int64_t stride = axis_stride(m, axis);

	if (h->coords >> axis & 1)
		return h->coord[axis];
	struct hlo_value c = hlo_type(IR_i64, 0, NULL);
	if (m->axis[axis].size == 1) {
		c = hlo_integer(h, c, 0);
	} else {
		c = hlo_make(h, "stablehlo.replica_id", NULL, 0, NULL, hlo_like(c, IR_u32));
		c = hlo_convert(h, IR_i64, c);
	}
	if (m->axis[axis].size > 1 && stride > 1)
		c = hlo_two(h, "stablehlo.divide", c, hlo_integer(h, c, stride));
	if (m->axis[axis].size > 1 && stride * m->axis[axis].size < ir_devices(m))
		c = hlo_two(h, "stablehlo.remainder", c, hlo_integer(h, c, m->axis[axis].size));
	h->coords |= 1u << axis;
	h->coord[axis] = c;
	return c;
}

struct hlo_value
hlo_slice_number(struct hlo *h, const struct ir_type *t, int dim)
{
	int list[IR_MAX_AXES];
	const int n = ir_type_split_axes(t, dim, list);
	struct hlo_value number = hlo_type(IR_i64, 0, NULL);

	for (int i = 0; i < n; i++) {
		const struct hlo_value c = hlo_coordinate(h, list[i]);
		if (i > 0) {
			const int64_t size = h->m->axis[list[i]].size;
			number = hlo_two(
				h, "stablehlo.multiply", number, hlo_integer(h, number, size));
			number = hlo_two(h, "stablehlo.add", number, c);
		} else {
			number = c;
		}
	}
	return n ? number : hlo_integer(h, number, 0);
}

struct hlo_value
hlo_held(struct hlo *h, const struct ir_type *t, struct hlo_value x)
{
	const struct hlo_value none = hlo_number(h, x, 0);

	for (int a = 0; a < h->m->naxes; a++) {
		if (t->axis[a].kind != IR_SINGLE || h->m->axis[a].size == 1)
			continue;
		const struct hlo_value c = hlo_coordinate(h, a);
		struct hlo_value is = hlo_compare(h, "EQ", c,
			hlo_integer(h, c, ir_axis_place(&h->m->axis[a], t->axis[a].order)));
		is = hlo_make(h, "stablehlo.broadcast_in_dim", &is, 1,
			"broadcast_dimensions = array<i64>", hlo_like(x, IR_bool));
		x = hlo_select(h, is, x, none);
	}
	return x;
}

/* --- groups -------------------------------------------------------------------------------------
 */

/* The rows of the replicas of each group, with the place `first` in front. */
static const char *
replica_groups(struct hlo *h, int axis, int first)
{
	const struct ir_module *m = h->m;
	const int64_t n = m->axis[axis].size, stride = axis_stride(m, axis), all = ir_devices(m);
	int64_t *list = NEW_ARRAY(h->scratch, int64_t, (size_t)all), k = 0;

	for (int64_t r = 0; r < all; r++) {
		if (r / stride % n)
			continue;
		for (int64_t i = 0; i < n; i++)
			list[k++] = r + (i == 0 ? first : i <= first ? i - 1 : i) * stride;
	}
	return hlo_text(h, "replica_groups = %s", hlo_matrix(h, list, all / n, n));
}

/* Pairs of replicas: the value of `from` goes to `to`. */
static const char *
source_target_pairs(struct hlo *h, int axis, uint16_t from, uint16_t to)
{
	const struct ir_module *m = h->m;
	const int64_t n = m->axis[axis].size, stride = axis_stride(m, axis), all = ir_devices(m);
	int64_t *list = NEW_ARRAY(h->scratch, int64_t, (size_t)(2 * all)), k = 0;

	for (int64_t r = 0; r < all; r++) {
		if (r / stride % n)
			continue;
		list[k++] = r + ir_axis_place(&m->axis[axis], from) * stride;
		list[k++] = r + ir_axis_place(&m->axis[axis], to) * stride;
	}
	return hlo_text(h, "source_target_pairs = %s", hlo_matrix(h, list, k / 2, 2));
}

static struct hlo_value
all_reduced(struct hlo *h, struct hlo_value x, int axis)
{
	const enum ir_dtype t = (enum ir_dtype)x.dtype;

	hlo_write(h, &(struct hlo_op){.name = "stablehlo.all_reduce",
			     .in = (struct hlo_value[]){x},
			     .nin = 1,
			     .attrs = replica_groups(h, axis, 0),
			     .region = hlo_region(h, hlo_monoid(REDUCE_SUM, t), t),
			     .out = &x,
			     .nout = 1});
	return x;
}

static struct hlo_value
broadcast_from(struct hlo *h, struct hlo_value x, int axis, uint16_t order)
{
	const int place = ir_axis_place(&h->m->axis[axis], order);

	return hlo_make(
		h, "stablehlo.collective_broadcast", &x, 1, replica_groups(h, axis, place), x);
}

/* The slice of a dim that this replica has at the end. */
static struct hlo_value
own_slice(struct hlo *h, struct hlo_value x, struct hlo_value type, int dim, int axis)
{
	struct hlo_value in[1 + HLO_MAX_RANK] = {x}, at = hlo_coordinate(h, axis);

	at = hlo_two(h, "stablehlo.multiply", at, hlo_integer(h, at, type.dim[dim]));
	const struct hlo_value zero = hlo_integer(h, at, 0);
	for (int d = 0; d < x.rank; d++)
		in[1 + d] = d == dim ? at : zero;
	return hlo_make(h, "stablehlo.dynamic_slice", in, 1 + x.rank,
		hlo_text(h, "slice_sizes = %s", hlo_array(h, type.dim, type.rank)), type);
}

/* --- the ops ------------------------------------------------------------------------------------
 */

/* Operand i alone. */
static struct hlo_value
moved(struct hlo *h, const struct ir_op *op, int i, int axis)
{
	const struct ir_state from = ir_operand_type(op, i)->axis[axis],
			      to = op->result[i].type->axis[axis];
	const struct hlo_value type = hlo_local_type(h, op->result[i].type);
	struct hlo_value x = *hlo_of(h, ir_operand(op, i));

	switch (op->code) {
	case OP_allreduce:
	case OP_reduce: return all_reduced(h, x, axis);
	case OP_replicate: return broadcast_from(h, x, axis, from.order);
	case OP_partition:
		if (from.kind == IR_SINGLE)
			x = broadcast_from(h, x, axis, from.order);
		return own_slice(h, x, type, to.dim, axis);
	case OP_combine:
	case OP_allgather:
		return hlo_make(h, "stablehlo.all_gather", &x, 1,
			hlo_text(h, "all_gather_dim = %d : i64, %s", from.dim,
				replica_groups(h, axis, 0)),
			type);
	case OP_alltoall:
		return hlo_make(h, "stablehlo.all_to_all", &x, 1,
			hlo_text(h,
				"split_dimension = %d : i64, concat_dimension = %d : "
				"i64, split_count = %d : i64, %s",
				to.dim, from.dim, h->m->axis[axis].size,
				replica_groups(h, axis, 0)),
			type);
	case OP_send:
		return hlo_make(h, "stablehlo.collective_permute", &x, 1,
			source_target_pairs(h, axis, from.order, to.order), type);
	default: break;
	}
	const enum ir_dtype t = (enum ir_dtype)x.dtype; /* reducescatter */
	struct hlo_value out = type;
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.reduce_scatter",
			     .in = &x,
			     .nin = 1,
			     .attrs = hlo_text(h, "scatter_dimension = %d : i64, %s", to.dim,
				     replica_groups(h, axis, 0)),
			     .region = hlo_region(h, hlo_monoid(REDUCE_SUM, t), t),
			     .out = &out,
			     .nout = 1});
	return out;
}

/* Operands of one element type are sent in one message, as in our programs. */
static bool
all_reduce_list(struct hlo *h, const struct ir_op *op, int axis)
{
	struct hlo_value *in = NEW_ARRAY(h->scratch, struct hlo_value, op->noperands),
			 *out = NEW_ARRAY(h->scratch, struct hlo_value, op->noperands);
	bool *done = ZERO_ARRAY(h->scratch, bool, op->noperands);

	for (int first = 0; first < op->noperands; first++) {
		const enum ir_dtype t = (enum ir_dtype)ir_operand_type(op, first)->dtype;
		int n = 0;
		if (done[first])
			continue;
		for (int i = first; i < op->noperands; i++)
			if (ir_operand_type(op, i)->dtype == t)
				in[n++] = *hlo_of(h, ir_operand(op, i));
		memcpy(out, in, sizeof *in * (size_t)n);
		hlo_write(h, &(struct hlo_op){.name = "stablehlo.all_reduce",
				     .in = in,
				     .nin = n,
				     .attrs = replica_groups(h, axis, 0),
				     .region = hlo_region(h, hlo_monoid(REDUCE_SUM, t), t),
				     .out = out,
				     .nout = n});
		n = 0;
		for (int i = first; i < op->noperands; i++)
			if (ir_operand_type(op, i)->dtype == t) {
				*hlo_of(h, &op->result[i]) = out[n++];
				done[i] = true;
			}
	}
	return true;
}

bool
hlo_parallel(struct hlo *h, const struct ir_op *op)
{
	const int axis = (int)ir_attr_int(op, "axis", 0);

	if (h->m->axis[axis].size > 1 && op->code == OP_allreduce && op->noperands > 1)
		return all_reduce_list(h, op, axis);
	for (int i = 0; i < op->noperands; i++)
		*hlo_of(h, &op->result[i]) = h->m->axis[axis].size > 1
						     ? moved(h, op, i, axis)
						     : *hlo_of(h, ir_operand(op, i));
	return true;
}
