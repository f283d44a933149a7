/* WAITs, where ir/memory/waits.h says that a message must have ended. */
#include "lower/plan/build.h"

#include "ir/base/vec.h"
#include "ir/memory/waits.h"

#include <talloc.h>

struct waiter {
	struct lower_plan *p;
	struct lower_action *out; /* actions, with WAITs inserted */
	int nout;
	const struct lower_action **post; /* by position */
};

/* The axes of the loop in whose last iteration alone the message is posted, if that ends there. */
static uint32_t
posted_last(const struct waiter *w, const struct wait *x)
{
	const struct issue *o = w->p->storage->order;
	const uint32_t at = (uint32_t)x->moment / 2;

	return at < o->n && o->once[x->posted] && o->loop_of[at] == o->loop_of[x->posted]
		       ? o->loop[o->loop_of[at]].over
		       : 0;
}

/* Of a message between stages, only the receiver waits. */
static struct lower_guard
guard_of(const struct lower_plan *p, const struct lower_action *post)
{
	const struct lower_coll *c = &p->coll[post->coll];
	struct lower_guard g = post->guard;
	struct cell_message m;

	if (lower_is_message(p, c, &m)) {
		g.axis[g.n] = (uint8_t)c->axis;
		g.place[g.n++] = (uint16_t)c->to;
	}
	return g;
}

/* A WAIT right before an action at a moment. */
static void
wait_for(struct waiter *w, const struct wait *x, int32_t before)
{
	const struct lower_action *post = w->post[x->posted];

	ARRAY_PUSH(w->p, w->out, w->nout,
		(struct lower_action){.kind = LOWER_WAIT,
			.at = before - 1,
			.op = post->op,
			.last = posted_last(w, x),
			.coll = post->coll,
			.guard = guard_of(w->p, post),
			.kernel = -1,
			.src = -1,
			.dst = -1,
			.scratch = -1,
			.copy.slice_axis = -1});
}

void
plan_waits(struct plan_build *b)
{
	struct lower_plan *p = b->p;
	struct waiter w = {.p = p};
	void *scratch = alloc_scratch(NULL);
	const struct waits *waits = p->storage->waits;
	const struct wait *x = waits->wait, *end = x + waits->n;

	w.post = ARRAY_NEW(scratch, const struct lower_action *, (size_t)b->order->n + 1);
	for (int i = 0; i < p->nactions; i++) {
		const struct lower_action *a = &p->action[i];
		for (; x < end && x->moment < a->at; x++)
			wait_for(&w, x, a->at);
		ARRAY_PUSH(p, w.out, w.nout, *a);
		if (a->kind == LOWER_POST)
			w.post[b->order->position[a->op->id]] = a;
	}
	for (; x < end; x++)
		wait_for(&w, x, (int32_t)(2 * b->order->n + 2));
	array_free(p->action);
	p->action = w.out;
	p->nactions = w.nout;
	talloc_free(scratch);
}
