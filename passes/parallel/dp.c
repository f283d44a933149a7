/*
 * dp: data parallelism. Splits dim 0 of every input over a device axis and propagates that through
 * the step, op by op in order. Where an op cannot take its operands as they are, a parallelization
 * op is inserted for an operand that is
 *
 *     partial                allreduce, right after the op that makes the value, where a gradient
 *                            becomes available; reducescatter where another operand is split and
 *                            only a slice is read. A sum of partials alone stays partial, so that a
 *                            gradient of several terms is communicated once; so does a value that
 *                            is read only by ops that make it smaller
 *     copied, another split  a slice (partition); nothing is communicated. Constants, broadcasts
 *                            and what is computed from copied values alone are made in slices
 *     split, no rule fits    allgather
 *
 * Right because these ops never change what a value means; the verifier infers every layout again.
 * Params and states stay copied. Outputs are moved to the end of the step, so that no op waits for
 * a reported value. Works on forward steps and on steps with gradients alike.
 */
#include "ir/base/alloc.h"
#include "passes/parallel/dp_impl.h"

static bool
split_input(struct dp *p, struct ir_op *op, int dim)
{
	struct ir_type t = *op->result[0].type;

	if (t.axis[p->axis].kind != IR_COPIED || !t.rank) {
		pass_remark(p->run, op, PASS_MISSED, "input %s is %s: not split", op->symbol,
			t.rank ? "already laid out over the axis" : "a scalar");
		return true;
	}
	t.axis[p->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&t, dim)};
	if (!ir_type_check(p->m, &t, op->loc,
		    dim ? "spatial: height of the input" : "dp: batch of the input"))
		return false;
	op->result[0].type = ir_type_intern(p->m->ctx, &t);
	pass_count(p->run, "input(s) split", 1);
	return true;
}

/* No op should wait for a reported value in the middle of a step. */
static void
move_outputs_last(struct ir_block *block)
{
	struct ir_op *last = block->last;

	IR_FOR_OPS_SAFE (op, block) {
		bool done = op == last;
		if (op->code == OP_output) {
			ir_op_unlink(op);
			ir_block_append(block, op);
		}
		if (done)
			break;
	}
}

bool
dp_split_over(struct pass_run *run, struct ir_module *m, int axis, int dim, dp_choice *takes,
	const void *data)
{
	struct ir_func *f = ir_func_find(m, "main");
	struct dp p = {
		.run = run, .m = m, .axis = axis, .time = m->axis[axis].time, .nids = m->value_ids};

	p.sliced = ARRAY_ZERO(run->scratch, struct dp_sliced *, p.nids);
	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_input && takes(op, data) && !split_input(&p, op, dim))
			return false;
	IR_FOR_OPS (op, &f->body)
		if (!dp_carry(&p, op))
			return false;
	dp_remark_late(&p);
	move_outputs_last(&f->body);
	return true;
}

static bool
has_rank(const struct ir_op *input, const void *rank)
{
	return input->result[0].type->rank >= *(const int *)rank;
}

bool
dp_split(struct pass_run *run, struct ir_module *m, int dim, int rank)
{
	const int axis = pass_axis(run, "axis");

	if (m->axis[axis].time) {
		diag_error(run->ctx->diag, pass_option_loc(run, "axis"),
			"%s: %s is a time axis; expected a device axis", run->pass->name,
			m->axis[axis].name);
		return false;
	}
	return dp_split_over(run, m, axis, dim, has_rank, &rank);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return dp_split(run, m, 0, 0);
}

static const struct pass_option options[] = {
	{"axis", PASS_AXIS, NULL, "device axis over which the batch is split", NULL, 0, 0},
	{0},
};

const struct pass pass_dp = {
	.name = "dp",
	.family = "parallelize",
	.summary = "data parallelism: split the batch over an axis and sum each "
		   "gradient when it becomes available",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
