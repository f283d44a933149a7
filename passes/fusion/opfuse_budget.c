/*
 * opfuse within a budget (`dopt -budget`). A kernel at the place of its last op keeps operands of the
 * others until there, one at the place of its first op has results earlier than they are read: memory
 * that was free between two ops is not. Where that raises the peak of the step, kernels are formed
 * under a few limits on what is live, and the fastest of these steps that fits the budget is taken,
 * or else the step as it was: what fits before fits after, and what does not needs no more.
 *
 * A limit on live bytes: kernels are formed on a copy, ops at which more is live are marked, and no op is moved
 * or copied across a mark when kernels are formed again; a few times, until nothing new is marked.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/memory.h"
#include "passes/analysis/cost/trial.h"
#include "passes/fusion/opfuse.h"

#include <talloc.h>

enum {
	ROUNDS = 3, /* of marks: each one forms kernels and measures the step again */
	LIMITS = 4
};

#define NO_LIMIT UINT64_MAX

struct attempt {
	struct pass_run *run;
	const struct trial_base *base;
	uint32_t nops;
};

/* Where each op of the block stands among the ops that there were before, by op->id. */
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

/* Marks the ops of the step with kernels at which more than so many bytes are live. Is one new? */
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
form(struct pass_run *run, struct ir_module *m, const bool *marked, bool silent)
{
	struct opfuse *u = opfuse_create(run, m);

	u->silent = silent;
	if (marked) {
		u->marks = ARRAY_ZERO(u, uint32_t, u->nops + 1u);
		for (uint32_t i = 0; i < u->nops; i++)
			u->marks[i + 1] = u->marks[i] + marked[i];
	}
	opfuse_greedy(u);
	opfuse_apply(u);
	return u;
}

/* The marks for a limit on live bytes; NULL: no limit. */
static bool *
find_marks(const struct attempt *a, const struct ir_module *m, uint64_t allowed)
{
	if (allowed == NO_LIMIT)
		return NULL;
	bool *marked = ARRAY_ZERO(a->run->scratch, bool, a->nops), fresh = true;
	for (int i = 0; i < ROUNDS && fresh; i++) {
		struct ir_module *copy = ir_module_clone(a->run->scratch, m);
		struct opfuse *u = form(a->run, copy, marked, true);
		fresh = mark(a, u, copy, allowed, marked);
		talloc_free(u);
		talloc_free(copy);
	}
	return marked;
}

struct candidate {
	const bool *marked;
	struct memory_report memory;
	double seconds;
};

/* The step with kernels under a limit. */
static struct ir_module *
try_limit(const struct attempt *a, const struct ir_module *m, uint64_t allowed, struct candidate *c)
{
	struct ir_module *copy = ir_module_clone(a->run->scratch, m);

	c->marked = find_marks(a, m, allowed);
	talloc_free(form(a->run, copy, c->marked, true));
	memory_evaluate(copy, ir_func_find(copy, "main"), cost_model_storage(a->run->cost),
		trial_known(copy, a->base, copy), &c->memory);
	return copy;
}

/* How long it takes, where that is asked; frees it. False: reported. */
static bool
measure(const struct attempt *a, struct ir_module *copy, bool asked, struct candidate *c)
{
	struct trial_result t = {0};
	const bool good = !asked || trial_measure(a->base, copy, &t);

	c->seconds = t.seconds;
	talloc_free(copy);
	return good;
}

/*
 * The fastest of those that need no more than so many bytes; NULL: none. They do not depend on the budget, and none
 * counts that is faster than the one with all fusions: so more budget never gives a slower step.
 */
static const struct candidate *
fastest(const struct candidate *all, const struct candidate *c, int n, uint64_t bytes)
{
	const struct candidate *best = NULL;

	for (int i = 0; i < n; i++)
		if (c[i].memory.peak <= bytes && c[i].seconds >= all->seconds &&
			(!best || c[i].seconds < best->seconds))
			best = &c[i];
	return best;
}

/*
 * Kernels that keep the peak within the budget, or of a step that exceeds it anyway, which a later pass may make fit, no
 * higher than it is; with all fusions it would be. False: reported.
 */
static bool
form_fewer(const struct attempt *a, struct ir_module *m, uint64_t budget,
	const struct memory_report *before, const struct candidate *all)
{
	const bool fitted = before->peak <= budget;
	const uint64_t more = all->memory.live > before->live ? all->memory.live - before->live : 0,
		       temporary = before->live - before->persistent;
	/* Below what was live the surroundings of the peak stay as they were, gaps between buffers, too. */
	const uint64_t limit[LIMITS] = {before->live - temporary / 8, before->live + more / 2,
		before->live, before->live - temporary / 2};
	const int n = fitted ? LIMITS : 1;
	struct candidate c[LIMITS];
	char text[NUMBER_TEXT];

	for (int i = 0; i < n; i++)
		if (!measure(a, try_limit(a, m, limit[i], &c[i]), fitted, &c[i]))
			return false;
	const struct candidate *best = fastest(all, c, n, fitted ? budget : before->peak);
	if (best)
		form(a->run, m, best->marked, false);
	pass_remark(a->run, NULL, PASS_MISSED,
		"%s, because of the budget: with all fusions the step would need %s",
		best ? "fewer ops are fused" : "no ops are fused",
		number_bytes(text, (double)all->memory.peak));
	return true;
}

bool
opfuse_within(struct pass_run *run, struct ir_module *m, uint64_t budget)
{
	const struct storage_target *target = cost_model_storage(run->cost);
	struct ir_func *main = ir_func_find(m, "main");
	struct memory_report before;
	struct trial_base base;
	struct attempt a = {run, &base, 0};
	struct candidate all;

	if (!trial_begin(&base, run, m))
		return false;
	IR_FOR_OPS (op, &main->body)
		a.nops++;
	/* What is live is no more than the peak, and known sooner. */
	const uint64_t live = base.r.live;
	struct ir_module *copy = NULL;
	/* One that needs half as much again gets all kernels: what may come later, offload, moves
	 * states only. */
	bool fits = live > budget + budget / 2;
	if (!fits) {
		copy = try_limit(&a, m, NO_LIMIT, &all);
		fits = all.memory.peak <= budget || all.memory.peak <= live;
	}
	if (!fits) {
		memory_evaluate(m, main, target, base.known, &before);
		fits = all.memory.peak <= before.peak;
	}
	if (fits) {
		talloc_free(copy);
		form(run, m, NULL, false);
		return true;
	}
	return measure(&a, copy, before.peak <= budget, &all) &&
	       form_fewer(&a, m, budget, &before, &all);
}
