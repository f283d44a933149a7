/* Clusters: how they are built. */
#include "ir/base/vec.h"
#include "ir/cluster/graph.h"
#include "ir/cluster/device.h"

#include <assert.h>
#include <math.h>
#include <talloc.h>

struct cluster *
cluster_create(const void *owner, const char *name)
{
	struct cluster *c = NEW(owner, struct cluster);
	c->name = text_copy(c, name);
	c->graph = NEW(c, struct cluster_graph);
	return c;
}

uint32_t
cluster_add_kind(struct cluster *c, struct device *device)
{
	assert(c->nkinds <= UINT16_MAX);
	LIST_PUSH(c, c->kind, c->nkinds, talloc_steal(c, device));
	return c->nkinds - 1;
}

uint32_t
cluster_add_node(struct cluster *c)
{
	return c->nnodes++;
}

static uint32_t
add_vertex(struct cluster *c, const char *name, double latency, bool forwards)
{
	struct cluster_graph *g = c->graph;
	assert(!g->routes || c->boundless);
	const struct graph_vertex v = {.name = name,
		.first = GRAPH_NONE,
		.exit = g->nvertices,
		.latency = latency,
		.forwards = forwards};
	LIST_PUSH(g, g->vertex, g->nvertices, v);
	return v.exit;
}

uint32_t
cluster_add_device(struct cluster *c, const char *name, uint32_t kind, uint32_t node)
{
	assert(kind < c->nkinds && (node < c->nnodes || node == CLUSTER_NO_NODE));
	LIST_ROOM(c, c->kind_of, c->ndevices + 1);
	LIST_ROOM(c, c->node_of, c->ndevices + 1);
	c->kind_of[c->ndevices] = (uint16_t)kind;
	c->node_of[c->ndevices] = node == CLUSTER_NO_NODE ? cluster_add_node(c) : node;
	uint32_t v = add_vertex(c, name, 0, c->kind[kind]->forward != 0);
	LIST_PUSH(c->graph, c->graph->device, c->ndevices, v);
	return v;
}

uint32_t
cluster_add_host(struct cluster *c, const char *name, uint32_t node)
{
	assert(node < c->nnodes || node == CLUSTER_NO_NODE);
	LIST_ROOM(c, c->node_of_host, c->nhosts + 1);
	c->node_of_host[c->nhosts] = node == CLUSTER_NO_NODE ? cluster_add_node(c) : node;
	uint32_t v = add_vertex(c, name, 0, true);
	LIST_PUSH(c->graph, c->graph->host, c->nhosts, v);
	return v;
}

uint32_t
cluster_add_switch(struct cluster *c, const char *name, double latency, double bandwidth)
{
	uint32_t v = add_vertex(c, name, isinf(bandwidth) ? latency : 0, true);
	if (!isinf(bandwidth)) {
		uint32_t exit = add_vertex(c, name, 0, true);
		cluster_add_way(c, v, exit, cluster_add_link(c, name, bandwidth, latency));
		c->graph->vertex[v].exit = exit;
	}
	return v;
}

uint32_t
cluster_add_link(struct cluster *c, const char *name, double bandwidth, double latency)
{
	assert(bandwidth > 0 && latency >= 0);
	LIST_PUSH(c, c->link, c->nlinks, (struct cluster_link){name, bandwidth, latency});
	return c->nlinks - 1;
}

void
cluster_add_way(struct cluster *c, uint32_t a, uint32_t b, uint32_t link)
{
	struct cluster_graph *g = c->graph;
	assert(a < g->nvertices && b < g->nvertices && link < c->nlinks);
	assert(!g->routes || c->boundless);
	a = g->vertex[a].exit;
	LIST_PUSH(g, g->edge, g->nedges, (struct graph_edge){a, b, link, g->vertex[a].first});
	g->vertex[a].first = g->nedges - 1;
}

void
cluster_connect(struct cluster *c, uint32_t a, uint32_t b, const struct cluster_link *kind)
{
	cluster_add_way(c, a, b, cluster_add_link(c, kind->name, kind->bandwidth, kind->latency));
	cluster_add_way(c, b, a, cluster_add_link(c, kind->name, kind->bandwidth, kind->latency));
}

const char *
cluster_end_name(const struct cluster *c, uint32_t end)
{
	const struct cluster_graph *g = c->graph;
	return g->vertex[end < c->ndevices ? g->device[end] : g->host[end - c->ndevices]].name;
}

bool
cluster_reserve(struct cluster *c, uint32_t n)
{
	if (!c->boundless || n > CLUSTER_DEVICES_MAX)
		return n <= c->ndevices;
	const struct device *d = c->kind[0];
	while (c->ndevices < n) { /* device i: link 2i leaves it, link 2i+1 leads to it */
		uint32_t v = cluster_add_device(c, NULL, 0, CLUSTER_NO_NODE);
		cluster_add_way(
			c, v, 0, cluster_add_link(c, "link", d->link_bandwidth, d->link_latency));
		cluster_add_way(c, 0, v, cluster_add_link(c, "link", d->link_bandwidth, 0));
	}
	return true;
}

struct cluster *
cluster_of_device(const void *owner, struct device *device)
{
	struct cluster *c = cluster_create(owner, device->name);
	c->boundless = true;
	cluster_add_kind(c, device);
	cluster_add_switch(c, "switch", 0, INFINITY);
	return c;
}
