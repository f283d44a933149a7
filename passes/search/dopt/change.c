/*
 * One small change, replayed. If it helped, the same change is tried at all places that look the
 * same: layers repeat, and a change that is good for one is good for most. Such places are found
 * once, by colours of ops: equal ops that read and are read by equal ops have one colour.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/ir.h"
#include "passes/search/dopt/change.h"

#include <string.h>

enum change_limit {
	CHANGE_ROUNDS = 3, /* rounds of colouring: ops up to that distance count */
	CHANGE_TWINS = 64, /* places at which a change that helped is tried again */
};

static const unsigned moves_of[CHANGE_KINDS] = {
	[CHANGE_FUSE] = SEARCH_FUSE,
	[CHANGE_NEAR] = SEARCH_FUSE,
	[CHANGE_COPY] = SEARCH_COPY,
	[CHANGE_INLINE] = SEARCH_COPY,
	[CHANGE_CUT] = SEARCH_FUSE,
	[CHANGE_SINGLE] = SEARCH_FUSE,
	[CHANGE_SHIFT] = SEARCH_FUSE,
	[CHANGE_APART] = SEARCH_FUSE | SEARCH_COPY,
	[CHANGE_LEAVE] = SEARCH_FUSE | SEARCH_COPY,
	[CHANGE_PACK] = SEARCH_PACK,
	[CHANGE_UNPACK] = SEARCH_PACK,
	[CHANGE_BORDER] = SEARCH_PACK,
	[CHANGE_PART] = SEARCH_PART,
	[CHANGE_MOVE] = SEARCH_ORDER,
};

/* --- what looks the same --- */

static uint32_t
colour_of_op(const struct ir_op *op)
{
	uint32_t h = (uint32_t)mix_word(op->code, op->nresults);

	for (int i = 0; i < op->nresults; i++) {
		const struct ir_type *t = op->result[i].type;
		h = (uint32_t)mix_word(h, t->dtype);
		for (int k = 0; k < t->rank; k++)
			h = (uint32_t)mix_word(h, (uint64_t)t->dim[k]);
	}
	return h;
}

void
dopt_colour(struct dopt *d)
{
	uint32_t *next = ARRAY_NEW(NULL, uint32_t, d->nops);

	for (uint32_t i = 0; i < d->nops; i++)
		d->colour[i] = colour_of_op(plan_op(d->p, i));
	for (int round = 0; round < CHANGE_ROUNDS; round++) {
		memcpy(next, d->colour, d->nops * sizeof *next);
		for (uint32_t i = 0; i < d->nops; i++) {
			const struct ir_op *op = plan_op(d->p, i);
			for (int k = 0; k < op->noperands; k++) {
				if (!ir_operand(op, k)->op)
					continue;
				const uint32_t from = plan_number(d->p, ir_operand(op, k)->op);
				next[i] = (uint32_t)mix_word(next[i], d->colour[from]);
				/* The sum does not depend on the order of readers. */
				next[from] += (uint32_t)mix_word(d->colour[i], (uint64_t)k);
			}
		}
		memcpy(d->colour, next, d->nops * sizeof *next);
	}
	array_free(next);
}

uint32_t
change_colour(const struct dopt *d, uint32_t node)
{
	struct plan_node k = plan_node(d->p, node);
	uint32_t h = k.nops;

	for (uint32_t i = 0; i < k.nops; i++)
		h += (uint32_t)mix_word(d->colour[PLAN_OP_OF(k.op[i])], 1);
	return h;
}

/* --- a change --- */

bool
change_allowed(const struct dopt *d, enum change_kind kind)
{
	return dopt_may(d, moves_of[kind]);
}

/* Makes ops first ... first + n - 1 of a node a node of their own; PLAN_NONE if that is not
 * possible. */
static uint32_t
take_off(struct dopt *d, uint32_t node, uint32_t first, uint32_t n)
{
	struct plan_node k = plan_node(d->p, node);

	if (first + n > k.nops || n == 0 || n >= k.nops)
		return PLAN_NONE;
	for (uint32_t i = 0; i < n; i++)
		d->list[i] = PLAN_OP_OF(k.op[first + i]);
	return k.kind == PLAN_KERNEL ? plan_unfuse(d->p, node, d->list, n)
				     : plan_unpack(d->p, node, d->list, n);
}

/* If one of the two nodes reads the other, it computes those ops itself. */
static bool
copy_between(struct dopt *d, uint32_t node, uint32_t part)
{
	if (part == PLAN_NONE)
		return false;
	return plan_fuse(d->p, node, part, PLAN_FUSE_COPY) ||
	       plan_fuse(d->p, part, node, PLAN_FUSE_COPY);
}

static bool
change_kernels(struct dopt *d, const struct change *c)
{
	uint32_t nops = plan_node(d->p, c->node).nops;

	switch (c->kind) {
	case CHANGE_FUSE:
	case CHANGE_NEAR: return plan_fuse(d->p, c->other, c->node, PLAN_FUSE);
	case CHANGE_COPY: return plan_fuse(d->p, c->other, c->node, PLAN_FUSE_COPY);
	case CHANGE_INLINE: return dopt_inline(d, c->node);
	case CHANGE_CUT: return nops > 1 && take_off(d, c->node, c->at, nops - c->at) != PLAN_NONE;
	case CHANGE_SINGLE: return take_off(d, c->node, c->at, 1) != PLAN_NONE;
	case CHANGE_SHIFT: {
		uint32_t single = nops > 1 ? take_off(d, c->node, c->at, 1) : PLAN_NONE;
		return single != PLAN_NONE && plan_exists(d->p, c->other) &&
		       plan_fuse(d->p, single, c->other, PLAN_FUSE);
	}
	case CHANGE_APART:
		return copy_between(d, c->node, take_off(d, c->node, c->at, nops - c->at));
	case CHANGE_LEAVE: return copy_between(d, c->node, take_off(d, c->node, c->at, 1));
	default: return false;
	}
}

static bool
change_messages(struct dopt *d, const struct change *c)
{
	switch (c->kind) {
	case CHANGE_PACK: return plan_pack(d->p, c->other, c->node);
	case CHANGE_UNPACK: {
		uint32_t nops = plan_node(d->p, c->node).nops;
		return take_off(d, c->node, c->at, nops - c->at) != PLAN_NONE;
	}
	case CHANGE_BORDER: {
		uint32_t single = take_off(d, c->node, c->at, 1);
		return single != PLAN_NONE && plan_pack(d->p, single, c->other);
	}
	case CHANGE_PART: return plan_part(d->p, c->node, c->at);
	default: return false;
	}
}

static bool
change_do(struct dopt *d, const struct change *c)
{
	if (c->kind == CHANGE_MOVE)
		return plan_move(d->p, c->node, c->at);
	return c->kind < CHANGE_PACK ? change_kernels(d, c) : change_messages(d, c);
}

bool
change_try(struct dopt *d, const struct change *c, replay_time limit)
{
	uint32_t mark = plan_mark(d->p);

	if (!change_allowed(d, c->kind) || !dopt_more(d))
		return false;
	if (!change_do(d, c)) {
		plan_undo(d->p, mark);
		return false;
	}
	return dopt_keep(d, mark, limit);
}

/* --- its twins --- */

static bool
has_twins(enum change_kind kind)
{
	return kind == CHANGE_FUSE || kind == CHANGE_COPY || kind == CHANGE_INLINE ||
	       kind == CHANGE_CUT || kind == CHANGE_SINGLE || kind == CHANGE_APART ||
	       kind == CHANGE_LEAVE;
}

static bool
with_pred(enum change_kind kind)
{
	return kind == CHANGE_FUSE || kind == CHANGE_COPY;
}

struct change_colours
change_colours(const struct dopt *d, const struct change *c)
{
	return (struct change_colours){has_twins(c->kind) ? change_colour(d, c->node) : 0,
		with_pred(c->kind) ? change_colour(d, c->other) : 0};
}

/* A node that the twin reads and that looks like the other node of the change; PLAN_NONE: none. */
static uint32_t
pred_like(const struct dopt *d, uint32_t node, uint32_t colour)
{
	struct plan_node k = plan_node(d->p, node);

	for (uint32_t e = 0; e < k.npreds; e++)
		if (change_colour(d, k.pred[e]) == colour)
			return k.pred[e];
	return PLAN_NONE;
}

void
change_try_twins(struct dopt *d, const struct change *c, struct change_colours colours)
{
	struct change twin = *c;
	uint32_t tried = 0;

	if (!has_twins(c->kind))
		return;
	for (uint32_t i = 0; i < plan_count(d->p) && tried < CHANGE_TWINS; i++) {
		twin.node = plan_at(d->p, i);
		if (change_colour(d, twin.node) != colours.node)
			continue;
		if (with_pred(c->kind))
			twin.other = pred_like(d, twin.node, colours.other);
		if (with_pred(c->kind) && twin.other == PLAN_NONE)
			continue;
		tried++;
		change_try(d, &twin, d->score - 1);
	}
}
