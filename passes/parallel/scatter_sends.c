/*
 * scatter-sends: what devices of a tensor-parallel group all send to the next stage of a pipeline,
 * each sends a slice of. The receivers gather it:
 *
 *     %b = send(%a) {axis = pp}        %s = partition(%a) {dim = 0, axis = tp}
 *                                      %r = send(%s) {axis = pp}
 *                                      %b = allgather(%r) {axis = tp}
 *
 * As Megatron-LM does (Narayanan et al., arXiv:2104.04473, section 4.1, "scatter/gather
 * communication optimization"): links between nodes carry each tensor once instead of once for each
 * device of the group, and links within a node gather it.
 *
 * Right because all three ops are identities on meaning and the last one has the layout of the
 * first. A tensor is divided along its first dim that the axis divides, so that slices are
 * consecutive in memory if possible; one without such a dim is sent whole.
 */
#include "ir/memory/storage.h"
#include "passes/pass.h"

/* -1: none */
static int
dim_to_divide(const struct ir_module *m, const struct ir_type *t, int axis)
{
	for (int d = 0; d < t->rank; d++)
		if (ir_type_local_dim(m, t, d) % m->axis[axis].size == 0)
			return d;
	return -1;
}

static void
scatter(struct ir_module *m, struct ir_block *block, struct ir_op *send, int axis, int dim)
{
	struct ir_builder b = {.m = m, .block = block, .before = send, .loc = send->loc};
	struct ir_value *v = ir_operand(send, 0);
	const struct ir_attr attr[] = {
		ir_make_int(m->ctx, "dim", dim), ir_make_axis(m->ctx, "axis", axis)};

	v = ir_build(&b, OP_partition, &v, 1, attr, 2);
	v = ir_build(&b, OP_send, &v, 1, send->attr, send->nattrs);
	v = ir_build(&b, OP_allgather, &v, 1, &attr[1], 1);
	v->name = send->result[0].name;
	ir_replace_uses(&send->result[0], v);
	ir_op_erase(send);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct ir_block *block = &ir_func_find(m, "main")->body;
	const int axis = pass_axis(run, "axis");

	if (m->axis[axis].time) {
		diag_error(run->ctx->diag, pass_option_loc(run, "axis"),
			"scatter-sends: %s is a time axis; expected a device axis",
			m->axis[axis].name);
		return false;
	}
	IR_FOR_OPS_SAFE (op, block) {
		/* stages of one device share memory */
		if (op->code != OP_send || storage_is_view(m, op) || m->axis[axis].size == 1)
			continue;
		const struct ir_type *t = ir_operand_type(op, 0);
		if (t->axis[axis].kind != IR_COPIED)
			continue;
		const int dim = dim_to_divide(m, t, axis);
		if (dim < 0) {
			pass_count(run, "send(s) left whole, as the axis does not divide them", 1);
			continue;
		}
		scatter(m, block, op, axis, dim);
		pass_count(run, "send(s) of slices", 1);
	}
	return true;
}

static const struct pass_option options[] = {
	{"axis", PASS_AXIS, NULL, "axis of the devices that each send a slice", NULL, 0, 0}, {0}};

const struct pass pass_scatter_sends = {
	.name = "scatter-sends",
	.family = "parallelize",
	.summary = "send slices between stages and gather them",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
