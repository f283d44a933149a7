/*
 * Collectives and transfers: each field is compared with the types of the op, and no set of ranks
 * can wait for each other for ever. docs/checking.md has the argument; this file checks its
 * premises:
 *
 *   - all ranks run one list of actions, and post collectives in one order, that of the list, loops
 *     unrolled; those that leave out some leave out the same in a whole row (check_actions.c), as
 *     guards have no condition on the axis of the collective;
 *   - a collective is on a device axis, so that the ranks that take part are a row of that axis. Of
 *     all that are not complete the first in that order can proceed: its row has nothing before it;
 *   - senders and receivers are ranks of the row, the same for the whole row.
 */
#include "lower/plan/check.h"

#include "ir/base/alloc.h"
#include "runtime/rt_program.h"

#include <inttypes.h>

/* The collective that leads from one state on the axis to another; -1: none. */
static const int kind_of[4][4] = {
	[IR_COPIED] = {-1, -1, -1, -1},
	[IR_SPLIT] = {[IR_COPIED] = RT_ALLGATHER,
		[IR_SPLIT] = RT_ALLTOALL,
		[IR_PARTIAL] = -1,
		[IR_SINGLE] = RT_GATHER},
	[IR_PARTIAL] = {[IR_COPIED] = RT_ALLREDUCE,
		[IR_SPLIT] = RT_REDUCESCATTER,
		[IR_PARTIAL] = -1,
		[IR_SINGLE] = RT_REDUCE},
	[IR_SINGLE] = {[IR_COPIED] = RT_BROADCAST,
		[IR_SPLIT] = RT_SCATTER,
		[IR_PARTIAL] = -1,
		[IR_SINGLE] = RT_SEND},
};

static int
single_at(const struct ir_axis *axis, struct ir_state s)
{
	return s.kind == IR_SINGLE ? ir_axis_place(axis, s.order) : 0;
}

/* [outer][n][inner] of a slice along `dim`; without one (-1) all elements, divided in any way. */
static bool
fits_slice(
	const struct ir_module *m, const struct ir_type *t, int dim, const struct lower_coll_buf *x)
{
	int64_t outer = 1, n = 1, inner = 1;

	for (int d = 0; d < t->rank; d++)
		*(d < dim ? &outer : d == dim ? &n : &inner) *= ir_type_local_dim(m, t, d);
	const bool rest = !x->d1 && !x->mid && !x->d2 && !x->first_split;
	return rest && x->outer == outer && x->n == n && x->inner == inner;
}

/* [outer][d1][mid][d2][inner] of a tensor that changes from a split of one dim to one of another,
 * both with their size without that split. */
static bool
fits_alltoall(const struct ir_module *m, const struct ir_type *from, const struct ir_type *to,
	int axis, const struct lower_coll_buf *x)
{
	const int was = from->axis[axis].dim, is = to->axis[axis].dim;
	const int low = was < is ? was : is, high = was < is ? is : was;
	int64_t want[5] = {1, 1, 1, 1, 1};

	for (int d = 0; d < from->rank; d++) {
		const int64_t n =
			d == was ? ir_type_local_dim(m, to, d) : ir_type_local_dim(m, from, d);
		want[d < low ? 0 : d == low ? 1 : d < high ? 2 : d == high ? 3 : 4] *= n;
	}
	return was != is && x->outer == want[0] && x->d1 == want[1] && x->mid == want[2] &&
	       x->d2 == want[3] && x->inner == want[4] && x->n == 1 && x->first_split == (was < is);
}

static void
check_buf(struct check *c, const struct lower_coll *coll, int k)
{
	const struct lower_plan *p = c->p;
	const struct ir_module *m = p->module;
	const struct ir_op *op = coll->op;
	const struct lower_coll_buf *x = &coll->buf[k];
	const struct ir_type *from = ir_operand_type(op, k), *to = op->result[k].type;
	const struct ir_axis *axis = &m->axis[coll->axis];
	const struct ir_state was = from->axis[coll->axis], is = to->axis[coll->axis];
	const int32_t src = check_number(c->p, coll->in_row ? &op->result[k] : ir_operand(op, k));
	const bool fits = kind_of[was.kind][is.kind] == RT_ALLTOALL
				  ? fits_alltoall(m, from, to, coll->axis, x)
			  : was.kind == IR_SPLIT ? fits_slice(m, from, was.dim, x)
			  : is.kind == IR_SPLIT  ? fits_slice(m, to, is.dim, x)
						 : fits_slice(m, from, -1, x);

	if (kind_of[was.kind][is.kind] != coll->kind || single_at(axis, was) != coll->from ||
		single_at(axis, is) != coll->to)
		FAULT(c, op,
			"tensor %d of the %s changes its layout in a "
			"different way than the collective",
			k + 1, check_op_name(op));
	if (from->dtype != (int)coll->dtype || to->dtype != (int)coll->dtype)
		FAULT(c, op, "tensor %d of the %s and the collective have different element types",
			k + 1, check_op_name(op));
	if (x->src != src || x->dst != check_number(c->p, &op->result[k]))
		FAULT(c, op, "buffer %d of the %s belongs to another tensor", k + 1,
			check_op_name(op));
	if (!fits)
		FAULT(c, op, "buffer %d of the %s and its tensor have different extents", k + 1,
			check_op_name(op));
}

/* Bytes of the message: of every tensor before or after, whichever is larger. */
static uint64_t
bytes_of(const struct ir_module *m, const struct ir_op *op)
{
	uint64_t sum = 0;

	for (int k = 0; k < op->nresults; k++) {
		const uint64_t from = (uint64_t)ir_type_local_bytes(m, ir_operand_type(op, k)),
			       to = (uint64_t)ir_type_local_bytes(m, op->result[k].type);
		sum += from > to ? from : to;
	}
	return sum;
}

/* A message in a row: its buffers are adjacent in the arena, each once. */
static void
check_row(struct check *c, const struct lower_coll *coll, int *rows)
{
	const struct lower_plan *p = c->p;
	const struct lower_row row = lower_row_of(p, coll);
	const int32_t number = p->buffer[p->value[coll->buf[0].dst].buffer].row;
	uint64_t bytes = 0;

	if (coll->kind != RT_ALLREDUCE || coll->time)
		FAULT(c, coll->op, "the %s cannot be one range of bytes", check_op_name(coll->op));
	for (int k = 0; k < coll->nbufs; k++) {
		const int32_t b = p->value[coll->buf[k].dst].buffer;
		bytes += storage_bytes(p->storage, &p->buffer[b]);
		if (p->buffer[b].row != number || number <= 0)
			FAULT(c, coll->op,
				"result %d of the %s is not placed in the bucket of the collective",
				k + 1, check_op_name(coll->op));
		rows[b]++;
	}
	if (row.bytes > bytes || bytes - row.bytes >= p->storage->align)
		FAULT(c, coll->op,
			"the %s transfers %" PRIu64 " bytes from offset %" PRIu64
			", but its buffers need %" PRIu64,
			check_op_name(coll->op), row.bytes, row.offset, bytes);
}

/* A buffer occurs twice in one message, or a buffer of no message is in a row. */
static void
check_rows(struct check *c)
{
	const struct lower_plan *p = c->p;
	int *rows = ARRAY_ZERO(NULL, int, (size_t)p->nbuffers + 1);

	for (int i = 0; i < p->ncolls; i++)
		if (p->coll[i].in_row)
			check_row(c, &p->coll[i], rows);
	for (int i = 0; i < p->nbuffers; i++)
		if ((p->buffer[i].row != 0) != (rows[i] > 0))
			FAULT(c, p->buffer[i].op,
				"the mark of buffer %d (%%%s) as part of a bucket "
				"does not match the collectives",
				i, check_buffer_name(p, i));
	array_free(rows);
}

/* An offload or reload: each buffer is an operand and its copy in the other memory. */
static void
check_transfer(struct check *c, const struct lower_coll *coll, int row)
{
	const struct lower_plan *p = c->p;
	const struct ir_op *op = coll->op;
	const enum ir_memory to = op->code == OP_offload ? IR_HOST : IR_DEVICE;
	uint32_t time = 0;

	for (int k = 0; k < coll->nbufs; k++) {
		const struct lower_coll_buf *x = &coll->buf[k];
		if (x->src != check_number(p, ir_operand(op, k)) ||
			x->dst != check_number(p, &op->result[k]))
			FAULT(c, op, "buffer %d of the %s belongs to another tensor", k + 1,
				check_op_name(op));
		if (p->buffer[p->value[x->src].buffer].memory == to ||
			p->buffer[p->value[x->dst].buffer].memory != to)
			FAULT(c, op, "buffer %d of the %s is not copied to the other memory", k + 1,
				check_op_name(op));
		if (x->outer || x->n || x->inner || x->d1 || x->mid || x->d2 || x->first_split)
			FAULT(c, op, "buffer %d of the %s has extents of a collective", k + 1,
				check_op_name(op));
		time |= p->value[x->src].time | p->value[x->dst].time;
	}
	if (coll->kind != -1 || coll->axis != -1 || coll->from || coll->to || coll->in_row ||
		coll->dtype != (enum ir_dtype)ir_operand_type(op, 0)->dtype)
		FAULT(c, op, "the %s has fields of a collective", check_op_name(op));
	if (coll->bytes != bytes_of(p->module, op))
		FAULT(c, op, "the %s is recorded with a wrong size of %" PRIu64 " bytes",
			check_op_name(op), coll->bytes);
	if (coll->time != time || coll->row != row)
		FAULT(c, op, "the rows of the %s in the program's table belong to another one",
			check_op_name(op));
}

static void
check_coll(struct check *c, const struct lower_coll *coll, int row)
{
	const struct lower_plan *p = c->p;
	const struct ir_module *m = p->module;
	const struct ir_op *op = coll->op;
	uint32_t time = 0;

	if (coll->axis != check_axis(op) || !check_is_collective(m, op)) {
		FAULT(c, op, "a collective on axis %d of %s, which is not one on that axis",
			coll->axis, check_op_name(op));
		return;
	}
	for (int k = 0; k < coll->nbufs; k++) {
		check_buf(c, coll, k);
		time |= p->value[coll->buf[k].src].time | p->value[coll->buf[k].dst].time;
	}
	struct cell_message message;
	if (lower_is_message(p, coll, &message))
		time |= issue_loop_of(p->storage->order, op)->over;
	if (coll->bytes != bytes_of(m, op))
		FAULT(c, op, "the %s is recorded with a wrong size of %" PRIu64 " bytes",
			check_op_name(op), coll->bytes);
	if (coll->time != time || coll->row != row)
		FAULT(c, op,
			"the rows of the %s in the program's table belong to another collective",
			check_op_name(op));
	if (coll->from >= m->axis[coll->axis].size || coll->to >= m->axis[coll->axis].size)
		FAULT(c, op, "the %s is between ranks that its axis does not have",
			check_op_name(op));
}

/* Each collective is posted by one action. */
static void
check_posts(struct check *c)
{
	const struct lower_plan *p = c->p;
	int *posts = ARRAY_ZERO(NULL, int, (size_t)p->ncolls + 1);

	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_POST)
			posts[p->action[i].coll]++;
	for (int i = 0; i < p->ncolls; i++)
		if (posts[i] != 1)
			FAULT(c, p->coll[i].op, "%d actions post one %s", posts[i],
				check_op_name(p->coll[i].op));
	array_free(posts);
}

void
check_collectives(struct check *c)
{
	const struct lower_plan *p = c->p;
	int row = 0, transfer = 0;

	for (int i = 0; i < p->ncolls; i++) {
		const struct lower_coll *coll = &p->coll[i];
		const int iterations = (int)issue_iterations(p->module, coll->time);
		if (coll->transfer) {
			check_transfer(c, coll, transfer);
			transfer += iterations * coll->nbufs;
		} else {
			check_coll(c, coll, row);
			row += iterations;
		}
	}
	if (p->nrows != row || p->ntransfers != transfer)
		FAULT(c, NULL,
			"found %d rows of collectives and %d of transfers, but the plan counts %d "
			"and %d",
			row, transfer, p->nrows, p->ntransfers);
	check_posts(c);
	check_rows(c);
}
