/*
 * parallelize: chooses for each op of a step and each device axis an index of the op over which it
 * is split, or none, or partial operands. Params are stored split or whole. The cost of a plan is
 * the sum of the times of all kernels and of all changes of layout between them, on one device.
 * That is a problem with one choice for each op and with costs of pairs (step.c), for
 * which a plan and a lower bound are found (split/solve.h). So the pass can report how much faster
 * any other plan could be at most.
 *
 * Data parallelism, sharded params and optimizer states, pairs of column- and row-parallel
 * products, split heads, vocabularies and sequences are such plans. The pass knows them only as
 * baselines, the policies: the same problem with the layouts of inputs and params fixed. The plan
 * whose step is fastest in a replay is taken: replay.c.
 *
 * The problem of choosing parallelization ops for a graph is that of C. Unger et al., "Unity:
 * Accelerating DNN Training Through Joint Optimization of Algebraic Transformations and
 * Parallelization", OSDI 2022, and of L. Zheng et al., "Alpa: Automating Inter- and Intra-Operator
 * Parallelism for Distributed Deep Learning", OSDI 2022, there solved as an integer program.
 *
 * A module without device axes gets the mesh whose plan is the cheapest: axes.c.
 *
 * Right because only layouts change: see apply.c. Must not change ops or their order.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/cluster/cluster.h"
#include "ir/digest.h"
#include "passes/analysis/cost/cost.h"
#include "passes/manager/pipeline.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/split/within.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bounds and costs with a smaller relative difference count as equal. */
static const double rounding = 1e-9;

/* Should several plans be replayed to find the fastest step, or is one plan enough? */
static bool
is_replayed(const struct parallel_search *f)
{
	return pass_bool(f->run, "replay") && f->engine != PARALLEL_RANDOM &&
	       f->engine != PARALLEL_EXHAUST && !pass_bool(f->run, "overlap");
}

/* --- meshes ----------------------------------------------------------------------------------- */

/*
 * Limits on the work (parallel_search.work) of one mesh and of all meshes tried: some seconds of
 * one core. work_of_axis predicts the work of a mesh from that of a mesh with one axis less.
 */
static const double most_work = 3e7, most_work_together = 4e7, work_of_axis = 25;

struct climb {
	struct parallel_search *f;
	const struct parallel_meshes *meshes;
	double spent, work[PARALLEL_MOST_AXES + 1]; /* by number of axes; 0: not known */
};

static int
axes_of(uint32_t cuts)
{
	return __builtin_popcount(cuts) + 1;
}

static bool
is_affordable(const struct climb *c, uint32_t cuts)
{
	const int n = axes_of(cuts);
	const double work = c->work[n] > 0 ? c->work[n] : work_of_axis * c->work[n - 1];

	return work <= most_work && c->spent + work <= most_work_together;
}

static bool
try_cuts(struct climb *c, uint32_t cuts, double *cost)
{
	struct parallel_axes axes;
	double *work = &c->work[axes_of(cuts)];

	c->f->meshes++;
	parallel_meshes_set(c->meshes, cuts, c->f->m, &axes);
	if (!parallel_search_mesh(c->f, &axes, cuts, cost))
		return false;
	*work = fmax(*work, c->f->work);
	c->spent += c->f->work;
	return true;
}

/* Starts with an axis for each level of the cluster and moves to neighbouring meshes as long as one
 * has a cheaper plan: first to those of few axes, which take little time. */
static bool
climb_meshes(struct parallel_search *f, const struct parallel_meshes *meshes)
{
	struct climb c = {.f = f, .meshes = meshes};
	struct parallel_cuts *list = NEW(f->run->scratch, struct parallel_cuts);
	const uint32_t start = parallel_meshes_start(meshes);
	uint32_t best = start, from;
	double least, cost;
	int next = 1;

	if (f->first->cuts >= 0 && pass_bool(f->run, "known"))
		return try_cuts(&c, (uint32_t)f->first->cuts, &least);
	list->at[list->n++] = best;
	if (!try_cuts(&c, best, &least))
		return false;
	for (int axes = 2; axes <= PARALLEL_MOST_AXES; axes++) {
		parallel_meshes_near(meshes, start, axes, list);
		do {
			from = best;
			parallel_meshes_near(meshes, from, axes, list);
			for (; next < list->n; next++) {
				if (!is_affordable(&c, list->at[next]))
					continue;
				if (!try_cuts(&c, list->at[next], &cost))
					return false;
				if (cost < least) {
					least = cost;
					best = list->at[next];
				}
			}
		} while (best != from);
	}
	return true;
}

/* Bytes that a plan may need, counted as by split_bytes; 0: any number. */
static double
budget_of(const struct pass_run *run)
{
	if (pass_given(run, "budget"))
		return (double)pass_size(run, "budget");
	return pass_enum(run, "engine") == PARALLEL_DOPT && !pass_bool(run, "overlap")
		       ? (double)pass_budget(run)
		       : 0;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void
remark_plan(const struct parallel_search *f, const struct parallel_plan *plan)
{
	const struct split_solution *found = &plan->found;
	char now[NUMBER_TEXT], bound[NUMBER_TEXT], other[NUMBER_TEXT];
	char *text = TEXT(f->run->scratch,
		pass_bool(f->run, "overlap")
			? "kernels or messages of the plan, whichever take longer, take %s"
			: "kernels and messages of the plan take %s together",
		number_seconds(now, found->cost));

	if (f->engine > PARALLEL_RANDOM)
		text = text_append(text, "; %" PRIu64 " candidates", f->candidates);
	if (f->engine <= PARALLEL_EXHAUST && isfinite(found->bound))
		text = text_append(text,
			"; no plan takes less than %s, %.2g %% less (%" PRIu32 " sweeps)",
			number_seconds(bound, found->bound), 100 * (1 - found->bound / found->cost),
			found->sweeps);
	for (enum parallel_policy i = PARALLEL_DATA; i < PARALLEL_NPOLICIES; i++)
		if (f->policy == PARALLEL_BEST && isfinite(f->least[i]))
			text = text_append(text, "; %s: at least %s", parallel_policy_name(i),
				number_seconds(other, f->least[i]));
	pass_remark(f->run, NULL, PASS_APPLIED, "%s", text);
	parallel_tell_choices(f->run, plan->s, found->choice);
}

/* Remarks on the replayed plans. */
static void
remark_step(const struct parallel_search *f, const struct parallel_plan *plan, double bound)
{
	char now[NUMBER_TEXT], other[NUMBER_TEXT];
	char *text = TEXT(f->run->scratch,
		"the step takes %s%s%s with the plan of %s; lower bound for this mesh: %s, "
		"%.2g %% less",
		number_seconds(now, plan->seconds), *f->passes ? " after " : "", f->passes,
		plan->name, number_seconds(other, bound), 100 * (1 - bound / plan->seconds));

	for (enum parallel_policy i = PARALLEL_DATA; i < PARALLEL_NPOLICIES; i++)
		if (i != f->policy && f->plan[i].seconds > 0)
			text = text_append(text, "; %s: %s", parallel_policy_name(i),
				number_seconds(other, f->plan[i].seconds));
	pass_remark(f->run, NULL, PASS_APPLIED, "%s", text);
}

/* False: reported. */
static bool
tell_budget(const struct parallel_search *f, const struct parallel_plan *plan)
{
	const double bytes = split_bytes(&plan->s->problem, plan->s->bytes, plan->found.choice);
	char need[NUMBER_TEXT], have[NUMBER_TEXT], least[NUMBER_TEXT], none[NUMBER_TEXT],
		more[NUMBER_TEXT];

	if (f->budget == 0)
		return true;
	number_bytes(have, f->budget);
	if (plan->fits || bytes <= f->budget) {
		pass_remark(f->run, NULL, PASS_APPLIED,
			"inputs, params, states and what the backward pass reads take %s of a budget of %s",
			number_bytes(need, bytes), have);
		return true;
	}
	const char *text = TEXT(f->run->scratch,
		"no plan was found whose inputs, params, states and values kept for the "
		"backward pass fit into a budget of %s: the smallest takes %s, %s more; the "
		"lower bound is %s",
		have, number_bytes(least, f->need), number_bytes(more, f->need - f->budget),
		number_bytes(none, f->least_need));
	if (f->strict)
		diag_error(f->run->ctx->diag, pass_option_loc(f->run, "budget"), "parallelize: %s",
			text);
	else
		pass_remark(f->run, NULL, PASS_MISSED, "%s", text);
	return !f->strict;
}

/* "[node = 4, card = 8]" */
static void
remark_mesh(struct pass_run *run, const struct ir_module *m, const struct parallel_axes *axes,
	int meshes)
{
	char *text = text_copy(run->scratch, "");

	for (int i = 0; i < axes->n; i++)
		text = text_append(text, "%s%s = %" PRId32, i ? ", " : "",
			m->axis[axes->axis[i]].name, m->axis[axes->axis[i]].size);
	pass_remark(run, NULL, PASS_APPLIED, "devices are laid out as mesh [%s], the best of %s",
		text, number_count(run->scratch, (uint64_t)meshes, "mesh(es)"));
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool
check_options(struct pass_run *run)
{
	const bool dopt = pass_enum(run, "engine") == PARALLEL_DOPT,
		   best = pass_enum(run, "policy") == PARALLEL_BEST;
	const bool overlap = pass_bool(run, "overlap"), budget = pass_size(run, "budget") > 0;
	const char *wrong = NULL, *needed = NULL;

	if (!best && !dopt) {
		wrong = "policy";
		needed = "a policy needs engine=dopt";
	} else if (budget && (!dopt || overlap)) {
		wrong = "budget";
		needed = "'budget' needs engine=dopt and no 'overlap'";
	} else if (overlap && (!dopt || !best)) {
		wrong = "overlap";
		needed = "'overlap' needs policy=best and engine=dopt";
	}
	if (wrong)
		diag_error(run->ctx->diag, pass_option_loc(run, wrong), "parallelize: %s", needed);
	return !wrong;
}

/* Puts the plan that was found into the module. `meshes` is NULL if the module has its own axes.
 * False: reported. */
static bool
take_plan(struct parallel_search *f, const struct parallel_meshes *meshes)
{
	struct parallel_plan *plan = &f->plan[f->policy];
	struct split_solution *found = &plan->found;
	struct parallel_axes axes;

	if (meshes) {
		parallel_meshes_set(meshes, plan->cuts, f->m, &axes);
		remark_mesh(f->run, f->m, &axes, f->meshes);
	}
	if (is_replayed(f) && pass_remarks_wanted(f->run))
		remark_step(
			f, plan, parallel_bound(plan->s, (struct parallel_memory){INFINITY, true}));

	/* Sums of the same terms in another order are rounded differently. */
	if (found->cost - found->bound < rounding * found->cost)
		found->bound = found->cost;
	if (!tell_budget(f, plan))
		return false;
	if (pass_remarks_wanted(f->run))
		remark_plan(f, plan);
	parallel_explain(f, plan);
	pass_count(f->run, "op(s) laid out", plan->s->problem.nnodes);
	return parallel_apply(f->run, plan, f->m, NULL);
}

/* devices: for which meshes are compared, or the axes of the module, less than 0. */
static struct parallel_search
start_search(struct pass_run *run, struct ir_module *m, const struct cost_model *model,
	struct parallel_memo *memo, int64_t devices)
{
	struct parallel_search f = {.run = run,
		.m = m,
		.model = model,
		.memo = memo,
		.policy = (enum parallel_policy)pass_enum(run, "policy"),
		.engine = (enum parallel_engine)pass_enum(run, "engine"),
		.indices = (enum parallel_indices)pass_enum(run, "indices"),
		.sweeps = (uint32_t)pass_int(run, "sweeps"),
		.budget = budget_of(run),
		.strict = pass_given(run, "budget"),
		.need = INFINITY,
		.least_need = INFINITY,
		.gap = pass_float(run, "gap")};

	f.first = parallel_memo_first(memo, devices, is_replayed(&f));
	for (int i = 0; i < PARALLEL_NPOLICIES; i++)
		f.least[i] = INFINITY;
	return f;
}

/* Sweeps to compare meshes, and to judge steps to which rules were applied. */
enum { CLIMB_SWEEPS = 10 };

/* Evaluations of steps to which rules were applied: each is parallelized, which takes up to some
 * seconds. */
enum { RULES_EVALUATIONS = 40 };

static bool
search_devices(struct parallel_search *f, const struct parallel_meshes *meshes)
{
	const uint32_t sweeps = f->sweeps;
	const bool more = f->engine == PARALLEL_DOPT && !pass_bool(f->run, "overlap") &&
			  sweeps > CLIMB_SWEEPS;

	if (more)
		f->sweeps = CLIMB_SWEEPS;
	if (!climb_meshes(f, meshes))
		return false;
	f->sweeps = sweeps;
	if (more)
		parallel_search_again(f);
	return true;
}

/* The search space: the axes of the module, or all meshes of a number of devices. */
struct space {
	const struct parallel_meshes *meshes; /* NULL: axes */
	struct parallel_axes axes;
};

static bool
search_space(struct parallel_search *f, const struct space *space)
{
	double cost;

	return space->meshes ? search_devices(f, space->meshes)
			     : parallel_search_mesh(f, &space->axes, 0, &cost);
}

/* The plan for the mesh; searches for it if there is none yet. NULL: reported. */
static const struct parallel_plan *
plan_on_mesh(struct parallel_search *f, const struct space *space, uint32_t cuts)
{
	struct parallel_axes axes;
	double cost;

	for (int64_t i = 0; i < f->all.n; i++)
		if (f->all.at[i].cuts == cuts && f->all.at[i].policy == PARALLEL_BEST)
			return &f->all.at[i];
	parallel_meshes_set(space->meshes, cuts, f->m, &axes);
	return parallel_search_mesh(f, &axes, cuts, &cost) ? plan_on_mesh(f, space, cuts) : NULL;
}

/* Takes the plan found with fewer indices if its step is faster. Choices have the same numbers, so
 * it is also a plan of the step with all indices, and gets the bounds of that step. False:
 * reported. */
static bool
take_from(struct parallel_search *f, const struct space *space, const struct parallel_search *fewer)
{
	static const char *const word[] = {PARALLEL_INDICES(CHOICE_NAME)};
	const struct parallel_plan *other = &fewer->plan[f->policy];
	struct parallel_plan *best = &f->plan[f->policy];

	for (int i = PARALLEL_DATA; i < PARALLEL_NPOLICIES; i++) {
		struct parallel_plan *mine = &f->plan[i];
		const double seconds = fewer->plan[i].seconds;
		if (i != (int)f->policy && mine->seconds > 0 && seconds > 0)
			mine->seconds = fmin(mine->seconds, seconds);
	}
	if (!other->s || !parallel_is_better(f, other, best))
		return true;
	const struct parallel_plan *same = plan_on_mesh(f, space, other->cuts);
	if (!same)
		return false;
	const struct split_solution found = {other->found.choice,
		split_cost(&same->s->problem, other->found.choice), same->found.bound,
		same->found.sweeps};
	const double bound = best->s == same->s ? best->found.bound : -INFINITY;
	*best = *other;
	best->name = TEXT(f->run->scratch, "%s with indices=%s", other->name, word[fewer->indices]);
	best->s = same->s;
	best->found = found;
	best->found.bound = fmax(best->found.bound, bound);
	return true;
}

/* Steps with more ops are searched with all indices only: the other searches would take as long
 * again. */
static const double fewer_ops = 1.5e4;

/* The cheapest plan of the sum that fits may be one in which some of the layers are as in a cheaper
 * one that does not. Only if the limit is one of the plan alone: without a replay it is not known what
 * else the step needs. */
static void
mix_layers(struct parallel_search *f)
{
	struct parallel_plan *plan = &f->plan[f->policy];
	struct split_solution found;

	if (f->strict && f->budget > 0 && plan->fits &&
		parallel_mix(f, plan->s, plan->kind, f->budget, &found)) {
		plan->found.choice = found.choice;
		plan->found.cost = split_cost(&plan->s->problem, found.choice);
	}
}

/* Searches and replays. More indices must never make the step slower. As the plan with the least
 * sum does not always have the fastest step, plans with fewer indices are searched for as well.
 * False: reported. */
static bool
find_plan(struct parallel_search *f, const struct space *space)
{
	if (!search_space(f, space))
		return false;
	if (!is_replayed(f)) {
		mix_layers(f);
		return true;
	}
	parallel_replay(f, space->meshes);
	if (f->engine != PARALLEL_DOPT || parallel_is_large(f, fewer_ops))
		return true;
	for (int i = f->indices + 1; i <= PARALLEL_OUTPUTS; i++) {
		struct parallel_search fewer =
			start_search(f->run, f->m, f->model, f->memo, f->first->devices);
		fewer.indices = (enum parallel_indices)i;
		fewer.replays = f->replays;
		if (!search_space(&fewer, space))
			return false;
		if (!fewer.excludes)
			continue;
		parallel_replay(&fewer, space->meshes);
		if (!take_from(f, space, &fewer))
			return false;
	}
	return true;
}

/* What a plan depends on, besides the module: the options of the pass, without those for comparisons of
 * steps, the passes after which it is compared, and the budget. */
static const char *
dependence(struct pass_run *run)
{
	const char *pass = pass_without(run, pass_given(run, "rules") ? "rules" : "known");

	return TEXT(run->scratch, "%s,%s,%" PRIu64, pass, parallel_finish(run), pass_budget(run));
}

/* Makes the step of a plan that was recalled. */
static bool
make_step(struct parallel_search *f, const struct space *space)
{
	struct parallel_plan *plan = &f->plan[f->policy];
	struct parallel_axes axes = space->axes;

	if (space->meshes)
		parallel_meshes_set(space->meshes, plan->cuts, f->m, &axes);
	struct parallel_costs *costs =
		parallel_costs_create(f->run->scratch, f->model, f->m, f->memo);
	plan->s = costs ? parallel_step_create(f->run->scratch, costs, f->m, &axes, f->indices)
			: NULL;
	return costs;
}

/* As find_plan, or recalls what was found for the same module when steps were compared. */
static bool
find_or_recall(struct parallel_search *f, const struct space *space)
{
	const struct parallel_plan *plan = &f->plan[f->policy];
	const bool shared = f->run->manager->memo && is_replayed(f);
	const char *text = shared ? dependence(f->run) : "";
	char digest[IR_DIGEST_DIGITS + 1];

	if (shared)
		ir_digest(f->m, digest);
	if (shared && parallel_memo_recall(f->memo, digest, text, f))
		return make_step(f, space);
	if (!find_plan(f, space))
		return false;
	if (shared)
		parallel_memo_keep(f->memo, digest, text, f);
	if (f->first->cuts < 0) {
		f->first->cuts = plan->cuts;
		f->first->kind = plan->kind;
	}
	return true;
}

/* Splits over the axes of the module, as many at once as possible. */
static bool
split_over_axes(struct pass_run *run, struct ir_module *m, const struct cost_model *model,
	struct parallel_memo *memo)
{
	uint32_t wanted;

	if (!parallel_axes_wanted(run, m, &wanted))
		return false;
	while (wanted) {
		struct parallel_search f = start_search(run, m, model, memo, -(int64_t)wanted);
		struct space space = {NULL, {0}};
		for (int a = 0; a < m->naxes && space.axes.n < PARALLEL_MOST_AXES; a++)
			if (wanted >> a & 1)
				space.axes.axis[space.axes.n++] = a;
		for (int i = 0; i < space.axes.n; i++)
			wanted &= ~(1u << space.axes.axis[i]);
		if (!find_or_recall(&f, &space) || !take_plan(&f, NULL))
			return false;
	}
	return true;
}

static bool
split_over_devices(struct pass_run *run, struct ir_module *m, const struct cost_model *model,
	struct parallel_memo *memo, int64_t n)
{
	struct parallel_search f = start_search(run, m, model, memo, n);
	const struct space space = {
		parallel_meshes_create(run->scratch, m, cost_model_cluster(model), n), {0}};

	return find_or_recall(&f, &space) && take_plan(&f, space.meshes);
}

/* The number of devices over which the pass makes its own axes: 0 if the mesh has axes. False:
 * reported. */
static bool
count_devices(
	struct pass_run *run, const struct ir_module *m, const struct cost_model *model, int64_t *n)
{
	struct cluster *c = cost_model_cluster(model);
	const int64_t most = c->boundless ? CLUSTER_DEVICES_MAX : c->ndevices;

	int given[IR_MAX_AXES];

	*n = pass_int(run, "devices");
	if (*n && ir_devices(m) > 1) {
		diag_error(run->ctx->diag, pass_option_loc(run, "devices"),
			"parallelize: the module has a mesh of %" PRId64
			" devices already; 'devices' is for a module without device axes",
			ir_devices(m));
		return false;
	}
	if (*n > most) {
		diag_error(run->ctx->diag, pass_option_loc(run, "devices"),
			"parallelize: cluster %s has %" PRId64 " devices", c->name, most);
		return false;
	}
	if (!*n && ir_devices(m) == 1 && !c->boundless && !pass_axes(run, "axes", given))
		*n = c->ndevices;
	return true;
}

/*
 * Rules are moves of a search in which every changed step is parallelized by a plan found in few
 * sweeps. So rules are judged by the plan that they allow (Unity's joint optimization). The rules
 * found are undone unless the step is faster with the plan that this pass then finds on the mesh of
 * the unchanged step, after the passes that follow. The pass recalls that plan, or that of the unchanged step.
 */
static bool
apply_rules(struct pass_run *run, struct ir_module *m)
{
	static const char *const policy[] = {PARALLEL_POLICIES(CHOICE_NAME)};
	const char *rules = pass_string(run, "rules");
	int axis[IR_MAX_AXES];
	const int n = pass_axes(run, "axes", axis);

	if (!*rules)
		return true;
	char *text = TEXT(run->scratch,
		"rewrite{policy=search,rules=\"%s\",evaluations=%d,before=\"parallelize{sweeps=%d,replay=false,known=true,"
		"policy=%s",
		rules, RULES_EVALUATIONS, CLIMB_SWEEPS, policy[pass_enum(run, "policy")]);
	for (int i = 0; i < n; i++)
		text = text_append(text, "%s%s", i ? "," : ",axes=[", m->axis[axis[i]].name);
	text = text_append(
		text, "%s,devices=%" PRId64 "},opfuse\"}", n ? "]" : "", pass_int(run, "devices"));
	pass_changes_rounding(run);
	const char *rest = pass_rest(run, "opfuse", NULL),
		   *again = pass_with(run, "rules", "known", "true");
	return pass_apply_before(
		run, m, text, TEXT(run->scratch, "%s%s%s", again, *rest ? "," : "", rest));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const struct cost_options generic = {0};
	int64_t devices;

	struct parallel_memo *outer = run->manager->memo, *memo = outer;

	if (!check_options(run))
		return false;
	if (*pass_string(run, "rules"))
		run->manager->memo = memo = parallel_memo_create(run->scratch);
	else if (!memo)
		memo = parallel_memo_create(run->scratch);
	const struct cost_model *model =
		run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
	bool ok = apply_rules(run, m) && model && count_devices(run, m, model, &devices);
	if (ok && !devices)
		ok = split_over_axes(run, m, model, memo);
	else if (ok && devices > 1)
		ok = split_over_devices(run, m, model, memo, devices);
	run->manager->memo = outer;
	return ok;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "best",
		"best: the fastest plan found; data: the best one that splits the batch over "
		"all axes and replicates params; sharded: the same, but params and states are "
		"split, too, and gathered for their readers; megatron: the best one that does "
		"so over the first axis and splits matrices over the others; dlrm: the best "
		"one that splits the batch over all axes and tables of embeddings, and copies "
		"other params",
		CHOICE_LIST(PARALLEL_POLICIES), 0, 0},
	{"engine", PASS_ENUM, "dopt",
		"dopt: messages between ops, with a bound; exhaust: the optimum, on small steps; unity, mcmc: those of "
		"Unity and FlexFlow, to compare with; random: any plan, for tests",
		CHOICE_LIST(PARALLEL_ENGINES), 0, 0},
	{"replay", PASS_BOOL, "true",
		"of the plans that are found, on all meshes and with policy=best also of policies and other weights of "
		"messages, take the one whose step is fastest after the passes that follow; false: the one "
		"whose kernels and messages take least together",
		NULL, 0, 0},
	{"budget", PASS_SIZE, "",
		"bytes on a device for inputs, params, states and what the backward pass reads of the forward pass; an "
		"error if no plan fits; by default those of -budget, if there is one; 0: any; with engine=dopt",
		NULL, 0, 0},
	{"overlap", PASS_BOOL, "false",
		"count messages as hidden behind kernels: the larger of both is minimized, in place of the sum; with "
		"policy=best and engine=dopt",
		NULL, 0, 0},
	{"indices", PASS_ENUM, "all",
		"indices of products that can be split, to see what each kind of parallelism adds; no-heads: of those "
		"that all operands and the result have, as heads of attention, only the first dim; outputs: nor, in the "
		"forward pass, those that are summed over",
		CHOICE_LIST(PARALLEL_INDICES), 0, 0},
	{"axes", PASS_AXES, "auto",
		"device axes to split over; auto: all of the mesh, and for a module without device axes those of the "
		"mesh whose plan is best",
		"auto", 0, 0},
	{"devices", PASS_INT, "0",
		"devices of the cluster, for a module without device axes, which the pass then makes; 0: all of the "
		"cluster",
		NULL, 0, CLUSTER_DEVICES_MAX},
	{"known", PASS_BOOL, "false",
		"for passes that compare steps: take the mesh found for the first step of the comparison, and with "
		"replay=false, of the plans of policies, that of its policy, without looking for others again",
		NULL, 0, 0},
	{"rules", PASS_STRING, "",
		"file of rules to apply first (pass rewrite), wherever they make the "
		"parallelized step faster, after the passes that follow, too; shipped: those "
		"of docs/rules.md",
		NULL, 0, 0},
	{"finish", PASS_STRING, "",
		"passes after which plans are compared, in place of those that follow in the pipeline",
		NULL, 0, 0},
	{"gap", PASS_FLOAT, "0.001",
		"stop when the plan is proven to take at most this share more than the best one",
		NULL, 0, 1},
	{"sweeps", PASS_INT, "300", "limit on the sweeps of engine dopt", NULL, 1, 10000},
	{"seed", PASS_INT, "1", "seed of engines random and mcmc", NULL, 0, 0},
	{0},
};

const struct pass pass_parallelize = {
	.name = "parallelize",
	.family = "parallelize",
	.summary =
		"choose for each op and device axis how the op is split, with a lower bound on what any plan costs",
	.options = options,
	.needs = "no-calls",
	.provides = "axes",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
