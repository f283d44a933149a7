/* Small kernels as one launch: see bundle.h. */
#include "ir/memory/bundle.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

/* Ops over which a kernel is moved up at most, to bound the time of planning: more than a block of a
 * model has parameters, with the ops that take no time. */
#define MOVES_UP 256

/* A use of a buffer by an op. */
struct access {
	int32_t buffer;
	bool write;
};

/* Positions of the order of issue, and what the op at each of them uses. */
struct planner {
	const struct storage *s;
	struct bundles *b;
	struct VEC(struct access) access;
	uint32_t *first;               /* [order->n + 1] its first access */
	uint32_t *own;                 /* [order->n] end of those of the op itself */
	struct VEC(uint32_t) inflight; /* collectives and copies, by position */
	bool *waits;                   /* by position: it waits for one of those */
	uint32_t *member;              /* of the bundle that is being filled */
	int n, words;
	int64_t at; /* it is launched before this op; -1: at the last member, or later */
};

static bool
conflict(const struct planner *l, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
	for (uint32_t i = a; i < a_end; i++)
		for (uint32_t j = b; j < b_end; j++)
			if ((l->access.at[i].write || l->access.at[j].write) &&
				storage_overlap(
					l->s, l->access.at[i].buffer, l->access.at[j].buffer))
				return true;
	return false;
}

/* Must the order of the ops at two positions stay? */
static bool
depend(const struct planner *l, uint32_t a, uint32_t b)
{
	return conflict(l, l->first[a], l->first[a + 1], l->first[b], l->first[b + 1]);
}

static void
use(struct planner *l, int32_t buffer, bool write)
{
	if (buffer >= 0)
		VEC_PUSH(l->b, &l->access, ((struct access){buffer, write}));
}

static bool
is_in_flight(const struct storage *s, const struct ir_op *op)
{
	return storage_is_message(s->module, op) || storage_is_copy(op);
}

/* The accesses of the op at a position: its own, and those of collectives that it waits for. */
static void
list_accesses(struct planner *l, uint32_t p)
{
	const struct storage *s = l->s;
	const struct ir_op *op = s->order->op[p];
	const int32_t extra = s->extra[op->id];

	if (op_is(op, TRAIT_NAMED) || storage_is_view(s->module, op) ||
		(op_is(op, TRAIT_EFFECT) && (op->code != OP_output || extra < 0)))
		return;
	for (int i = 0; i < op->noperands; i++)
		use(l, storage_of(s, ir_operand(op, i))->buffer, false);
	for (int r = 0; r < op->nresults; r++)
		use(l, storage_of(s, &op->result[r])->buffer, true);
	use(l, extra, true);
	l->own[p] = (uint32_t)l->access.n;
	for (int64_t k = 0; k < l->inflight.n;) {
		const uint32_t posted = l->inflight.at[k];
		/* What a message waited for itself is not in flight any more. */
		if (!conflict(l, l->first[posted], l->own[posted], l->first[p], l->own[p])) {
			k++;
			continue;
		}
		l->waits[p] = true;
		for (uint32_t i = l->first[posted]; i < l->own[posted]; i++)
			use(l, l->access.at[i].buffer, l->access.at[i].write);
		l->inflight.at[k] = l->inflight.at[--l->inflight.n];
	}
	if (is_in_flight(s, op))
		VEC_PUSH(l->b, &l->inflight, p);
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
	if (l->waits[p] || p - l->at > MOVES_UP)
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
	l.first = ARRAY_ZERO(b, uint32_t, (size_t)o->n + 1);
	l.own = ARRAY_ZERO(b, uint32_t, (size_t)o->n + 1);
	l.waits = ARRAY_ZERO(b, bool, (size_t)o->n + 1);
	l.member = NEW_ARRAY(b, uint32_t, (size_t)s->target->bundles.members);
	for (uint32_t p = 0; p < o->n; p++) {
		list_accesses(&l, p);
		l.first[p + 1] = (uint32_t)l.access.n;
	}
	for (const struct issue_loop *loop = o->loop; loop < o->loop + o->nloops; loop++) {
		/* Devices execute the phases of a loop with a schedule in an order of their own. */
		for (uint32_t p = loop->first; p < loop->end && !loop->cells; p++)
			pass(&l, p);
		complete(&l, loop->end);
	}
	return b;
}
