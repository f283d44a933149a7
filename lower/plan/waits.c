/*
 * WAITs. A collective is in flight from its POST on; the first action that reads or writes its
 * results or writes its operands needs a WAIT before it. Collectives that a loop posts in every
 * iteration are waited for before the loop ends, so that every iteration starts in the same state;
 * those left at the end of the step are waited for there.
 */
#include "lower/plan/build.h"

#include "ir/memory/awaited.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

struct waiter {
	struct lower_plan *p;
	struct lower_action *out; /* actions, with WAITs inserted */
	int nout;
	struct lower_access *list, *other;
	struct awaited awaited;    /* collectives that the current operand waits for */
	int *pending;              /* collectives in flight */
	struct lower_guard *guard; /* [ncolls] the guard of its WAIT */
	int npending, loop_start;
	const struct lower_action *loop; /* the current loop, or NULL */
};

/* The axes of the current loop if the collective is posted only in its last iteration; else 0. */
static uint32_t
posted_last(const struct waiter *w, const struct lower_coll *c)
{
	const struct issue *o = w->p->storage->order;

	return w->loop && issue_is_last(o, c->op) &&
			       2 * (int32_t)o->position[c->op->id] >= w->loop->at
		       ? w->loop->over
		       : 0;
}

/* Waits for entry `at` of the pending collectives, before the action at a moment. */
static void
wait_for(struct waiter *w, int at, int32_t before)
{
	ARRAY_PUSH(w->p, w->out, w->nout,
		(struct lower_action){.kind = LOWER_WAIT,
			.at = before - 1,
			.op = w->p->coll[w->pending[at]].op,
			.last = posted_last(w, &w->p->coll[w->pending[at]]),
			.coll = w->pending[at],
			.guard = w->guard[w->pending[at]],
			.kernel = -1,
			.src = -1,
			.dst = -1,
			.scratch = -1,
			.copy.slice_axis = -1});
	memmove(&w->pending[at], &w->pending[at + 1], sizeof(int) * (size_t)(w->npending - at - 1));
	w->npending--;
	if (at < w->loop_start)
		w->loop_start--;
}

/* Do two concurrent actions conflict: does one write what the other reads or writes? */
static bool
conflict(const struct lower_access *a, int na, const struct lower_access *b, int nb)
{
	for (int i = 0; i < na; i++)
		for (int j = 0; j < nb; j++)
			if (a[i].buffer == b[j].buffer && (a[i].write || b[j].write))
				return true;
	return false;
}

/* Does the action wait for a collective because of a barrier? Its op reads a result of a barrier
 * that has a result of the collective among its operands. */
static bool
waits_at_barrier(struct waiter *w, const struct lower_action *a, const struct ir_op *collective)
{
	struct awaited *x = &w->awaited;

	if (!a->op || op_is(a->op, TRAIT_EFFECT))
		return false;
	for (int j = 0; j < a->op->noperands; j++) {
		awaited_clear(x);
		awaited_add(w->p, x, w->p->module, ir_operand(a->op, j));
		for (int64_t k = 0; k < x->value.n && x->barrier.n; k++)
			if (x->value.at[k]->op == collective)
				return true;
	}
	return false;
}

static void
wait_before(struct waiter *w, const struct lower_action *a)
{
	const int n = lower_accesses(w->p, a, w->list);

	for (int i = 0; i < w->npending;) {
		const struct lower_action post = {.kind = LOWER_POST, .coll = w->pending[i]};
		if (conflict(w->list, n, w->other, lower_accesses(w->p, &post, w->other)) ||
			waits_at_barrier(w, a, w->p->coll[w->pending[i]].op))
			wait_for(w, i, a->at);
		else
			i++;
	}
}

/* Everything that a message in a row waits for ends before the first copy into the row, since the
 * row may lie in the bytes of a tensor that is free from then on. */
static void
wait_before_row(struct waiter *w, const struct lower_action *pack)
{
	const bool first = !w->nout || w->out[w->nout - 1].kind != LOWER_PACK;

	for (; first && pack->kind == LOWER_PACK; pack++)
		wait_before(w, pack + 1);
}

/* A stage waits for a message before it continues, its sender when it makes the next one there
 * (step.c). */
static void
wait_for_messages(struct waiter *w, const struct lower_action *a)
{
	struct cell_message m;

	for (int i = 0; i < w->npending;)
		if (lower_is_message(w->p, &w->p->coll[w->pending[i]], &m))
			wait_for(w, i, a->at);
		else
			i++;
}

/* Is the action the first of a phase of a loop with a schedule? */
static bool
begins_phase(const struct waiter *w, const struct lower_action *a)
{
	const struct issue_loop *l = w->loop ? lower_loop_of(w->p, w->loop) : NULL;
	const struct lower_action *before = w->nout ? &w->out[w->nout - 1] : NULL;

	for (int k = 1; l && l->cells && before && k < CELL_PHASES; k++)
		if (a->at >= (int32_t)(2 * l->phase[k]) && before->at < (int32_t)(2 * l->phase[k]))
			return true;
	return false;
}

static struct lower_guard
guard_of_wait(const struct waiter *w, const struct lower_action *post)
{
	struct lower_guard g = post->guard;
	struct cell_message m;

	if (lower_is_message(w->p, &w->p->coll[post->coll], &m)) {
		g.axis[g.n] = (uint8_t)w->p->coll[post->coll].axis;
		g.place[g.n++] = (uint16_t)w->p->coll[post->coll].to;
	}
	return g;
}

static void
wait_for_loop(struct waiter *w, const struct lower_action *a)
{
	for (int i = w->loop_start; i < w->npending;)
		if (posted_last(w, &w->p->coll[w->pending[i]]))
			i++;
		else
			wait_for(w, i, a->at);
}

static void
walk(struct waiter *w, const struct lower_action *a)
{
	wait_for_messages(w, a);
	if (begins_phase(w, a))
		wait_for_loop(w, a);
	if (a->kind == LOWER_LOOP) {
		w->loop_start = w->npending;
		w->loop = a;
	}
	if (a->kind == LOWER_END) {
		wait_for_loop(w, a);
		w->loop = NULL;
	}
	wait_before_row(w, a);
	wait_before(w, a);
	ARRAY_PUSH(w->p, w->out, w->nout, *a);
	if (a->kind == LOWER_POST) {
		w->guard[a->coll] = guard_of_wait(w, a);
		w->pending[w->npending++] = a->coll;
	}
}

void
plan_waits(struct plan_build *b)
{
	struct waiter w = {.p = b->p};
	void *scratch = alloc_scratch(NULL);

	const size_t room = (size_t)lower_most_accesses(b->p);

	w.list = ARRAY_NEW(scratch, struct lower_access, room);
	w.other = ARRAY_NEW(scratch, struct lower_access, room);
	w.pending = ARRAY_NEW(scratch, int, (size_t)b->p->ncolls + 1);
	w.guard = ARRAY_NEW(scratch, struct lower_guard, (size_t)b->p->ncolls + 1);
	for (int i = 0; i < b->p->nactions; i++)
		walk(&w, &b->p->action[i]);
	while (w.npending)
		wait_for(&w, 0, (int32_t)(2 * b->order->n + 2));
	array_free(b->p->action);
	b->p->action = w.out;
	b->p->nactions = w.nout;
	talloc_free(scratch);
}
