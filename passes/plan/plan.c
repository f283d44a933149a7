/*
 * plan: one search over the decisions of all other passes. A candidate is a pipeline of other
 * passes on a mesh; it is run as a whole and its step is replayed. Common pipelines and those that
 * the documentation recommends are the first candidates (recipes.c), so that the result is never
 * slower than these and fits if one of them does; moves of passes and options improve the best ones
 * (moves.c).
 *
 *     model --recipes--> pipelines --attempts (attempt.h)--> steps: seconds, bytes --moves--> ...
 *                                                                 `--best--> pass_apply
 *
 * It is correct because the other passes are: the result is that of the printed pipeline, byte for
 * byte. It must not change the module before the pipeline is chosen.
 */
#include "passes/plan/plan.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/number.h"
#include "ir/cluster/cluster.h"
#include "passes/analysis/cost/cost.h"
#include "passes/manager/facts.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- candidates ------------------------------------------------------------------------------- */

static void
remark_candidate(const struct planner *p, const struct plan_candidate *c)
{
	char seconds[NUMBER_TEXT], bytes[NUMBER_TEXT];

	if (!pass_remarks_wanted(p->run))
		return;
	if (plan_ran(c))
		pass_remark(p->run, NULL, plan_fits(p, c) ? PASS_APPLIED : PASS_MISSED,
			"%s: %s%s, %s%s, with %s", c->from, c->estimated ? "about " : "",
			number_seconds(seconds, c->r.seconds),
			number_bytes(bytes, (double)c->r.peak),
			plan_fits(p, c) ? "" : ", which does not fit", plan_command(p, c));
	else
		pass_remark(p->run, NULL, PASS_MISSED, "%s: %s, with %s", c->from,
			c->r.why ? c->r.why : "a pass refuses the step", plan_command(p, c));
}

void
plan_try(struct planner *p, int base, struct pass_list list, const char *from, int64_t family)
{
	struct plan_candidate c = {.base = base,
		.budget = p->budget,
		.list = list,
		.text = pass_list_text(p->run->scratch, &list),
		.from = from,
		.recipe = family < 0,
		.family = family < 0 ? p->candidate.n : family,
		.estimated = p->base[base].depth->blocks > 0};

	if (plan_find(p, base, c.text) >= 0)
		return;
	if (c.estimated)
		plan_estimate(p, base, &list, &c.r);
	else
		attempts_run(p->base[base].attempts, c.text, &c.r);
	p->effort += c.r.effort;
	/* A candidate with an equal step needs no moves of its own. */
	for (int64_t i = 0; i < p->candidate.n && plan_ran(&c); i++) {
		const struct plan_candidate *o = &p->candidate.at[i];
		c.expanded = c.expanded || (o->base == base && o->r.seconds == c.r.seconds &&
						   o->r.peak == c.r.peak && o->r.host == c.r.host);
	}
	VEC_PUSH(p->run->scratch, &p->candidate, c);
	remark_candidate(p, &c);
}

/* --- options ---------------------------------------------------------------------------------- */

static bool
read_decisions(struct planner *p)
{
	static const char *const name[] = {PLAN_DECISIONS(CHOICE_NAME)};
	const char *words = pass_string(p->run, "decide"), *word;
	size_t n;

	while (pass_fact_next(&words, &word, &n)) {
		unsigned found = 0;
		for (int i = 0; i < PLAN_NDECISIONS; i++)
			if ((strlen(name[i]) == n && !memcmp(name[i], word, n)) ||
				(n == 3 && !memcmp(word, "all", n)))
				found |= 1u << i;
		if (!found) {
			diag_error(p->run->ctx->diag, pass_option_loc(p->run, "decide"),
				"plan: unknown decision '%.*s'; expected all, or some of layouts, stages, "
				"shards, memory, fusion, order, offload",
				(int)n, word);
			return false;
		}
		p->decide |= found;
	}
	return true;
}

static bool
check_microbatches(struct planner *p)
{
	const char *at = p->microbatches;

	if (!strcmp(at, "auto"))
		return true;
	while (*at) {
		char *end;
		const long long n = strtoll(at, &end, 10);
		if (end == at || n < 1 || (*end && *end != ',')) {
			diag_error(p->run->ctx->diag, pass_option_loc(p->run, "microbatches"),
				"plan: expected auto or numbers such as \"1,2,4\", found '%s'",
				p->microbatches);
			return false;
		}
		at = end + (*end == ',');
	}
	return true;
}

static int64_t
rows_of(const struct ir_func *main)
{
	IR_FOR_OPS (op, &main->body)
		if (op->code == OP_input && op->result[0].type && op->result[0].type->rank)
			return op->result[0].type->dim[0];
	return 0;
}

static bool
holds(const struct ir_module *m, const char *fact)
{
	return pass_fact_holds(pass_fact_find(fact, strlen(fact)), pass_facts_shown(m));
}

/* Number of devices: 1 if the mesh of the module is kept. False: reported. */
static bool
count_devices(struct planner *p, int64_t *n)
{
	const struct cluster *c = cost_model_cluster(p->model);
	const int64_t asked = pass_int(p->run, "devices");

	*n = ir_devices(p->m) > 1 || !plan_decides(p, PLAN_LAYOUTS) ? 1
	     : asked                                                ? asked
	     : c->boundless                                         ? 1
								    : c->ndevices;
	if (asked && ir_devices(p->m) > 1) {
		diag_error(p->run->ctx->diag, pass_option_loc(p->run, "devices"),
			"plan: the module has a mesh of %" PRId64 " devices already",
			ir_devices(p->m));
		return false;
	}
	if (asked > (c->boundless ? CLUSTER_DEVICES_MAX : c->ndevices)) {
		diag_error(p->run->ctx->diag, pass_option_loc(p->run, "devices"),
			"plan: cluster %s has %" PRIu32 " devices", c->name, c->ndevices);
		return false;
	}
	return true;
}

const char plan_channels_last[] = "channels-last{policy=tensor-cores}";

const char *
plan_gradients(const struct planner *p)
{
	return TEXT(p->run->scratch, "inline%s%s", p->amp ? ",amp" : "",
		p->has_gradients || !*p->optimizer ? "" : ",grad");
}

/* Is the step on one device faster if its convolutions have their channels last? */
static bool
wants_channels_last(const struct planner *p)
{
	struct ir_module *m = ir_module_clone(p->run->scratch, p->m);
	const char *const passes = TEXT(p->run->scratch, "%s,channels-last", plan_gradients(p));
	bool any = false;

	if (pass_try(p->run, m, passes))
		IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
			any = any || ir_attr_int(op, "channels_last", 0);
	return any;
}

static bool
read_options(struct planner *p)
{
	const double memory = cost_model_device(p->model)->memory;
	const struct ir_func *main = ir_func_find(p->m, "main");
	const char *optimizer = pass_string(p->run, "optimizer");

	p->limit = pass_budget(p->run) ? (double)pass_budget(p->run)
		   : memory > 0        ? memory
				       : INFINITY;
	p->host_limit = p->run->manager->host_budget ? (double)p->run->manager->host_budget
						     : cost_model_host_memory(p->model);
	p->budget = p->run->manager->budget;
	p->objective = (enum plan_objective)pass_enum(p->run, "objective");
	p->optimizer = strcmp(optimizer, "none") ? optimizer : "";
	p->amp = pass_bool(p->run, "amp");
	p->microbatches = pass_string(p->run, "microbatches");
	p->has_gradients = holds(p->m, "backward");
	p->has_optimizer = holds(p->m, "optimizer");
	p->rows = main ? rows_of(main) : 0;
	p->evaluations = pass_given(p->run, "evaluations") || !pass_evaluations(p->run)
				 ? (uint64_t)pass_int(p->run, "evaluations")
				 : pass_evaluations(p->run);
	p->ends =
		pass_time_limit(p->run) > 0 ? clock_seconds() + pass_time_limit(p->run) : INFINITY;
	if (!read_decisions(p) || !check_microbatches(p))
		return false;
	p->channels_last = plan_decides(p, PLAN_FUSION) && wants_channels_last(p);
	return true;
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Estimates from more blocks that differ by a smaller share are those of the same step, most likely. */
static const double told_apart = 2e-3;

/* Has a step with the same first estimate been looked at, or one of the family with the same better
 * estimate been run? */
static bool
is_like_measured(const struct planner *p, const struct plan_candidate *c)
{
	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *o = &p->candidate.at[i];
		if (!c->estimate && o->estimate == c->r.seconds && !c->recipe)
			return true;
		if (c->estimate > 0 && !o->estimated && o->family == c->family &&
			fabs(o->refined / c->r.seconds - 1) < told_apart)
			return true;
	}
	return false;
}

/* Whole steps of a family that are run: its members differ by little, and so does what their
 * estimates are off. */
enum { MOST_OF_FAMILY = 3 };

static bool
is_well_measured(const struct planner *p, const struct plan_candidate *c)
{
	int n = 0;

	for (int64_t i = 0; i < p->candidate.n && !c->fill.first; i++) {
		const struct plan_candidate *o = &p->candidate.at[i];
		n += o->family == c->family && o->estimate > 0 && !o->estimated && !o->fill.first;
	}
	return n >= MOST_OF_FAMILY;
}

/* The best candidate whose step was run; or that has an estimate only, except those that one that
 * was run stands for. NULL: there are none. */
struct plan_candidate *
plan_best(const struct planner *p, bool estimated)
{
	struct plan_candidate *best = NULL;

	for (int64_t i = 0; i < p->candidate.n; i++) {
		struct plan_candidate *c = &p->candidate.at[i];
		if (c->estimated == estimated && (!best || plan_is_better(p, c, best)) &&
			!(estimated && (is_like_measured(p, c) || is_well_measured(p, c))))
			best = c;
	}
	return best;
}

/* Whole steps that are run in addition to the first one that fits, and in addition to those of
 * recipes if none fits. */
enum { MOST_CONFIRMED = 3 };

/* Estimates that are made again from more blocks. */
enum { MOST_REFINED = 10 };

/* How far estimates from more blocks are off, mostly: a step that would be faster by that is run. One
 * that follows from a step that was run, with some blocks more or less computed again, is off by less. */
static const double off = 0.02, refill_off = 0.002;

static bool
may_be_better(
	const struct planner *p, const struct plan_candidate *c, const struct plan_candidate *best)
{
	struct plan_candidate faster = *c;

	faster.r.seconds *= 1 - (c->fill.refills ? refill_off : off);
	return !best || plan_is_better(p, &faster, best);
}

/* An estimate that exceeds the limit by this share is not run in the hope that it fits. */
static const double far = 0.1;

static bool
is_far(const struct planner *p, const struct plan_candidate *c)
{
	return (double)c->r.peak > (1 + far) * p->limit;
}

/* Estimates the step from more blocks; false: it was. */
static bool
refine(struct planner *p, struct plan_candidate *c)
{
	struct attempt_result r;

	if (c->estimate > 0 || c->fill.first || !plan_ran(c) ||
		!plan_refine(p, c->base, &c->list, &r))
		return false;
	c->estimate = c->r.seconds;
	c->r = r;
	remark_candidate(p, c);
	return true;
}

static void
run_whole(struct planner *p, struct plan_candidate *c)
{
	c->refined = c->estimate > 0 ? c->r.seconds : 0;
	c->estimate = c->estimate > 0 ? c->estimate : c->r.seconds;
	attempts_run(p->base[c->base].attempts, c->text, &c->r);
	c->estimated = false;
	remark_candidate(p, c);
}

/* Estimates that may be off by these shares, and how many whole steps of such candidates are run: any
 * candidate by what memory is off mostly, as passes that use what is left of it reach the limit of a
 * whole step more closely than that of a few blocks; a recipe by more, as the result should be no
 * slower than any of them. */
static const struct doubt {
	bool recipes;
	double seconds, bytes;
	int most;
} doubts[] = {{false, 0, 0.05, 3}, {true, 0.1, 0.5, INT_MAX}};

/* The fastest candidate with an estimate that may be better than the best step that was run. */
static struct plan_candidate *
doubtful(const struct planner *p, const struct doubt *d)
{
	const struct plan_candidate *best = plan_best(p, false);
	struct plan_candidate *found = NULL;

	for (int64_t i = 0; i < p->candidate.n; i++) {
		struct plan_candidate *c = &p->candidate.at[i], better = *c;
		better.r.seconds *= 1 - d->seconds;
		better.r.peak = (uint64_t)((double)c->r.peak / (1 + d->bytes));
		if (c->estimated && plan_ran(c) &&
			(d->recipes ? c->recipe
				    : !is_like_measured(p, c) && !is_well_measured(p, c)) &&
			(!best || plan_is_better(p, &better, best)) &&
			(!found || c->r.seconds < found->r.seconds))
			found = c;
	}
	return found;
}

/* Runs the whole steps of candidates that may be faster than the best one, or fit where none does. */
static void
confirm_doubtful(struct planner *p, const struct doubt *d)
{
	struct plan_candidate *c;

	for (int i = 0; i < d->most && (c = doubtful(p, d)); i++)
		run_whole(p, c);
}

/* Runs the whole steps of the candidates with the best estimates, until the best one that was run
 * is as good as all estimates that are left. */
static void
confirm(struct planner *p)
{
	struct plan_candidate *c;

	for (int extra = 0, refined = 0; (c = plan_best(p, true));) {
		const struct plan_candidate *best = plan_best(p, false);
		const bool fits = best && plan_fits(p, best);
		if (best && (!plan_ran(c) || (fits ? !may_be_better(p, c, best) : is_far(p, c))))
			return;
		if (refined < MOST_REFINED && refine(p, c)) {
			refined++;
			continue;
		}
		extra += !c->fill.first && (fits || (best && !c->recipe));
		if (extra > MOST_CONFIRMED && (fits || !c->recipe))
			return;
		run_whole(p, c);
		plan_refill(p, c - p->candidate.at);
	}
}

/*
 * The last move, which takes as long as many others: pipelines have rules for messages and kernels,
 * this pass searches for what they leave, so it is tried on whole steps alone, the best ones of
 * different recipes.
 */
static const char finish[] = "joint{evaluations=100}";

/* Most ops of a step, on average over its passes: beyond, it takes more than ten seconds. */
enum { LARGE_STEP = 40000 };

/* Ops of the steps that it is tried on, as long as there are any left for the next one: about four
 * seconds. Steps that are not the best follow if they would be with a gain that is larger by so much than
 * the largest until then. */
enum { MOST_FINISHED = 16000 };
static const double more_gain = 0.1;

static bool
is_finished(const struct planner *p, int64_t family)
{
	for (int64_t i = 0; i < p->candidate.n; i++)
		if (p->candidate.at[i].family == family && p->candidate.at[i].finished)
			return true;
	return false;
}

/* The best step that was run and fits, of a family that the last move has not been tried on; -1: none. */
static int64_t
unfinished(const struct planner *p)
{
	int64_t best = -1;

	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *c = &p->candidate.at[i];
		if (!c->estimated && plan_fits(p, c) && !is_finished(p, c->family) &&
			c->r.effort <= LARGE_STEP * (uint64_t)c->list.n &&
			(best < 0 || plan_is_better(p, c, &p->candidate.at[best])))
			best = i;
	}
	return best;
}

struct plan_candidate *
plan_run_added(struct planner *p, struct plan_candidate c)
{
	VEC_PUSH(p->run->scratch, &p->candidate, c);
	run_whole(p, &VEC_LAST(&p->candidate));
	return &VEC_LAST(&p->candidate);
}

struct plan_candidate *
plan_run_with(struct planner *p, struct plan_candidate c, const char *entry)
{
	c.list = pass_list_put(p->run->scratch, &c.list, p->run->manager->registry, entry);
	c.text = pass_list_text(p->run->scratch, &c.list);
	c.from = TEXT(p->run->scratch, "%s; %s", c.from, entry);
	c.recipe = false;
	c.expanded = true;
	return plan_run_added(p, c);
}

static void
finish_best(struct planner *p)
{
	const double before = plan_best(p, false)->r.seconds;
	double gain = 0;
	int64_t i;

	if (p->objective != PLAN_TIME || !plan_decides(p, PLAN_FUSION) ||
		!plan_decides(p, PLAN_ORDER))
		return;
	for (uint64_t ops = 0;
		ops < MOST_FINISHED && clock_seconds() < p->ends && (i = unfinished(p)) >= 0;) {
		const double seconds = p->candidate.at[i].r.seconds;
		if (seconds > before &&
			seconds * (1 - gain - more_gain) >= plan_best(p, false)->r.seconds)
			return;
		const uint64_t effort = p->candidate.at[i].r.effort;
		struct plan_candidate *made = plan_run_with(p, p->candidate.at[i], finish);
		made->finished = true;
		ops += made->r.effort > effort ? made->r.effort - effort : MOST_FINISHED;
		if (plan_fits(p, made))
			gain = fmax(gain, 1 - made->r.seconds / seconds);
	}
}

/* Makes the module the candidate's step. If remarks are wanted, or if the passes refuse it, they are
 * run on the module itself. False: reported. */
static bool
apply(struct planner *p, const struct plan_candidate *c)
{
	const struct ir_module *base = p->base[c->base].m;
	struct pass_manager *manager = p->run->manager;
	const uint64_t given = manager->budget;

	attempts_limit(p->base[c->base].attempts, c->budget);
	struct ir_module *made =
		plan_ran(c) && !pass_remarks_wanted(p->run)
			? attempts_step(p->base[c->base].attempts, p->run->scratch, c->text)
			: NULL;

	if (made) {
		ir_module_take(p->m, made);
		return true;
	}
	for (; p->m->naxes < base->naxes; p->m->naxes++)
		p->m->axis[p->m->naxes] = base->axis[p->m->naxes];
	manager->budget = c->budget;
	const bool applied = pass_apply(p->run, p->m, c->text);
	manager->budget = given;
	return applied;
}

static bool
report_over(const struct planner *p, const struct plan_candidate *least)
{
	char need[NUMBER_TEXT], limit[NUMBER_TEXT], more[NUMBER_TEXT];
	const bool device = (double)least->r.peak > p->limit;
	const double bytes = (double)(device ? least->r.peak : least->r.host),
		     room = device ? p->limit : p->host_limit;

	diag_error(p->run->ctx->diag, p->run->loc,
		"plan: none of %" PRId64
		" pipelines fits into %s of %s: the smallest found needs %s, %s more, with %s",
		p->tried, number_bytes(limit, room), device ? "each device" : "host memory",
		number_bytes(need, bytes), number_bytes(more, bytes - room),
		plan_command(p, least));
	return false;
}

/* The search for the best step within the limit. False: there is no pipeline to start from. */
static bool
search(struct planner *p)
{
	plan_start(p);
	if (!p->candidate.n)
		return false;
	plan_improve(p);
	plan_fill(p);
	confirm(p);
	for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
		confirm_doubtful(p, &doubts[i]);
	if (!p->has_gradients)
		plan_divide(p);
	finish_best(p);
	p->tried += p->candidate.n;
	p->spent += p->effort;
	return true;
}

/* Starts again within a smaller limit. */
static void
set_limit(struct planner *p, double limit)
{
	p->limit = limit;
	p->budget = (uint64_t)limit;
	p->effort = 0;
	p->divided = false;
	p->candidate.n = 0;
	/* That search finds a mesh of its own. */
	p->nbases = p->nbases < PLAN_FOUND ? p->nbases : PLAN_FOUND;
	for (int i = 0; i < p->nbases; i++)
		attempts_limit(p->base[i].attempts, p->budget);
}

/* The best step of the searches within the limit and within smaller ones. */
static struct plan_candidate
search_all(struct planner *p, bool *started)
{
	const double limit = p->limit;
	struct plan_candidate best = {0};

	*started = search(p);
	if (*started)
		best = *plan_best(p, false);
	for (double less = *started ? plan_smaller_budget(p, &best) : 0; less > 0;) {
		set_limit(p, less);
		search(p);
		const struct plan_candidate found = *plan_best(p, false);
		if (plan_fits(p, &found) && found.r.seconds < best.r.seconds)
			best = found;
		less = plan_smaller_budget(p, &found);
	}
	p->limit = limit;
	return best;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const struct cost_options generic = {0};
	struct planner p = {.run = run, .m = m};
	int64_t devices;

	p.model = run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
	if (!p.model || !read_options(&p) || !count_devices(&p, &devices))
		return false;
	/* Tried pipelines run parallelize on few meshes, many times. */
	struct pass_manager *manager =
		COPY_ARRAY(run->scratch, struct pass_manager, run->manager, 1);
	if (!manager->memo)
		manager->memo = parallel_memo_create(run->scratch);
	if (manager->cost)
		p.model = manager->cost = cost_model_remember(run->scratch, manager->cost);
	p.manager = manager;
	plan_count_blocks(&p);
	plan_meshes(&p, devices);
	bool started;
	const struct plan_candidate best = search_all(&p, &started);
	if (!started) {
		diag_error(run->ctx->diag, run->loc,
			"plan: 'decide' leaves no pipeline to start from");
		return false;
	}
	if (plan_ran(&best) && !plan_fits(&p, &best))
		return report_over(&p, &best);
	/* If all failed, the first one reports why. */
	if (!apply(&p, &best))
		return false;
	pass_count(run, "pipeline(s) tried", p.tried);
	plan_summary(&p, &best, m);
	return true;
}

static const struct pass_option options[] = {
	{"decide", PASS_STRING, "all",
		"what plan may decide: all, or a list such as \"layouts,memory\" of layouts, "
		"stages, shards, memory, fusion, order, offload",
		NULL, 0, 0},
	{"objective", PASS_ENUM, "time",
		"time: the fastest step that fits; memory: the one that needs the least memory on a device",
		CHOICE_LIST(PLAN_OBJECTIVES), 0, 0},
	{"optimizer", PASS_STRING, "adam",
		"optimizer pass for a step without updates, in quotes if it has options; none: no updates",
		NULL, 0, 0},
	{"amp", PASS_BOOL, "false", "mixed precision, by pass amp", NULL, 0, 0},
	{"microbatches", PASS_STRING, "auto",
		"allowed numbers of micro-batches: auto (powers of two) or a list, \"1,2,4\"", NULL,
		0, 0},
	{"devices", PASS_INT, "0",
		"devices of the cluster, for a module without device axes; 0: all of the cluster",
		NULL, 0, CLUSTER_DEVICES_MAX},
	{"evaluations", PASS_INT, "100",
		"maximum number of pipelines to try; fewer for a large step, see docs/plan.md",
		NULL, 1, 100000},
	{"summary", PASS_BOOL, "true", "print what was chosen, and what takes most time, as notes",
		NULL, 0, 0},
	{0},
};

const struct pass pass_plan = {
	.name = "plan",
	.family = "plan",
	.summary =
		"search for the fastest pipeline of other passes that fits into memory, and run it",
	.options = options,
	.provides = "no-calls,axes",
	.conflicts = "fused",
	.run = run,
};
