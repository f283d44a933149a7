/*
 * Terms, candidates, proofs: generate.h. Writes the proven rules, with the larger side on the left,
 * without those that are instances of others. A term such as split(matmul(x, concat(a, b))), both
 * parts of which are equal to other terms, gives a rule of two results that merges them: the parts
 * are its left side.
 */
#include "passes/rules/generate/generate.h"

#include "ir/base/clock.h"
#include "ir/base/number.h"
#include "parser/dir/parse.h"
#include "passes/rules/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* The run without the terms being compared. */
static void
count_reason(struct gen *g, const char *why)
{
	char *reason = talloc_strndup(g, why, strcspn(why, ":"));

	for (int64_t i = 0; i < g->reason.n; i++)
		if (!strcmp(g->reason.at[i].why, reason)) {
			g->reason.at[i].n++;
			return;
		}
	VEC_PUSH(g, &g->reason, (struct gen_reason){reason, 1});
}

/* Proves a rule; NULL: it is not proven. */
static struct ir_rules *
prove(struct gen *g, const struct gen_sides *s)
{
	const double before = clock_seconds();
	char *text = NULL, *name;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	struct rule_proof proof;

	name = TEXT(NULL, "%s_%" PRId64, g->op.at[g->term.at[s->result[RULE_LEFT][0]].op].row->name,
		g->rule.n + 1);
	gen_write(g, out, name, s);
	fclose(out);
	talloc_free(name);
	struct ir_rules *rules = parse_rules(g, g->ctx, "generated", text, n);
	free(text);
	if (!rules)
		return NULL;
	void *scratch = alloc_scratch(NULL);
	rule_verify(scratch, g->prover, rules, rules->first, &proof);
	g->outcome[proof.verdict == RULE_PROVEN    ? GEN_PROVEN
		   : proof.verdict == RULE_REFUTED ? GEN_REFUTED
						   : GEN_UNKNOWN]++;
	g->verifying += clock_seconds() - before;
	if (proof.verdict != RULE_PROVEN && proof.verdict != RULE_REFUTED)
		count_reason(g, proof.why);
	talloc_free(scratch);
	if (proof.verdict == RULE_PROVEN)
		return rules;
	talloc_free(rules);
	return NULL;
}

static void
add_rule(struct gen *g, const struct gen_rule *r)
{
	const int family = g->op.at[g->term.at[r->side[RULE_LEFT]].op].family;

	if (r->pair < 0)
		VEC_PUSH(g, &g->by_family[family], (int32_t)g->rule.n);
	VEC_PUSH(g, &g->rule, *r);
}

void
gen_candidate(struct gen *g, int32_t term)
{
	struct gen_term *t = &g->term.at[term];

	const struct gen_rule *by = gen_derive(g, term);
	if (by) {
		t->derived = by->text != NULL;
		g->outcome[by->text ? GEN_INSTANCE : GEN_AGAIN]++;
		return;
	}
	if (g->term.at[t->rep].inputs & ~t->inputs) {
		g->outcome[GEN_FREE]++;
		return;
	}
	const struct gen_sides s = {{{term}, {t->rep}}, 1};
	struct gen_rule r = {.side = {term, t->rep}, .pair = -1};
	r.text = prove(g, &s);
	t->derived = r.text != NULL;
	add_rule(g, &r);
}

/* --- rules of two results ------------------------------------------------------------------------
 */

/* Is the term an instance of one whose parts another rule merges? */
static bool
is_joined(const struct gen *g, int32_t term, int32_t slice)
{
	for (int64_t i = 0; i < g->rule.n; i++) {
		const struct gen_rule *r = &g->rule.at[i];
		if (r->pair >= 0 && !r->dropped && g->term.at[r->pair].op == slice &&
			g->term.at[r->pair].arg[0] != term &&
			gen_matches(g, g->term.at[r->pair].arg[0], term))
			return true;
	}
	return false;
}

/* Both parts of a term, if each is known to be equal to another term. */
static void
join(struct gen *g, int32_t term, int32_t op)
{
	const int32_t first = gen_term_find(g, op, term, -1);
	struct gen_op other = g->op.at[op];
	int32_t second = -1;

	other.part = 1;
	for (int32_t i = op; i < g->op.n && second < 0; i++)
		if (g->op.at[i].row == other.row && g->op.at[i].dim == other.dim &&
			g->op.at[i].part && g->op.at[i].cut == other.cut)
			second = gen_term_find(g, i, term, -1);
	if (first < 0 || second < 0 || is_joined(g, term, op))
		return;
	const int32_t left[2] = {g->term.at[first].rep, g->term.at[second].rep};
	if (left[0] == left[1])
		return; /* there is nothing to merge */
	for (int i = 0; i < 2; i++)
		if (g->term.at[left[i]].op < 0 || left[i] == (i ? second : first) ||
			g->op.at[g->term.at[left[i]].op].row == other.row)
			return;
	if (g->term.at[term].inputs & ~(g->term.at[left[0]].inputs | g->term.at[left[1]].inputs))
		return;
	const struct gen_sides s = {{{left[0], left[1]}, {first, second}}, 2};
	struct gen_rule r = {.side = {left[0], first}, .pair = first};
	r.text = prove(g, &s);
	if (r.text)
		add_rule(g, &r);
}

static void
join_all(struct gen *g)
{
	for (int32_t op = 0; op < g->op.n; op++)
		for (int size = 1; g->op.at[op].row->kind == GEN_SLICE && !g->op.at[op].part &&
				   size < g->max_size;
			size++)
			for (int64_t i = 0; i < g->level[size].n; i++)
				join(g, g->level[size].at[i], op);
	for (int64_t i = 0; i < g->rule.n; i++) {
		struct gen_rule *r = &g->rule.at[i];
		r->dropped = r->pair >= 0 &&
			     is_joined(g, g->term.at[r->pair].arg[0], g->term.at[r->pair].op);
	}
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static void
remark(struct gen *g, double seconds)
{
	const int64_t *n = g->outcome, decided = n[GEN_PROVEN] + n[GEN_REFUTED] + n[GEN_UNKNOWN];
	struct diag *d = g->ctx->diag;

	diag_report(d, DIAG_REMARK, LOC_NONE,
		"%" PRId64 " terms, %" PRId64
		" classes in %.2f s: %.0f terms a second without proofs",
		g->terms, g->rep.n, seconds, (double)g->terms / (seconds - g->verifying));
	diag_report(d, DIAG_REMARK, LOC_NONE,
		"%" PRId64 " equal terms follow from rules, %" PRId64
		" have inputs on the right side alone",
		n[GEN_INSTANCE], n[GEN_FREE]);
	diag_report(d, DIAG_REMARK, LOC_NONE,
		"%" PRId64 " candidates in %.2f s: %" PRId64 " proven, %" PRId64
		" refuted, %" PRId64 " unknown",
		decided, g->verifying, n[GEN_PROVEN], n[GEN_REFUTED], n[GEN_UNKNOWN]);
	for (int64_t i = 0; i < g->reason.n; i++)
		diag_report(d, DIAG_REMARK, LOC_NONE, "%" PRId64 " unknown: %s", g->reason.at[i].n,
			g->reason.at[i].why);
}

/* Numbers in range? */
static const char *
check_options(const void *owner, const struct gen_options *o)
{
	if (o->size < 1 || o->size > GEN_MAX_SIZE)
		return TEXT(owner, "-size is 1 to %d", GEN_MAX_SIZE);
	if (o->inputs < 1 || o->inputs > GEN_MAX_INPUTS)
		return TEXT(owner, "-inputs is 1 to %d", GEN_MAX_INPUTS);
	if (o->axes < 1 || o->axes > GEN_MAX_AXES)
		return TEXT(owner, "-axes is 1 to %d", GEN_MAX_AXES);
	return NULL;
}

const char *
rules_generate(const void *owner, struct ir_context *ctx, const struct gen_options *o, FILE *out)
{
	const double before = clock_seconds();
	struct gen *g = NEW(owner, struct gen);
	int64_t written = 0;

	g->ctx = ctx;
	g->prover = rule_prover_create(g);
	g->o = o;
	g->max_size = (int)o->size;
	const char *fault = check_options(g, o);
	if (!fault)
		fault = gen_ops_read(g);
	if (fault)
		return fault;
	gen_inputs(g);
	for (int32_t i = 0; i < g->term.n; i++)
		VEC_PUSH(g, &g->level[0], i);
	for (int size = 1; size <= g->max_size; size++)
		gen_enumerate(g, size);
	join_all(g);
	gen_drop_instances(g);
	for (int64_t i = 0; i < g->rule.n; i++) {
		const struct gen_rule *r = &g->rule.at[i];
		if (r->dropped || !r->text)
			continue;
		fputs(written++ ? "\n" : "", out);
		ir_print_rule(out, r->text->m, r->text->first);
	}
	remark(g, clock_seconds() - before);
	diag_report(ctx->diag, DIAG_REMARK, LOC_NONE,
		"%" PRId64 " rule%s written, %" PRId64 " instances of others left out", written,
		number_plural(written), g->rule.n - written);
	talloc_free(g);
	return NULL;
}
