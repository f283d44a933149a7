/*
 * A route by breadth-first searches from both of its ends, level by level, always on the side whose
 * next level has fewer edges, until a level of one side has vertices of the other:
 *
 *     source ─ card ─┐                      ┌─ card ─ goal
 *                    ├─> fabric: both meet <┤          the links of a switch with thousands of
 *     host ──────────┘                      └─ host    ports need not be looked at
 *
 * Then the shortest routes are known: the best route to each vertex on the side of the source by
 * its search, and to those on the way to the goal from where both met, level by level. The result
 * is the route that a search from the source alone finds, with identical sums.
 */
#include "ir/cluster/meet.h"

#include "ir/base/vec.h"

/* A side of the search. */
struct side {
	uint32_t *seen;                     /* [nvertices] == now: it has a level */
	uint32_t *level;                    /* [nvertices] links from the end, or to it */
	struct vertices VEC(uint32_t) list; /* by level */
	int64_t first;                      /* of its last level, in the list */
	uint32_t depth;
};

struct meeting {
	const struct cluster *c;
	uint32_t *first_in, *next_in; /* [nvertices] edges that arrive; [nedges] the next of them */
	uint32_t *out, *in;           /* [nvertices] number of edges that leave, and arrive */
	uint32_t now;
	struct side from_source, from_goal;
	uint32_t *reached; /* [nvertices] == now: it has a parent and a latency */
	uint32_t *parent;  /* [nvertices] the last edge of the best route to it */
	double *latency;
	struct vertices way;
	uint32_t steps;
};

static void
create_side(struct meeting *m, struct side *s, uint32_t nvertices)
{
	s->seen = ARRAY_ZERO(m, uint32_t, nvertices);
	s->level = ARRAY_NEW(m, uint32_t, nvertices);
}

struct meeting *
meeting_create(const void *owner, const struct cluster *c)
{
	const struct cluster_graph *g = c->graph;
	struct meeting *m = NEW(owner, struct meeting);

	m->c = c;
	m->first_in = ARRAY_NEW(m, uint32_t, g->nvertices);
	m->next_in = ARRAY_NEW(m, uint32_t, g->nedges);
	m->out = ARRAY_ZERO(m, uint32_t, g->nvertices);
	m->in = ARRAY_ZERO(m, uint32_t, g->nvertices);
	m->reached = ARRAY_ZERO(m, uint32_t, g->nvertices);
	m->parent = ARRAY_NEW(m, uint32_t, g->nvertices);
	m->latency = ARRAY_NEW(m, double, g->nvertices);
	create_side(m, &m->from_source, g->nvertices);
	create_side(m, &m->from_goal, g->nvertices);
	for (uint32_t v = 0; v < g->nvertices; v++)
		m->first_in[v] = GRAPH_NONE;
	for (uint32_t e = 0; e < g->nedges; e++) {
		m->next_in[e] = m->first_in[g->edge[e].to];
		m->first_in[g->edge[e].to] = e;
		m->out[g->edge[e].from]++;
		m->in[g->edge[e].to]++;
	}
	return m;
}

static bool
has(const struct meeting *m, const struct side *s, uint32_t vertex)
{
	return s->seen[vertex] == m->now;
}

static void
add(struct meeting *m, struct side *s, uint32_t vertex, uint32_t level)
{
	s->seen[vertex] = m->now;
	s->level[vertex] = level;
	VEC_PUSH(m, &s->list, vertex);
}

/* Compares the link numbers, first link first, on the routes to two vertices of one level. */
static int
compare_ways(const struct cluster_graph *g, const uint32_t *parent, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	const struct graph_edge *ea = &g->edge[parent[a]], *eb = &g->edge[parent[b]];
	const int before = compare_ways(g, parent, ea->from, eb->from);
	return before ? before : (ea->link > eb->link) - (ea->link < eb->link);
}

bool
graph_better_way(const struct cluster_graph *g, const uint32_t *parent, double latency,
	uint32_t edge, double than_latency, uint32_t than)
{
	const struct graph_edge *e = &g->edge[edge], *known = &g->edge[than];

	if (latency != than_latency)
		return latency < than_latency;
	const int before = compare_ways(g, parent, e->from, known->from);
	return before < 0 || (before == 0 && e->link < known->link);
}

/* Records the route over that edge to its end, unless a better one is known. */
static void
relax(struct meeting *m, uint32_t source, uint32_t edge)
{
	const struct cluster_graph *g = m->c->graph;
	const struct graph_edge *e = &g->edge[edge];
	const double passing = e->from == source ? 0 : g->vertex[e->from].latency;
	const double latency = m->latency[e->from] + passing + m->c->link[e->link].latency;

	if (m->reached[e->to] == m->now &&
		!graph_better_way(g, m->parent, latency, edge, m->latency[e->to], m->parent[e->to]))
		return;
	m->reached[e->to] = m->now;
	m->latency[e->to] = latency;
	m->parent[e->to] = edge;
}

/* Adds a level from the source; returns whether it has vertices of the goal's side. */
static bool
step_from_source(struct meeting *m, uint32_t source)
{
	const struct cluster_graph *g = m->c->graph;
	struct side *s = &m->from_source;
	const int64_t end = s->list.n;
	bool met = false;

	s->depth++;
	for (int64_t i = s->first; i < end; i++) {
		const uint32_t v = s->list.at[i];
		if (v != source && !g->vertex[v].forwards)
			continue;
		for (uint32_t e = g->vertex[v].first; e != GRAPH_NONE; e = g->edge[e].next) {
			const uint32_t to = g->edge[e].to;
			m->steps++;
			if (!has(m, s, to))
				add(m, s, to, s->depth);
			if (s->level[to] == s->depth)
				relax(m, source, e);
			met |= has(m, &m->from_goal, to);
		}
	}
	s->first = end;
	return met;
}

/* Adds a level from the goal; returns whether it has vertices of the source's side. */
static bool
step_from_goal(struct meeting *m, uint32_t source)
{
	const struct cluster_graph *g = m->c->graph;
	struct side *s = &m->from_goal;
	const int64_t end = s->list.n;
	bool met = false;

	s->depth++;
	for (int64_t i = s->first; i < end; i++)
		for (uint32_t e = m->first_in[s->list.at[i]]; e != GRAPH_NONE; e = m->next_in[e]) {
			const uint32_t from = g->edge[e].from;
			m->steps++;
			if ((from != source && !g->vertex[from].forwards) || has(m, s, from))
				continue;
			add(m, s, from, s->depth);
			met |= has(m, &m->from_source, from);
		}
	s->first = end;
	return met;
}

/* Edges that the next level of a side has. */
static uint64_t
count_edges(const struct side *s, const uint32_t *degree)
{
	uint64_t n = 0;

	for (int64_t i = s->first; i < s->list.n; i++)
		n += degree[s->list.at[i]];
	return n;
}

/* Adds levels until both sides meet; false: they do not. */
static bool
search(struct meeting *m, uint32_t source)
{
	struct side *from_source = &m->from_source, *from_goal = &m->from_goal;

	while (from_source->first < from_source->list.n && from_goal->first < from_goal->list.n) {
		const bool first =
			count_edges(from_source, m->out) <= count_edges(from_goal, m->in);
		if (first ? step_from_source(m, source) : step_from_goal(m, source))
			return true;
	}
	return false;
}

/* From where both sides met to the goal, a level at a time; only vertices on a shortest route get
 * one. */
static void
finish(struct meeting *m, uint32_t source)
{
	const struct cluster_graph *g = m->c->graph;
	const struct side *s = &m->from_goal;

	for (int64_t i = s->list.n; i-- > 0;) {
		const uint32_t v = s->list.at[i];
		if (s->level[v] == s->depth)
			continue;
		for (uint32_t e = m->first_in[v]; e != GRAPH_NONE; e = m->next_in[e]) {
			const uint32_t from = g->edge[e].from;
			m->steps++;
			if (has(m, s, from) && s->level[from] == s->level[v] + 1 &&
				m->reached[from] == m->now)
				relax(m, source, e);
		}
	}
}

static void
start(struct meeting *m, struct side *s, uint32_t vertex)
{
	s->list.n = s->first = 0;
	s->depth = 0;
	add(m, s, vertex, 0);
}

const uint32_t *
meeting_route(struct meeting *m, uint32_t source, uint32_t goal, uint32_t *n, uint32_t *steps)
{
	m->now++;
	m->steps = 0;
	start(m, &m->from_source, source);
	start(m, &m->from_goal, goal);
	m->reached[source] = m->now;
	m->latency[source] = 0;
	const bool found = source == goal || search(m, source);
	if (found)
		finish(m, source);
	*steps = m->steps;
	if (!found)
		return NULL;
	*n = m->from_source.depth + m->from_goal.depth;
	VEC_ROOM(m, &m->way, *n + 1);
	for (uint32_t v = goal, i = *n; i-- > 0; v = m->c->graph->edge[m->way.at[i]].from)
		m->way.at[i] = m->parent[v];
	return m->way.at;
}
