/*
 * Dead code elimination: drops ops whose results are unused, in one walk from the last op to the
 * first. All uses of a value come after its op, so when the walk reaches an op every dead user is
 * gone: one walk finds all, O(ops + uses).
 *
 * Kept: ops with an effect (update, output), terminators, and params, states and inputs even
 * without a use. These three are the step's interface: a data file, a checkpoint and other passes
 * name them, and an optimizer may not have been added yet. A value whose only uses are releases is
 * dead, and its releases with it.
 *
 * Unused results of ops with several results are removed: from a collective with their operands,
 * since it moves each separately; from a fuse with the yields, then the ops of its body that only
 * served these, then the operands that no op of the body reads.
 */
#include "passes/pass.h"

#include "ir/base/alloc.h"

#include <talloc.h>

static bool
is_interface(const struct ir_op *op)
{
	return op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_PERSISTENT | TRAIT_CALLS) ||
	       op->code == OP_input;
}

static bool
is_dead(const struct ir_value *v)
{
	IR_FOR_USES (u, v)
		if (u->op->code != OP_release)
			return false;
	return true;
}

/* Drops the releases of a dead value. */
static void
drop_releases(struct ir_value *v)
{
	while (v->uses)
		ir_op_erase(v->uses->op);
}

static int
live_results(const struct ir_op *op)
{
	int n = 0;

	for (int i = 0; i < op->nresults; i++)
		n += !is_dead(&op->result[i]);
	return n;
}

/*
 * Moves the live results of `op` to `to`, a replacement that has only those, and drops `op`.
 */
static void
hand_over(struct ir_op *op, struct ir_op *to)
{
	int n = 0;

	for (int i = 0; i < op->nresults; i++) {
		if (is_dead(&op->result[i])) {
			drop_releases(&op->result[i]);
			continue;
		}
		to->result[n].type = op->result[i].type;
		to->result[n].name = op->result[i].name;
		ir_replace_uses(&op->result[i], &to->result[n++]);
	}
	ir_op_erase(op);
}

/* Reduces a collective, a copy or a barrier to its used results. */
static void
shrink_operands(struct pass_run *run, struct ir_module *m, struct ir_op *op)
{
	struct ir_value **v = NEW_ARRAY(run->scratch, struct ir_value *, op->noperands);
	int n = 0;

	for (int i = 0; i < op->noperands; i++)
		if (!is_dead(&op->result[i]))
			v[n++] = ir_operand(op, i);
	struct ir_op *to =
		ir_op_create(m, (enum op_code)op->code, op->loc, v, n, op->attr, op->nattrs, n);
	pass_count(run, "result(s) removed", op->nresults - n);
	ir_insert_before(op, to);
	hand_over(op, to);
	talloc_free(v);
}

static void sweep(struct pass_run *run, struct ir_module *m, struct ir_block *b);

/* Drops operands of a fuse whose argument is unused in the body. */
static void
shrink_arguments(struct pass_run *run, struct ir_module *m, struct ir_op *op)
{
	struct ir_block *body = op->body;
	struct ir_value **v = NEW_ARRAY(run->scratch, struct ir_value *, op->noperands + 1u);
	struct ir_value *arg = ir_block_args(m, body, op->noperands);
	uint32_t n = 0;

	for (uint32_t i = 0; i < body->nargs; i++) {
		if (!body->arg[i].uses)
			continue;
		v[n] = ir_operand(op, (int)i);
		arg[n] = body->arg[i];
		arg[n].uses = NULL;
		arg[n].index = n;
		ir_replace_uses(&body->arg[i], &arg[n]);
		n++;
	}
	body->arg = arg; /* the uses have been moved there */
	if (n < body->nargs) {
		pass_count(run, "operand(s) removed", body->nargs - n);
		body->nargs = n;
		ir_set_operands(m, op, v, (int)n);
	}
	talloc_free(v);
}

/* Reduces a fuse to the used yields. Its body moves into the new op. */
static struct ir_op *
shrink_yield(struct pass_run *run, struct ir_module *m, struct ir_op *op, int n)
{
	struct ir_op *yield = op->body->last;
	struct ir_value **v = NEW_ARRAY(run->scratch, struct ir_value *, op->noperands + 1u);
	struct ir_value **kept = NEW_ARRAY(run->scratch, struct ir_value *, (unsigned)n + 1);
	int k = 0;

	for (int i = 0; i < op->noperands; i++)
		v[i] = ir_operand(op, i);
	for (int i = 0; i < op->nresults; i++)
		if (!is_dead(&op->result[i]))
			kept[k++] = ir_operand(yield, i);
	struct ir_op *to =
		ir_op_create(m, OP_fuse, op->loc, v, op->noperands, op->attr, op->nattrs, n);
	to->body = op->body;
	to->body->parent = to;
	ir_set_operands(m, yield, kept, n);
	pass_count(run, "result(s) removed", op->nresults - n);
	ir_insert_before(op, to);
	hand_over(op, to);
	talloc_free(v);
	talloc_free(kept);
	return to;
}

static void
shrink(struct pass_run *run, struct ir_module *m, struct ir_op *op, int live)
{
	if ((op_is(op, TRAIT_VARIADIC | TRAIT_COPY) || op->code == OP_barrier) &&
		live < op->nresults) {
		shrink_operands(run, m, op);
	} else if (op->code == OP_while) {
		sweep(run, m, op->body);
	} else if (op_is(op, TRAIT_REGION)) {
		if (live < op->nresults)
			op = shrink_yield(run, m, op, live);
		sweep(run, m, op->body);
		shrink_arguments(run, m, op);
	}
}

static void
sweep(struct pass_run *run, struct ir_module *m, struct ir_block *b)
{
	struct ir_op *prev;

	for (struct ir_op *op = b->last; op; op = prev) {
		prev = op->prev;
		if (is_interface(op))
			continue;
		int live = live_results(op);
		if (live) {
			shrink(run, m, op, live);
			continue;
		}
		for (int i = 0; i < op->nresults; i++)
			drop_releases(&op->result[i]);
		ir_op_erase(op);
		pass_count(run, "op(s) removed", 1);
	}
}

static bool
dce_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");

	if (f)
		sweep(run, m, &f->body);
	return true;
}

const struct pass pass_dce = {
	.name = "dce",
	.family = "prepare",
	.summary = "dead code elimination: remove ops whose results are not used",
	.run = dce_run,
	.keeps_bits = true,
};
