/*
 * Common subexpression elimination by value numbering (J. Cocke, "Global common subexpression
 * elimination", SIGPLAN Notices 5(7), 1970): a hash table of the ops seen so far in a block,
 * O(ops + uses).
 *
 * Two ops are merged if they compute the same (ir/ops/same.h). Only pure ops are merged,
 * collectives included: the second of two equal messages is redundant. In one block the earlier op
 * precedes every use of the later one.
 *
 * Not merged: a value with a `release`, since its twin may live longer; a fuse as a whole (its body
 * has its own table).
 *
 * No value is made to live across a barrier: a value that is computed and read on each side of one
 * is computed twice on purpose, unless it is a scalar. In a step with recomputation, values that do
 * not depend on the operands of the barriers, such as broadcast constants, would otherwise be kept
 * from the first block to the last. Barriers divide a block of ops into sections; an op is merged
 * with an earlier one if the earlier one is read in the later one's section or after it. In a step
 * with micro-batches, what depends on none and is read for each is in memory from before the loop
 * to its end: barriers do not divide such ops, and what they read is read before its barrier.
 *
 *     %a = convert(%w)                                    %a = convert(%w)
 *     %1 = allgather(%a) {axis = dp, each = mb}   --->    %1 = allgather(%a) {axis = dp, each = mb}
 *     %b = barrier(%w)                                    ...
 *     %c = convert(%b)                                    %2 = allgather(%a) {axis = dp, each = mb}
 *     %2 = allgather(%c) {axis = dp, each = mb}
 *
 * Gathers with `each`, for the forward and for the backward pass, are repeated on purpose.
 *
 * Nor may the step need more memory than before. A value that takes over the uses of another lives
 * longer, which usually is away from the peak. If it is at the peak, which is tested on a copy of
 * the module, ops are merged with care: only if the earlier value is alive at the later op anyway,
 * or operands that are as large, and are last read there, die earlier instead.
 *
 *     a = exp(x)  ...  b = exp(x)  last read of x     a lives longer, x does not die: not with care
 *     a = exp(x)  ...  last read of a and x: exp(x)   a lives longer instead of x
 */
#include "passes/pass.h"

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/memory/issue.h"
#include "ir/ops/alike.h"
#include "ir/ops/same.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/memory.h"

#include <talloc.h>

struct entry {
	struct ir_op *op;
	uint32_t last; /* number of its last reader; its own number if it has none */
};

/* Which merges are left out if they may need more memory. */
enum care {
	CARE_NONE,
	CARE_BUT_LOOPS, /* all but those of what is done once before a loop over micro-batches */
	CARE_ALL,
	CARES,
};

/* The step as it was: known once something can be merged. */
struct before {
	struct storage_known *known; /* NULL: not yet */
	uint64_t live;               /* bytes at the peak */
};

/* The ops of a block seen so far: among equal ones the last that was not merged. */
struct table {
	const struct ir_module *m;
	enum care care;
	bool loops; /* over micro-batches */
	struct map map;
	struct VEC(struct entry) entry;
	uint32_t here;          /* number of the current op */
	uint32_t section;       /* number of the first op after the last barrier */
	const uint32_t *number; /* of each op of the module in its block, by id */
};

MAP_SAME(same_entry, struct table, struct ir_op, same_ops(list->entry.at[i].op, key, NULL))

static bool
is_released(const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i])
			if (u->op->code == OP_release)
				return true;
	return false;
}

static uint32_t
last_read(const struct table *t, const struct ir_op *op)
{
	uint32_t last = t->here;

	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i])
			if (t->number[u->op->id] > last)
				last = t->number[u->op->id];
	return last;
}

/* Scalars use negligible memory, so they may live across barriers. */
static bool
is_scalar(const struct ir_op *op)
{
	return op->nresults == 1 && ir_type_elements(op->result[0].type) == 1;
}

/* Would operand i of op die by number `last` if op did not read it? Params and inputs never die. */
static bool
dies(const struct table *t, const struct ir_op *op, int i, uint32_t last)
{
	const struct ir_value *v = ir_operand(op, i);

	for (int j = 0; j < i; j++)
		if (ir_operand(op, j) == v)
			return false;
	if (!v->op || op_is(v->op, TRAIT_PERSISTENT) || v->op->code == OP_input)
		return false;
	IR_FOR_USES (u, v)
		if (u->op != op && t->number[u->op->id] > last)
			return false;
	return true;
}

/* Do as many bytes die between the last read of an equal op and op as would live longer? */
static bool
takes_no_room(const struct table *t, const struct entry *e, const struct ir_op *op)
{
	int64_t room = 0;

	for (int i = 0; i < op->noperands; i++)
		if (dies(t, op, i, e->last))
			room += ir_type_local_bytes(t->m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		room -= ir_type_local_bytes(t->m, op->result[i].type);
	return room >= 0;
}

/* Is op done once, before the loop over micro-batches that alone reads it? */
static bool
precedes_loop(const struct table *t, const struct ir_op *op)
{
	if (!t->loops || op->nresults != 1 || !op->result[0].uses || op_is(op, TRAIT_PARALLEL) ||
		issue_op_axes(t->m, op))
		return false;
	IR_FOR_USES (u, &op->result[0])
		if (!issue_op_axes(t->m, u->op))
			return false;
	return true;
}

/* Reads params, which are in memory anyway, before their barriers. */
static void
read_before_barriers(struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *v = ir_operand(op, i);
		if (!v->op || v->op->code != OP_barrier)
			continue;
		struct ir_value *x = ir_operand(v->op, (int)v->index);
		if (x->op && op_is(x->op, TRAIT_PERSISTENT))
			ir_set_operand(op, i, x);
	}
}

static bool
may_merge(const struct table *t, const struct entry *e, const struct ir_op *op)
{
	if (e->last >= t->here || is_scalar(op) ||
		(t->care < CARE_ALL && precedes_loop(t, e->op) && precedes_loop(t, op)))
		return true;
	return e->last >= t->section && (t->care == CARE_NONE || takes_no_room(t, e, op));
}

/* The op in the table that this one can be merged with; else NULL, and this one is added. */
static struct ir_op *
table_find(const void *owner, struct table *t, struct ir_op *op)
{
	const uint32_t i = map_add(owner, &t->map, same_hash(op, NULL), same_entry, t, op);
	const struct entry new = {op, last_read(t, op)};

	if (i == t->entry.n) {
		VEC_PUSH(owner, &t->entry, new);
		return NULL;
	}
	struct entry *e = &t->entry.at[i];
	if (!may_merge(t, e, op)) {
		*e = new;
		return NULL;
	}
	e->last = e->last > new.last ? e->last : new.last;
	return e->op;
}

/* Merges equal ops of a block; returns how many are removed. */
static int64_t
number_values(void *scratch, const struct ir_module *m, struct ir_block *b, enum care care,
	uint32_t *number)
{
	struct table t = {.m = m, .care = care, .loops = issue_has_loops(m), .number = number};
	int64_t merged = 0;
	uint32_t n = 0;

	IR_FOR_OPS (op, b)
		number[op->id] = n++;
	IR_FOR_OPS_SAFE (op, b) {
		t.here = number[op->id];
		if (op->code == OP_barrier)
			t.section = t.here + 1;
		if (op->body)
			merged += number_values(scratch, m, op->body, care, number);
		if (!op_is(op, TRAIT_PURE) || is_released(op) || ir_attr_find(op, "each"))
			continue;
		if (precedes_loop(&t, op))
			read_before_barriers(op);
		struct ir_op *first = table_find(scratch, &t, op);
		if (!first)
			continue;
		for (int i = 0; i < op->nresults; i++)
			ir_replace_uses(&op->result[i], &first->result[i]);
		ir_op_erase(op);
		merged++;
	}
	map_free(&t.map);
	VEC_FREE(&t.entry);
	return merged;
}

static int64_t
merge(const struct pass_run *run, struct ir_module *m, enum care care)
{
	uint32_t *number = ZERO_ARRAY(run->scratch, uint32_t, m->op_ids);

	return number_values(run->scratch, m, &ir_func_find(m, "main")->body, care, number);
}

static uint64_t
most_live(const struct pass_run *run, const struct ir_module *m, struct storage_known *known)
{
	return memory_live(m, ir_func_find(m, "main"), cost_model_storage(run->cost), known);
}

/*
 * True for a step with calls, whose memory is not known, or if merging does not increase the peak
 * of live bytes.
 */
static bool
fits(const struct pass_run *run, struct ir_module *m, struct before *before, enum care care)
{
	const struct ir_block *main = &ir_func_find(m, "main")->body;

	IR_FOR_OPS (op, main)
		if (op_is(op, TRAIT_CALLS))
			return true;
	ir_module_renumber(m); /* the copy has the same ids, so that kernels are classed once */
	struct ir_module *copy = ir_module_clone(NULL, m);
	bool fits = true;
	if (merge(run, copy, care)) {
		if (!before->known) {
			before->known = storage_known_create(run->scratch,
				storage_alike(
					run->scratch, m, main, cost_model_storage(run->cost), NULL),
				NULL, NULL);
			before->live = most_live(run, m, before->known);
		}
		fits = most_live(run, copy, before->known) <= before->live;
	}
	talloc_free(copy);
	return fits;
}

static bool
cse_run(struct pass_run *run, struct ir_module *m)
{
	if (!ir_func_find(m, "main"))
		return true;
	struct before before = {0};
	enum care care = CARE_NONE;
	while (care < CARES && !fits(run, m, &before, care))
		care += care == CARE_NONE && !issue_has_loops(m) ? 2 : 1;
	const int64_t merged = care < CARES ? merge(run, m, care) : 0;
	if (merged)
		pass_count(run, "op(s) merged", merged);
	if (care)
		pass_remark(run, NULL, PASS_MISSED,
			"some equal ops are computed twice: merging them would raise the peak of memory");
	return true;
}

const struct pass pass_cse = {
	.name = "cse",
	.family = "prepare",
	.summary =
		"common subexpression elimination: compute equal values once, if that needs no more memory",
	.run = cse_run,
	.keeps_bits = true,
};
