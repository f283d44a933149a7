/*
 * prefetch: gathers of sharded params are issued earlier, so that they overlap with the kernels
 * before their first reader, and readers of scattered gradients are issued later. Each op moved
 * keeps a buffer alive for longer. The policies:
 *
 *  - proactive: as early as memory allows (prefetch_proactive.c). The settings of the paper are the
 *    defaults: group 2 GB, a margin of 10 % of the device's memory (section 5.1). Its fuse is not
 *    published; 1.5 lies between 1, fusing only gathers whose time is all latency, and 2, fusing
 *    all.
 *  - zero3, fsdp: what DeepSpeed and PyTorch do (prefetch_modules.c).
 *  - search: of these policies, and of variations of their settings, the one with the shortest
 *    replayed step (prefetch_search.c). Without a cost model nothing moves.
 *
 * Memory: policies take the live bytes at each op from the unchanged step, and add those of gathers
 * in flight. So trials (passes/analysis/cost/trial.h) find the amount with which the step fits.
 */
#include "passes/sharded/prefetch.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/memory.h"

/* Moves the makers of op's operands that come later in the block before the op. */
static void
put_after_makers(struct ir_op *op, bool *done)
{
	done[op->id] = true;
	for (int i = 0; i < op->noperands; i++) {
		struct ir_op *maker = ir_operand(op, i)->op;
		if (maker && !done[maker->id] && maker->block == op->block) {
			ir_op_unlink(maker);
			ir_insert_before(op, maker);
			put_after_makers(maker, done);
		}
	}
}

/*
 * Policies that delay readers of gradients do not check every op that depends on them, such as
 * norms of all gradients: this moves ops before the first op that needs them.
 */
static void
put_in_order(struct prefetch *p)
{
	struct ir_block *block = &ir_func_find(p->m, "main")->body;
	bool *done = ARRAY_ZERO(NULL, bool, p->m->op_ids);

	IR_FOR_OPS (op, block)
		if (!done[op->id])
			put_after_makers(op, done);
	array_free(done);
}

static void
apply_policy(struct prefetch *p, const struct prefetch_choice *c)
{
	struct prefetch_settings set = c->set;

	if (set.limit != TRIAL_ALL) {
		const uint64_t live = trial_live_before(p->base),
			       room = set.limit > live ? set.limit - live : 0;
		set.waiting = set.waiting < room ? set.waiting : room;
	}
	p->early = c->early;
	p->lives = c->lives;
	switch (c->policy) {
	case PREFETCH_ZERO3: prefetch_zero3(p); break;
	case PREFETCH_FSDP: prefetch_fsdp(p); break;
	case PREFETCH_PROACTIVE:
	case PREFETCH_SEARCH: prefetch_proactive(p, &set); break;
	}
}

/* Applies the policy to the step. */
static void
prefetch_apply(struct prefetch *p, const struct prefetch_choice *c)
{
	apply_policy(p, c);
	put_in_order(p);
}

/* The choice being tried. */
struct attempt {
	struct pass_run *run;
	const struct trial_base *base;
	const struct prefetch_choice *choice;
	struct prefetch last; /* the step as it was changed last */
};

static void
apply_with(void *data, struct ir_module *m, uint64_t allowed)
{
	struct attempt *a = data;
	struct prefetch_choice c = *a->choice;

	c.set.limit = allowed;
	a->last = (struct prefetch){.run = a->run, .m = m, .base = a->base, .silent = true};
	prefetch_apply(&a->last, &c);
}

bool
prefetch_fit(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	double beat, struct trial_result *r, bool *fits, struct prefetch *left)
{
	struct attempt a = {run, base, c, {0}};
	bool changed = false;
	const struct trial t = {.base = base,
		.apply = apply_with,
		.data = &a,
		.beat = beat,
		.or_as_before = true,
		.changed = left ? &changed : NULL};
	uint64_t allowed;

	if (!trial_fit(&t, c->set.limit, &allowed, r, fits))
		return false;
	c->set.limit = allowed;
	if (left)
		*left = changed ? a.last : (struct prefetch){0};
	return true;
}

/* DeepSpeed and PyTorch do not check memory: remarks if the step needs too much. */
static void
tell_over(struct pass_run *run, const struct ir_module *m, uint64_t limit)
{
	const uint64_t peak = pass_remarks_wanted(run) ? trial_peak(run, m) : 0;
	char over[NUMBER_TEXT];

	if (peak > limit)
		pass_remark(run, NULL, PASS_MISSED,
			"the policy takes no account of memory: %s over the budget",
			number_bytes(over, (double)(peak - limit)));
}

/* Remarks that nothing moves. */
static bool
tell_none(struct pass_run *run, bool fits)
{
	pass_remark(run, NULL, PASS_MISSED,
		fits ? "nothing moved: no step is faster than without"
		     : "nothing moved: every other step exceeds the budget");
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	const uint64_t before = pass_remarks_wanted(run) ? trial_peak(run, m) : 0;
	struct prefetch_choice c = {.policy = (enum prefetch_policy)pass_enum(run, "policy"),
		.set = {.limit = limit,
			.budget = limit,
			.group = (uint64_t)pass_size(run, "group"),
			.waiting = (uint64_t)pass_size(run, "waiting"),
			.fuse = pass_float(run, "fuse")},
		.early = pass_bool(run, "early_updates"),
		.lives = NEW(run->scratch, struct prefetch_lives)};
	const bool searches = c.policy == PREFETCH_SEARCH;
	struct trial_base base;
	struct trial_result r;
	bool fits = true;

	if (!trial_begin(&base, run, m))
		return false;
	struct prefetch p = {.run = run};
	if (searches || c.policy == PREFETCH_PROACTIVE) {
		const double now = base.seconds;
		/* Remarks are those of a change that is not a trial. */
		struct prefetch *left = pass_remarks_wanted(run) ? NULL : &p;
		if (!(searches ? prefetch_search(run, &base, &c, &r)
			       : prefetch_fit(run, &base, &c, 0, &r, &fits, left)))
			return false;
		/* The search keeps the step unchanged if it finds nothing better. */
		if (!fits || r.seconds > now || (searches && r.seconds >= now)) {
			if (p.m)
				ir_saved_restore(base.saved);
			return tell_none(run, fits);
		}
	}
	if (p.m) {
		ir_saved_keep(base.saved);
	} else {
		p = (struct prefetch){.run = run, .m = m, .base = &base};
		prefetch_apply(&p, &c);
	}
	tell_over(run, m, limit > before ? limit : before);
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
		"bytes of gradients that may be in flight in reducescatters, so that kernels "
		"do not wait for them",
		NULL, 0, 1e15},
	{"fuse", PASS_FLOAT, "1.5",
		"proactive: two allgathers are fused if the result takes less time than this factor times the longer one",
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
		"zero3: a gathered param is kept if it is read again within this many elements of other params",
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
