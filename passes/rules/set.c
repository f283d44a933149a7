/* Rules to be applied by a pass: see set.h. The text of the shipped rules is part of the
 * library. */
#include "passes/rules/set.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"
#include "parser/dir/parse.h"
#include "passes/analysis/profile/text.h"
#include "passes/rules/verify.h"

#include <errno.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

extern const char dopt_rules[], dopt_canonical_rules[];

static bool
is_shipped(const char *path)
{
	return !*path || strcmp(path, "shipped") == 0;
}

static struct ir_rules *
read_rules(struct pass_run *run)
{
	const char *path = pass_string(run, "rules");
	char *text;

	if (is_shipped(path))
		return parse_rules(
			run->scratch, run->ctx, "shipped.rules", dopt_rules, strlen(dopt_rules));
	if (access(path, R_OK) != 0) {
		diag_error(run->ctx->diag, pass_option_loc(run, "rules"), "cannot read %s: %s",
			path, strerror(errno));
		return NULL;
	}
	return profile_text_read_file(run->scratch, run->ctx->diag, path, &text)
		       ? parse_rules(run->scratch, run->ctx, path, text, strlen(text))
		       : NULL;
}

/* Is it the name of the rule, or of the text whose words it has, which ends at a dot? */
static bool
is_name_of(const char *word, size_t n, const char *name)
{
	return strncmp(word, name, n) == 0 && (!name[n] || name[n] == '.');
}

/* Is the rule in a list of names, separated by commas? An empty list has all rules. */
static bool
is_named(const char *list, const char *name)
{
	for (const char *at = list; *at;) {
		at += strspn(at, ", ");
		const size_t length = strcspn(at, ", ");
		if (length && is_name_of(at, length, name))
			return true;
		at += length;
	}
	return !*list;
}

/* Checks that every name of the list is that of a rule. */
static bool
check_names(struct pass_run *run, const struct ir_rules *rules, const char *list)
{
	for (const char *at = list; *at;) {
		at += strspn(at, ", ");
		const char *name = text_copy_n(run->scratch, at, strcspn(at, ", "));
		struct suggestion near = suggestion_for(name);
		bool found = !*name;
		IR_FOR_RULES (r, rules) {
			found = found || is_name_of(name, strlen(name), r->name);
			suggestion_add(&near, r->name);
		}
		if (!found) {
			diag_error(run->ctx->diag, pass_option_loc(run, "only"),
				"there is no rule '%s'%s", name,
				suggestion_text(run->scratch, &near));
			return false;
		}
		at += strlen(name);
	}
	return true;
}

/* Proves the rule, unless it should be trusted or is a shipped rule. Shipped rules are proven by
 * the tests, with the stated assumptions and no further conditions. False: reported. p->rule is NULL where
 * one of all ops that a letter stands for applies nowhere. */
static bool
prove(struct pass_run *run, struct rule_prover *prover, const struct ir_rules *rules,
	const struct ir_rule *r, struct rule_pattern *p)
{
	struct rule_proof proof = {.verdict = RULE_PROVEN};

	*p = (struct rule_pattern){.rule = r};
	if (pass_bool(run, "trust"))
		return true;
	if (is_shipped(pass_string(run, "rules"))) {
		p->assumes = r->assumes;
		return true;
	}
	rule_verify(run->scratch, prover, rules, r, &proof);
	p->where = proof.where;
	p->nwhere = proof.nwhere;
	p->assumes = proof.assumes;
	if (proof.verdict == RULE_PROVEN)
		return true;
	if (proof.verdict == RULE_UNUSABLE && r->any_op) {
		p->rule = NULL; /* not all ops have a type here */
		return true;
	}
	diag_error(run->ctx->diag, r->loc, "rule @%s %s: %s", r->name,
		proof.verdict == RULE_REFUTED    ? "does not hold"
		: proof.verdict == RULE_UNUSABLE ? "applies nowhere"
						 : "is not proven",
		proof.why);
	return false;
}

struct rule_set *
rule_set_create(struct pass_run *run)
{
	const char *only = pass_string(run, "only");
	struct rule_set *s = NEW(run->scratch, struct rule_set);
	const bool all = is_shipped(pass_string(run, "rules")) && !*only;
	bool proven = true;
	int left_out = 0;

	s->rules = read_rules(run);
	if (!s->rules || !check_names(run, s->rules, only))
		return NULL;
	struct rule_pattern *p = NEW_ARRAY(s, struct rule_pattern, s->rules->n);
	struct rule_prover *prover = rule_prover_create(run->scratch);
	IR_FOR_RULES (r, s->rules) {
		if (!is_named(only, r->name))
			continue;
		proven = prove(run, prover, s->rules, r, &p[s->n]) && proven;
		if (!p[s->n].rule)
			continue;
		if (!p[s->n].assumes || pass_bool(run, "assume"))
			s->n++;
		else if (all)
			left_out++;
		else
			pass_remark(run, NULL, PASS_MISSED, "rule %s is left out: %s", r->name,
				"its proof assumes more of elements than their type says");
	}
	if (left_out)
		pass_remark(run, NULL, PASS_MISSED,
			"%d shipped rules are left out: their proofs assume more of elements than their type says",
			left_out);
	s->index = rule_index_create(s, p, s->n);
	return proven ? s : NULL;
}

const struct rule_index *
rule_set_canonical(struct ir_context *ctx)
{
	if (!ctx->canonical) {
		const struct ir_rules *rules = parse_rules(ctx, ctx, "canonical.rules",
			dopt_canonical_rules, strlen(dopt_canonical_rules));
		struct rule_pattern *p = NEW_ARRAY(ctx, struct rule_pattern, rules->n);
		int n = 0;
		IR_FOR_RULES (r, rules)
			p[n++] = (struct rule_pattern){.rule = r};
		ctx->canonical = rule_index_create(ctx, p, n);
		talloc_free(p);
	}
	return ctx->canonical;
}
