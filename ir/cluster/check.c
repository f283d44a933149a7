/*
 * Is a cluster connected? Trying all pairs takes too long for a thousand devices: if one connected
 * net of switches and hosts touches every device, there is a route between any two.
 */
#include "ir/base/alloc.h"
#include "ir/base/sets.h"
#include "ir/cluster/graph.h"

#include <talloc.h>

/* The sets of vertices that pass messages on to each other. */
static uint32_t *
nets_of(const void *owner, const struct cluster_graph *g)
{
	uint32_t *set = NEW_ARRAY(owner, uint32_t, g->nvertices);

	for (uint32_t v = 0; v < g->nvertices; v++)
		set[v] = v;
	for (uint32_t e = 0; e < g->nedges; e++) {
		uint32_t from = g->edge[e].from, to = g->edge[e].to;
		if (g->vertex[from].forwards && g->vertex[to].forwards)
			sets_join(set, from, to);
	}
	return set;
}

/* The net that touches all devices, or GRAPH_NONE. */
static uint32_t
common_net(const struct cluster *c, uint32_t *set)
{
	const struct cluster_graph *g = c->graph;
	uint32_t *devices = ZERO_ARRAY(set, uint32_t, g->nvertices); /* it touches so far */
	uint32_t *last = ZERO_ARRAY(set, uint32_t, g->nvertices);    /* of these, plus 1 */

	for (uint32_t d = 0; d < c->ndevices; d++)
		for (uint32_t e = g->vertex[g->device[d]].first; e != GRAPH_NONE;
			e = g->edge[e].next) {
			uint32_t net = sets_root(set, g->edge[e].to);
			if (!g->vertex[g->edge[e].to].forwards || last[net] == d + 1)
				continue;
			last[net] = d + 1;
			if (++devices[net] == c->ndevices)
				return net;
		}
	return GRAPH_NONE;
}

static bool
all_pairs(struct cluster *c, uint32_t *from, uint32_t *to)
{
	uint32_t n = c->ndevices + c->nhosts;
	struct cluster_route r;

	for (*from = 0; *from < n; ++*from)
		for (*to = 0; *to < n; ++*to)
			if (!cluster_route(c, *from, *to, &r))
				return false;
	return true;
}

bool
cluster_connected(struct cluster *c, uint32_t *from, uint32_t *to)
{
	const struct cluster_graph *g = c->graph;
	uint32_t *set = nets_of(NULL, g), net = common_net(c, set);
	bool connected = net != GRAPH_NONE;

	*from = 0;
	for (uint32_t h = 0; h < c->nhosts && connected; h++) {
		*to = c->ndevices + h;
		connected = sets_root(set, g->host[h]) == net;
	}
	talloc_free(set);
	return net == GRAPH_NONE ? all_pairs(c, from, to) : connected;
}
