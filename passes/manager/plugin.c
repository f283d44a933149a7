/* Passes from shared libraries: load, check the version first, add the passes. */
#include "dopt/version.h"
#include "ir/base/alloc.h"
#include "passes/registry.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <talloc.h>

struct plugin_handle {
	void *library;
};

static int
plugin_close(struct plugin_handle *h)
{
	dlclose(h->library);
	return 0;
}

/* The library's description, or NULL after a report. The library is closed with the registry. */
static const struct dopt_plugin *
plugin_open(struct pass_registry *r, struct diag *d, const char *path)
{
	/*
	 * Resolve all symbols now: a plugin with a missing symbol is rejected here, not when its
	 * pass runs.
	 */
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		diag_error(d, LOC_NONE, "cannot load plugin: %s", dlerror());
		return NULL;
	}
	struct plugin_handle *h = NEW(r, struct plugin_handle);
	h->library = library;
	talloc_set_destructor(h, plugin_close);
	const struct dopt_plugin *p = dlsym(library, "dopt_plugin");
	if (!p)
		diag_error(d, LOC_NONE,
			"%s is not a plugin: it does not define `const "
			"struct dopt_plugin dopt_plugin`",
			path);
	return p;
}

bool
pass_plugin_load(struct pass_registry *r, struct diag *d, const char *path)
{
	const struct dopt_plugin *p = plugin_open(r, d, path);

	if (!p)
		return false;
	if (p->api_version != DOPT_API_VERSION) {
		diag_error(d, LOC_NONE,
			"%s was built for plugin interface %016" PRIx64
			", but this dopt has plugin "
			"interface %016" PRIx64 "; build it again with the headers of this dopt",
			path, p->api_version, (uint64_t)DOPT_API_VERSION);
		return false;
	}
	for (const struct pass *const *pass = p->passes; pass && *pass; pass++)
		if (!pass_registry_add(r, d, path, *pass))
			return false;
	return true;
}
