/* Small kernels as one launch: see bundle.h. */
#include "ir/memory/bundle.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/memory/waits.h"

/* Ops over which a kernel is moved up at most, to bound the time of planning: more than a block of a
 * model has parameters, with the ops that take no time. */
#define MOVES_UP 256

struct planner {
	const struct storage *s;
	const struct waits *waits;
	struct bundles *b;
	uint32_t *wait;   /* [positions + 1] the first wait before the op runs, or after it */
	uint32_t *member; /* of the bundle that is being filled */
	int n, words;
	int64_t at; /* it is launched before this op; -1: at the last member, or later */
};

/* The accesses of the op at a position, k = 0, and of the messages that it waits for. */
static bool
list(const struct planner *l, uint32_t p, uint32_t k, const struct waits_access **at, uint32_t *n)
{
	const struct waits *w = l->waits;
	const uint32_t posted = k ? l->wait[p] + k - 1 : 0;

	if (k && posted >= l->wait[p + 1])
		return false;
	const uint32_t of = k ? w->wait[posted].posted : p;
	const uint32_t first = k ? w->used[of] : w->first[of];
	*at = &w->access[first];
	*n = w->first[of + 1] - first;
	return true;
}

static bool
conflict(const struct storage *s, const struct waits_access *a, uint32_t n,
	const struct waits_access *b, uint32_t m)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < m; j++)
			if ((a[i].write || b[j].write) &&
				storage_overlap(s, a[i].buffer, b[j].buffer))
				return true;
	return false;
}

/* Must the order of the ops at two positions stay? */
static bool
depend(const struct planner *l, uint32_t a, uint32_t b)
{
	const struct waits_access *x, *y;
	uint32_t n, m;

	for (uint32_t i = 0; list(l, a, i, &x, &n); i++)
		for (uint32_t j = 0; list(l, b, j, &y, &m); j++)
			if (conflict(l->s, x, n, y, m))
				return true;
	return false;
}

static bool
depends_on_members(const struct planner *l, uint32_t p)
{
	for (int k = 0; k < l->n; k++)
		if (depend(l, l->member[k], p))
			return true;
	return false;
}

/* The bundle is complete. A kernel alone stays where it is. */
static void
complete(struct planner *l, uint32_t end)
{
	struct bundle bundle = {.at = l->at < 0 ? end : (uint32_t)l->at, .n = (uint32_t)l->n};

	if (l->n > 1) {
		bundle.position = NEW_ARRAY(l->b, uint32_t, (size_t)l->n);
		for (int i = 0; i < l->n; i++) {
			bundle.position[i] = l->member[i];
			l->b->of[l->member[i]] = (int32_t)l->b->n;
		}
		LIST_PUSH(l->b, l->b->bundle, l->b->n, bundle);
	}
	l->n = 0;
	l->words = 0;
	l->at = -1;
}

/* May the kernel at a position be part of a bundle? All devices launch one. */
static bool
may_join(const struct planner *l, uint32_t p)
{
	const struct storage *s = l->s;
	const struct issue *o = s->order;
	const int64_t blocks = s->code[o->op[p]->id].blocks;

	return blocks > 0 && blocks < s->target->bundles.blocks &&
	       !ir_type_single(s->module, o->op[p]->result[0].type) &&
	       !(o->once[p] && o->loop[o->loop_of[p]].over) &&
	       storage_pointers(o->op[p]) <= s->target->bundles.words;
}

static bool
waits_before(const struct planner *l, uint32_t p)
{
	return l->wait[p] < l->wait[p + 1] && l->waits->wait[l->wait[p]].moment == (int32_t)(2 * p);
}

/* Is there room for the kernel at a position, and can it run where the bundle does? */
static bool
joins(const struct planner *l, uint32_t p)
{
	const int words = storage_pointers(l->s->order->op[p]);

	if (l->n == l->s->target->bundles.members ||
		l->words + words > l->s->target->bundles.words || depends_on_members(l, p))
		return false;
	if (l->at < 0)
		return true;
	if (waits_before(l, p) || p - l->at > MOVES_UP)
		return false;
	for (uint32_t k = (uint32_t)l->at; k < p; k++)
		if (depend(l, k, p))
			return false;
	return true;
}

/* Takes account of an op: it is a member, or members must run before it. */
static void
pass(struct planner *l, uint32_t p)
{
	const bool member = may_join(l, p);

	if (member && l->n && !joins(l, p))
		complete(l, p);
	if (member) {
		l->member[l->n++] = p;
		l->words += storage_pointers(l->s->order->op[p]);
	} else if (l->at < 0 && depends_on_members(l, p)) {
		l->at = p;
	}
}

struct bundles *
bundles_create(const void *owner, const struct storage *s)
{
	struct bundles *b = NEW(owner, struct bundles);
	const struct issue *o = s->order;
	struct planner l = {.s = s, .b = b, .at = -1};

	*b = (struct bundles){.of = ARRAY_NEW(b, int32_t, (size_t)o->n + 1)};
	for (uint32_t p = 0; p <= o->n; p++)
		b->of[p] = -1;
	if (!s->target->bundles.members || s->target->rough)
		return b;
	l.waits = s->waits;
	l.wait = ARRAY_ZERO(b, uint32_t, (size_t)o->n + 1);
	l.member = NEW_ARRAY(b, uint32_t, (size_t)s->target->bundles.members);
	for (uint32_t p = 1, w = 0; p <= o->n; p++) {
		while (w < l.waits->n && l.waits->wait[w].moment < (int32_t)(2 * p))
			w++;
		l.wait[p] = w;
	}
	for (const struct issue_loop *loop = o->loop; loop < o->loop + o->nloops; loop++) {
		/* Devices execute the phases of a loop with a schedule in an order of their own. */
		for (uint32_t p = loop->first; p < loop->end && !loop->cells; p++)
			pass(&l, p);
		complete(&l, loop->end);
	}
	return b;
}
