/*
 * Which values share a buffer: views of one tensor; the operand and the result of a collective, if
 * no other op reads the operand later; a param and its next value, if that is computed elementwise.
 * Also which values have a slot for every iteration of a loop. See storage.h.
 */
#include "ir/memory/build.h"

#include "ir/loops/scheme.h"

#include <string.h>
#include <talloc.h>

static const struct ir_axis *
axis_of(const struct ir_module *m, const struct ir_op *op)
{
	return &m->axis[ir_attr_int(op, "axis", 0)];
}

bool
storage_is_view(const struct ir_module *m, const struct ir_op *op)
{
	if (op->code == OP_reshape || op->code == OP_stop_gradient || op->code == OP_barrier)
		return true;
	if (op->code == OP_convert)
		return op->result[0].type == ir_operand_type(op, 0);
	if (!op_is(op, TRAIT_PARALLEL))
		return false;
	if (axis_of(m, op)->size == 1)
		return true;
	if (axis_of(m, op)->time)
		return op->code == OP_replicate || op->code == OP_send;
	return op->code == OP_send &&
	       ir_axis_place(axis_of(m, op), (uint16_t)ir_attr_int(op, "from", 0)) ==
		       ir_axis_place(axis_of(m, op), (uint16_t)ir_attr_int(op, "to", 0));
}

bool
storage_is_message(const struct ir_module *m, const struct ir_op *op)
{
	if (!op_is(op, TRAIT_PARALLEL) || axis_of(m, op)->time || storage_is_view(m, op))
		return false;
	/* A partition of a copied value only takes a slice. */
	const int64_t axis = ir_attr_int(op, "axis", 0);
	return op->code != OP_partition || ir_operand_type(op, 0)->axis[axis].kind != IR_COPIED;
}

bool
storage_is_copy(const struct ir_op *op)
{
	return op_is(op, TRAIT_COPY);
}

static struct storage_value *
value_of(const struct storage_build *b, const struct ir_value *v)
{
	return &b->s->value[storage_number(b->s, v)];
}

/*
 * The last position at which a use reads. An update that copies reads at the end of the step, and
 * so does an output, unless it is copied out of a param's memory at its own position. A copy to the
 * host or back reads until its end is waited for.
 */
static uint32_t
use_position(const struct storage_build *b, const struct ir_use *u)
{
	if (storage_is_copy(u->op)) {
		const uint32_t from = storage_position(b, u->op),
			       waited = (uint32_t)storage_wait_moment(b, u->op) / 2;
		return waited > from ? waited - 1 : from;
	}
	const bool at_end =
		storage_is_next(u) ||
		(u->op->code == OP_output &&
			b->s->buffer[value_of(b, u->value)->buffer].role == STORAGE_TEMP);

	return at_end ? b->s->order->n : storage_position(b, u->op);
}

/* Does any op other than `op` use a value in `buffer` at or after position `at`? */
static bool
used_from(const struct storage_build *b, int32_t buffer, const struct ir_op *op, uint32_t at)
{
	const uint32_t newest = b->newest.at[buffer];

	for (const struct ir_value *v = newest ? b->s->value[newest - 1].value : NULL; v;
		v = value_of(b, v)->next)
		IR_FOR_USES (u, v)
			if (u->op != op && !storage_is_updated(u) && use_position(b, u) >= at)
				return true;
	return false;
}

/* Are all readers of the value in the iteration that makes it? Readers of its views count too. */
static bool
stays_in_loop(
	const struct storage_build *b, const struct ir_value *v, const struct issue_loop *loop)
{
	IR_FOR_USES (u, v) {
		if (issue_loop_of(b->s->order, u->op) != loop)
			return false;
		if (storage_is(b, u->op, STORAGE_IS_VIEW) &&
			!stays_in_loop(b, &u->op->result[u - u->op->operand], loop))
			return false;
	}
	return true;
}

static enum storage_role
role_of(const struct ir_op *op)
{
	return op->code == OP_input          ? STORAGE_INPUT
	       : op_is(op, TRAIT_PERSISTENT) ? STORAGE_PERSISTENT
					     : STORAGE_TEMP;
}

/* The time axes for which a value needs slots: none if only the iteration that makes it uses it. */
static uint32_t
slot_axes(const struct storage_build *b, const struct ir_value *v)
{
	const uint32_t time = issue_axes(b->s->module, v->type);
	if (!time)
		return 0;
	const struct issue_loop *loop = issue_loop_of(b->s->order, v->op);
	const bool one =
		role_of(v->op) == STORAGE_TEMP && loop->over == time && stays_in_loop(b, v, loop);

	return one ? 0 : time;
}

/* The number of cyclic slots of a value of a loop with a schedule; 0: none. *outlasts: it is needed
 * after its phase. A value without time axes, such as a gathered param, needs no slots. */
static uint32_t
ring_of(const struct storage_build *b, const struct ir_value *v, bool *outlasts)
{
	const uint32_t time = issue_axes(b->s->module, v->type);
	const struct issue_loop *loop = issue_loop_of(b->s->order, v->op);

	*outlasts = false;
	if (!loop->cells || (time && loop->over != time) || role_of(v->op) != STORAGE_TEMP ||
		!stays_in_loop(b, v, loop))
		return 0;
	const uint32_t ring = issue_ring(b->s->order, v, outlasts);
	return *outlasts && time ? ring : 0;
}

/* The op that computes v, or the value of which v is a view. */
static const struct ir_op *
maker_of(const struct storage_build *b, const struct ir_value *v)
{
	while (storage_is(b, v->op, STORAGE_IS_VIEW))
		v = ir_operand(v->op, (int)v->index);
	return v->op;
}

/* May result r of a parallelization op share the buffer of operand r, which has no later reader? */
static bool
message_in_place(const struct storage_build *b, const struct ir_op *op, int r)
{
	if (!storage_lies_in_place((enum op_code)op->code))
		return false;
	if (axis_of(b->s->module, op)->time)
		return false;
	const struct ir_value *from = ir_operand(op, r);
	const struct storage_value *lies = value_of(b, from);
	const int32_t here = storage_home(b->s, from->type),
		      there = storage_home(b->s, op->result[r].type);
	if (here >= 0 && there >= 0 && here != there)
		return false; /* each keeps its own home */
	if (lies->buffer < 0 || lies->time != slot_axes(b, &op->result[r]))
		return false;
	for (int i = 0; i < op->noperands; i++)
		if (i != r && value_of(b, ir_operand(op, i))->buffer == lies->buffer)
			return false;
	/* In a loop, the second iteration would read its own result. */
	const struct issue_loop *loop = issue_loop_of(b->s->order, op);
	return b->s->buffer[lies->buffer].role == STORAGE_TEMP &&
	       (storage_is_once(b, op) || loop == issue_loop_of(b->s->order, maker_of(b, from))) &&
	       !used_from(b, lies->buffer, op, storage_position(b, op));
}

/* Does the use take a constant operand as a number in its code, without reading memory? */
static bool
takes_number(const struct ir_use *u)
{
	const struct ir_op *op = u->op;

	if (op->code == OP_stop_gradient || op->code == OP_barrier || op_is(op, TRAIT_PARALLEL) ||
		(op->code == OP_convert && op->result[0].type == u->value->type))
		return false;
	if (op->code != OP_fuse)
		return form_exists((enum op_code)op->code);
	IR_FOR_USES (inner, &op->body->arg[u - op->operand])
		if (!form_exists((enum op_code)inner->op->code))
			return false;
	return true;
}

/* A constant that only kernels read has no buffer: it is part of their code. */
static bool
is_held(const struct ir_op *op)
{
	if (op->code != OP_constant)
		return false;
	IR_FOR_USES (u, &op->result[0])
		if (!takes_number(u))
			return false;
	return true;
}

/* The param whose next value v is, possibly through barriers; the first of several; NULL: none. */
static const struct ir_value *
updates_param(const struct storage_build *b, const struct ir_value *v)
{
	const struct ir_value *first = NULL, *behind = NULL;

	if (!b->becomes[v->id])
		return NULL;
	IR_FOR_USES (u, v)
		if (storage_is_next(u))
			first = ir_operand(u->op, 0);
		else if (u->op->code == OP_barrier && !behind)
			behind = updates_param(b, &u->op->result[u - u->op->operand]);
	return first ? first : behind;
}

/* For every operand and every result: do the loops allow them to share memory? */
static const bool *
find_in_place(struct storage_build *b, const struct ir_op *op)
{
	struct scheme *s = scheme_of_device(NULL, b->s->module, b->arena, op,
		(struct scheme_device){
			b->target->threads, b->target->online, b->target->rows, false});
	bool *in_place = ZERO_ARRAY(b->known, bool, (size_t)op->noperands * op->nresults + 1);

	for (int j = 0; j < op->noperands && s; j++)
		for (int r = 0; r < op->nresults; r++)
			in_place[j * op->nresults + r] = scheme_in_place(s, j, r);
	talloc_free(s);
	arena_reset(b->arena);
	return in_place;
}

/* Does the kernel of `op` read each element of `buffer` only before it writes result r there? */
static bool
reads_in_place(struct storage_build *b, const struct ir_op *op, int32_t buffer, int r)
{
	struct storage_kernel *k = storage_kernel_of(b, op);

	for (int j = 0; j < op->noperands; j++) {
		if (value_of(b, ir_operand(op, j))->buffer != buffer)
			continue;
		if (!ir_type_same_meaning(ir_operand_type(op, j), op->result[r].type))
			return false;
		if (!k->in_place)
			k->in_place = find_in_place(b, op);
		if (!k->in_place[j * op->nresults + r])
			return false;
	}
	return true;
}

/*
 * May result r of `op`, a param's next value, be written into the param's buffer? A copy to the
 * host may, once all copies back of the old value have been waited for.
 */
static bool
update_in_place(struct storage_build *b, const struct ir_op *op, int r)
{
	const struct ir_value *v = &op->result[r], *param = updates_param(b, v);

	if (!param || !storage_is_once(b, op) || op_is(op, TRAIT_PARALLEL) ||
		!(op->code == OP_fuse || storage_is_copy(op) ||
			form_exists((enum op_code)op->code)) ||
		issue_axes(b->s->module, v->type))
		return false;
	const int32_t home = value_of(b, param)->buffer;
	for (int i = 0; i < op->nresults; i++)
		if (i != r && value_of(b, &op->result[i])->buffer == home)
			return false;
	return !used_from(b, home, op, storage_position(b, op)) && reads_in_place(b, op, home, r);
}

/* Puts v into `buffer`; its slots are numbered by the iterations over `axes`. */
static void
put(struct storage_build *b, const struct ir_value *v, int32_t buffer, uint32_t axes,
	uint64_t stride, uint32_t ring)
{
	struct storage_value *x = value_of(b, v);

	x->buffer = buffer;
	x->time = axes;
	x->stride = stride;
	x->ring = ring;
	if (buffer < 0)
		return;
	const int32_t home = storage_home(b->s, v->type);
	struct storage_buffer *in = &b->s->buffer[buffer];
	in->home = !b->newest.at[buffer] || in->home == home ? home : -1;
	x->next = b->newest.at[buffer] ? b->s->value[b->newest.at[buffer] - 1].value : NULL;
	b->newest.at[buffer] = storage_number(b->s, v) + 1;
}

static void
put_own(struct storage_build *b, const struct ir_value *v)
{
	bool outlasts;
	const uint32_t iterations = ring_of(b, v, &outlasts),
		       ring = iterations > 1 ? iterations : 0,
		       axes = ring ? issue_axes(b->s->module, v->type) : slot_axes(b, v);
	const uint64_t bytes = storage_value_bytes(b->target, b->s->module, v);

	put(b, v,
		storage_add(
			b, (struct storage_buffer){.role = role_of(v->op),
				   .value = v,
				   .op = v->op,
				   .memory = (enum ir_memory)v->type->memory,
				   .bytes = bytes,
				   .slots = ring ? ring : issue_iterations(b->s->module, axes)}),
		axes, axes ? bytes : 0, ring);
	if (outlasts)
		b->loop.at[value_of(b, v)->buffer] = STORAGE_LOOPS;
}

/* The results of a collective are in the row in which its operands are made, or copied to. */
static void
put_row(struct storage_build *b, const struct ir_op *op)
{
	for (int r = 0; r < op->nresults; r++)
		if (storage_is_packed(b->s->module, op, r))
			put_own(b, &op->result[r]);
		else
			put(b, &op->result[r], value_of(b, ir_operand(op, r))->buffer, 0, 0, 0);
	b->s->nrows++;
	for (int r = 0; r < op->nresults; r++)
		b->s->buffer[value_of(b, &op->result[r])->buffer].row = (int32_t)b->s->nrows;
}

static void
put_results(struct storage_build *b, const struct ir_op *op)
{
	if (storage_is(b, op, STORAGE_IS_ROW)) {
		put_row(b, op);
		return;
	}
	for (int r = 0; r < op->nresults; r++) {
		const struct ir_value *v = &op->result[r];
		const bool shares =
			storage_is(b, op, STORAGE_IS_VIEW) || message_in_place(b, op, r);
		if (shares) {
			const struct storage_value *with = value_of(b, ir_operand(op, r));
			put(b, v, with->buffer, with->time, with->stride, with->ring);
		} else if (is_held(op)) {
			put(b, v, -1, 0, 0, 0);
		} else if (update_in_place(b, op, r)) {
			put(b, v, value_of(b, updates_param(b, v))->buffer, 0, 0, 0);
		} else {
			put_own(b, v);
		}
	}
}

static void
have_everywhere(struct storage_build *b, const struct ir_value *v)
{
	const int32_t buffer = value_of(b, v)->buffer;

	if (buffer >= 0)
		b->s->buffer[buffer].home = -1;
}

/* A device does all of an op or nothing, so its values need a common home; likewise a collective
 * that is not along the axis. */
static void
join_homes(struct storage_build *b, const struct ir_op *op)
{
	const bool message = storage_is(b, op, STORAGE_IS_MESSAGE);
	bool differ = false;

	if (!(message || storage_is(b, op, STORAGE_IS_KERNEL | STORAGE_IS_COPY)) ||
		(message && ir_attr_int(op, "axis", 0) == b->s->home_axis))
		return;
	for (int r = 1; r < op->nresults; r++)
		differ |= storage_home(b->s, op->result[r].type) !=
			  storage_home(b->s, op->result[0].type);
	for (int r = 0; r < op->nresults && differ; r++)
		have_everywhere(b, &op->result[r]);
	for (int i = 0; i < op->noperands && differ; i++)
		have_everywhere(b, ir_operand(op, i));
}

/* A row is placed as one: its buffers need a common home. One of them can have lost its home to an op
 * that leaves its result in place. */
static void
join_row(struct storage_build *b, const struct ir_op *op)
{
	const int32_t home = b->s->buffer[value_of(b, &op->result[0])->buffer].home;
	bool differ = false;

	for (int r = 1; r < op->nresults; r++)
		differ |= b->s->buffer[value_of(b, &op->result[r])->buffer].home != home;
	for (int r = 0; r < op->nresults && differ; r++)
		have_everywhere(b, &op->result[r]);
}

void
storage_share(struct storage_build *b)
{
	const struct issue *o = b->s->order;

	/* Params first: a result may share the buffer of a param that comes later in the text. */
	for (uint32_t i = 0; i < o->n; i++)
		if (role_of(o->op[i]) != STORAGE_TEMP)
			put_results(b, o->op[i]);
	for (uint32_t i = 0; i < o->n; i++)
		if (role_of(o->op[i]) == STORAGE_TEMP)
			put_results(b, o->op[i]);
	for (uint32_t i = 0; i < o->n && b->s->home_axis >= 0; i++)
		join_homes(b, o->op[i]);
	for (uint32_t i = 0; i < o->n && b->s->home_axis >= 0; i++)
		if (storage_is(b, o->op[i], STORAGE_IS_ROW))
			join_row(b, o->op[i]);
}

struct storage_known *
storage_known_create(const void *owner, const struct alike *alike, const struct storage_known *like,
	struct storage_codes *codes)
{
	struct storage_known *k = NEW(owner, struct storage_known);

	k->alike = alike;
	k->codes = alike->memo ? codes : NULL;
	k->kernel = ARRAY_ZERO(k, struct storage_kernel, alike->n + 1);
	if (like && like->alike->n)
		memcpy(k->kernel, like->kernel, like->alike->n * sizeof *k->kernel);
	return k;
}

void
storage_known_learn(struct storage_known *to, struct storage_known *from)
{
	for (uint32_t i = 0; i < to->alike->n; i++) {
		const bool *in_place = to->kernel[i].in_place;
		to->kernel[i] = from->kernel[i];
		if (to->kernel[i].in_place != in_place)
			talloc_steal(to, to->kernel[i].in_place);
	}
}
