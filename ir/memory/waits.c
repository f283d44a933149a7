/* Where messages are waited for: see waits.h. */
#include "ir/memory/waits.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/memory/awaited.h"

#include <talloc.h>

struct waiter {
	const struct storage *s;
	struct waits *w;
	struct VEC(struct waits_access) access;
	struct VEC(uint32_t) flight; /* the messages in flight, by position */
	uint32_t *users, *writers;   /* by buffer: accesses of those in flight, and writes */
	struct awaited awaited;      /* what the current operand waits for */
};

static void
use(struct waiter *w, int32_t buffer, bool write)
{
	if (buffer >= 0)
		VEC_PUSH(w->w, &w->access, ((struct waits_access){buffer, write}));
}

static void
use_value(struct waiter *w, const struct ir_value *v, bool write)
{
	use(w, storage_of(w->s, v)->buffer, write);
}

/* Has the program nothing to do for the op at its position? */
static bool
is_idle(const struct storage *s, const struct ir_op *op)
{
	if (op_is(op, TRAIT_EFFECT))
		return op->code != OP_output || s->extra[op->id] < 0;
	return op_is(op, TRAIT_NAMED) || storage_is_view(s->module, op) ||
	       (!op_is(op, TRAIT_PARALLEL | TRAIT_COPY) &&
		       storage_of(s, &op->result[0])->buffer < 0);
}

/* The accesses of the op at a position. What a message copies into its row is read first, and not
 * in flight. */
static void
list_accesses(struct waiter *w, uint32_t p)
{
	const struct ir_op *op = w->s->order->op[p];
	const bool idle = is_idle(w->s, op);
	const bool row = !idle && storage_is_row(w->s->module, op);

	w->w->first[p] = (uint32_t)w->access.n;
	for (int i = 0; i < op->noperands && !idle; i++)
		use_value(w, ir_operand(op, i), false);
	w->w->used[p] = row ? (uint32_t)w->access.n : w->w->first[p];
	for (int r = 0; r < op->nresults && !idle; r++)
		use_value(w, &op->result[r], true);
	if (!idle)
		use(w, w->s->extra[op->id], true);
	w->w->first[p + 1] = (uint32_t)w->access.n;
}

static bool
conflict(const struct waits_access *a, const struct waits_access *a_end,
	const struct waits_access *b, const struct waits_access *b_end)
{
	for (; a < a_end; a++)
		for (const struct waits_access *x = b; x < b_end; x++)
			if (a->buffer == x->buffer && (a->write || x->write))
				return true;
	return false;
}

/* Does the op read a result of a barrier that has a result of the message among its operands? */
static bool
waits_at_barrier(struct waiter *w, const struct ir_op *op, const struct ir_op *message)
{
	struct awaited *a = &w->awaited;

	for (int i = 0; i < op->noperands && !op_is(op, TRAIT_EFFECT); i++) {
		awaited_clear(a);
		awaited_add(w->w, a, w->s->module, ir_operand(op, i));
		for (int64_t k = 0; k < a->value.n && a->barrier.n; k++)
			if (a->value.at[k]->op == message)
				return true;
	}
	return false;
}

/* Adds a message to those in flight, or takes it away. */
static void
count(struct waiter *w, uint32_t message, bool begins)
{
	for (uint32_t i = w->w->used[message]; i < w->w->first[message + 1]; i++) {
		const struct waits_access *x = &w->access.at[i];
		w->users[x->buffer] += begins ? 1u : -1u;
		w->writers[x->buffer] += x->write ? begins ? 1u : -1u : 0;
	}
}

/* Number k of those in flight ends; the others stay in order. */
static void
end(struct waiter *w, int64_t k, int32_t moment)
{
	uint32_t *at = &w->flight.at[k];

	count(w, *at, false);
	ARRAY_PUSH(w->w, w->w->wait, w->w->n, (struct wait){moment, *at});
	w->flight.n--;
	memmove(at, at + 1, sizeof *at * (size_t)(w->flight.n - k));
}

/* Ends what is in flight and was posted in every iteration since a position. */
static void
end_since(struct waiter *w, uint32_t first, int32_t moment)
{
	for (int64_t k = 0; k < w->flight.n;)
		if (w->flight.at[k] >= first && !w->s->order->once[w->flight.at[k]])
			end(w, k, moment);
		else
			k++;
}

/* Can the op, with the accesses from `first` on, wait for anything? Most do not. */
static bool
may_wait(struct waiter *w, const struct ir_op *op, int64_t first)
{
	struct awaited *a = &w->awaited;
	bool waits = false;

	for (int64_t i = first; i < w->access.n; i++) {
		const struct waits_access *x = &w->access.at[i];
		waits |= (x->write ? w->users : w->writers)[x->buffer] > 0;
	}
	awaited_clear(a);
	for (int i = 0; i < op->noperands && !waits; i++)
		awaited_add(w->w, a, w->s->module, ir_operand(op, i));
	return waits || a->barrier.n;
}

/* Ends what the op, with the accesses from `first` on, waits for. */
static void
end_before(struct waiter *w, const struct ir_op *op, int64_t first, int32_t moment)
{
	const struct waits_access *at = w->access.at, *past = at + w->access.n;

	if (!w->flight.n || w->access.n == first || !may_wait(w, op, first))
		return;
	for (int64_t k = 0; k < w->flight.n && w->access.n > first;) {
		const uint32_t m = w->flight.at[k];
		if (conflict(at + w->w->used[m], at + w->w->first[m + 1], at + first, past) ||
			waits_at_barrier(w, op, w->s->order->op[m]))
			end(w, k, moment);
		else
			k++;
	}
}

static void
walk(struct waiter *w, const struct issue_loop *l, uint32_t p)
{
	const struct ir_op *op = w->s->order->op[p];
	struct cell_message m;

	for (int k = 1; l->cells && k < CELL_PHASES; k++)
		if (p == l->phase[k])
			end_since(w, l->first, (int32_t)(2 * p) - 1);
	list_accesses(w, p);
	end_before(w, op, w->w->first[p], (int32_t)(2 * p));
	if (!storage_is_message(w->s->module, op) && !storage_is_copy(op))
		return;
	VEC_PUSH(w->w, &w->flight, p);
	count(w, p, true);
	if (!storage_is_copy(op) && issue_message(w->s->order, op, &m))
		end(w, w->flight.n - 1, (int32_t)(2 * p) + 1);
}

/* The copies of next values that are not made in their param's buffer. */
static void
walk_updates(struct waiter *w)
{
	const struct issue *o = w->s->order;
	const int64_t first = w->access.n;

	for (uint32_t p = 0; p < o->n; p++) {
		const struct ir_op *op = o->op[p];
		const int32_t to =
			op->code == OP_update ? storage_of(w->s, ir_operand(op, 0))->buffer : -1;
		if (to < 0 || to == storage_of(w->s, ir_operand(op, 1))->buffer)
			continue;
		use_value(w, ir_operand(op, 1), false);
		use(w, to, true);
		end_before(w, op, first, (int32_t)(2 * o->n));
		w->access.n = first;
	}
}

struct waits *
waits_create(const void *owner, const struct storage *s)
{
	const struct issue *o = s->order;
	struct waiter w = {.s = s, .w = NEW(owner, struct waits)};

	*w.w = (struct waits){.first = ARRAY_ZERO(w.w, uint32_t, (size_t)o->n + 1),
		.used = ARRAY_ZERO(w.w, uint32_t, (size_t)o->n + 1)};
	w.users = ARRAY_ZERO(NULL, uint32_t, (size_t)s->nbuffers + 1);
	w.writers = ARRAY_ZERO(NULL, uint32_t, (size_t)s->nbuffers + 1);
	for (const struct issue_loop *l = o->loop; l < o->loop + o->nloops; l++) {
		for (uint32_t p = l->first; p < l->end; p++)
			walk(&w, l, p);
		if (l->over)
			end_since(&w, l->first, (int32_t)(2 * l->end) - 1);
	}
	walk_updates(&w);
	while (w.flight.n)
		end(&w, 0, (int32_t)(2 * o->n) + 1);
	w.w->access = w.access.at;
	awaited_free(&w.awaited);
	array_free(w.users);
	array_free(w.writers);
	VEC_FREE(&w.flight);
	return w.w;
}
