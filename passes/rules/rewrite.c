/*
 * rewrite: applies rules wherever they match and pay. A rule pays where the ops that it makes take
 * less time than those that nobody needs afterwards, each by itself as the cost model has it on its
 * layout; of several rules at one op the one that saves most is applied. So every application makes
 * the sum over all ops smaller, and the walk over the step, repeated until nothing changes, ends.
 *
 * Right because rules are proven for all sizes, and because what a rule makes has the types of what
 * it replaces, layouts included. O(ops) a walk: an op is matched with the rules of its key.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/parallel/parallelize.h"
#include "passes/rules/set.h"

struct rewriter {
	struct pass_run *run;
	struct ir_module *m;
	const struct rule_set *set;
	struct parallel_costs *costs; /* NULL: every rule pays */
};

/* A sum of two times is not exact: what saves less than this share of it saves nothing. */
static const double little = 1e-9;

static double
seconds_of(struct rewriter *w, const struct ir_op *op)
{
	return parallel_costs_op(w->costs, parallel_costs_probe(w->costs, op));
}

/* What is saved; 0: nothing. */
static double
gain_of(struct rewriter *w, const struct rule_built *b)
{
	struct ir_op *dead[RULE_MAX_VALUES];
	const int n = rule_dead(b, dead);
	double gone = 0, made = 0;

	for (int i = 0; i < n; i++)
		gone += seconds_of(w, dead[i]);
	RULE_FOR_BUILT(op, b)
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

/* The op to go on with once what was built is in use. */
static struct ir_op *
next_op(const struct rewriter *w, const struct rule_built *b, struct ir_op *op)
{
	struct ir_op *dead[RULE_MAX_VALUES], *next = op->next;
	const int n = rule_dead(b, dead);

	if (w->costs && b->after->prev != b->before)
		return b->before ? b->before->next : b->block->first;
	for (int i = 0; i < n; i++)
		if (dead[i] == next) {
			next = next->next;
			i = -1;
		}
	return next;
}

/* The match that saves most at an op. */
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
		/* Without costs the rules go by their order. */
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

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct rewriter w = {.run = run, .m = m, .set = rule_set_create(run)};
	struct ir_block *main = &ir_func_find(m, "main")->body;
	const struct cost_options none = {0};

	if (!w.set)
		return false;
	for (int i = 0; i < w.set->n; i++) {
		const struct rule_pattern *p = rule_index_pattern(w.set->index, i);
		if (p->why_not)
			pass_remark(run, NULL, PASS_MISSED, "rule %s matches nowhere: %s",
				p->rule->name, p->why_not);
	}
	if (pass_bool(run, "all")) {
		walk(&w, main);
		return true;
	}
	const struct cost_model *model =
		run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &none);
	w.costs = parallel_costs_create(run->scratch, model, m);
	if (!w.costs)
		return false;
	while (walk(&w, main))
		;
	return true;
}

static const struct pass_option options[] = {
	RULE_SET_OPTIONS,
	{"all", PASS_BOOL, "false",
		"apply a rule at every op where one matches, once, in the order of the step", NULL,
		0, 0},
	{0},
};

const struct pass pass_rewrite = {
	.name = "rewrite",
	.family = "prepare",
	.summary = "apply proven rules where they make ops take less time",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
};
