/* Checks needs and conflicts, from the facts of the module through those provided by every pass. */
#include "passes/manager/pipeline_impl.h"

#include "ir/base/vec.h"
#include "passes/manager/facts.h"
#include "passes/manager/options.h"

#include <string.h>
#include <talloc.h>

/* A fact that holds at a point of the pipeline, and where it was established. */
struct held {
	const char *name;
	size_t length;
	int since; /* entry that provides it; -1: the module had it */
};

struct facts {
	struct held *held; /* talloc array */
	int n;
};

static int
facts_find(const struct facts *f, const char *name, size_t length)
{
	for (int i = 0; i < f->n; i++)
		if (f->held[i].length == length && !memcmp(f->held[i].name, name, length))
			return i;
	return -1;
}

static void
facts_add(struct facts *f, const char *name, size_t length, int since)
{
	if (facts_find(f, name, length) >= 0)
		return;
	LIST_PUSH(f, f->held, f->n, (struct held){name, length, since});
}

static struct facts *
facts_of_module(const void *owner, const struct ir_module *m)
{
	struct facts *f = NEW(owner, struct facts);
	const unsigned shown = pass_facts_shown(m);

	for (const struct pass_fact *fact = pass_facts; fact->name; fact++)
		if (pass_fact_holds(fact, shown))
			facts_add(f, fact->name, strlen(fact->name), -1);
	return f;
}

/* Has the option whose name is the first n bytes, a PASS_BOOL or PASS_ENUM, this value? */
static bool
option_is(const struct pass_entry *e, const char *name, size_t n, const char *value)
{
	const struct pass_option *o = e->pass->options;
	struct pass_value v = {0};

	for (int i = 0; o && o[i].name; i++)
		if (strlen(o[i].name) == n && !memcmp(o[i].name, name, n))
			return !pass_value_parse(NULL, &o[i], value, &v) && e->value[i].i == v.i;
	return false;
}

bool
pass_entry_undoes(const struct pass_entry *e)
{
	const char *option = e->pass->undo;

	return option && option_is(e, option, strlen(option), "true");
}

bool
pass_entry_searches(const struct pass_entry *e)
{
	const char *how = e->pass->searches, *equals = how ? strchr(how, '=') : NULL;

	return how && !pass_entry_undoes(e) &&
	       (!equals || option_is(e, how, (size_t)(equals - how), equals + 1));
}

/* The facts after entry `i`: `!fact` removes one. */
static void
facts_after(struct facts *f, const struct pass_pipeline *p, int i)
{
	const char *at = p->entry[i].pass->provides, *word;
	const bool undoes = pass_entry_undoes(&p->entry[i]);
	size_t length;

	while (pass_fact_next(&at, &word, &length)) {
		const bool negated = *word == '!';
		if (negated == undoes) {
			facts_add(f, word + negated, length - negated, i);
			continue;
		}
		int k = facts_find(f, word + negated, length - negated);
		if (k >= 0)
			f->held[k] = f->held[--f->n];
	}
}

/* "; put 'sgd' or 'adam' before it", from the passes that provide the fact. */
static char *
advice(const void *owner, const struct pass_registry *r, const char *fact, size_t length)
{
	char *text = text_copy(owner, "");

	for (int i = 0; i < pass_registry_count(r); i++) {
		const struct pass *p = pass_registry_get(r, i);
		if (pass_fact_listed(p->provides, fact, length))
			text = text_append(text, *text ? " or '%s'" : "; run '%s'", p->name);
	}
	if (text && *text)
		text = text_append(text, " before it");
	return text;
}

/*
 * The pass that can be inserted before entry i to provide the fact: all its own needs hold.
 */
static const struct pass *
provider_of(const struct pass_manager *manager, const struct facts *held, const char *fact,
	size_t length)
{
	const struct pass_fact *row = pass_fact_find(fact, length);
	const struct pass *p =
		row && row->provider ? pass_registry_find(manager->registry, row->provider) : NULL;
	const char *word, *at = p ? p->needs : NULL;
	size_t n;

	while (pass_fact_next(&at, &word, &n))
		if (facts_find(held, word, n) < 0)
			return NULL;
	at = p ? p->conflicts : NULL;
	while (pass_fact_next(&at, &word, &n))
		if (facts_find(held, word, n) >= 0)
			return NULL;
	return p;
}

struct checker {
	struct pass_pipeline *p;
	struct pass_manager *manager;
	struct facts *held;
};

/* Inserts the provider of a missing fact before entry i. False if there is none. */
static bool
put_provider(struct checker *c, int i, const char *fact, size_t length, struct ir_loc loc)
{
	const struct pass *provider = provider_of(c->manager, c->held, fact, length);

	if (!provider)
		return false;
	struct pass_entry e = pass_entry_default(c->p, provider, loc);
	e.automatic = true;
	pass_pipeline_insert(c->p, i, &e);
	facts_after(c->held, c->p, i);
	return true;
}

/* The needs of entry *i; *i moves if a provider is inserted before it. */
static bool
check_needs(struct checker *c, int *i)
{
	const struct pass *pass = c->p->entry[*i].pass;
	const char *at = pass->needs, *word;
	size_t length;
	bool ok = true;

	while (pass_fact_next(&at, &word, &length)) {
		if (facts_find(c->held, word, length) >= 0)
			continue;
		struct ir_loc loc = c->p->entry[*i].loc;
		if (put_provider(c, *i, word, length, loc)) {
			++*i;
			continue;
		}
		char *text = advice(c->p, c->manager->registry, word, length);
		diag_error(c->manager->ctx->diag, loc,
			"pass '%s' needs '%.*s', which neither the module "
			"nor an earlier pass provides%s",
			pass->name, (int)length, word, text);
		talloc_free(text);
		ok = false;
	}
	return ok;
}

/* What to do about a pass that conflicts with the fact of an earlier one. */
static char *
conflict_advice(const void *owner, const struct pass *p, const struct pass *earlier,
	const char *fact, size_t length)
{
	if (p == earlier)
		return TEXT(owner, "run it once");
	if (pass_fact_listed(p->provides, fact, length))
		return TEXT(owner, "run one of them");
	return TEXT(owner, "run '%s' before '%s'", p->name, earlier->name);
}

void
pass_entry_conflicts(const struct pass_entry *e, struct diag *diag, const char *fact, size_t length)
{
	diag_error(diag, e->loc, "pass '%s' conflicts with '%.*s', which the module has",
		e->pass->name, (int)length, fact);
}

static bool
check_conflicts(struct checker *c, int i)
{
	const struct pass_entry *e = &c->p->entry[i];
	const char *at = pass_entry_undoes(e) ? NULL : e->pass->conflicts, *word;
	size_t length;
	bool ok = true;

	while (pass_fact_next(&at, &word, &length)) {
		int k = facts_find(c->held, word, length);
		if (k < 0)
			continue;
		int since = c->held->held[k].since;
		ok = false;
		if (since < 0) {
			pass_entry_conflicts(e, c->manager->ctx->diag, word, length);
			continue;
		}
		const struct pass *earlier = c->p->entry[since].pass;
		char *text = conflict_advice(c->p, e->pass, earlier, word, length);
		diag_error(c->manager->ctx->diag, e->loc,
			"pass '%s' conflicts with '%.*s', which the earlier pass '%s' provides; %s",
			e->pass->name, (int)length, word, earlier->name, text);
		diag_note(c->manager->ctx->diag, c->p->entry[since].loc, "'%s' is here",
			earlier->name);
		talloc_free(text);
	}
	return ok;
}

bool
pass_pipeline_check(
	struct pass_pipeline *p, struct pass_manager *manager, const struct ir_module *m)
{
	if (!p->n)
		return true; /* avoids the walks over the module */
	struct checker c = {p, manager, facts_of_module(p, m)};
	bool ok = true;

	for (int i = 0; i < p->n; i++) {
		/* A fact removed by one of two excluding passes is not also reported as missing. */
		ok &= check_conflicts(&c, i) && check_needs(&c, &i);
		/* Axes made by an earlier pass are looked up when the pass runs. */
		if (facts_find(c.held, "axes", strlen("axes")) < 0)
			ok &= pass_values_resolve(p->entry[i].pass, p->entry[i].value, m);
		facts_after(c.held, p, i);
	}
	talloc_free(c.held);
	return ok;
}

bool
pass_pipeline_require(struct pass_pipeline *p, struct pass_manager *manager,
	const struct ir_module *m, const char *fact)
{
	struct checker c = {p, manager, facts_of_module(p, m)};
	bool ok = true;

	for (int i = 0; i < p->n; i++)
		facts_after(c.held, p, i);
	if (facts_find(c.held, fact, strlen(fact)) < 0)
		ok = put_provider(&c, p->n, fact, strlen(fact), LOC_NONE);
	talloc_free(c.held);
	return ok;
}
