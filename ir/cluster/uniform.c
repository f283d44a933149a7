/*
 * Are all nodes alike? See cluster_uniform. Each switch belongs to a node if, step by step away
 * from devices and hosts, all neighbours that belong to nodes belong to that one; the others are
 * between nodes. A node is then described by its vertices and links, counted from its first ones.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/cluster/graph.h"

#include <string.h>
#include <talloc.h>

/* Of a vertex that belongs to no node, and of one that may still turn out to belong to one. */
enum { BETWEEN = UINT32_MAX - 1, OPEN = UINT32_MAX };

struct part {
	uint32_t vertex, link, device; /* the first of the node; UINT32_MAX: none */
	uint64_t hash;                 /* 64 bits of all that the node consists of */
};

struct parts {
	const struct cluster *c;
	uint32_t *node, *next; /* [nvertices] of the node; `next`: found in this step */
	uint32_t *owner;       /* [nlinks] the node that has the link */
	struct part *part;     /* [nnodes] */
};

static void
join(struct parts *p, uint32_t from, uint32_t to)
{
	if (p->node[from] >= BETWEEN || p->node[to] != OPEN)
		return;
	if (p->next[to] == OPEN)
		p->next[to] = p->node[from];
	else if (p->next[to] != p->node[from])
		p->next[to] = BETWEEN;
}

static void
find_nodes(struct parts *p)
{
	const struct cluster *c = p->c;
	const struct cluster_graph *g = c->graph;
	bool found = true;

	memset(p->node, 0xff, g->nvertices * sizeof *p->node);
	for (uint32_t i = 0; i < c->ndevices; i++)
		p->node[g->device[i]] = c->node_of[i];
	for (uint32_t i = 0; i < c->nhosts; i++)
		p->node[g->host[i]] = c->node_of_host[i];
	while (found) {
		found = false;
		memset(p->next, 0xff, g->nvertices * sizeof *p->next);
		for (uint32_t i = 0; i < g->nedges; i++) {
			join(p, g->edge[i].from, g->edge[i].to);
			join(p, g->edge[i].to, g->edge[i].from);
		}
		for (uint32_t v = 0; v < g->nvertices; v++) {
			found |= p->next[v] != OPEN;
			p->node[v] = p->next[v] != OPEN ? p->next[v] : p->node[v];
		}
	}
}

/* The node that has a link between these vertices; BETWEEN if none does, or two. */
static uint32_t
node_of_ends(const struct parts *p, const struct graph_edge *e)
{
	const uint32_t a = p->node[e->from], b = p->node[e->to];

	return a >= BETWEEN ? b : b >= BETWEEN || b == a ? a : BETWEEN;
}

static bool
own_links(struct parts *p)
{
	const struct cluster_graph *g = p->c->graph;

	memset(p->owner, 0xff, p->c->nlinks * sizeof *p->owner);
	for (uint32_t i = 0; i < g->nedges; i++) {
		const uint32_t node = node_of_ends(p, &g->edge[i]);
		uint32_t *owner = &p->owner[g->edge[i].link];
		if (node >= BETWEEN || (*owner != OPEN && *owner != node))
			return false;
		*owner = node;
	}
	return true;
}

static void
find_first(struct parts *p)
{
	const struct cluster *c = p->c;

	for (uint32_t n = 0; n < c->nnodes; n++)
		p->part[n] = (struct part){UINT32_MAX, UINT32_MAX, UINT32_MAX, 0};
	for (uint32_t v = c->graph->nvertices; v-- > 0;)
		if (p->node[v] < BETWEEN)
			p->part[p->node[v]].vertex = v;
	for (uint32_t i = c->nlinks; i-- > 0;)
		if (p->owner[i] < BETWEEN)
			p->part[p->owner[i]].link = i;
	for (uint32_t i = c->ndevices; i-- > 0;)
		p->part[c->node_of[i]].device = i;
}

/* An end of a link of the node: counted from the node's first vertex, or a vertex of no node. */
static uint64_t
end_of(const struct parts *p, uint32_t vertex)
{
	const uint32_t node = p->node[vertex];

	return node >= BETWEEN ? (uint64_t)1 << 32 | vertex : vertex - p->part[node].vertex;
}

static void
hash_nodes(struct parts *p)
{
	const struct cluster *c = p->c;
	const struct cluster_graph *g = c->graph;

	for (uint32_t v = 0; v < g->nvertices; v++)
		if (p->node[v] < BETWEEN) {
			struct part *n = &p->part[p->node[v]];
			n->hash = mix_word(
				n->hash, (uint64_t)g->vertex[v].forwards << 32 | (v - n->vertex));
			n->hash = mix_bytes(
				n->hash, &g->vertex[v].latency, sizeof g->vertex[v].latency);
		}
	for (uint32_t i = 0; i < c->ndevices; i++) {
		struct part *n = &p->part[c->node_of[i]];
		n->hash = mix_word(mix_word(n->hash, i - n->device), c->kind_of[i]);
		n->hash = mix_word(n->hash, g->device[i] - n->vertex);
	}
	for (uint32_t i = 0; i < c->nhosts; i++) {
		struct part *n = &p->part[c->node_of_host[i]];
		n->hash = mix_word(n->hash, (uint64_t)2 << 32 | (g->host[i] - n->vertex));
	}
	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct graph_edge *e = &g->edge[i];
		const struct cluster_link *l = &c->link[e->link];
		struct part *n = &p->part[p->owner[e->link]];
		n->hash = mix_word(mix_word(n->hash, end_of(p, e->from)), end_of(p, e->to));
		n->hash = mix_word(n->hash, e->link - n->link);
		n->hash = mix_bytes(n->hash, &l->bandwidth, sizeof l->bandwidth);
		n->hash = mix_bytes(n->hash, &l->latency, sizeof l->latency);
	}
}

static bool
all_alike(const struct cluster *c)
{
	const struct cluster_graph *g = c->graph;
	void *scratch = alloc_scratch(NULL);
	struct parts p = {c, NEW_ARRAY(scratch, uint32_t, g->nvertices),
		NEW_ARRAY(scratch, uint32_t, g->nvertices), NEW_ARRAY(scratch, uint32_t, c->nlinks),
		NEW_ARRAY(scratch, struct part, c->nnodes)};
	bool alike;

	find_nodes(&p);
	alike = own_links(&p);
	if (alike) {
		find_first(&p);
		hash_nodes(&p);
	}
	for (uint32_t n = 1; n < c->nnodes && alike; n++)
		alike = p.part[n].hash == p.part[0].hash;
	talloc_free(scratch);
	return alike;
}

bool
cluster_uniform(struct cluster *c)
{
	struct cluster_graph *g = c->graph;

	if (c->boundless || c->nnodes < 2)
		return false;
	if (g->uniform == UNIFORM_UNKNOWN)
		g->uniform = all_alike(c) ? UNIFORM_YES : UNIFORM_NO;
	return g->uniform == UNIFORM_YES;
}
