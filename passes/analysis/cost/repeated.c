/*
 * Repeated FLOPs: value numbering, in which result i of a barrier is its operand i.
 *
 *     %h = matmul(%x, %w)
 *     ...
 *     %x1, %g1 = barrier(%x, %g)      %x1 is %x
 *     %h1 = matmul(%x1, %w)           %h1 is %h: the FLOPs of this op are repeated
 *     %d = mul(%g1, %h1)
 *
 * Ops within a fuse are numbered with those around it: recomputed ops are usually fused with their
 * readers.
 */
#include "passes/analysis/cost/internal.h"

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/ops/form.h"
#include "ir/ops/same.h"

#include <talloc.h>

struct numbering {
	const struct ir_module *m;
	struct ir_value **as; /* by value->id: the first value that is equal */
	struct map map;
	struct VEC(const struct ir_op *) op;
};

MAP_SAME(same_entry, struct numbering, struct ir_op, same_ops(list->op.at[i], key, list->as))

/* The first op that computes the same; NULL: op itself. */
static const struct ir_op *
find_first(const void *owner, struct numbering *n, const struct ir_op *op)
{
	if (!op_is(op, TRAIT_PURE))
		return NULL;
	const uint32_t i = map_add(owner, &n->map, same_hash(op, n->as), same_entry, n, op);
	if (i < n->op.n)
		return n->op.at[i];
	VEC_PUSH(owner, &n->op, op);
	return NULL;
}

static double number_block(const void *owner, struct numbering *n, const struct ir_block *b);

static struct ir_value *
operand_as(const struct numbering *n, const struct ir_op *op, int i)
{
	return n->as[ir_operand(op, i)->id];
}

/* Numbers the results of an op; returns the number of its repeated FLOPs. */
static double
number_op(const void *owner, struct numbering *n, struct ir_op *op)
{
	if (ir_fuse_body(op)) {
		for (uint32_t i = 0; i < op->body->nargs; i++)
			n->as[op->body->arg[i].id] = operand_as(n, op, (int)i);
		const double repeated = number_block(owner, n, op->body);
		for (int i = 0; i < op->nresults; i++)
			n->as[op->result[i].id] = operand_as(n, op->body->last, i);
		return repeated;
	}
	const struct ir_op *first = find_first(owner, n, op);
	for (int i = 0; i < op->nresults; i++) {
		struct ir_value *self = first ? n->as[first->result[i].id] : &op->result[i];
		n->as[op->result[i].id] = op->code == OP_barrier ? operand_as(n, op, i) : self;
	}
	return first ? op_work(n->m, op).flops : 0;
}

static double
number_block(const void *owner, struct numbering *n, const struct ir_block *b)
{
	double repeated = 0;

	IR_FOR_OPS (op, b)
		repeated += number_op(owner, n, op);
	return repeated;
}

double
cost_flops_repeated(const struct cost_step *s)
{
	void *scratch = alloc_scratch(NULL);
	struct numbering n = {
		.m = s->m, .as = ARRAY_ZERO(scratch, struct ir_value *, s->m->value_ids + 1u)};
	double repeated = 0;

	IR_FOR_OPS (op, &s->main->body) {
		const double flops = number_op(scratch, &n, op);
		const enum cost_kind kind = cost_op_kind(s->m, op);
		if (kind != COST_NONE && kind != COST_COPY)
			repeated += flops * cost_step_runs(s, op);
	}
	map_free(&n.map);
	VEC_FREE(&n.op);
	talloc_free(scratch);
	return repeated;
}
