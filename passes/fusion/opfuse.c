/*
 * opfuse: ops become kernels. Ops that would pass tensors through memory become one `fuse`, whose
 * inner values stay in registers and rows (op fusion: DisCo, section 2.2). What one kernel can do
 * is decided in passes/fuse/fuse.h, what it should do by a policy:
 *
 *     greedy   opfuse_greedy.c: joins what passes tensors on, and copies what is cheap to repeat
 *     xla      opfuse_xla.c: what XLA does for GPUs, as a baseline
 *     none     nothing
 *
 * greedy and xla as far as the step still fits the budget: opfuse_budget.c.
 *
 * With `online`, kernels of several products are formed before that (online.h).
 *
 * `undo` takes kernels apart: the ops of each fuse stand in its place.
 *
 * Right because a fuse computes what its body computes, and no kernel depends on itself.
 * Collectives, inputs, params and updates are never in a kernel.
 */
#include "passes/fusion/opfuse.h"
#include "passes/search/joint.h"

static void
undo_all(struct pass_run *run, struct ir_module *m)
{
	IR_FOR_OPS_SAFE (op, &ir_func_find(m, "main")->body) {
		if (op->code != OP_fuse)
			continue;
		pass_count(run, "kernel(s) split", 1);
		pass_count(run, "op(s) unfused", fuse_undo(m, op));
	}
}

#define POLICIES(ROW)                                                                              \
	ROW(POLICY_GREEDY, "greedy")                                                               \
	ROW(POLICY_XLA, "xla") ROW(POLICY_NONE, "none") ROW(POLICY_JOINT, "joint")

enum policy { POLICIES(CHOICE_CODE) };

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const enum policy policy = (enum policy)pass_enum(run, "policy");

	if (pass_bool(run, "undo")) {
		undo_all(run, m);
		return true;
	}
	if (*pass_string(run, "unfused") && policy != POLICY_GREEDY && policy != POLICY_XLA) {
		diag_error(m->ctx->diag, pass_option_loc(run, "unfused"),
			"'unfused' needs policy greedy or xla");
		return false;
	}
	if (!opfuse_check_unfused(run, m))
		return false;
	if (pass_bool(run, "online"))
		opfuse_online(run, m);
	if (policy == POLICY_NONE)
		return true;
	if (policy == POLICY_JOINT)
		return joint_run(run, m, joint_moves(SEARCH_FUSE | SEARCH_COPY));
	opfuse_policy *const choose = policy == POLICY_XLA ? opfuse_xla : opfuse_greedy;
	if (pass_budget(run))
		return opfuse_within(run, m, choose, pass_budget(run));
	struct opfuse *u = opfuse_create(run, m);
	opfuse_unfused(u, pass_string(run, "unfused"));
	choose(u);
	opfuse_apply(u);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "greedy",
		"fusion policy: greedy (producer-consumer and cheap recompute), xla (XLA GPU "
		"rules), both as far as -budget allows; none, joint (search)",
		CHOICE_LIST(POLICIES), 0, 0},
	{"online", PASS_BOOL, "false",
		"first form kernels of several products that do not store what is between them, such as "
		"attention; gradients are rounded differently",
		NULL, 0, 0},
	{"unfused", PASS_STRING, "",
		"greedy and xla: names of values, separated by commas, whose ops stay kernels of their own, in all blocks; "
		"d_NAME: the gradient",
		NULL, 0, 0},
	{"undo", PASS_BOOL, "false", "split existing fused kernels back into ops", NULL, 0, 0},
	{0},
};

const struct pass pass_opfuse = {
	.name = "opfuse",
	.family = "fusion",
	.summary = "fuse ops that would pass tensors through memory into one kernel",
	.options = options,
	.needs = "no-calls",
	.provides = "fused",
	.conflicts = "fused",
	.run = run,
	.undo = "undo",
	.searches = "policy=joint",
	.keeps_bits = true,
};
