/* Lists of passes, and what a pass must have to be in one. */
#include "passes/registry.h"

#include "ir/base/vec.h"
#include "passes/manager/options.h"

#include <ctype.h>
#include <string.h>
#include <talloc.h>

struct pass_registry {
	const struct pass **pass; /* talloc array */
	int n;
};

static void
registry_append(struct pass_registry *r, const struct pass *p)
{
	LIST_PUSH(r, r->pass, r->n, p);
}

struct pass_registry *
pass_registry_of(const void *owner, const struct pass *const *pass)
{
	struct pass_registry *r = NEW(owner, struct pass_registry);

	for (; *pass; pass++)
		registry_append(r, *pass);
	return r;
}

int
pass_registry_count(const struct pass_registry *r)
{
	return r->n;
}

const struct pass *
pass_registry_get(const struct pass_registry *r, int i)
{
	return r->pass[i];
}

const struct pass *
pass_registry_find(const struct pass_registry *r, const char *name)
{
	for (int i = 0; i < r->n; i++)
		if (!strcmp(r->pass[i]->name, name))
			return r->pass[i];
	return NULL;
}

const char *
pass_renamed(const char *name)
{
	static const char *const renamed[][2] = {
#define PASS(name)
#define RENAMED(old, new) {old, new},
#include "passes/passes.def"
#undef RENAMED
#undef PASS
	};

	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(renamed[i][0], name))
			return renamed[i][1];
	return NULL;
}

/* Letters, digits, `_` and `-`, a letter first: what the pipeline text can hold. */
static bool
is_word(const char *s)
{
	if (!s || !isalpha((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_' && *s != '-')
			return false;
	return true;
}

static bool
pass_is_sound(struct diag *d, const char *from, const struct pass *p)
{
	if (!is_word(p->name)) {
		diag_error(d, LOC_NONE, "%s: a pass has no name, or its name is not a word", from);
		return false;
	}
	if (!p->run || !p->family || !p->summary) {
		diag_error(d, LOC_NONE, "%s: pass '%s' lacks its run function, family or summary",
			from, p->name);
		return false;
	}
	for (const struct pass_option *o = p->options; o && o->name; o++) {
		char *why = is_word(o->name) ? pass_option_fault(d, o)
					     : text_copy(d, "its name is not a word");
		if (!why)
			continue;
		diag_error(
			d, LOC_NONE, "%s: pass '%s', option '%s': %s", from, p->name, o->name, why);
		talloc_free(why);
		return false;
	}
	return true;
}

bool
pass_registry_add(struct pass_registry *r, struct diag *d, const char *from, const struct pass *p)
{
	if (!pass_is_sound(d, from, p))
		return false;
	if (pass_registry_find(r, p->name)) {
		diag_error(d, LOC_NONE, "%s: a pass named '%s' already exists", from, p->name);
		return false;
	}
	registry_append(r, p);
	return true;
}
