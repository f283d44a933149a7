/*
 * -list-facts: the facts that passes need, provide and conflict with.
 *
 *     no-calls           @main has no calls
 *         provided by:     inline, plan (inline is added automatically where a pass needs the fact)
 *         needed by:       amp, grad ...
 */
#include "passes/tools/dopt/list.h"

#include "ir/base/alloc.h"
#include "passes/manager/facts.h"

#include <string.h>
#include <talloc.h>

enum { LABEL_COLUMN = 16 };

/* The lists of facts of a pass. */
enum role { PROVIDES, NEEDS, CONFLICTS };

static const char *
facts_of(const struct pass *p, enum role role)
{
	return role == PROVIDES ? p->provides : role == NEEDS ? p->needs : p->conflicts;
}

/* "    needed by:     cse, dce" and `tail`; nothing if there is no such pass. */
static void
passes_with(FILE *out, const struct pass_registry *r, enum role role, const char *label,
	const char *name, size_t length, const char *tail)
{
	bool first = true;

	for (int i = 0; i < pass_registry_count(r); i++) {
		const struct pass *p = pass_registry_get(r, i);
		if (!pass_fact_listed(facts_of(p, role), name, length))
			continue;
		if (first)
			fprintf(out, "    %-*s %s", LABEL_COLUMN, label, p->name);
		else
			fprintf(out, ", %s", p->name);
		first = false;
	}
	if (!first)
		fprintf(out, "%s\n", tail);
}

static void
fact_text(FILE *out, const struct pass_registry *r, const char *name, size_t length)
{
	const struct pass_fact *f = pass_fact_find(name, length);
	char *tail =
		f && f->provider
			? TEXT(NULL, " (%s is added automatically where a pass needs the fact)",
				  f->provider)
			: NULL;

	fprintf(out, "%-*.*s %s\n", NAME_COLUMN + 2, (int)length, name,
		f ? f->summary : "set by passes only; it is not read off a module");
	passes_with(out, r, PROVIDES, "provided by:", name, length, tail ? tail : "");
	passes_with(out, r, NEEDS, "needed by:", name, length, "");
	passes_with(out, r, CONFLICTS, "conflicts with:", name, length, "");
	talloc_free(tail);
}

/* Has a pass before number `pass`, or that pass in an earlier list, named the fact? */
static bool
seen(const struct pass_registry *r, int pass, enum role role, const char *name, size_t length)
{
	for (int i = 0; i <= pass; i++)
		for (enum role k = PROVIDES; k < (i < pass ? CONFLICTS + 1 : role); k++)
			if (pass_fact_listed(facts_of(pass_registry_get(r, i), k), name, length))
				return true;
	return false;
}

/* Facts of a pass that cannot be read off a module and were not listed yet; "!fact" ends one. */
static void
facts_of_pass(FILE *out, const struct pass_registry *r, int pass)
{
	const char *word;
	size_t n;

	for (enum role k = PROVIDES; k <= CONFLICTS; k++) {
		const char *facts = facts_of(pass_registry_get(r, pass), k);
		while (pass_fact_next(&facts, &word, &n))
			if (*word != '!' && !pass_fact_find(word, n) && !seen(r, pass, k, word, n))
				fact_text(out, r, word, n);
	}
}

void
driver_list_facts(FILE *out, const struct pass_registry *r)
{
	for (const struct pass_fact *f = pass_facts; f->name; f++)
		fact_text(out, r, f->name, strlen(f->name));
	for (int i = 0; i < pass_registry_count(r); i++)
		facts_of_pass(out, r, i);
}
