/* The devices of a cluster that the places of a mesh use. */
#include "ir/base/alloc.h"
#include "ir/cluster/cluster.h"
#include "ir/ir.h"

#include <inttypes.h>
#include <talloc.h>

/* Where the text says how many places there are. */
static struct ir_loc
mesh_loc(const struct ir_module *m)
{
	struct ir_loc loc = LOC_NONE;

	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time)
			loc = loc.begin ? loc_join(loc, m->axis[i].loc) : m->axis[i].loc;
	return loc;
}

/* `device`: [n] in the order of the places; from the text, or else the first ones. */
static bool
place_all(const struct ir_module *m, struct cluster *c, uint32_t *device, uint32_t n)
{
	const struct ir_attr *list = m->mesh_attr;
	bool ok = true;

	for (uint32_t p = 0; p < n; p++) {
		int64_t d = list ? list->list[p].i : p;
		device[p] = (uint32_t)d;
		if (d >= 0 && d < CLUSTER_DEVICES_MAX && cluster_reserve(c, (uint32_t)d + 1))
			continue;
		ok = false;
		diag_error(m->ctx->diag, list->list[p].loc,
			"device %" PRId64 " does not exist: cluster %s has devices 0 to %" PRIu32,
			d, c->name, (c->boundless ? CLUSTER_DEVICES_MAX : c->ndevices) - 1);
	}
	return ok;
}

uint32_t *
cluster_placement(const void *owner, const struct ir_module *m, struct cluster *c)
{
	int64_t n = ir_devices(m);
	uint32_t most = c->boundless ? CLUSTER_DEVICES_MAX : c->ndevices;

	if (n > most) {
		diag_error(m->ctx->diag, mesh_loc(m),
			"the mesh needs %" PRId64 " devices, but cluster %s has %" PRIu32, n,
			c->name, most);
		return NULL;
	}
	if (m->mesh_attr && m->mesh_attr->n != n) {
		diag_error(m->ctx->diag, m->mesh_attr->loc,
			"%d devices are listed for a mesh of %" PRId64, m->mesh_attr->n, n);
		return NULL;
	}
	uint32_t *device = NEW_ARRAY(owner, uint32_t, (size_t)n);
	if (place_all(m, c, device, (uint32_t)n))
		return device;
	talloc_free(device);
	return NULL;
}
