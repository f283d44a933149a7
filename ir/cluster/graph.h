/* The graph of a cluster, private to ir/cluster/. */
#ifndef IR_CLUSTER_GRAPH_H
#define IR_CLUSTER_GRAPH_H

#include "ir/cluster/cluster.h"

enum { GRAPH_NONE = UINT32_MAX };

struct graph_vertex {
	const char *name;
	uint32_t first; /* edge that leaves, or GRAPH_NONE; the others by `next` */
	uint32_t exit;  /* where edges leave: itself, or after the link inside an over-subscribed
			   switch */
	double latency; /* of a message that passes */
	bool forwards;
};

struct graph_edge {
	uint32_t from, to, link, next;
};

struct graph_routes; /* results computed so far */

struct cluster_graph {
	struct graph_vertex *vertex;
	struct graph_edge *edge;
	uint32_t nvertices, nedges;
	uint32_t *device, *host; /* their vertices */
	struct graph_routes *routes;
	enum { UNIFORM_UNKNOWN, UNIFORM_NO, UNIFORM_YES } uniform; /* see cluster_uniform */
};

/*
 * Is the first of two routes with equally many links better, in the order of cluster_route: by
 * latency, then by the numbers of their links? A route is given by its last edge; parent[v] is the
 * last edge of the best route to v.
 */
bool graph_better_way(const struct cluster_graph *g, const uint32_t *parent, double latency,
	uint32_t edge, double than_latency, uint32_t than);

#endif
