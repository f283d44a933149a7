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
 * A fragment is the states that are updated together: those whose ops are interleaved, such as the
 * two moments of a param. The fragment that is updated first is offloaded first, so that its way
 * back to the host overlaps with other updates. In the paper states are on the device between two
 * steps and are offloaded in the forward pass; here they stay in host memory, and are offloaded
 * once they have their next values: the same bytes in each direction.
 *
 *  - adaptive: only as many fragments as the limit requires. A reload is issued before the first op
 *    such that, from there to the end of the step, memory suffices for it and for earlier reloads.
 *  - all: the same with all fragments.
 *  - all_sync: all fragments; each is reloaded right before its update, after the one before it has
 *    arrived in host memory.
 *
 * The device holds at most OUTSTANDING fragments on their way to the host: a barrier makes an
 * update wait for earlier ones. Trials (passes/analysis/cost/trial.h) find how many fragments and
 * how early.
 */
#include "passes/sharded/offload.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/memory/curve.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/memory.h"
#include "passes/analysis/cost/trial.h"

#include <inttypes.h>
#include <talloc.h>

#define POLICIES(ROW) ROW(ADAPTIVE, "adaptive") ROW(ALL, "all") ROW(ALL_SYNC, "all_sync")

enum policy { POLICIES(CHOICE_CODE) };

/* Bytes of the first n fragments. */
static uint64_t
bytes_of(const struct offload_fragments *all, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += all->fragment[i].bytes;
	return sum;
}

struct attempt {
	struct pass_run *run;
	const struct trial_base *base;
	struct offload_settings set;
};

/* The least number of fragments to offload so that at most `allowed` bytes of states stay on the
 * device. */
static uint32_t
fragments_beyond(const struct offload_fragments *all, uint64_t allowed)
{
	uint64_t kept = bytes_of(all, all->n);
	uint32_t n = 0;

	while (kept > allowed)
		kept -= all->fragment[n++].bytes;
	return n;
}

/* Keeps at most `allowed` bytes of states on the device; reloads are issued right before
 * updates. */
static void
apply_kept(void *data, struct ir_module *m, uint64_t allowed)
{
	const struct attempt *a = data;
	struct offload_settings set = a->set;

	set.early = 0;
	set.n = fragments_beyond(a->set.all, allowed);
	offload_states(a->run, m, &set, true);
}

/* Issues reloads early, with up to `allowed` bytes in use. */
static void
apply_early(void *data, struct ir_module *m, uint64_t allowed)
{
	const struct attempt *a = data;
	struct offload_settings set = a->set;

	set.early = allowed;
	offload_states(a->run, m, &set, true);
}

/*
 * Live bytes if the fragments up to one are offloaded: the states of a fragment are then in device
 * memory from its first reader until an update waits for its offload. Returns the time of that.
 *
 *     states    ##########################  --->         ######
 */
static uint64_t
live_without(struct live_curve *curve, const struct storage *s, const struct offload_fragments *all,
	uint32_t i)
{
	const struct offload_fragment *f = &all->fragment[i];
	const uint32_t next = i + OFFLOAD_OUTSTANDING, end = 2 * s->order->n + 2,
		       first = 2 * s->order->position[f->first->id],
		       last = next < all->n ? 2 * s->order->position[all->fragment[next].first->id]
					    : end;

	if (first)
		live_curve_add(curve, 0, first - 1, -(int64_t)f->bytes);
	live_curve_add(curve, last + 1, end, -(int64_t)f->bytes);
	return live_curve_most(curve) + s->outside_arena;
}

/* Chooses the number of fragments with which the step is fastest within the limit. */
static bool
choose(struct attempt *a, uint64_t limit, bool *fits)
{
	const struct offload_fragments *all = a->set.all;
	const struct storage *s = trial_before(a->base);
	uint64_t *kept = ARRAY_NEW(a->run->scratch, uint64_t, all->n + 1),
		 *live = ARRAY_NEW(a->run->scratch, uint64_t, all->n + 1),
		 left = bytes_of(all, all->n);
	struct live_curve *curve = live_curve_create(a->run->scratch, s->live, 2 * s->order->n + 3);
	const struct trial t = {.base = a->base,
		.apply = apply_kept,
		.data = a,
		.amount = kept,
		.namounts = all->n,
		.expected = live};
	struct trial_result r;
	uint64_t allowed;

	/* Amounts with all but the first n fragments on the device, for smaller and smaller n. */
	for (uint32_t i = 0; i < all->n; i++) {
		kept[all->n - 1 - i] = left;
		live[all->n - 1 - i] =
			i ? live_without(curve, s, all, i - 1) : trial_live_before(a->base);
		left -= all->fragment[i].bytes;
	}
	if (!trial_fit(&t, limit, &allowed, &r, fits))
		return false;
	a->set.n = fragments_beyond(all, allowed);
	return true;
}

/* By position: the maximum of live bytes from there to the end of the step. */
static uint64_t *
most_until_end(const void *owner, const struct storage *s)
{
	const uint32_t n = s->order->n;
	uint64_t *most = ARRAY_NEW(owner, uint64_t, n + 1u), so_far = 0;

	for (uint32_t t = 2 * n + 3; t-- > 0;) {
		so_far = s->live[t] > so_far ? s->live[t] : so_far;
		most[t / 2 < n ? t / 2 : n] = so_far + s->outside_arena;
	}
	return most;
}

/* Chooses how early reloads are issued, so that the step stays within the limit or needs no more
 * than without early reloads. `fits`: without them it is within the limit. */
static bool
settle(struct attempt *a, uint64_t limit, bool fits)
{
	struct trial t = {.base = a->base, .apply = apply_early, .data = a};
	struct storage *late = talloc_steal(a->run->scratch, trial_storage(&t, 0));
	struct trial_result r;

	a->set.late = late;
	a->set.late_most = most_until_end(a->run->scratch, late);
	t.least = storage_in_use(late);
	if (!fits) {
		const uint64_t needs = memory_needs(late, limit);
		limit = needs > limit ? needs : limit;
	}
	return trial_fit(&t, limit, &a->set.early, &r, &fits);
}

/* Does the cluster have host memory to offload to? False: reported. */
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
	uint64_t limit)
{
	const struct offload_fragments *all = set->all;
	const uint64_t peak = trial_peak(run, m);
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
	struct trial_base base;
	struct attempt a = {.run = run, .base = &base, .set.sync = policy == ALL_SYNC};
	bool fits = false;

	if (!has_host_memory(run) || !trial_begin(&base, run, m))
		return false;
	a.set.all = offload_fragments_create(run->scratch, m, (uint64_t)pass_size(run, "least"));
	a.set.n = a.set.all->n;
	if (policy == ADAPTIVE && a.set.n && !choose(&a, limit, &fits))
		return false;
	if (a.set.n && !a.set.sync && !settle(&a, limit, fits))
		return false;
	offload_states(run, m, &a.set, false);
	if (pass_remarks_wanted(run))
		tell(run, m, &a.set, limit);
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
	.needs = "no-calls,optimizer",
	.provides = "offloaded",
	.run = run,
	.keeps_bits = true,
};
