/*
 * rewrite: applies rules where they match and pay, by replays of the step (search.h), or greedily:
 * a rule then pays if the ops that it makes take less time than those that become unused, each op
 * by itself in the cost model and with its layout; of several rules at one op, the one that saves
 * most is applied. So every application makes the sum over all ops smaller, and the walk over the
 * step, repeated until nothing changes, ends.
 *
 * Right because rules are proven for all sizes, and because the results have the types, including
 * layouts, of the values that they replace. O(ops) a walk: an op is matched with the rules of its
 * key.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/trial.h"
#include "passes/manager/pipeline.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/rules/search.h"

#include <math.h>
#include <string.h>

struct rewriter {
	struct pass_run *run;
	struct ir_module *m;
	const struct rule_set *set;
	struct parallel_costs *costs; /* NULL: every rule pays */
};

/* Differences of times are rounded: savings below this share count as none. */
static const double little = 1e-9;

static double
seconds_of(struct rewriter *w, const struct ir_op *op)
{
	return parallel_costs_op(w->costs, parallel_costs_probe(w->costs, op));
}

/* The seconds saved; 0: none. */
static double
gain_of(struct rewriter *w, const struct rule_built *b)
{
	struct ir_op *dead[RULE_MAX_VALUES];
	const int n = rule_dead(b, dead);
	double gone = 0, made = 0;

	for (int i = 0; i < n; i++)
		gone += seconds_of(w, dead[i]);
	RULE_FOR_BUILT (op, b)
		made += seconds_of(w, op);
	return gone - made > little * gone ? gone - made : 0;
}

static void
apply(struct rewriter *w, struct rule_built *b, double gain)
{
	const struct rule_pattern *p = b->match->pattern;
	char text[NUMBER_TEXT];

	if (w->costs)
		pass_remark(w->run, b->match->at, PASS_APPLIED, "rule %s: saves %s", p->rule->name,
			number_seconds(text, gain));
	else
		pass_remark(w->run, b->match->at, PASS_APPLIED, "rule %s", p->rule->name);
	pass_count(w->run, "rule(s) applied", 1);
	rule_commit(b);
}

/* The op at which the walk continues after rule_commit. */
static struct ir_op *
next_op(const struct rewriter *w, const struct rule_built *b, struct ir_op *op)
{
	if (w->costs && b->after->prev != b->before)
		return b->before ? b->before->next : b->block->first;
	return rule_next_op(b, op);
}

/* The match at an op that saves most. */
static bool
best_match(struct rewriter *w, struct ir_op *op, struct rule_match *best, double *gain)
{
	struct rule_next next = {0};
	struct rule_match match;
	struct rule_built b;

	*gain = 0;
	while (rule_match_next(w->set->index, w->m, op, &next, &match)) {
		if (!rule_build(w->m, &match, &b))
			continue;
		/* Without costs, the order of the rules decides. */
		const double saved = w->costs ? gain_of(w, &b) : w->set->n - match.pattern->number;
		rule_undo(&b);
		if (saved <= *gain)
			continue;
		*gain = saved;
		rule_match_copy(best, &match);
	}
	return *gain > 0;
}

static bool
walk(struct rewriter *w, struct ir_block *block)
{
	struct rule_match best;
	struct rule_built b;
	bool changed = false;

	for (struct ir_op *op = block->first, *next; op; op = next) {
		double gain;
		next = op->next;
		if (!op->nresults || !best_match(w, op, &best, &gain) ||
			!rule_build(w->m, &best, &b))
			continue;
		next = next_op(w, &b, op);
		apply(w, &b, gain);
		changed = true;
	}
	return changed;
}

static const struct cost_model *
model_of(struct pass_run *run)
{
	const struct cost_options none = {0};

	return run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &none);
}

static bool
rewrite_greedily(struct rewriter *w, struct ir_block *main)
{
	const struct cost_model *model = model_of(w->run);

	w->costs = model ? parallel_costs_create(w->run->scratch, model, w->m, NULL) : NULL;
	if (!w->costs)
		return false;
	while (walk(w, main))
		;
	return true;
}

struct replays {
	struct trial_base base;
	uint64_t room; /* bytes; 0: unlimited */
	uint64_t live; /* bytes of the step before; known if there is a limit */
};

static double
replay_cost(void *data, struct ir_module *m)
{
	const struct replays *p = data;
	struct trial_result r;

	if (!trial_measure(&p->base, m, &r))
		return -1;
	return p->room && r.live > p->room && r.live > p->live ? -1 : r.seconds;
}

/* Costs of a step by the passes that follow. */
struct further {
	struct pass_run *run;
	const struct cost_model *model;
	const char *passes,
		*rest; /* passes for a quick trial; passes that follow in the pipeline */
	double room;   /* bytes; 0: unlimited. At least what the unchanged step needs */
	bool asked;
};

static double
step_cost(struct further *p, const char *passes, struct ir_module *m)
{
	struct cost_report r;

	if (!pass_try(p->run, m, passes) || !cost_evaluate(p->model, m, &r))
		return -1;
	if (!p->asked && p->room > 0)
		p->room = fmax(p->room, r.peak_bytes);
	p->asked = true;
	return p->room > 0 && r.peak_bytes > p->room ? -1 : r.iteration;
}

static double
further_cost(void *data, struct ir_module *m)
{
	struct further *p = data;

	return step_cost(p, p->passes, m);
}

static double
final_cost(void *data, struct ir_module *m)
{
	struct further *p = data;

	return step_cost(p, p->rest, m);
}

/* The passes that follow, with kernels fused in any case; "": none follow. */
static const char *
finishing(const struct pass_run *run)
{
	static const char fusion[] = "opfuse";
	const char *rest = pass_rest(run, fusion, NULL);

	return !*rest || strstr(rest, fusion) ? rest : TEXT(run->scratch, "%s,%s", rest, fusion);
}

static bool
rewrite_by_search(struct rewriter *w)
{
	struct pass_run *run = w->run;
	struct further f = {run, run->cost, pass_string(run, "before"), finishing(run),
		(double)pass_budget(run), false};
	struct replays p = {.room = pass_budget(run)};
	struct rule_search s = {run, w->set, replay_cost, &p,
		(uint64_t)pass_int(run, "evaluations"), pass_float(run, "alpha"), NULL};

	if (!run->cost)
		return rewrite_greedily(w, &ir_func_find(w->m, "main")->body);
	if (*f.passes) {
		s.cost = further_cost;
		s.data = &f;
		s.final = *f.rest && pass_bool(run, "confirm") ? final_cost : NULL;
	} else if (!trial_begin(&p.base, run, w->m)) {
		return false;
	} else {
		p.live = p.room ? trial_live_before(&p.base) : 0;
	}
	if (pass_evaluations(run) && !pass_given(run, "evaluations"))
		s.evaluations = pass_evaluations(run);
	/* Tried pipelines run parallelize on few meshes, many times. */
	struct parallel_memo *outer = run->manager->memo;
	run->manager->memo = outer ? outer : parallel_memo_create(run->scratch);
	rule_search_run(&s, w->m);
	run->manager->memo = outer;
	return true;
}

#define POLICIES(ROW) ROW(GREEDY, "greedy") ROW(ALL, "all") ROW(SEARCH, "search")
enum policy { POLICIES(CHOICE_CODE) };

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct rewriter w = {.run = run, .m = m, .set = rule_set_create(run)};
	struct ir_block *main = &ir_func_find(m, "main")->body;

	if (!w.set)
		return false;
	for (int i = 0; i < w.set->n; i++) {
		const struct rule_pattern *p = rule_index_pattern(w.set->index, i);
		if (p->why_not)
			pass_remark(run, NULL, PASS_MISSED, "rule %s matches nowhere: %s",
				p->rule->name, p->why_not);
	}
	switch ((enum policy)pass_enum(run, "policy")) {
	case GREEDY: return rewrite_greedily(&w, main);
	case SEARCH: return rewrite_by_search(&w);
	case ALL: walk(&w, main); break;
	}
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "greedy",
		"greedy: apply a rule where the new ops take less time than those they "
		"replace; all: once at every op where a rule matches; search: best-first "
		"search by replays of the step",
		CHOICE_LIST(POLICIES), 0, 0},
	RULE_SET_OPTIONS,
	{"evaluations", PASS_INT, "200", "search: limit on replays", NULL, 1, 1e9},
	{"before", PASS_STRING, "",
		"search: passes to run on the rewritten step before it is replayed", NULL, 0, 0},
	{"confirm", PASS_BOOL, "true",
		"with before: undo what is found if the step is not faster after the passes that follow in the pipeline",
		NULL, 0, 0},
	{"alpha", PASS_FLOAT, "1.05",
		"search: continue from steps that are at most this factor slower than the best",
		NULL, 1, 100},
	{0},
};

const struct pass pass_rewrite = {
	.name = "rewrite",
	.family = "prepare",
	.summary = "apply proven rules where they make the step faster",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.searches = "policy=search",
};
