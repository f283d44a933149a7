/* Pipelines as lists of passes that can be inserted, replaced, removed and moved. */
#ifndef PASSES_ATTEMPT_EDIT_H
#define PASSES_ATTEMPT_EDIT_H

#include "passes/registry.h"

struct pass_list {
	const char **pass; /* [n] "adam{lr=3e-4}"; owned by the creator of the list */
	int n;
};

/* The passes of a pipeline text, split at commas; blanks are kept. Owned by `owner`. */
struct pass_list pass_list_read(const void *owner, const char *text);

/* "a,b{c=1}"; owned by `owner`. */
char *pass_list_text(const void *owner, const struct pass_list *list);

/* Is that entry a run of the pass of that name? */
bool pass_list_is(const char *entry, const char *name);

/* The first entry of that pass; -1: none. */
int pass_list_find(const struct pass_list *list, const char *name);

/*
 * The list with a pass added at the position given by the table in edit.c; a pass that the table
 * calls single replaces the entry of the same pass. Owned by `owner`.
 */
struct pass_list pass_list_put(const void *owner, const struct pass_list *list,
	const struct pass_registry *registry, const char *entry);

struct pass_list pass_list_without(const void *owner, const struct pass_list *list, int at);

/* With the entries at `at` and `at` + 1 in the other order. */
struct pass_list pass_list_swapped(const void *owner, const struct pass_list *list, int at);

#endif
