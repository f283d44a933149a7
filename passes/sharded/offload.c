/*
 * offload: optimizer states are kept in host memory and are on the device while they are updated
 * (adaptive offloading: DeepCompile, Tanaka and others 2025, section 4.4, Algorithm 2).
 *
 *     %m = state("m") : f32[..]@host
 *     ... forward, backward ...
 *     %d = reload(%m)                  as early as memory allows: overlaps with the backward pass
 *     %n = b1 * %d + (1 - b1) * %g
 *     %h = offload(%n)                 overlaps with the updates of other params
 *     update(%m, %h)
 *
 * A fragment is the states of one update: those whose ops are between each other's, as the two
 * moments of a param are. The fragment that is updated first is offloaded first, so that its way
 * back to the host overlaps with other updates. In the paper states are on the device between two
 * steps and are offloaded in the forward pass; here they stay in host memory, and are offloaded once
 * they have their next values: the same bytes in each direction.
 *
 *  - adaptive: no more fragments than the limit demands. A reload is issued before the first op from
 *    which on, to the end of the step, memory suffices for it and for those before it.
 *  - all: the same with all fragments.
 *  - all_sync: all fragments; each is reloaded right before its update, after the one before it has
 *    arrived in host memory.
 *
 * The device holds at most OUTSTANDING fragments on their way to the host: a barrier makes an update
 * wait for earlier ones. Memory is that of real offsets; where the limit is exceeded, the choice is
 * made again with a limit lowered by as much.
 */
#include "passes/sharded/offload.h"

#include "ir/base/number.h"
#include "passes/analysis/cost/limit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <talloc.h>

#define POLICIES(ROW) ROW(ADAPTIVE, "adaptive") ROW(ALL, "all") ROW(ALL_SYNC, "all_sync")

enum policy { POLICIES(CHOICE_CODE) };

/* Numbers of fragments are tried at most so often, each higher by what the last step was over the
 * limit; then all are offloaded. */
enum { MAX_ROUNDS = 8 };

/* A step with these settings, on a copy; its peak. */
static uint64_t
peak_with(struct pass_run *run, const struct ir_module *m, const struct offload_settings *set)
{
	struct ir_module *copy = ir_module_clone(NULL, m);

	offload_states(run, copy, set, true);
	const uint64_t peak = sharded_peak(run, copy);
	talloc_free(copy);
	return peak;
}

/* Bytes of the first n fragments. */
static uint64_t
bytes_of(const struct offload_fragments *all, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += all->fragment[i].bytes;
	return sum;
}

/* The fewest fragments with which the step, reloads right before updates, is within the limit. */
static void
choose(struct pass_run *run, const struct ir_module *m, const struct offload_fragments *all,
	uint64_t limit, struct offload_settings *set)
{
	const uint64_t before = sharded_peak(run, m);
	uint64_t wanted = before > limit ? before - limit : 0;

	set->early = 0;
	set->n = 0;
	for (int i = 0; i < MAX_ROUNDS && wanted; i++) {
		while (set->n < all->n && bytes_of(all, set->n) < wanted)
			set->n++;
		const uint64_t peak = peak_with(run, m, set);
		if (peak <= limit || set->n == all->n)
			return;
		wanted = bytes_of(all, set->n) + (peak - limit);
	}
	set->n = wanted ? all->n : 0;
}

struct trial {
	struct pass_run *run;
	const struct ir_module *module;
	struct offload_settings *set;
};

/* The peak with reloads that are issued early up to so many bytes in use. */
static bool
try_early(void *data, uint64_t early, uint64_t *peak)
{
	const struct trial *t = data;

	t->set->early = early;
	*peak = peak_with(t->run, t->module, t->set);
	return true;
}

/* The highest limit up to which reloads may be issued early, so that the step is within `limit` or
 * needs no more than it does without. */
static void
settle(struct pass_run *run, const struct ir_module *m, uint64_t limit,
	struct offload_settings *set)
{
	struct trial trial = {run, m, set};
	uint64_t late, early = limit;

	try_early(&trial, 0, &late);
	sharded_settle(late > limit ? late : limit, &early, try_early, &trial);
}

/* Is there somewhere to offload to? False: reported. */
static bool
has_host_memory(const struct pass_run *run)
{
	if (!run->cost || cost_model_host_memory(run->cost) > 0)
		return true;
	diag_error(run->ctx->diag, run->loc,
		"offload: the cluster has no host memory; 'host_memory' of its devices says how "
		"much there is for each");
	return false;
}

static void
tell(struct pass_run *run, const struct ir_module *m, const struct offload_settings *set,
	const struct offload_fragments *all, uint64_t limit)
{
	const uint64_t peak = sharded_peak(run, m);
	char bytes[NUMBER_TEXT], over[NUMBER_TEXT];

	if (set->n)
		pass_remark(run, NULL, PASS_APPLIED, "%s of states kept in host memory",
			number_bytes(bytes, (double)bytes_of(all, set->n)));
	if (peak > limit)
		pass_remark(run, NULL, PASS_MISSED, "with %s the step is still %s over the budget",
			set->n == all->n ? "all states in host memory" : "these",
			number_bytes(over, (double)(peak - limit)));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const enum policy policy = (enum policy)pass_enum(run, "policy");
	const uint64_t limit = pass_given(run, "budget")
				       ? (uint64_t)pass_size(run, "budget")
				       : sharded_limit(run, pass_float(run, "margin"));
	struct offload_settings set = {
		.least = (uint64_t)pass_size(run, "least"), .sync = policy == ALL_SYNC};

	if (!has_host_memory(run))
		return false;
	struct offload_fragments *all = offload_fragments_create(run->scratch, m, set.least);
	if (policy == ADAPTIVE)
		choose(run, m, all, limit, &set);
	else
		set.n = all->n;
	if (set.n && !set.sync)
		settle(run, m, limit, &set);
	offload_states(run, m, &set, false);
	if (pass_remarks_wanted(run))
		tell(run, m, &set, all, limit);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "adaptive",
		"what is offloaded: adaptive (no more than the budget demands, asynchronously: "
		"DeepCompile), all (all states, asynchronously), all_sync (all states, each copy "
		"waited for)",
		CHOICE_LIST(POLICIES), 0, 0},
	{"budget", PASS_SIZE, "",
		"bytes that may be in use on a device; by default -budget, or the device's memory "
		"less the margin",
		NULL, 0, 1e15},
	COST_MARGIN_OPTION,
	{"least", PASS_SIZE, "64KB",
		"smaller states stay on the device: a copy of 64 KB takes about as long as its latency",
		NULL, 0, 1e15},
	{0},
};

const struct pass pass_offload = {
	.name = "offload",
	.family = "sharded",
	.summary =
		"keep optimizer states in host memory, with copies that overlap with the backward "
		"pass and with other updates",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
