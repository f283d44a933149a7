/* Placement of the members of a collective: each group sorted by node. */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <talloc.h>

static int
compare_devices(const void *a, const void *b, void *data)
{
	const struct cluster *c = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t nx = c->node_of[x], ny = c->node_of[y];
	return nx != ny ? (nx > ny) - (nx < ny) : (x > y) - (x < y);
}

/* Most requests are already sorted. */
static void
sort_group(struct cluster *c, uint32_t *member, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (compare_devices(&member[i - 1], &member[i], c) > 0) {
			qsort_r(member, n, sizeof *member, compare_devices, c);
			return;
		}
}

static void
find_nodes(const struct cluster *c, struct placement *p, uint32_t g)
{
	const uint32_t *member = p->member + (size_t)g * p->places;
	uint32_t *node = p->node + (size_t)g * (p->places + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->places; i++)
		if (!i || c->node_of[member[i]] != c->node_of[member[i - 1]])
			node[n++] = i;
	node[n] = p->places;
	p->nnodes[g] = n;
	for (uint32_t k = 0; k < n; k++)
		if (node[k + 1] - node[k] != p->node[1])
			p->even = 0;
}

/* The root's position in the sorted list. */
static uint32_t
find_root(const struct collective_request *q, const uint32_t *member, uint32_t g)
{
	bool by_from = rt_coll_info(q->kind)->givers == RT_COLL_FROM;
	uint32_t place = by_from ? q->from : q->to, i = 0;
	uint32_t device = q->device[(size_t)g * q->places + (place < q->places ? place : 0)];
	while (i < q->places - 1 && member[i] != device)
		i++;
	return i;
}

struct placement *
placement_of(const void *owner, struct cluster *c, const struct collective_request *q)
{
	size_t n = (size_t)q->ngroups * q->places;
	uint32_t last = 0;
	for (size_t i = 0; i < n; i++)
		last = q->device[i] > last ? q->device[i] : last;
	if (!n || last == UINT32_MAX || !cluster_reserve(c, last + 1))
		return NULL;
	struct placement *p = NEW(owner, struct placement);
	p->ngroups = q->ngroups;
	p->places = q->places;
	p->member = NEW_ARRAY(p, uint32_t, n);
	p->nnodes = NEW_ARRAY(p, uint32_t, q->ngroups);
	p->root = NEW_ARRAY(p, uint32_t, q->ngroups);
	p->node = NEW_ARRAY(p, uint32_t, n + q->ngroups);
	p->even = UINT32_MAX;
	for (uint32_t g = 0; g < q->ngroups; g++) {
		uint32_t *member = p->member + (size_t)g * q->places;
		for (uint32_t i = 0; i < q->places; i++)
			member[i] = q->device[(size_t)g * q->places + i];
		sort_group(c, member, q->places);
		find_nodes(c, p, g);
		p->root[g] = find_root(q, member, g);
	}
	p->even = p->even ? p->node[1] : 0;
	return p;
}

/* The narrowest link of a route, the first of several. */
static uint32_t
narrowest(const struct cluster *c, const struct cluster_route *r)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < r->nlinks; i++)
		if (c->link[r->link[i]].bandwidth < c->link[r->link[best]].bandwidth)
			best = i;
	return r->nlinks ? r->link[best] : UINT32_MAX;
}

uint32_t
placement_ways(const struct placement *at, struct cluster *c)
{
	uint32_t m = at->even, n = 0;
	if (m < 2 || at->nnodes[0] < 2)
		return 1;
	uint32_t *seen = NEW_ARRAY(NULL, uint32_t, m);
	for (uint32_t i = 0; i < m; i++) {
		struct cluster_route r;
		uint32_t k = 0;
		if (!cluster_route(c, at->member[(i + m - 1) % m], at->member[m + i], &r))
			break;
		uint32_t link = narrowest(c, &r);
		while (k < n && seen[k] != link)
			k++;
		if (k == n)
			seen[n++] = link;
	}
	talloc_free(seen);
	while (n > 1 && m % n != 0)
		n--;
	return n ? n : 1;
}
