/*
 * Finds kernels that may gain from fusion although neither reads the other: those that read the
 * same value, which is then read once, and those of the same shape, which saves a launch. All pairs
 * of a step would be too many, so only near ones are taken: near in the list of readers of a value,
 * or in the issue order.
 */
#include "ir/base/vec.h"
#include "ir/ir.h"
#include "passes/search/dopt/impl.h"

#include <string.h>

enum near_limit {
	NEAR_READERS = 12, /* readers of a value examined on either side */
	NEAR_ALIKE = 4,    /* kernels of the same shape taken on either side */
	NEAR_FAR = 48,     /* positions examined for them on either side */
};

struct dopt_near {
	/* For op i, ops that read the same values, which no op computes: peer[first[i]] ...
	 * peer[first[i + 1] - 1]. */
	uint32_t *first, *peer;
	uint32_t *shape; /* by op: a number, equal for equal shapes */
	double *size;    /* by op: number of elements */
	uint32_t *stamp, now;
};

/* --- what does not change --- */

static uint32_t
shape_of(const struct ir_op *op)
{
	uint32_t h = 1;

	for (int k = 0; op->nresults && k < op->result[0].type->rank; k++)
		h = h * 0x01000193u + (uint32_t)op->result[0].type->dim[k];
	return h;
}

static double
size_of(const struct ir_op *op)
{
	double n = 1;

	for (int k = 0; op->nresults && k < op->result[0].type->rank; k++)
		n *= (double)op->result[0].type->dim[k];
	return n;
}

static bool
is_node(const struct dopt *d, const struct ir_op *op)
{
	return plan_home(d->p, plan_number(d->p, op)) != PLAN_NONE;
}

/* Writes the ops of the plan that read v to list[NEAR_READERS * 2], those nearest to op i in the
 * block. */
static uint32_t
list_readers(const struct dopt *d, const struct ir_value *v, uint32_t i, uint32_t *list)
{
	uint32_t n = 0;

	IR_FOR_USES (u, v) {
		uint32_t j = plan_number(d->p, u->op), at = n;
		if (j == i || j == PLAN_NONE || plan_home(d->p, j) == PLAN_NONE)
			continue;
		uint32_t far = j > i ? j - i : i - j;
		for (; at > 0; at--) {
			uint32_t k = list[at - 1];
			if (k == j || (k > i ? k - i : i - k) <= far)
				break;
			if (at < 2 * NEAR_READERS)
				list[at] = k;
		}
		if (at && list[at - 1] == j)
			continue;
		if (at < 2 * NEAR_READERS) {
			list[at] = j;
			n += n < 2 * NEAR_READERS;
		}
	}
	return n;
}

static void
find_peers(struct dopt *d, struct dopt_near *near)
{
	uint32_t list[2 * NEAR_READERS], n = 0;

	for (uint32_t i = 0; i < d->nops; i++) {
		const struct ir_op *op = plan_op(d->p, i);
		near->first[i] = n;
		near->shape[i] = shape_of(op);
		near->size[i] = size_of(op);
		for (int k = 0; is_node(d, op) && k < op->noperands; k++) {
			const struct ir_value *v = ir_operand(op, k);
			if (v->op && is_node(d, v->op))
				continue;
			uint32_t found = list_readers(d, v, i, list);
			ARRAY_ROOM(near, near->peer, n + found);
			memcpy(near->peer + n, list, found * sizeof *list);
			n += found;
		}
	}
	near->first[d->nops] = n;
}

struct dopt_near *
dopt_near_create(struct dopt *d)
{
	struct dopt_near *near = NEW(d, struct dopt_near);

	near->first = ARRAY_NEW(near, uint32_t, d->nops + 1);
	near->peer = ARRAY_NEW(near, uint32_t, 1);
	near->shape = ARRAY_NEW(near, uint32_t, d->nops);
	near->size = ARRAY_NEW(near, double, d->nops);
	near->stamp = ARRAY_ZERO(near, uint32_t, d->room + 1);
	find_peers(d, near);
	return near;
}

/* --- what is near now --- */

static uint32_t
add(struct dopt *d, uint32_t node, uint32_t *list, uint32_t n)
{
	struct dopt_near *near = d->near;

	if (n == DOPT_NEAR || node == PLAN_NONE || near->stamp[node] == near->now ||
		plan_node(d->p, node).kind != PLAN_KERNEL)
		return n;
	near->stamp[node] = near->now;
	list[n] = node;
	return n + 1;
}

static uint32_t
add_readers(struct dopt *d, uint32_t node, uint32_t pred, uint32_t *list, uint32_t n)
{
	uint32_t count = plan_readers(d->p, pred, d->reader), at = 0;

	while (at < count && d->reader[at] != node)
		at++;
	for (uint32_t i = at > NEAR_READERS ? at - NEAR_READERS : 0;
		i < count && i <= at + NEAR_READERS; i++)
		n = add(d, d->reader[i], list, n);
	return n;
}

/* The shape of the kernel's largest op. */
static uint32_t
shape_of_node(const struct dopt *d, uint32_t node)
{
	struct plan_node k = plan_node(d->p, node);
	uint32_t largest = PLAN_OP_OF(k.op[0]);

	for (uint32_t i = 1; i < k.nops; i++)
		if (d->near->size[PLAN_OP_OF(k.op[i])] > d->near->size[largest])
			largest = PLAN_OP_OF(k.op[i]);
	return d->near->shape[largest];
}

static uint32_t
add_alike(struct dopt *d, uint32_t node, uint32_t *list, uint32_t n)
{
	uint32_t shape = shape_of_node(d, node), at = plan_node(d->p, node).position;

	for (int way = 0; way < 2; way++)
		for (uint32_t far = 1, left = NEAR_ALIKE; left && far <= NEAR_FAR; far++) {
			if (way ? at + far >= plan_count(d->p) : far > at)
				break;
			uint32_t other = plan_at(d->p, way ? at + far : at - far);
			if (plan_node(d->p, other).kind != PLAN_KERNEL ||
				shape_of_node(d, other) != shape)
				continue;
			n = add(d, other, list, n);
			left--;
		}
	return n;
}

uint32_t
dopt_near(struct dopt *d, uint32_t node, bool alike, uint32_t *list)
{
	struct dopt_near *near = d->near;
	struct plan_node k = plan_node(d->p, node);
	uint32_t n = 0;

	near->stamp[node] = ++near->now;
	for (uint32_t e = 0; e < k.npreds; e++)
		n = add_readers(d, node, k.pred[e], list, n);
	for (uint32_t i = 0; i < k.nops; i++) {
		uint32_t op = PLAN_OP_OF(k.op[i]);
		for (uint32_t e = near->first[op]; e < near->first[op + 1]; e++)
			n = add(d, plan_home(d->p, near->peer[e]), list, n);
	}
	return alike ? add_alike(d, node, list, n) : n;
}
