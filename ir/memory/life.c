/* Live ranges of buffers: see storage.h. */
#include "ir/memory/build.h"
#include "ir/memory/waits.h"

#include <talloc.h>

/* Times. */
static int32_t
runs_at(int64_t position)
{
	return (int32_t)(2 * position + 1);
}

static int32_t
end_of_updates(const struct storage_build *b)
{
	return runs_at(b->n);
}

static int32_t
end_of_step(const struct storage_build *b)
{
	return end_of_updates(b) + 1;
}

static const struct issue_loop *
loop_at(const struct storage_build *b, int32_t moment)
{
	const struct issue *o = b->s->order;

	return moment / 2 < b->n ? &o->loop[o->loop_of[moment / 2]] : NULL;
}

/* Extends the buffer's live range to time `at`. */
static void
touch(struct storage_build *b, int32_t buffer, int32_t at)
{
	if (buffer < 0)
		return;
	struct storage_buffer *x = &b->s->buffer[buffer];
	const struct issue_loop *l = loop_at(b, at);
	const uint32_t loop = l ? (uint32_t)(l - b->s->order->loop) : STORAGE_LOOPS;
	if (b->loop.at[buffer] == STORAGE_NO_LOOP)
		b->loop.at[buffer] = loop;
	else if (b->loop.at[buffer] != loop)
		b->loop.at[buffer] = STORAGE_LOOPS;
	if (x->first < 0 || at < x->first)
		x->first = at;
	if (at > x->last)
		x->last = at;
}

static int32_t
buffer_of(const struct storage_build *b, const struct ir_value *v)
{
	return storage_of(b->s, v)->buffer;
}

/* Does the op sum over time, or put slices into a whole tensor, over the iterations of a loop? */
static bool
accumulates(const struct storage_build *b, const struct ir_op *op)
{
	return op_is(op, TRAIT_PARALLEL) && op->code != OP_partition &&
	       !storage_is(b, op, STORAGE_IS_VIEW | STORAGE_IS_MESSAGE);
}

static void
touch_values(struct storage_build *b, const struct ir_op *op, int32_t at)
{
	for (int i = 0; i < op->noperands; i++)
		touch(b, buffer_of(b, ir_operand(op, i)), at);
	for (int r = 0; r < op->nresults; r++)
		touch(b, buffer_of(b, &op->result[r]), at);
}

/* An output is live to the end of the step, a copied next value until it is in its param. */
static void
touch_effect(struct storage_build *b, const struct ir_op *op)
{
	const int32_t extra = b->s->extra[op->id];

	if (op->code == OP_update) {
		touch(b, buffer_of(b, ir_operand(op, 1)), end_of_updates(b));
		touch(b, extra, end_of_updates(b));
		return;
	}
	const int32_t now = runs_at(storage_position(b, op));
	touch(b, buffer_of(b, ir_operand(op, 0)), now);
	touch(b, extra, now);
	if (op->code == OP_output)
		touch(b, extra < 0 ? buffer_of(b, ir_operand(op, 0)) : extra, end_of_step(b));
}

/* waited: when a message is waited for. */
static void
touch_op(struct storage_build *b, const struct ir_op *op, int32_t waited)
{
	const int32_t now = runs_at(storage_position(b, op));

	if (op_is(op, TRAIT_EFFECT)) {
		touch_effect(b, op);
		return;
	}
	if (storage_is(b, op, STORAGE_IS_VIEW))
		return;
	touch_values(b, op, now);
	touch(b, b->s->extra[op->id], now);
	if (storage_is(b, op, STORAGE_IS_ROW))
		for (int r = 0; r < op->nresults; r++)
			touch(b, buffer_of(b, &op->result[r]), waited);
	else if (storage_is(b, op, STORAGE_IS_MESSAGE | STORAGE_IS_COPY))
		touch_values(b, op, waited);
	for (int r = 0; r < op->nresults && accumulates(b, op); r++)
		b->loop.at[buffer_of(b, &op->result[r])] = STORAGE_LOOPS;
}

/* A buffer that must outlast an iteration is live during the whole loops in which it begins and
 * ends, except that it does not begin earlier if only the last iteration makes it. */
static void
stretch(struct storage_build *b, int32_t buffer)
{
	struct storage_buffer *x = &b->s->buffer[buffer];
	const struct issue_loop *from = loop_at(b, x->first), *to = loop_at(b, x->last);

	if (b->loop.at[buffer] != STORAGE_LOOPS && x->slots == 1)
		return;
	const bool late = from && b->s->order->once[x->first / 2];
	if (from && from->over && !late)
		x->first = runs_at(from->first);
	if (to && to->over && !(late && to == from))
		x->last = runs_at((int64_t)to->end - 1);
}

void
storage_live_all(struct storage_build *b)
{
	const struct issue *o = b->s->order;
	int32_t *waited = ARRAY_ZERO(b, int32_t, (size_t)o->n + 1);

	for (uint32_t i = 0; i < b->s->waits->n; i++)
		waited[b->s->waits->wait[i].posted] = b->s->waits->wait[i].moment;
	for (uint32_t p = 0; p < o->n; p++)
		touch_op(b, o->op[p], waited[p]);
	for (uint32_t i = 0; i < b->s->nbuffers; i++) {
		struct storage_buffer *x = &b->s->buffer[i];
		const bool always = x->role == STORAGE_INPUT || x->role == STORAGE_PERSISTENT;
		if (x->use == STORAGE_STAGE)
			x->first = x->last = end_of_step(b);
		else if (always)
			x->first = 0, x->last = end_of_step(b);
		else if (x->first >= 0)
			stretch(b, (int32_t)i);
	}
}
