/*
 * prefetch: gathers of sharded params are issued earlier, so that they overlap with the kernels
 * before their first reader, and what reads scattered gradients later. Each one that does holds its
 * buffer for longer. The policies:
 *
 *  - proactive: as early as memory allows (prefetch_proactive.c). The settings of the paper are the
 *    defaults: group 2 GB, a margin of 10 % of the device's memory (section 5.1). Its fuse is not
 *    published; 1.5 is between fusing what takes a latency only, 1, and fusing everything, 2.
 *  - zero3, fsdp: what DeepSpeed and PyTorch do (prefetch_modules.c).
 *  - search: the one of these, and of changes to their settings, whose replayed step is shortest
 *    (prefetch_search.c). Without a cost model nothing moves.
 *
 * Memory: what lives at each op is that of the step as it comes. What moved is then counted again
 * with real offsets, and where it exceeds the limit, the limit is lowered by as much and the step
 * done again.
 */
#include "passes/sharded/prefetch.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/limit.h"

#include <talloc.h>

bool
prefetch_apply(struct prefetch *p, const struct prefetch_choice *c)
{
	struct prefetch_settings set = c->set;
	const uint64_t room = set.limit > c->before ? set.limit - c->before : 0;

	set.waiting = set.waiting < room ? set.waiting : room;
	p->early = c->early;
	switch (c->policy) {
	case PREFETCH_ZERO3: return prefetch_zero3(p);
	case PREFETCH_FSDP: return prefetch_fsdp(p);
	case PREFETCH_PROACTIVE:
	case PREFETCH_SEARCH: break;
	}
	return prefetch_proactive(p, &set);
}

bool
prefetch_try(struct pass_run *run, const struct ir_module *m, const struct prefetch_choice *c,
	uint64_t *peak, double *seconds)
{
	struct ir_module *copy = ir_module_clone(NULL, m);
	struct prefetch p = {.run = run, .m = copy, .silent = true};
	bool good = prefetch_apply(&p, c);

	if (good)
		*peak = sharded_peak(run, copy);
	if (good && seconds) {
		const struct cost_step *step = cost_step_create(copy, run->cost, copy);
		good = step && !step->unfit;
		*seconds = good ? replay_seconds(step->r.makespan) : 0;
	}
	talloc_free(copy);
	return good;
}

/* What prefetch_try is told through sharded_settle. */
struct trial {
	struct pass_run *run;
	const struct ir_module *m;
	const struct prefetch_choice *choice;
	uint64_t *peak; /* of the last one */
	double *seconds;
};

static bool
try_limit(void *data, uint64_t allowed, uint64_t *peak)
{
	const struct trial *t = data;
	struct prefetch_choice c = *t->choice;

	c.set.limit = allowed;
	if (!prefetch_try(t->run, t->m, &c, peak, t->seconds))
		return false;
	*t->peak = *peak;
	return true;
}

bool
prefetch_settle(struct pass_run *run, const struct ir_module *m, struct prefetch_choice *c,
	uint64_t *peak, double *seconds)
{
	struct trial t = {run, m, c, peak, seconds};
	const uint64_t limit = c->set.limit > c->before ? c->set.limit : c->before;

	return sharded_settle(limit, &c->set.limit, try_limit, &t);
}

/* DeepSpeed and PyTorch do not look at the memory: it is said where there is too little. */
static void
tell_over(struct pass_run *run, const struct ir_module *m, uint64_t limit)
{
	const uint64_t peak = pass_remarks_wanted(run) ? sharded_peak(run, m) : 0;
	char over[NUMBER_TEXT];

	if (peak > limit)
		pass_remark(run, NULL, PASS_MISSED,
			"the policy takes no account of memory: %s over the budget",
			number_bytes(over, (double)(peak - limit)));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	struct prefetch p = {.run = run, .m = m};
	struct prefetch_choice c = {.policy = (enum prefetch_policy)pass_enum(run, "policy"),
		.set = {limit, (uint64_t)pass_size(run, "group"),
			(uint64_t)pass_size(run, "waiting"), 0, pass_float(run, "fuse")},
		.early = pass_bool(run, "early_updates"),
		.before = sharded_peak(run, m)};

	if (c.policy == PREFETCH_PROACTIVE && !prefetch_settle(run, m, &c, &(uint64_t){0}, NULL))
		return false;
	if (c.policy == PREFETCH_SEARCH && !prefetch_search(run, m, &c))
		return false;
	if (!prefetch_apply(&p, &c))
		return false;
	tell_over(run, m, limit > c.before ? limit : c.before);
	pass_count(run, "allgather(s) moved", p.moved);
	pass_count(run, "allgather(s) fused", p.fused);
	pass_count(run, "allgather(s) removed", p.dropped);
	pass_count(run, "reader(s) of gradients delayed", p.delayed);
	pass_count(run, "reducescatter(s) fused", p.fused_scatters);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "proactive",
		"how to place allgathers: proactive (as early as memory allows: DeepCompile), zero3 "
		"(DeepSpeed), fsdp (PyTorch FSDP2), search (the shortest predicted step)",
		CHOICE_LIST(PREFETCH_POLICIES), 0, 0},
	{"group", PASS_SIZE, "2GB", "proactive: bytes of the allgathers that move together", NULL,
		1, 1e15},
	{"waiting", PASS_SIZE, "2GB",
		"bytes of gradients that may be kept while they are scattered, so that kernels do "
		"not wait for them",
		NULL, 0, 1e15},
	{"fuse", PASS_FLOAT, "1.5",
		"proactive: two allgathers are fused if that takes less than this times the longer one",
		NULL, 0, 2},
	{"early_updates", PASS_BOOL, "false",
		"compute the update of a param where its gradient arrives, not at the end of the "
		"step",
		NULL, 0, 0},
	COST_MARGIN_OPTION,
	{"prefetch_bucket_size", PASS_INT, "50000000",
		"zero3: elements of params that are gathered ahead", NULL, 0, 1e15},
	{"max_live_parameters", PASS_INT, "1000000000",
		"zero3: elements of gathered params in use, above which none are gathered ahead",
		NULL, 0, 1e15},
	{"max_reuse_distance", PASS_INT, "1000000000",
		"zero3: a param is kept if it is read again before so many elements of others",
		NULL, 0, 1e15},
	{"param_persistence_threshold", PASS_INT, "100000",
		"zero3: params of fewer elements are gathered once in a step", NULL, 0, 1e15},
	{"reduce_bucket_size", PASS_INT, "500000000",
		"zero3: elements of gradients that are scattered in one message", NULL, 1, 1e15},
	{0},
};

const struct pass pass_prefetch = {
	.name = "prefetch",
	.family = "sharded",
	.summary = "issue allgathers of sharded params earlier, as far as memory allows, and fuse "
		   "those that are issued together",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
