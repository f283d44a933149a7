/*
 * opfuse within a budget (`dopt -budget`). A kernel at the place of its last op keeps the operands
 * of its other ops alive until there; a kernel at the place of its first op has its results earlier
 * than they are read. Both take memory that was free between the ops. Where that raises the peak of
 * the step above the budget, trials (passes/analysis/cost/trial.h) form kernels under a few limits
 * on what is live: a step that fits before still fits, and one that does not needs no more memory.
 *
 * A limit on live bytes: kernels are formed in a trial, ops at which more is live are marked, and
 * no op is moved or copied across a mark when kernels are formed again; a few times, until nothing
 * new is marked.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/memory.h"
#include "passes/analysis/cost/trial.h"
#include "passes/fusion/opfuse.h"

#include <talloc.h>

enum {
	ROUNDS = 3, /* of marks: each one forms kernels and measures the step again */
	LIMITS = 4, /* on live bytes that are tried */
};

struct attempt {
	struct pass_run *run;
	opfuse_policy *policy;
	const struct trial_base *base;
	uint32_t nops;
};

/* The number that each op of the block had before kernels were formed, by op->id. */
static uint32_t *
numbers(const struct opfuse *u, const struct ir_module *m)
{
	uint32_t *number = ARRAY_NEW(u, uint32_t, m->op_ids);

	IR_FOR_OPS (op, u->block)
		number[op->id] = ir_number(u->ops, op);
	for (uint32_t k = 0; k < u->nops; k++)
		if (u->fuse[k])
			number[u->fuse[k]->id] = u->kernel[k].place;
	return number;
}

/* Marks the ops of the fused step at which more than `allowed` bytes are live. True: an op was
 * newly marked. */
static bool
mark(const struct attempt *a, const struct opfuse *u, const struct ir_module *m, uint64_t allowed,
	bool *marked)
{
	const uint32_t *number = numbers(u, m);
	const struct memory_curve *c = memory_curve_create_live(u, m, ir_func_find(m, "main"),
		cost_model_storage(a->run->cost), trial_known(u, a->base, m));
	bool fresh = false;

	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->point[i].op || c->point[i].live <= allowed)
			continue;
		const uint32_t at = number[c->point[i].op->id];
		fresh |= !marked[at];
		marked[at] = true;
	}
	return fresh;
}

static struct opfuse *
form(const struct attempt *a, struct ir_module *m, const bool *marked, bool silent)
{
	struct opfuse *u = opfuse_create(a->run, m);

	u->silent = silent;
	opfuse_unfused(u, pass_string(a->run, "unfused"));
	if (marked) {
		u->marks = ARRAY_ZERO(u, uint32_t, u->nops + 1u);
		for (uint32_t i = 0; i < u->nops; i++)
			u->marks[i + 1] = u->marks[i] + marked[i];
	}
	a->policy(u);
	opfuse_apply(u);
	return u;
}

/* The marks for a limit on live bytes; NULL: no limit. Tries kernels on the step and restores
 * it. */
static bool *
find_marks(const struct attempt *a, uint64_t allowed)
{
	struct ir_module *m = a->base->m;

	if (allowed == TRIAL_ALL)
		return NULL;
	bool *marked = ARRAY_ZERO(a->run->scratch, bool, a->nops), fresh = true;
	for (int i = 0; i < ROUNDS && fresh; i++) {
		ir_saved_change(a->base->saved);
		struct opfuse *u = form(a, m, marked, true);
		fresh = mark(a, u, m, allowed, marked);
		talloc_free(u);
		ir_saved_restore(a->base->saved);
	}
	return marked;
}

/* With nothing allowed no kernels are formed. */
static void
form_within(void *data, struct ir_module *m, uint64_t allowed)
{
	const struct attempt *a = data;

	if (!allowed)
		return;
	const bool *marked = find_marks(a, allowed);
	ir_saved_change(a->base->saved);
	talloc_free(form(a, m, marked, true));
}

/* Limits below the current peak leave the ops around the peak unchanged, including gaps between
 * buffers. */
static void
find_limits(const struct attempt *a, uint64_t limit[LIMITS])
{
	const uint64_t live = trial_live_before(a->base),
		       temporary = live - trial_before(a->base)->persistent_bytes;

	limit[0] = live - temporary / 2;
	limit[1] = live - temporary / 8;
	limit[2] = live;
	limit[3] = live + temporary / 8;
}

static void
tell(const struct attempt *a, const struct trial *t, uint64_t allowed)
{
	struct storage *all = trial_storage(t, TRIAL_ALL);
	char text[NUMBER_TEXT];

	pass_remark(a->run, NULL, PASS_MISSED,
		"%s, because of the budget: with all fusions the step would need %s",
		allowed ? "fewer ops are fused" : "no ops are fused",
		number_bytes(text, (double)memory_needs(all, 0)));
	talloc_free(all);
}

bool
opfuse_within(struct pass_run *run, struct ir_module *m, opfuse_policy *policy, uint64_t budget)
{
	struct trial_base base;
	struct attempt a = {run, policy, &base, 0};
	uint64_t limit[LIMITS], allowed = TRIAL_ALL;
	const struct trial t = {.base = &base,
		.apply = form_within,
		.data = &a,
		.amount = limit,
		.namounts = LIMITS,
		.or_as_before = true,
		.all_first = true};
	struct trial_result r;
	bool fits = true;

	if (!trial_begin(&base, run, m))
		return false;
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		a.nops++;
	/* A step that needs 1.5 times the budget or more gets all kernels, since passes that
	 * follow, such as offload, may only move states. */
	if (trial_live_before(&base) <= budget + budget / 2) {
		find_limits(&a, limit);
		if (!trial_fit(&t, budget, &allowed, &r, &fits))
			return false;
	}
	if (allowed != TRIAL_ALL && pass_remarks_wanted(run))
		tell(&a, &t, allowed);
	if (allowed)
		form(&a, m, find_marks(&a, allowed), false);
	return true;
}
