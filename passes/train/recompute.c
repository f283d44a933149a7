/*
 * Recomputation: values of the forward pass that the backward pass reads are not kept, but computed
 * again, after a barrier that separates them (recompute_ops.h). It trades time for memory (Chen et al.,
 * "Training Deep Nets with Sublinear Memory Cost", 2016).
 *
 *     blocks   each instance of a repeated template is one segment: its inputs are kept, and all
 *              values that its backward pass reads are recomputed from them (the setting of
 *              DeepCompile and of torch.utils.checkpoint around each layer); `first` limits them to
 *              the first ones (recompute-method block of Megatron-LM)
 *     gathers  values gathered over devices are gathered again, and their slices are kept
 *              (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
 *              Models", 2023, section 4.2.2); params are not included
 *     budget   as little as needed, by time, so that the step fits a budget: recompute_budget.c
 *     search   the same, improved by a search: recompute_search.c
 *
 * After `inline` the name of a value tells its instance: h3.up.u belongs to h3. The blocks are the
 * first parts of names that end in a number, if several differ only in that number.
 *
 * It is correct because a copy of a pure op on equal operands computes the same bits, random ops
 * too. Collectives are not copied unless an option allows it: their results are kept. Copies of ops
 * that run once, outside of a loop over micro-batches, would end the loop: their results are kept,
 * too.
 */
#include "passes/train/recompute.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/number.h"
#include "ir/block_names.h"
#include "ir/memory/storage.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/trial.h"
#include "passes/attempt/edit.h"
#include "passes/manager/pipeline.h"
#include "passes/parallel/kept.h"
#include "passes/pass.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

#define POLICIES(ROW)                                                                              \
	ROW(BLOCKS, "blocks") ROW(GATHERS, "gathers") ROW(BUDGET, "budget") ROW(SEARCH, "search")

enum policy { POLICIES(CHOICE_CODE) };

/* The choice is repeated, each time for a budget that is lower by the gaps between buffers in the
 * previous result, which hardly change from one to the next; from the third round on by twice as
 * much as before. */
enum { GAP_ROUNDS = 6 };

/* Of the budget, for gathers on their way: without room for any, all of them are waited for. */
static const double gathers_share = 0.01;

/* --- blocks ----------------------------------------------------------------------------------- */

/* An op inserted by a pass belongs to the block of its operands. */
static int32_t
block_of_operands(const struct recompute *r, const struct ir_op *op, const int32_t *block)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *maker = ir_operand(op, j)->op;
		const uint32_t i = maker ? ir_number(r->step->ops, maker) : IR_NO_NUMBER;
		if (i != IR_NO_NUMBER && block[i] != RECOMPUTE_KEPT)
			return block[i];
	}
	return RECOMPUTE_KEPT;
}

/*
 * The block whose ops are all that read a conversion in the forward pass: it keeps what is converted,
 * which other blocks may keep too, instead of both. RECOMPUTE_KEPT: there is none.
 */
static int32_t
block_of_readers(const struct recompute *r, const struct ir_op *op, const int32_t *block)
{
	int32_t found = RECOMPUTE_KEPT;

	IR_FOR_USES (use, &op->result[0]) {
		const uint32_t i = ir_number(r->step->ops, use->op);
		if (i == IR_NO_NUMBER || r->step->op[i].side != RECOMPUTE_FORWARD)
			continue;
		if (block[i] == RECOMPUTE_KEPT || (found != RECOMPUTE_KEPT && block[i] != found))
			return RECOMPUTE_KEPT;
		found = block[i];
	}
	return found;
}

static void
move_conversions(const struct recompute *r, int32_t *block)
{
	const struct recompute_ops *a = r->step;

	for (uint32_t i = a->ops->n; i-- > 0;) {
		const struct ir_op *op = a->ops->op[i];
		if (op->code != OP_convert || op->result[0].name ||
			a->op[i].side != RECOMPUTE_FORWARD)
			continue;
		const int32_t readers = block_of_readers(r, op, block);
		if (readers != RECOMPUTE_KEPT)
			block[i] = readers;
	}
}

/* Numbers the blocks that repeat, the first `most` of them; 0: all. */
static struct block_names
find_blocks(struct recompute *r, int64_t most)
{
	const struct recompute_ops *a = r->step;
	int32_t *block = ARRAY_NEW(r->scratch, int32_t, a->ops->n + 1u);
	struct block_names list = {0};

	for (uint32_t i = 0; i < a->ops->n; i++) {
		const struct ir_op *op = a->ops->op[i];
		const char *name = op->nresults ? op->result[0].name : NULL;
		block[i] = a->op[i].side != RECOMPUTE_FORWARD ? RECOMPUTE_KEPT
			   : name ? block_names_add(r->scratch, &list, name)
				  : block_of_operands(r, op, block);
	}
	block_names_find_repeats(&list);
	int64_t repeats = 0;
	for (int64_t k = 0; k < list.n; k++)
		if (list.at[k].repeats && ++repeats > most && most)
			list.at[k].repeats = false;
	for (uint32_t i = 0; i < a->ops->n; i++)
		if (block[i] != RECOMPUTE_KEPT && !list.at[block[i]].repeats)
			block[i] = RECOMPUTE_KEPT;
	move_conversions(r, block);
	r->block = block;
	r->nblocks = (int32_t)list.n;
	return list;
}

/* --- remarks ---------------------------------------------------------------------------------- */

static void
report_group(struct pass_run *run, const char *what, const struct recompute_group *g)
{
	char bytes[NUMBER_TEXT];

	if (!g->at)
		return;
	pass_count(run, "op(s) computed again", g->ops);
	pass_count(run, "value(s) not kept", g->values);
	pass_remark(run, g->at, PASS_APPLIED,
		"%s: %lld value%s of %s recomputed by %lld op%s from %lld operand%s", what,
		(long long)g->values, number_plural(g->values),
		number_bytes(bytes, (double)g->bytes), (long long)g->ops, number_plural(g->ops),
		(long long)g->inputs, number_plural(g->inputs));
}

/* Reports the step before and after the pass. */
static bool
report_step(struct pass_run *run, const struct recompute *r, uint64_t peak_before)
{
	char peak[2][NUMBER_TEXT], time[2][NUMBER_TEXT];
	const char *choices =
		r->evaluations ? TEXT(run->scratch, "; %u choices evaluated", r->evaluations) : "";
	struct trial_result now;

	if (!run->cost || !pass_remarks_wanted(run))
		return true;
	if (!trial_measure(r->base, r->m, &now))
		return false;
	pass_remark(run, NULL, PASS_APPLIED,
		"memory of the step: %s instead of %s; time: %s instead of %s%s",
		number_bytes(peak[0], (double)trial_peak(run, r->m)),
		number_bytes(peak[1], (double)peak_before), number_seconds(time[0], now.seconds),
		number_seconds(time[1], r->base->seconds), choices);
	return true;
}

/* --- the policies ----------------------------------------------------------------------------- */

static void
copy_groups(struct pass_run *run, struct recompute *r, const int32_t *group, int32_t n,
	const struct block_names *blocks)
{
	struct recompute_group *result =
		ARRAY_ZERO(r->scratch, struct recompute_group, (size_t)n + 1);

	recompute_copy(r->step, r->m, group, result, n);
	for (int32_t g = 0; g < n; g++) {
		const char *what = blocks ? TEXT(r->scratch, "%.*s", (int)blocks->at[g].length,
						    blocks->at[g].name)
					  : TEXT(r->scratch, "segment %d", g + 1);
		report_group(run, what, &result[g]);
	}
}

static bool
run_blocks(struct pass_run *run, struct recompute *r, const struct block_names *blocks)
{
	copy_groups(run, r, r->block, r->nblocks, blocks);
	if (!run->changed)
		pass_remark(run, NULL, PASS_MISSED,
			"nothing is recomputed: no repeated blocks, whose values have names like h0.x "
			"and h1.x");
	return true;
}

/* Does it gather a value of the step, rather than a sharded param? */
static bool
gathers_value(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_op *from = ir_operand(op, 0)->op;

	if (op->code != OP_allgather || m->axis[ir_attr_int(op, "axis", 0)].time)
		return false;
	while (from->noperands == 1 && (from->code == OP_convert || storage_is_view(m, from)))
		from = ir_operand(from, 0)->op;
	return !op_is(from, TRAIT_NAMED);
}

/* Each gather is a group of its own, with the views of its result. */
static bool
run_gathers(struct pass_run *run, struct recompute *r)
{
	const struct recompute_ops *a = r->step;
	int32_t *group = ARRAY_NEW(r->scratch, int32_t, a->ops->n + 1u), n = 0;

	for (uint32_t i = 0; i < a->ops->n; i++) {
		const struct ir_op *op = a->ops->op[i],
				   *from = op->noperands ? ir_operand(op, 0)->op : NULL;
		const uint32_t maker = from ? ir_number(a->ops, from) : IR_NO_NUMBER;
		group[i] = RECOMPUTE_KEPT;
		if (a->op[i].copyable && gathers_value(r->m, op))
			group[i] = n++;
		else if (a->op[i].copyable && maker != IR_NO_NUMBER && storage_is_view(r->m, op))
			group[i] = group[maker];
	}
	copy_groups(run, r, group, n, NULL);
	if (!run->changed)
		pass_remark(run, NULL, PASS_MISSED,
			"nothing is gathered again: the backward pass reads no value that the forward pass gathers");
	return true;
}

/* The budget of the option, else of the command line, else the memory of the cluster's devices; 0:
 * not known. */
static double
budget_of(struct pass_run *run)
{
	const uint64_t given =
		pass_given(run, "budget") ? (uint64_t)pass_size(run, "budget") : pass_budget(run);
	const uint64_t limit = cost_memory_limit(run->cost, given, pass_float(run, "margin"));

	return limit < UINT64_MAX ? (double)limit : 0;
}

/* Without a cost model costs are unknown: everything that may be recomputed is. */
static void
choose_all(const struct recompute *r, bool *chosen)
{
	for (uint32_t i = 0; i < r->step->ops->n; i++)
		chosen[i] = recompute_may(r, i);
}

static void
remark_kept(void *data, const struct ir_op *first, uint32_t n, double over)
{
	char bytes[NUMBER_TEXT];

	pass_remark(data, first, PASS_MISSED,
		"%u value%s like this recomputed: keeping %s would take %s more than the budget", n,
		n == 1 ? "" : "s", n == 1 ? "it" : "them", number_bytes(bytes, over));
}

static void
remark_over(struct pass_run *run, const struct recompute *r, double budget,
	const struct recompute_cost *cost)
{
	char need[NUMBER_TEXT], over[NUMBER_TEXT];

	if (r->cost && cost->peak > budget)
		pass_remark(run, NULL, PASS_MISSED,
			"the step needs %s with the choice of the least memory that was found, %s more "
			"than the budget",
			number_bytes(need, cost->peak), number_bytes(over, cost->peak - budget));
}

/* Maximum evaluations of policy search, including those of its start. */
static uint32_t
evaluations_of(const struct pass_run *run)
{
	const uint64_t all = pass_evaluations(run);

	return pass_given(run, "evaluations") || !all ? (uint32_t)pass_int(run, "evaluations")
	       : all < UINT32_MAX                     ? (uint32_t)all
						      : UINT32_MAX;
}

/* The peak of the step in which the chosen ops are recomputed, with offsets. */
static double
peak_of(const struct pass_run *run, const struct recompute *r, const bool *chosen)
{
	if (r->finish) {
		double seconds;
		struct ir_module *m = recompute_finished(r, chosen, &seconds);
		const double peak = (double)trial_peak(run, m);
		talloc_free(m);
		return peak;
	}
	recompute_apply(r, chosen);
	const double peak = (double)trial_peak(run, r->m);
	ir_saved_restore(r->base->saved);
	return peak;
}

/* Chooses such that the arena is within the budget, as far as possible. */
static bool
choose_placed(struct pass_run *run, struct recompute *r, double budget, bool *chosen,
	struct recompute_cost *cost)
{
	double wanted = budget;

	for (int i = 0; i < GAP_ROUNDS; i++) {
		if (!recompute_choose(r, wanted, chosen, cost))
			return false;
		const double peak = peak_of(run, r, chosen);
		const bool settled = peak <= budget || cost->peak > wanted;
		cost->peak = peak;
		if (settled)
			return true;
		wanted -= (peak - budget) * (i < 2 ? 1 : 1 << (i - 1));
	}
	return true;
}

/*
 * The passes that follow, to the one that forms kernels, and values that these have in registers: a step that is
 * sharded after values are chosen needs other memory, and so does one whose attention is one kernel. Passes
 * that search are too slow. If it is sharded, there is room for gathers on their way.
 */
static double
find_finish(struct pass_run *run, struct recompute *r, double budget)
{
	struct pass_list rest = pass_list_read(run->scratch, pass_rest(run, "opfuse", "opfuse"));

	if (!rest.n || pass_list_find(&rest, "parallelize") >= 0 || !r->cost)
		return budget;
	struct pass_manager *manager =
		COPY_ARRAY(run->scratch, struct pass_manager, run->manager, 1);
	manager->budget = 0; /* kernels as they would be with enough memory */
	r->manager = manager;
	r->finish = pass_list_text(run->scratch, &rest);
	r->bare = ARRAY_ZERO(run->scratch, bool, r->step->ops->n + 1u);
	if (!recompute_find_inner(r))
		r->finish = NULL;
	return r->finish && pass_list_find(&rest, "shard") >= 0 ? (1 - gathers_share) * budget
								: budget;
}

/*
 * Where no choice fits: the one of the least peak with kernels that are made for the budget, of that for the step with
 * kernels, that for the step as it is, and whole blocks (NULL), which compute again what no class has.
 */
static const bool *
least_of(struct pass_run *run, struct recompute *r, const bool *chosen, struct recompute_cost *cost)
{
	const bool *start[] = {chosen, r->bare, NULL}, *least = chosen;

	r->manager->budget = run->manager->budget;
	for (int i = 0; i < (r->nblocks ? 3 : 2); i++) {
		const double peak = peak_of(run, r, start[i]);
		if (i && peak >= cost->peak)
			continue;
		cost->peak = peak;
		least = start[i];
	}
	return least;
}

static bool
run_budget(struct pass_run *run, struct recompute *r)
{
	const double given = budget_of(run);
	bool *chosen = ARRAY_ZERO(r->scratch, bool, r->step->ops->n + 1u);
	int32_t *group = ARRAY_NEW(r->scratch, int32_t, r->step->ops->n + 1u);
	struct recompute_cost cost = {0};

	if (!given) {
		diag_error(run->ctx->diag, pass_option_loc(run, "policy"),
			"recompute: policies budget and search need a budget: budget=SIZE, -budget or "
			"-cluster of dopt");
		return false;
	}
	if (pass_enum(run, "policy") == SEARCH)
		r->most = evaluations_of(run);
	if (pass_time_limit(run) > 0)
		r->ends = clock_seconds() + pass_time_limit(run);
	const double budget = find_finish(run, r, given);
	if (!r->cost)
		choose_all(r, chosen);
	else if (!choose_placed(run, r, budget, chosen, &cost))
		return false;
	if (r->cost && pass_remarks_wanted(run) &&
		!recompute_tell(r, budget, chosen, remark_kept, run))
		return false;
	const bool *least = chosen;
	if (r->finish && cost.peak > budget)
		least = least_of(run, r, chosen, &cost);
	if (least) {
		const int32_t n = recompute_groups(r, least, group);
		copy_groups(run, r, group, n, NULL);
	} else {
		copy_groups(run, r, r->block, r->nblocks, NULL);
	}
	remark_over(run, r, budget, &cost);
	return true;
}

static struct ir_op *
find_loss(struct pass_run *run, struct ir_module *m)
{
	const char *name = pass_string(run, "loss");

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_output && strcmp(op->symbol, name) == 0)
			return op;
	diag_error(run->ctx->diag, pass_option_loc(run, "loss"),
		"recompute: there is no output named \"%s\"; name the loss with recompute{loss=NAME}",
		name);
	return NULL;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const struct ir_op *loss = find_loss(run, m);
	struct trial_base base;
	struct recompute r = {.scratch = run->scratch,
		.cost = run->cost,
		.base = &base,
		.m = m,
		.seed = run->seed};

	const enum policy policy = (enum policy)pass_enum(run, "policy");
	if ((policy == BLOCKS || policy == GATHERS) && pass_given(run, "budget")) {
		diag_error(run->ctx->diag, pass_option_loc(run, "budget"),
			"recompute: policy %s has no budget; use policy=budget",
			policy == BLOCKS ? "blocks" : "gathers");
		return false;
	}
	if (policy != BLOCKS && pass_given(run, "first")) {
		diag_error(run->ctx->diag, pass_option_loc(run, "first"),
			"recompute: 'first' needs policy=blocks");
		return false;
	}
	if (!loss || !trial_begin(&base, run, m))
		return false;
	const uint64_t before = pass_remarks_wanted(run) ? trial_peak(run, m) : 0;
	r.step = recompute_read(
		run->scratch, m, loss, policy == GATHERS || pass_bool(run, "collectives"));
	if (!r.step->trains) {
		pass_remark(run, loss, PASS_MISSED,
			"nothing is recomputed: the step has no backward pass; grad makes one");
		return true;
	}
	const struct block_names blocks = find_blocks(&r, pass_int(run, "first"));
	const bool ok = policy == BLOCKS    ? run_blocks(run, &r, &blocks)
			: policy == GATHERS ? run_gathers(run, &r)
					    : run_budget(run, &r);
	if (!ok || (run->changed && !report_step(run, &r, before)))
		return false;
	kept_remark(run, m);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "blocks",
		"what to recompute: blocks (everything in repeated templates except their "
		"inputs), gathers (only values gathered over devices, other than params), "
		"budget (what costs the least time and fits a budget) or search (the same, "
		"improved by a search); budget and search fit the step after the passes that follow, "
		"up to opfuse; without opfuse the step they are given: run them after shard and the "
		"optimizer then",
		CHOICE_LIST(POLICIES), 0, 0},
	{"budget", PASS_SIZE, "",
		"memory limit of policies budget and search (default: that of -budget)", NULL, 0,
		1e18},
	{"first", PASS_INT, "0",
		"policy blocks: number of blocks to recompute, counted from the first; 0: all",
		NULL, 0, 1e9},
	COST_MARGIN_OPTION,
	{"evaluations", PASS_INT, "400",
		"policy search: maximum number of steps to evaluate, about 0.3 s each for 80 "
		"blocks",
		NULL, 1, 1e9},
	{"collectives", PASS_BOOL, "false",
		"repeat collectives too, instead of keeping their results", NULL, 0, 0},
	{"loss", PASS_STRING, "loss", "name of the output that grad has differentiated", NULL, 0,
		0},
	{0},
};

const struct pass pass_recompute = {
	.name = "recompute",
	.family = "train",
	.summary = "recomputation: values of the forward pass are computed again for the backward "
		   "pass instead of being kept",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
