/* Facts that passes need, provide and conflict with; and those that can be read off a module. */
#ifndef PASSES_FACTS_H
#define PASSES_FACTS_H

#include "passes/pass.h"

/* A fact that can be read off a module. */
struct pass_fact {
	const char *name, *summary; /* "is so": a predicate about a module */
	unsigned shown;             /* set of properties of ops in @main: one of them ... */
	bool absent;                /* ... or, with this, none */
	const char *provider;       /* pass that is inserted if another needs the fact; or NULL */
	bool sure; /* the provider establishes it in every module, even with nothing to do */
};

/* The table, ended by a row without a name. */
extern const struct pass_fact pass_facts[];

/* The properties of the ops of @main; and whether a fact holds for such a set. */
unsigned pass_facts_shown(const struct ir_module *m);
bool pass_fact_holds(const struct pass_fact *f, unsigned shown);

/* The row of that fact, or NULL: only passes provide it. */
const struct pass_fact *pass_fact_find(const char *name, size_t length);

/*
 * A comma-separated list, word by word: sets *word, *length to the next one and returns true. *at
 * starts at the list (NULL: empty).
 */
bool pass_fact_next(const char **at, const char **word, size_t *length);
/* Is the fact of that length in the list? */
bool pass_fact_listed(const char *list, const char *fact, size_t length);

#endif
