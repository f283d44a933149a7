/* Help on passes: the list, a page of the manual, one topic. Operations: ops.c. */
#include "passes/tools/dopt/list.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"
#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "passes/manager/facts.h"

#include <string.h>
#include <talloc.h>

static const struct {
	const char *name, *about;
} families[] = {
	{"prepare", "Prepare: simplify the module"},
	{"train", "Train: from a model to a training step"},
	{"parallelize", "Parallelize: distribute the step over devices"},
	{"sharded", "Fully sharded: shard the params"},
	{"fusion", "Fusion: fewer kernels and collectives"},
	{"memory", "Memory: fit the step into device memory"},
	{"plan", "Plan: all decisions under one budget"},
	{"order", "Order: the order in which ops are issued"},
};

enum { NFAMILIES = sizeof families / sizeof *families };

/* The number of the pass's family; passes without a family come last. */
static int
family_of(const struct pass *p)
{
	int i = 0;

	while (i < NFAMILIES && strcmp(families[i].name, p->family))
		i++;
	return i;
}

static void
option_text(FILE *out, const struct pass_option *o)
{
	char *type = pass_option_type_text(NULL, o), *left;

	if (!o->fallback)
		left = TEXT(type, "%s=%s", o->name, type);
	else
		left = TEXT(type, "%s=%s", o->name, *o->fallback ? o->fallback : type);
	fprintf(out, "    %-*s %s%s\n", OPTION_COLUMN, left, o->help,
		o->fallback ? "" : " (required)");
	talloc_free(type);
}

static void
facts_text(FILE *out, const char *label, const char *facts)
{
	if (facts && *facts)
		fprintf(out, "    %s: %s\n", label, facts);
}

static void
pass_text(FILE *out, const struct pass *p)
{
	fprintf(out, "  %-*s %s\n", NAME_COLUMN, p->name, p->summary);
	for (const struct pass_option *o = p->options; o && o->name; o++)
		option_text(out, o);
	facts_text(out, "needs", p->needs);
	facts_text(out, "provides", p->provides);
	facts_text(out, "conflicts", p->conflicts);
	facts_text(out, "results", p->keeps_bits ? "bitwise identical in the interpreter" : NULL);
}

void
driver_md_cell(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '|')
			fputc('\\', out);
		fputc(*s, out);
	}
}

void
driver_md_code(FILE *out, const char *s)
{
	if (!*s)
		return;
	fputc('`', out);
	driver_md_cell(out, s);
	fputc('`', out);
}

static void
md_options(FILE *out, const struct pass_option *o)
{
	if (!o || !o->name)
		return;
	fputs("\n| option | type | default | |\n| --- | --- | --- | --- |\n", out);
	for (; o->name; o++) {
		char *type = pass_option_type_text(NULL, o);
		fprintf(out, "| `%s` | ", o->name);
		driver_md_cell(out, type);
		fputs(" | ", out);
		if (o->fallback)
			driver_md_code(out, o->fallback);
		else
			fputs("required", out);
		fputs(" | ", out);
		driver_md_cell(out, o->help);
		fputs(" |\n", out);
		talloc_free(type);
	}
}

static void
md_facts(FILE *out, const char *label, const char *facts)
{
	const char *word, *at = facts;
	size_t n;
	bool first = true;

	while (pass_fact_next(&at, &word, &n)) {
		fprintf(out, "%s`%.*s`", first ? label : ", ", (int)n, word);
		first = false;
	}
	if (!first)
		fputs(".\n", out);
}

static void
pass_md(FILE *out, const struct pass *p)
{
	fprintf(out, "\n### %s\n\n%s.\n", p->name, p->summary);
	md_options(out, p->options);
	fputc('\n', out);
	md_facts(out, "Needs ", p->needs);
	md_facts(out, "Provides ", p->provides);
	md_facts(out, "Conflicts with ", p->conflicts);
	if (p->keeps_bits)
		fputs("Results are bitwise identical in the interpreter.\n", out);
}

static void
facts_md(FILE *out)
{
	fputs("\n"
	      "## Facts\n\n"
	      "A pass needs facts, provides facts and conflicts with facts. Facts are also "
	      "derived from the module that a\n"
	      "pipeline starts with. If a pass needs a fact that does not hold and that "
	      "has a provider, the provider is\n"
	      "inserted before the pass.\n\n"
	      "| fact | holds when | inserted provider |\n"
	      "| --- | --- | --- |\n",
		out);
	for (const struct pass_fact *f = pass_facts; f->name; f++)
		fprintf(out, "| `%s` | %s | %s |\n", f->name, f->summary,
			f->provider ? f->provider : "");
}

void
driver_list_passes(FILE *out, const struct pass_registry *r, bool markdown)
{
	if (markdown)
		fputs("# Passes\n\n"
		      "This page is written by `dopt -list-passes=md`. The results of a pass "
		      "are bitwise identical in the interpreter if it\n"
		      "changes no bit of what the module computes there, as `dopt -check` "
		      "verifies. Other passes may round differently;\n"
		      "`dopt -check` allows for it. Programs may differ in the last bits in both "
		      "cases: a fused kernel sums in another\n"
		      "order ([Long sums](language.md#long-sums)).\n",
			out);
	for (int family = 0; family <= NFAMILIES; family++) {
		const char *about = family < NFAMILIES ? families[family].about : "Others";
		bool first = true;
		for (int i = 0; i < pass_registry_count(r); i++) {
			const struct pass *p = pass_registry_get(r, i);
			if (family_of(p) != family)
				continue;
			if (first)
				fprintf(out, markdown ? "\n## %s\n" : "%s:\n", about);
			first = false;
			if (markdown)
				pass_md(out, p);
			else
				fprintf(out, "  %-*s %s\n", NAME_COLUMN, p->name, p->summary);
		}
	}
	if (markdown)
		facts_md(out);
	else
		fputs("\ndopt -help PASS lists the options of a pass.\n", out);
}

bool
driver_list_clusters(FILE *out, struct ir_context *ctx, const struct driver_options *o)
{
	const char *name = o->list_clusters;
	struct parse_options reads;

	if (!driver_read_options(ctx, o, &reads))
		return false;
	if (!*name && o->define.n) {
		driver_error("option -D: -list-clusters without a name prints no cluster");
		return false;
	}
	if (!*name) {
		cluster_list(out);
		return true;
	}
	const struct cluster *c = cluster_open_with(ctx, ctx, name, &reads);
	for (int i = 0; c && i < o->define.n; i++)
		if (!reads.used[i]) {
			driver_error("option -D: cluster '%s' has no let '%s'", name,
				reads.define[i].name);
			return false;
		}
	if (c)
		cluster_print(out, c);
	return c != NULL;
}

/* Prints the prelude function of that name, or adds the existing names to `near`. */
static bool
help_prelude(FILE *out, const void *scratch, const char *topic, struct suggestion *near)
{
	struct parse_prelude f = {0};

	while (parse_prelude_next(scratch, &f)) {
		if (!strcmp(f.name, topic)) {
			fprintf(out, "%s%s\n", f.comment, f.header);
			return true;
		}
		suggestion_add(near, f.name);
	}
	return false;
}

bool
driver_help_topic(FILE *out, const struct pass_registry *r, const char *topic)
{
	const char *now = pass_renamed(topic);
	const struct pass *p = pass_registry_find(r, now ? now : topic);
	int code = op_find(topic);
	struct suggestion near = suggestion_for(topic);

	if (p)
		pass_text(out, p);
	if (code >= 0)
		driver_help_op(out, code);
	void *scratch = alloc_scratch(NULL);
	const bool function = help_prelude(out, scratch, topic, &near);
	const bool found = p || code >= 0 || function;
	for (int i = 0; i < pass_registry_count(r); i++)
		suggestion_add(&near, pass_registry_get(r, i)->name);
	for (int i = 0; i < OP_NCODES; i++)
		suggestion_add(&near, op_name((enum op_code)i));
	if (!found)
		driver_error("'%s' is not a pass, an op or a function of the prelude%s", topic,
			suggestion_text(scratch, &near));
	talloc_free(scratch);
	return found;
}
