/*
 * The table of all passes. It is apart from the list (registry.c) and from the manager, which passes call to run others, so
 * that no pass depends on all of them.
 */
#include "ir/base/alloc.h"
#include "passes/manager/pipeline.h"

#define PASS(name) extern const struct pass pass_##name;
#include "passes/passes.def"
#undef PASS

static const struct pass *const built_in[] = {
#define PASS(name) &pass_##name,
#include "passes/passes.def"
#undef PASS
	NULL,
};

struct pass_registry *
pass_registry_create(const void *owner)
{
	return pass_registry_of(owner, built_in);
}

struct pass_manager *
pass_manager_create(const void *owner, struct ir_context *ctx)
{
	struct pass_manager *manager = NEW(owner, struct pass_manager);

	manager->ctx = ctx;
	manager->registry = pass_registry_create(manager);
	manager->verify_each = true;
	return manager;
}
