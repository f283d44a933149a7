/* A second copy of a cluster, without the routes that are known. */
#include "ir/base/alloc.h"
#include "ir/cluster/graph.h"

#include <string.h>

/* Copies n elements with the same spare capacity as in cluster.c, so that more can be added. */
static void *
copy(const void *owner, const void *array, size_t size, uint32_t n)
{
	size_t room = 1;

	if (!array)
		return NULL;
	while (room < n)
		room *= 2;
	return memcpy(alloc_zero(owner, room, size, "a cluster"), array, size * n);
}

#define COPY(owner, field, n) ((field) = copy((owner), (field), sizeof *(field), (n)))

static struct cluster_graph *
clone_graph(const struct cluster *c)
{
	struct cluster_graph *g = NEW(c, struct cluster_graph);

	*g = *c->graph;
	COPY(g, g->vertex, g->nvertices);
	COPY(g, g->edge, g->nedges);
	COPY(g, g->device, c->ndevices);
	COPY(g, g->host, c->nhosts);
	g->routes = NULL;
	return g;
}

/* Names and kinds of devices belong to the original, which its copies must not outlive. */
struct cluster *
cluster_clone(const void *owner, const struct cluster *from)
{
	struct cluster *c = COPY_ARRAY(owner, struct cluster, from, 1);

	COPY(c, c->kind, c->nkinds);
	COPY(c, c->kind_of, c->ndevices);
	COPY(c, c->node_of, c->ndevices);
	COPY(c, c->node_of_host, c->nhosts);
	COPY(c, c->link, c->nlinks);
	c->graph = clone_graph(c);
	return c;
}
