/*
 * Common subexpression elimination by value numbering (J. Cocke, "Global common subexpression
 * elimination", SIGPLAN Notices 5(7), 1970): a hash table of the ops seen so far in a block,
 * O(ops + uses).
 *
 * Two ops are one where they compute the same (ir/ops/same.h). Only pure ops, collectives among
 * them: the second of two equal messages brings nothing new. In one block the earlier op stands
 * before every use of the later one.
 *
 * Not touched: a value that a `release` ends, since its twin may live longer; a fuse as a whole (in
 * its body there is a table of its own). A value that takes over the uses of another lives longer:
 * the price of not computing it twice, which -keep=better weighs.
 *
 * No value is made to live across a barrier: what is computed on both sides of one, and read on each
 * side only there, is computed twice on purpose, unless it is a scalar. Of a step that computes its blocks again, the
 * values that depend on no operand of the barriers, such as broadcast constants, would else be kept
 * from the first block to the last. A block of ops is a row of sections between its barriers; an op
 * is merged with an earlier one where that one is read in the later one's section or after it.
 */
#include "passes/pass.h"

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/ops/same.h"

struct entry {
	struct ir_op *op;
	uint32_t last; /* section in which it is read last; its own, if it is not read */
};

/* The ops of a block seen so far: of equal ones the last that was not merged. */
struct table {
	struct map map;
	struct VEC(struct entry) entry;
	uint32_t section;       /* at hand */
	const uint32_t *of_op;  /* the section of each op of the module, by id */
};

static bool
same_entry(const void *list, uint32_t i, const void *op)
{
	const struct table *t = list;

	return same_ops(t->entry.at[i].op, op, NULL);
}

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
	uint32_t last = t->section;

	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i])
			if (t->of_op[u->op->id] > last)
				last = t->of_op[u->op->id];
	return last;
}

/* Scalars take no memory that counts, so they may live across barriers. */
static bool
is_scalar(const struct ir_op *op)
{
	return op->nresults == 1 && ir_type_elements(op->result[0].type) == 1;
}

/* The op in the table that this one can be merged with; else NULL, and this one is in the table. */
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
	if (e->last < t->section && !is_scalar(op)) {
		*e = new;
		return NULL;
	}
	e->last = e->last > new.last ? e->last : new.last;
	return e->op;
}

/* Writes the section of each op of the block. */
static void
number_sections(const struct ir_block *b, uint32_t *of_op)
{
	uint32_t section = 0;

	IR_FOR_OPS (op, b) {
		of_op[op->id] = section;
		section += op->code == OP_barrier;
	}
}

static void
number_values(struct pass_run *run, struct ir_block *b, uint32_t *of_op)
{
	struct table t = {.of_op = of_op};

	number_sections(b, of_op);
	IR_FOR_OPS_SAFE (op, b) {
		t.section = of_op[op->id];
		if (op->body)
			number_values(run, op->body, of_op);
		if (!op_is(op, TRAIT_PURE) || is_released(op))
			continue;
		struct ir_op *first = table_find(run->scratch, &t, op);
		if (!first)
			continue;
		for (int i = 0; i < op->nresults; i++)
			ir_replace_uses(&op->result[i], &first->result[i]);
		ir_op_erase(op);
		pass_count(run, "op(s) merged", 1);
	}
	map_free(&t.map);
	VEC_FREE(&t.entry);
}

static bool
cse_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");

	if (f)
		number_values(run, &f->body, ZERO_ARRAY(run->scratch, uint32_t, m->op_ids));
	return true;
}

const struct pass pass_cse = {
	.name = "cse",
	.family = "prepare",
	.summary = "common subexpression elimination: compute equal values once",
	.run = cse_run,
	.keeps_bits = true,
};
