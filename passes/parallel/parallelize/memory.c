/*
 * Products that every plan computes again, as their results do not fit into memory: part of the bound
 * of bound.c.
 *
 * What the backward pass reads of a product of the forward pass, it reads through other ops, on some
 * path. When the last product of the forward pass starts, one of the values of the path is in memory,
 * or the product is computed again after that:
 *
 *     p --> a --> b --> backward pass      bytes: the least of p, a and b
 *
 * If no two paths share a value, bytes add up. The devices together hold params and these bytes, but
 * for products that are computed again: the ones that take the fewest seconds for a byte are enough,
 * and the last one in part.
 *
 * It holds for steps without micro-batches. Results inside of a kernel of several products are not
 * stored at all. Passes can move states to host memory, but no activations.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

/* Further values of a path are not searched for, so that a product may be left out. */
enum { MOST_STEPS = 6 };

struct result {
	double seconds, bytes; /* on a device, if all of them share it */
};

struct search {
	const struct parallel_step *s;
	const bool *before, *after; /* by node: the last product of the forward pass depends on it,
				       or it on that */
	bool *used;                 /* by op->id: on a path */
};

static bool
is_in(const struct search *f, const bool *set, const struct ir_op *op)
{
	const uint32_t node = f->s->node[op->id];

	return node != PARALLEL_NONE && set[node];
}

/* The bytes of a path from op to what is after the last product; 0: none is found. */
static double
take_path(struct search *f, const struct ir_op *op, int steps)
{
	if (f->used[op->id] || op->nresults != 1 || f->s->inside[op->id] ||
		op->result[0].type->memory != IR_DEVICE)
		return 0;
	IR_FOR_USES (u, &op->result[0])
		if (is_in(f, f->after, u->op)) {
			f->used[op->id] = true;
			return parallel_share_bytes(f->s, op->result[0].type);
		}
	IR_FOR_USES (u, &op->result[0]) {
		if (!steps || cost_is_product(u->op))
			continue;
		const double rest = take_path(f, u->op, steps - 1);
		if (rest > 0) {
			f->used[op->id] = true;
			return fmin(rest, parallel_share_bytes(f->s, op->result[0].type));
		}
	}
	return 0;
}

static double
least_seconds(const struct parallel_choices *c)
{
	double least = INFINITY;

	for (uint32_t x = 0; x < c->n; x++)
		least = c->seconds[x] < SPLIT_NEVER ? fmin(least, c->least[x]) : least;
	return isfinite(least) ? least : 0;
}

ORDER_BY(cheapest_first, struct result, ORDER_UP(x->seconds * y->bytes, y->seconds * x->bytes))

double
parallel_forced_products(const struct parallel_step *s, const bool *before, const bool *after,
	bool host, double limit)
{
	struct search f = {.s = s, .before = before, .after = after};
	const struct ir_block *main = &ir_func_find(s->m, "main")->body;
	struct VEC(struct result) list = {0};
	double need = 0, seconds = 0;
	void *scratch = alloc_scratch(NULL);

	f.used = ARRAY_ZERO(scratch, bool, s->m->op_ids);
	IR_FOR_OPS (op, main) {
		if (op_is(op, TRAIT_NAMED) && op->nresults &&
			(op->code == OP_param || (op->code == OP_state && !host)))
			need += parallel_share_bytes(s, op->result[0].type);
		/* One that is neither before nor after may be computed later, where it is read. */
		if (!cost_is_product(op) || !is_in(&f, before, op) || is_in(&f, after, op))
			continue;
		const double bytes = take_path(&f, op, MOST_STEPS);
		if (bytes > 0)
			VEC_PUSH(scratch, &list,
				((struct result){
					least_seconds(parallel_step_choices(s, s->node[op->id])),
					bytes}));
		need += bytes;
	}
	if (list.n)
		qsort(list.at, (size_t)list.n, sizeof *list.at, cheapest_first);
	for (int64_t i = 0; i < list.n && need > limit; i++) {
		const double share = fmin(1, (need - limit) / list.at[i].bytes);
		seconds += share * list.at[i].seconds;
		need -= share * list.at[i].bytes;
	}
	talloc_free(scratch);
	return seconds;
}
