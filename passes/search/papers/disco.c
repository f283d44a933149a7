/*
 * DisCo: a backtracking search over op and tensor fusion (Yi et al. 2022, "Optimizing DNN
 * Compilation for Distributed Training with Joint OP and Tensor Fusion", sections 3.2 and 4.5,
 * Algorithm 1). From a queue of candidates the cheapest is taken; each of the three methods is
 * applied to it n = Random(0, beta) times, which gives a new candidate; those that take at most
 * alpha times the best so far are queued. It ends when the queue is empty, or after 1,000
 * candidates, one after the other, none of which was the best.
 *
 * Where the paper leaves something open:
 *   - Random(0, beta) may be beta: otherwise beta = 1 (Table 4) would change nothing.
 *   - The counter counts candidates, as in the listing, and is checked whenever a candidate is
 *     taken from the queue.
 *   - An application draws until a draw is possible, by fuse.h and the graph, so that candidates
 *     are invalid only if no method can be applied. (Drawing once, nine good draws would go with a
 *     bad one.)
 *   - With n = 0 the candidate is the one that it came from: it is not replayed, but counts and is
 *     queued again, as in the listing.
 *   - Each candidate is expanded once, so that with one method the queue never holds more than one,
 *     and the first that is alpha times slower ends the search; with three, small steps end so.
 *     This follows the listing. With search_options.again the best is queued again instead, until
 *     1,000 candidates have been no better.
 *   - Of candidates that take the same time the latest is taken first: it has the most fused.
 *   - The queue may take search_options.queue_bytes, with the plans that its candidates are kept
 *     as changes of; beyond, the most expensive are dropped until half of that is left.
 * Partitions and orders are not touched: the paper has no such method.
 *
 * A candidate is stored as the moves applied to its parent. It is built only when it is taken from
 * the queue, and then saved for its children.
 */
#include "passes/search/papers/disco.h"

#include "ir/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* A candidate that was expanded. */
struct base {
	struct plan_save *save;
	uint32_t users; /* number of queued children, plus one while the search uses it */
	size_t bytes;
};

struct candidate {
	replay_time cost;
	uint64_t number; /* number in the order of discovery */
	struct base *from;
	struct disco_move *move; /* talloc */
	uint32_t nmoves;
};

struct disco {
	struct search *s;
	struct disco_draw *draw;
	struct VEC(struct candidate) queue; /* a heap, the cheapest first */
	size_t bytes;
	uint64_t numbered;
	const struct base *here; /* the plan is at this candidate; NULL: at none */
	struct candidate best;
	uint64_t unchanged;
	struct disco_move *move; /* [beta] */
};

/* --- the queue --- */

static bool
comes_before(const struct candidate *a, const struct candidate *b)
{
	return a->cost != b->cost ? a->cost < b->cost : a->number > b->number;
}

static void
sift_down(struct candidate *q, int64_t n, int64_t i)
{
	for (int64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && comes_before(&q[child + 1], &q[child]))
			child++;
		if (!comes_before(&q[child], &q[i]))
			break;
		struct candidate c = q[i];
		q[i] = q[child];
		q[child] = c;
	}
}

static void
sift_up(struct candidate *q, int64_t i)
{
	for (int64_t parent; i > 0 && comes_before(&q[i], &q[parent = (i - 1) / 2]); i = parent) {
		struct candidate c = q[i];
		q[i] = q[parent];
		q[parent] = c;
	}
}

static size_t
candidate_bytes(const struct candidate *c)
{
	return sizeof *c + c->nmoves * sizeof *c->move;
}

static void
release(struct disco *d, struct base *b)
{
	if (--b->users)
		return;
	d->bytes -= b->bytes;
	if (d->here == b)
		d->here = NULL;
	talloc_free(b);
}

static void
drop(struct disco *d, struct candidate *c)
{
	d->bytes -= candidate_bytes(c);
	release(d, c->from);
	talloc_free(c->move);
}

static int
by_cost(const void *a, const void *b)
{
	return comes_before(a, b) ? -1 : 1;
}

/* Drops the most expensive candidates; a sorted array is also a heap. */
static void
make_room(struct disco *d)
{
	qsort(d->queue.at, (size_t)d->queue.n, sizeof *d->queue.at, by_cost);
	while (d->queue.n > 1 && d->bytes > d->s->o->queue_bytes / 2)
		drop(d, &VEC_POP(&d->queue));
}

static struct candidate
new_candidate(struct disco *d, struct base *from, const struct disco_move *move, uint32_t n,
	replay_time cost)
{
	struct candidate c = {cost, d->numbered++, from, NULL, n};

	if (n) {
		c.move = NEW_ARRAY(d, struct disco_move, n);
		memcpy(c.move, move, n * sizeof *move);
	}
	from->users++;
	d->bytes += candidate_bytes(&c);
	return c;
}

static void
enqueue(struct disco *d, struct base *from, const struct disco_move *move, uint32_t n,
	replay_time cost)
{
	VEC_PUSH(d, &d->queue, new_candidate(d, from, move, n, cost));
	sift_up(d->queue.at, d->queue.n - 1);
	if (d->bytes > d->s->o->queue_bytes)
		make_room(d);
}

static void
keep_best(struct disco *d, struct base *from, const struct disco_move *move, uint32_t n,
	replay_time cost)
{
	struct candidate before = d->best;

	d->best = new_candidate(d, from, move, n, cost);
	if (before.from)
		drop(d, &before);
}

static struct candidate
dequeue(struct disco *d)
{
	struct candidate c = d->queue.at[0];

	d->queue.at[0] = VEC_POP(&d->queue);
	sift_down(d->queue.at, d->queue.n, 0);
	return c;
}

/* --- candidates --- */

/* The current plan as a parent of candidates; the caller is its user. */
static struct base *
base_here(struct disco *d)
{
	struct base *b = NEW(d, struct base);

	b->save = plan_save(b, d->s->plan);
	b->bytes = sizeof *b + plan_save_bytes(b->save);
	b->users = 1;
	d->bytes += b->bytes;
	d->here = b;
	return b;
}

static void
go_to(struct disco *d, const struct base *b)
{
	if (d->here != b)
		plan_load(d->s->plan, b->save);
	d->here = b;
}

/* Loads the candidate into the plan, and makes it a parent. */
static struct base *
expand(struct disco *d, struct candidate *c)
{
	struct base *b = c->from;

	go_to(d, b);
	if (c->nmoves) {
		for (uint32_t i = 0; i < c->nmoves; i++) {
			bool done = disco_apply_again(d->s->plan, &c->move[i]);
			assert(done);
			(void)done;
		}
		plan_forget(d->s->plan);
		b = base_here(d);
	} else {
		b->users++;
	}
	drop(d, c);
	return b;
}

/* Lines 9 to 22 of the listing: one method on the current plan, which takes `cost`; the plan is
 * restored. False: time to stop. */
static bool
try_method(struct disco *d, struct base *here, enum disco_method method, replay_time cost)
{
	const struct search_options *o = d->s->o;
	struct plan *p = d->s->plan;
	uint32_t times = disco_draw_up_to(d->draw, o->beta), n = 0, mark = plan_mark(p);
	bool better = false;

	if (!search_more(d->s))
		return false;
	for (uint32_t i = 0; i < times; i++)
		n += disco_apply(d->draw, method, &d->move[n]);
	if (times && !n)
		return true;
	if (n) {
		cost = plan_replay(p);
		better = search_found(d->s, cost);
	}
	if (better)
		keep_best(d, here, d->move, n, cost);
	d->unchanged = better ? 0 : d->unchanged + 1;
	if ((double)cost <= o->alpha * (double)d->best.cost)
		enqueue(d, here, d->move, n, cost);
	plan_undo(p, mark);
	return true;
}

static bool
try_methods(struct disco *d, struct base *here, replay_time cost)
{
	static const unsigned move_of[DISCO_NMETHODS] = {
		[DISCO_FUSE] = SEARCH_FUSE,
		[DISCO_COPY] = SEARCH_COPY,
		[DISCO_PACK] = SEARCH_PACK,
	};

	for (int m = 0; m < DISCO_NMETHODS; m++)
		if ((d->s->o->moves & move_of[m]) &&
			!try_method(d, here, (enum disco_method)m, cost))
			return false;
	return true;
}

static void
start(struct disco *d)
{
	replay_time cost = plan_replay(d->s->plan);

	plan_forget(d->s->plan);
	struct base *b = base_here(d);
	keep_best(d, b, NULL, 0, cost);
	enqueue(d, b, NULL, 0, cost);
	release(d, b);
}

/* The candidate counts even if no method can be applied. */
static void
start_again(struct disco *d)
{
	const struct candidate *c = &d->best;

	d->unchanged++;
	enqueue(d, c->from, c->move, c->nmoves, c->cost);
}

void
search_disco(struct search *s)
{
	struct disco *d = NEW(NULL, struct disco);
	bool more = s->o->moves & (SEARCH_FUSE | SEARCH_COPY | SEARCH_PACK);

	d->s = s;
	d->draw = disco_draw_create(d, s->plan, s->o->seed);
	d->move = NEW_ARRAY(d, struct disco_move, s->o->beta);
	start(d);
	while (more && d->queue.n && d->unchanged < s->o->unchanged) {
		struct candidate c = dequeue(d);
		replay_time cost = c.cost;
		struct base *here = expand(d, &c);
		more = try_methods(d, here, cost);
		release(d, here);
		if (!d->queue.n && s->o->again)
			start_again(d);
	}
	talloc_free(d);
}
