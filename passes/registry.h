/* The passes there are: those of passes.def and those of loaded plugins. */
#ifndef PASSES_REGISTRY_H
#define PASSES_REGISTRY_H

#include "passes/pass.h"

struct pass_registry;

/* All passes of passes.def, owned by `owner`. Never NULL. */
struct pass_registry *pass_registry_create(const void *owner);

/* These passes; the array ends with NULL. */
struct pass_registry *pass_registry_of(const void *owner, const struct pass *const *pass);

int pass_registry_count(const struct pass_registry *r);

/* In the order of the table, then of loading. */
const struct pass *pass_registry_get(const struct pass_registry *r, int i);

/* The pass of that name, or NULL. */
const struct pass *pass_registry_find(const struct pass_registry *r, const char *name);

/* The name that a pass of passes.def has now, where `name` is its former one; else NULL. */
const char *pass_renamed(const char *name);

/*
 * Adds a pass; `from` says in messages where it comes from. Reports and returns false where its
 * name is taken or its description is not sound: words as names, defaults of the declared types, a
 * run function.
 */
bool pass_registry_add(
	struct pass_registry *r, struct diag *d, const char *from, const struct pass *p);

/*
 * Loads the shared library at `path` (as dlopen finds it) and adds its passes; it is unloaded with
 * the registry. Reports and returns false where it cannot be loaded, defines no dopt_plugin, or was
 * built for another DOPT_API_VERSION.
 */
bool pass_plugin_load(struct pass_registry *r, struct diag *d, const char *path);

#endif
