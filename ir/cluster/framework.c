/* Frameworks: the table, and how it changes a device. */
#include "ir/cluster/framework.h"

#include "ir/base/alloc.h"

#include <talloc.h>

static const struct {
	const char *name;
	double issue, sums;
	struct reach_factors reach;
} frameworks[] = {
	{NULL, 0, 0, {1, 1, 1, 1}},
#define FRAMEWORK(name, issue, sums, ...) {#name, issue, sums, {__VA_ARGS__}},
#include "ir/cluster/framework.def"
#undef FRAMEWORK
};

const char *
framework_name(enum framework f)
{
	return frameworks[f].name;
}

void
device_use_framework(struct device *d, enum framework f)
{
	if (f == FRAMEWORK_NONE)
		return;
	for (int k = 0; k < REACH_KERNELS; k++)
		for (int t = 0; t < REACH_TYPES; t++) {
			struct reach *r = &d->reach[k][t];
			if (!d->reached || !reach_is_product((enum reach_kernel)k))
				*r = reach_default();
			r->share *= reach_factor(&frameworks[f].reach, (enum reach_kernel)k);
			r->start = 0; /* one call for all pairs, which `issue` has */
		}
	char *before = d->reach_source;
	d->reach_source = TEXT(d, "%s%s%s", frameworks[f].name, before ? "; products: " : "",
		before ? before : "");
	talloc_free(before);
	d->reached = true;
	d->issue = frameworks[f].issue;
	d->sums = frameworks[f].sums;
	d->queues = 1;
}
