/*
 * Routes. At first one by one, by a search from both ends (meet.h), which visits little of a large
 * cluster. Once these searches of a sender have taken as long as one of the whole graph, it gets
 * such a search: from the sender, a level of the graph at a time, as far as the receiver; this is
 * kept for other receivers of that sender. A route is cached after its first use.
 */
#include "ir/base/arena.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/cluster/graph.h"
#include "ir/cluster/meet.h"

#include <math.h>
#include <string.h>

/* Searches are kept up to this memory, then the oldest make room: all senders of 1,024 devices in
 * nodes of eight take a sixth of it. */
#define TREES_BYTES ((size_t)64 << 20)

/* A search: the edge by which each vertex is reached, GRAPH_NONE if it is not. */
struct tree {
	uint32_t source;
	uint32_t depth; /* final for all vertices at most this number of links away */
	uint32_t parent[];
};

struct kept {
	uint32_t from, to;
	struct cluster_route route;
	uint32_t link[];
};

struct graph_routes {
	struct arena *arena; /* of what is kept */
	struct map map;
	struct VEC(struct kept *) kept;
	struct meeting *meeting;
	uint32_t *steps;    /* [nvertices] of meetings from there, since it had a tree */
	struct tree **tree; /* [ntrees], that of a source at source % ntrees */
	uint32_t ntrees;
	uint32_t *level, *queue; /* [nvertices] of the current search */
	double *latency;
};

/* The hash of a sender and a receiver. */
static uint64_t
hash_of(uint32_t from, uint32_t to)
{
	return mix64((uint64_t)from << 32 | to);
}

MAP_SAME(same_ends, struct graph_routes, uint32_t,
	list->kept.at[i]->from == key[0] && list->kept.at[i]->to == key[1])

static struct graph_routes *
routes_of(struct cluster_graph *g)
{
	if (g->routes)
		return g->routes;
	struct graph_routes *r = g->routes = NEW(g, struct graph_routes);
	r->arena = arena_create(r);
	size_t trees = TREES_BYTES / (sizeof(struct tree) + 4 * ((size_t)g->nvertices + 1));
	r->ntrees = trees < 1 ? 1 : trees > g->nvertices ? g->nvertices : (uint32_t)trees;
	r->tree = ZERO_ARRAY(r, struct tree *, r->ntrees);
	r->steps = ZERO_ARRAY(r, uint32_t, g->nvertices);
	r->level = NEW_ARRAY(r, uint32_t, g->nvertices);
	r->queue = NEW_ARRAY(r, uint32_t, g->nvertices);
	r->latency = NEW_ARRAY(r, double, g->nvertices);
	return r;
}

/* Reaches the far end of an edge, unless a better route to it is known. */
static void
relax(struct cluster *c, struct tree *t, uint32_t edge, double passing, uint32_t *queue_end)
{
	const struct cluster_graph *g = c->graph;
	struct graph_routes *r = g->routes;
	const struct graph_edge *e = &g->edge[edge];
	double latency = r->latency[e->from] + passing + c->link[e->link].latency;
	if (r->level[e->to] == GRAPH_NONE) {
		r->level[e->to] = r->level[e->from] + 1;
		r->queue[(*queue_end)++] = e->to;
	} else {
		if (r->level[e->to] <= r->level[e->from])
			return;
		if (!graph_better_way(
			    g, t->parent, latency, edge, r->latency[e->to], t->parent[e->to]))
			return;
	}
	r->latency[e->to] = latency;
	t->parent[e->to] = edge;
}

/* When a vertex of a level is processed, the routes to all vertices of that level are final. */
static void
search(struct cluster *c, struct tree *t, uint32_t goal)
{
	const struct cluster_graph *g = c->graph;
	struct graph_routes *r = g->routes;
	memset(r->level, 0xff, g->nvertices * sizeof *r->level);
	memset(t->parent, 0xff, g->nvertices * sizeof *t->parent);
	r->level[t->source] = 0;
	r->latency[t->source] = 0;
	r->queue[0] = t->source;
	uint32_t end = 1;
	for (uint32_t i = 0; i < end; i++) {
		uint32_t v = r->queue[i];
		if (r->level[goal] <= r->level[v]) {
			t->depth = r->level[v];
			return;
		}
		const struct graph_vertex *vertex = &g->vertex[v];
		if (v != t->source && !vertex->forwards)
			continue;
		double passing = v == t->source ? 0 : vertex->latency;
		for (uint32_t e = vertex->first; e != GRAPH_NONE; e = g->edge[e].next)
			relax(c, t, e, passing, &end);
	}
	t->depth = GRAPH_NONE;
}

/* The number of links on the route, or GRAPH_NONE. */
static uint32_t
links_to(const struct cluster_graph *g, const struct tree *t, uint32_t vertex)
{
	uint32_t n = 0;
	for (; vertex != t->source; vertex = g->edge[t->parent[vertex]].from, n++)
		if (t->parent[vertex] == GRAPH_NONE)
			return GRAPH_NONE;
	return n;
}

/* A search from `source` that is final for `goal`; NULL: none yet, and searches from both ends have
 * taken less so far than it would. */
static const struct tree *
tree_for(struct cluster *c, uint32_t source, uint32_t goal)
{
	const struct cluster_graph *g = c->graph;
	struct graph_routes *r = g->routes;
	struct tree **slot = &r->tree[source % r->ntrees];
	struct tree *t = *slot;
	if (t && t->source == source) {
		uint32_t n = links_to(g, t, goal);
		if (t->depth == GRAPH_NONE || n <= t->depth)
			return t;
	} else if (r->steps[source] < g->nedges) {
		return NULL;
	} else if (!t) {
		t = *slot =
			alloc_array(r, sizeof *t + g->nvertices * sizeof *t->parent, 1, "routes");
	} else {
		r->steps[t->source] = 0;
	}
	t->source = source;
	search(c, t, goal);
	return t;
}

static struct kept *
keep(struct graph_routes *r, uint32_t from, uint32_t to, uint32_t nlinks)
{
	struct kept *k = arena_alloc(r->arena, sizeof *k + nlinks * sizeof *k->link);

	*k = (struct kept){from, to, {nlinks, k->link, 0, INFINITY}};
	map_add(r, &r->map, hash_of(from, to), same_ends, r, (const uint32_t[]){from, to});
	VEC_PUSH(r, &r->kept, k);
	return k;
}

/* In a boundless cluster: out by one link, in by the other, see cluster_reserve. */
static struct kept *
boundless_route(struct cluster *c, uint32_t from, uint32_t to)
{
	struct kept *k = keep(c->graph->routes, from, to, from == to ? 0 : 2);
	if (from != to) {
		k->link[0] = 2 * from;
		k->link[1] = 2 * to + 1;
		k->route.latency = c->link[2 * from].latency + c->link[2 * to + 1].latency;
	}
	return k;
}

/* By a search from the sender; NULL: no route. */
static struct kept *
route_of_tree(struct cluster *c, const struct tree *t, uint32_t from, uint32_t to, uint32_t goal)
{
	const struct cluster_graph *g = c->graph;
	uint32_t n = links_to(g, t, goal);
	if (n == GRAPH_NONE)
		return NULL;
	struct kept *k = keep(g->routes, from, to, n);
	for (uint32_t v = goal; v != t->source; v = g->edge[t->parent[v]].from)
		k->link[--n] = t->parent[v];
	return k;
}

/* By searches from both ends; NULL: no route. */
static struct kept *
route_of_meeting(struct cluster *c, uint32_t from, uint32_t to, uint32_t source, uint32_t goal)
{
	struct graph_routes *r = c->graph->routes;
	uint32_t n, steps;
	if (!r->meeting)
		r->meeting = meeting_create(r, c);
	const uint32_t *edge = meeting_route(r->meeting, source, goal, &n, &steps);
	r->steps[source] += steps + 1;
	if (!edge)
		return NULL;
	struct kept *k = keep(r, from, to, n);
	for (uint32_t i = 0; i < n; i++)
		k->link[i] = edge[i];
	return k;
}

static struct kept *
find_route(struct cluster *c, uint32_t from, uint32_t to)
{
	const struct cluster_graph *g = c->graph;
	uint32_t source = from < c->ndevices ? g->device[from] : g->host[from - c->ndevices];
	uint32_t goal = to < c->ndevices ? g->device[to] : g->host[to - c->ndevices];
	const struct tree *t = tree_for(c, source, goal);
	struct kept *k = t ? route_of_tree(c, t, from, to, goal)
			   : route_of_meeting(c, from, to, source, goal);
	/* From edges to links; latencies are summed up from the receiver. */
	for (uint32_t i = k ? k->route.nlinks : 0; i-- > 0;) {
		const struct graph_edge *e = &g->edge[k->link[i]];
		k->link[i] = e->link;
		k->route.latency += c->link[e->link].latency;
		k->route.latency += e->from == source ? 0 : g->vertex[e->from].latency;
	}
	return k;
}

static double
narrowest(const struct cluster *c, const struct cluster_route *r)
{
	double bandwidth = INFINITY;
	for (uint32_t i = 0; i < r->nlinks; i++) {
		uint32_t times = 0;
		for (uint32_t j = 0; j < r->nlinks; j++)
			times += r->link[j] == r->link[i];
		bandwidth = fmin(bandwidth, c->link[r->link[i]].bandwidth / times);
	}
	return bandwidth;
}

bool
cluster_route(struct cluster *c, uint32_t from, uint32_t to, struct cluster_route *route)
{
	uint32_t nends = c->ndevices + c->nhosts;
	if (from >= nends || to >= nends)
		return false;
	struct graph_routes *r = routes_of(c->graph);
	const uint32_t i =
		map_find(&r->map, hash_of(from, to), same_ends, r, (const uint32_t[]){from, to});
	struct kept *k = i == MAP_NONE ? NULL : r->kept.at[i];
	if (!k) {
		k = c->boundless ? boundless_route(c, from, to) : find_route(c, from, to);
		if (!k)
			return false;
		k->route.bandwidth = narrowest(c, &k->route);
	}
	*route = k->route;
	return true;
}
