/* Converts the ops, in order of issue, to actions: kernels, copies, sums over time, collectives,
 * loops. */
#include "ir/base/vec.h"
#include "lower/plan/build.h"

#include "ir/memory/op_class.h"

/* The moment at which an op is done; past the last one: the end of the step. */
static int32_t
moment_of(const struct plan_build *b, const struct ir_op *op)
{
	return (int32_t)(2 * b->order->position[op->id] + 1);
}

static int32_t
value_number(const struct lower_plan *p, const struct ir_value *v)
{
	return (int32_t)(lower_value_of(p, v) - p->value);
}

static uint16_t
place_of(const struct ir_module *m, const struct ir_type *t, int axis)
{
	return ir_axis_place(&m->axis[axis], t->axis[axis].order);
}

/* Only ranks that hold a result compute it. Along the axis `but` (-1: none) all take part. */
static struct lower_guard
guard_but(const struct ir_module *m, const struct ir_op *op, int but)
{
	struct lower_guard g = {0};

	for (int a = 0; a < m->naxes; a++) {
		bool all = op->nresults > 0 && !m->axis[a].time && a != but;
		for (int r = 0; r < op->nresults && all; r++)
			all = op->result[r].type->axis[a].kind == IR_SINGLE &&
			      place_of(m, op->result[r].type, a) ==
				      place_of(m, op->result[0].type, a);
		if (!all)
			continue;
		g.axis[g.n] = (uint8_t)a;
		g.place[g.n++] = place_of(m, op->result[0].type, a);
	}
	return g;
}

static struct lower_guard
guard_of(const struct ir_module *m, const struct ir_op *op)
{
	return guard_but(m, op, -1);
}

/* Only ranks that hold the value copy it. */
static struct lower_guard
guard_of_value(const struct ir_module *m, const struct ir_value *v)
{
	struct lower_guard g = {0};

	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time && v->type->axis[a].kind == IR_SINGLE) {
			g.axis[g.n] = (uint8_t)a;
			g.place[g.n++] = place_of(m, v->type, a);
		}
	return g;
}

/* Blocks of a slice along `dim` of a whole: [outer][n][inner] of [outer][parts * n][inner]. */
static struct lower_copy
slice_copy(
	const struct ir_module *m, const struct ir_type *slice, int dim, int axis, bool slice_src)
{
	struct lower_copy c = {.outer = 1, .slice_axis = axis, .slice_src = slice_src};
	uint64_t bytes = ir_dtype_bytes((enum ir_dtype)slice->dtype);

	for (int d = 0; d < dim; d++)
		c.outer *= ir_type_local_dim(m, slice, d);
	for (int d = dim; d < slice->rank; d++)
		bytes *= (uint64_t)ir_type_local_dim(m, slice, d);
	const uint64_t whole = bytes * (uint64_t)m->axis[axis].size;
	c.bytes = c.slice_bytes = bytes;
	c.src_stride = slice_src ? whole : bytes;
	c.dst_stride = slice_src ? bytes : whole;
	return c;
}

static void
add_copy(struct lower_plan *p, const struct ir_op *op, int32_t at, int32_t src, int32_t dst,
	struct lower_copy c, struct lower_guard guard)
{
	struct lower_action *a = plan_add_action(p, LOWER_COPY, op, at);

	a->src = src;
	a->dst = dst;
	a->copy = c;
	a->guard = guard;
}

static struct lower_copy
whole_copy(const struct ir_module *m, const struct ir_type *t)
{
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(m, t);

	return (struct lower_copy){1, bytes, bytes, bytes, -1, 0, false};
}

static void
add_kernel(struct plan_build *b, const struct ir_op *op)
{
	struct lower_plan *p = b->p;
	struct scheme *s = p->target->scheme(p, p->module, p->arena, op);

	if (!s) {
		diag_error(p->module->ctx->diag, op->loc, "%s has no kernel",
			op_name((enum op_code)op->code));
		b->failed = true;
		return;
	}
	struct lower_action *a = plan_add_action(p, LOWER_KERNEL, op, moment_of(b, op));
	a->scheme = s;
	a->scratch = p->storage->extra[op->id];
	a->kernel = p->nkernels++;
	a->guard = guard_of(p->module, op);
	for (int r = 0; r < op->nresults; r++)
		for (int j = 0; j < op->noperands; j++)
			a->in_place |= lower_value_of(p, &op->result[r])->buffer ==
				       lower_value_of(p, ir_operand(op, j))->buffer;
}

/*
 * A parallelization op with one operand on a time axis. Ops that take a slice are copies in every
 * iteration; ops that combine or sum slices are complete when the loop is.
 */
static void
add_time_op(struct plan_build *b, const struct ir_op *op, int r, int axis)
{
	struct lower_plan *p = b->p;
	const struct ir_module *m = p->module;
	const int32_t src = value_number(p, ir_operand(op, r)),
		      dst = value_number(p, &op->result[r]);

	if (op->code == OP_reduce || op->code == OP_allreduce) {
		struct lower_action *a = plan_add_action(p, LOWER_ADD, op, moment_of(b, op));
		a->src = src;
		a->dst = dst;
		a->over = 1u << axis;
		a->guard = guard_of(m, op);
		return;
	}
	const bool take = op->code == OP_partition;
	const struct ir_type *slice = take ? op->result[r].type : ir_operand_type(op, r);
	add_copy(p, op, moment_of(b, op), src, dst,
		slice_copy(m, slice, slice->axis[axis].dim, axis, take), guard_of(m, op));
}

/* [outer][n][inner] around dimension `dim` of a slice. */
static void
fill_slice(const struct ir_module *m, const struct ir_type *t, int dim, struct lower_coll_buf *x)
{
	x->outer = x->inner = 1;
	for (int d = 0; d < t->rank; d++) {
		const int64_t n = ir_type_local_dim(m, t, d);
		*(d < dim ? &x->outer : d == dim ? &x->n : &x->inner) *= n;
	}
}

/* [outer][d1][mid][d2][inner]: the two dims of an alltoall, as if axis split neither. */
static void
fill_alltoall(const struct ir_module *m, const struct ir_type *from, const struct ir_type *to,
	int axis, struct lower_coll_buf *x)
{
	const int was = from->axis[axis].dim, is = to->axis[axis].dim;
	const int first = was < is ? was : is, second = was < is ? is : was;

	x->outer = x->d1 = x->mid = x->d2 = x->inner = 1;
	x->n = 1;
	x->first_split = was < is;
	for (int d = 0; d < from->rank; d++) {
		const int64_t n =
			ir_type_local_dim(m, from, d) * (d == was ? m->axis[axis].size : 1);
		*(d < first           ? &x->outer
			: d == first  ? &x->d1
			: d < second  ? &x->mid
			: d == second ? &x->d2
				      : &x->inner) *= n;
	}
}

static void
fill_buf(const struct lower_plan *p, const struct ir_op *op, int r, int axis,
	struct lower_coll_buf *x)
{
	const struct ir_module *m = p->module;
	const struct ir_type *from = ir_operand_type(op, r), *to = op->result[r].type;

	const int32_t dst = value_number(p, &op->result[r]);
	const bool in_row = storage_is_row(m, op);

	*x = (struct lower_coll_buf){
		.src = in_row ? dst : value_number(p, ir_operand(op, r)), .dst = dst, .n = 1};
	if (op->code == OP_alltoall)
		fill_alltoall(m, from, to, axis, x);
	else if (from->axis[axis].kind == IR_SPLIT)
		fill_slice(m, from, from->axis[axis].dim, x);
	else if (to->axis[axis].kind == IR_SPLIT)
		fill_slice(m, to, to->axis[axis].dim, x);
	else
		fill_slice(m, from, -1, x);
}

/* Bytes of the message: for each buffer the larger side. */
static uint64_t
message_bytes(const struct ir_module *m, const struct ir_op *op)
{
	uint64_t sum = 0;

	for (int r = 0; r < op->nresults; r++) {
		const int64_t from = ir_type_local_bytes(m, ir_operand_type(op, r));
		const int64_t to = ir_type_local_bytes(m, op->result[r].type);
		sum += (uint64_t)(from > to ? from : to);
	}
	return sum;
}

/* Copies operands that could not be made in the row of a message into it. */
static void
add_packs(struct plan_build *b, const struct ir_op *op)
{
	struct lower_plan *p = b->p;

	for (int r = 0; r < op->nresults; r++) {
		if (!storage_is_packed(p->module, op, r))
			continue;
		struct lower_action *a = plan_add_action(p, LOWER_PACK, op, moment_of(b, op));
		a->src = value_number(p, ir_operand(op, r));
		a->dst = value_number(p, &op->result[r]);
		a->copy = whole_copy(p->module, op->result[r].type);
		a->guard = guard_of(p->module, op);
	}
}

static void
add_collective(struct plan_build *b, const struct ir_op *op, int axis)
{
	struct lower_plan *p = b->p;
	const struct ir_state before = ir_operand_type(op, 0)->axis[axis],
			      after = op->result[0].type->axis[axis];

	ARRAY_ROOM(p, p->coll, p->ncolls + 1);
	struct lower_coll *c = &p->coll[p->ncolls];
	*c = (struct lower_coll){.op = op,
		.kind = op_collective(op),
		.axis = axis,
		.from = before.kind == IR_SINGLE
				? ir_axis_place(&p->module->axis[axis], before.order)
				: 0,
		.to = after.kind == IR_SINGLE ? ir_axis_place(&p->module->axis[axis], after.order)
					      : 0,
		.dtype = (enum ir_dtype)ir_operand_type(op, 0)->dtype,
		.nbufs = op->nresults,
		.in_row = storage_is_row(p->module, op),
		.bytes = message_bytes(p->module, op)};
	c->buf = NEW_ARRAY(p, struct lower_coll_buf, (size_t)op->nresults);
	for (int r = 0; r < op->nresults; r++) {
		if (ir_operand_type(op, r)->dtype != c->dtype) {
			diag_error(p->module->ctx->diag, op->loc,
				"%s: operands %d and 1 have different element types; "
				"a collective has only one",
				op_name((enum op_code)op->code), r + 1);
			b->failed = true;
		}
		fill_buf(p, op, r, axis, &c->buf[r]);
		c->time |= p->value[c->buf[r].src].time | p->value[c->buf[r].dst].time;
	}
	struct cell_message m;
	if (lower_is_message(p, c, &m)) /* several may be in flight */
		c->time |= issue_loop_of(b->order, op)->over;
	if (c->in_row)
		add_packs(b, op);
	c->row = p->nrows;
	p->nrows += (int32_t)issue_iterations(p->module, c->time);
	struct lower_action *a = plan_add_action(p, LOWER_POST, op, moment_of(b, op));
	a->coll = p->ncolls++;
	a->guard = guard_but(p->module, op, axis);
}

/* An offload or reload: each operand is copied by itself. */
static void
add_transfer(struct plan_build *b, const struct ir_op *op)
{
	struct lower_plan *p = b->p;

	ARRAY_ROOM(p, p->coll, p->ncolls + 1);
	struct lower_coll *c = &p->coll[p->ncolls];
	*c = (struct lower_coll){.op = op,
		.transfer = true,
		.kind = -1,
		.axis = -1,
		.dtype = (enum ir_dtype)ir_operand_type(op, 0)->dtype,
		.nbufs = op->nresults,
		.bytes = message_bytes(p->module, op),
		.row = p->ntransfers};
	c->buf = NEW_ARRAY(p, struct lower_coll_buf, (size_t)op->nresults);
	for (int r = 0; r < op->nresults; r++) {
		c->buf[r] = (struct lower_coll_buf){.src = value_number(p, ir_operand(op, r)),
			.dst = value_number(p, &op->result[r])};
		c->time |= p->value[c->buf[r].src].time | p->value[c->buf[r].dst].time;
	}
	p->ntransfers += (int)issue_iterations(p->module, c->time) * c->nbufs;
	struct lower_action *a = plan_add_action(p, LOWER_POST, op, moment_of(b, op));
	a->coll = p->ncolls++;
	a->guard = guard_of(p->module, op);
}

static void
add_parallel(struct plan_build *b, const struct ir_op *op)
{
	struct lower_plan *p = b->p;
	const int axis = (int)ir_attr_int(op, "axis", 0);

	if (p->module->axis[axis].time) {
		for (int r = 0; r < op->nresults; r++)
			add_time_op(b, op, r, axis);
	} else if (!storage_is_message(p->module, op)) { /* a slice of an existing value */
		const struct ir_type *slice = op->result[0].type;
		add_copy(p, op, moment_of(b, op), value_number(p, ir_operand(op, 0)),
			value_number(p, &op->result[0]),
			slice_copy(p->module, slice, slice->axis[axis].dim, axis, true),
			guard_of(p->module, op));
	} else {
		add_collective(b, op, axis);
	}
}

/* The storage has a copy of an output whose buffer is overwritten before the end of the step. */
static void
add_output(struct plan_build *b, const struct ir_op *op)
{
	struct lower_plan *p = b->p;
	const struct ir_value *v = ir_operand(op, 0);
	const int32_t copy = p->storage->extra[op->id];

	if (copy >= 0)
		add_copy(p, op, moment_of(b, op), value_number(p, v), plan_add_value(p, NULL, copy),
			whole_copy(p->module, v->type), guard_of_value(p->module, v));
}

static void
add_op(struct plan_build *b, const struct ir_op *op)
{
	if (op->code == OP_output)
		add_output(b, op);
	else if (op_is(op, TRAIT_EFFECT) || op_is(op, TRAIT_NAMED) ||
		 storage_is_view(b->p->module, op))
		return;
	else if (op_is(op, TRAIT_PARALLEL))
		add_parallel(b, op);
	else if (op_is(op, TRAIT_COPY))
		add_transfer(b, op);
	else if (lower_value_of(b->p, &op->result[0]) &&
		 lower_value_of(b->p, &op->result[0])->buffer >= 0)
		add_kernel(b, op);
}

/*
 * New values that were not made in place are copied after all other actions. Those that lie in
 * another param's buffer go through a temporary buffer first, as that param may get its new value
 * too.
 */
static void
add_updates(struct plan_build *b)
{
	struct lower_plan *p = b->p;
	/* The temporary copies, by position of the update. */
	int32_t *between = ARRAY_NEW(p, int32_t, b->order->n);

	for (int pass = 0; pass < 2; pass++) {
		IR_FOR_OPS (op, &p->main->body) {
			if (op->code != OP_update)
				continue;
			const struct ir_value *param = ir_operand(op, 0), *new = ir_operand(op, 1);
			const int32_t from = lower_value_of(p, new)->buffer,
				      to = lower_value_of(p, param)->buffer;
			if (from == to)
				continue;
			const int32_t through = p->storage->extra[op->id],
				      end = (int32_t)(2 * b->order->n + 1);
			const struct lower_copy c = whole_copy(p->module, param->type);
			const struct lower_guard guard = guard_of_value(p->module, param);
			int32_t *t = &between[b->order->position[op->id]];
			if (pass == 0 && through >= 0) {
				*t = plan_add_value(p, NULL, through);
				add_copy(p, op, end, value_number(p, new), *t, c, guard);
			} else if (pass == 1) {
				add_copy(p, op, end, through >= 0 ? *t : value_number(p, new),
					value_number(p, param), c, guard);
			}
		}
	}
	array_free(between);
}

void
plan_actions(struct plan_build *b)
{
	const struct issue *o = b->order;

	for (const struct issue_loop *l = o->loop; l < o->loop + o->nloops; l++) {
		if (l->over)
			plan_add_action(b->p, LOWER_LOOP, NULL, (int32_t)(2 * l->first))->over =
				l->over;
		for (uint32_t i = l->first; i < l->end; i++) {
			const int before = b->p->nactions;
			add_op(b, o->op[i]);
			for (int k = before; o->once[i] && k < b->p->nactions; k++)
				b->p->action[k].last = l->over;
		}
		if (l->over)
			plan_add_action(b->p, LOWER_END, NULL, (int32_t)(2 * l->end))->over =
				l->over;
	}
	add_updates(b);
}
