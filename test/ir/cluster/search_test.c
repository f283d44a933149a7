/*
 * Routes of random clusters against a plain search: the best way to each vertex over one link, over
 * two and so on, every way written out. Asked for in random order, every sender for so many
 * receivers that it is found by either search of ir/cluster/route.c.
 */
#include "ir/cluster/cluster.h"
#include "ir/cluster/device.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 160, EDGES = 1200, LONGEST = 12 };

struct way {
	bool found;
	uint32_t n, link[LONGEST];
	double latency;
};

/* A cluster, and what it was made of. */
struct drawn {
	struct cluster *c;
	struct {
		uint32_t from, to, link;
	} edge[EDGES];
	double latency[EDGES]; /* of a link */
	uint32_t nedges, nlinks;
	double passing[VERTICES];
	bool forwards[VERTICES];
	uint32_t nvertices;
	uint32_t end[VERTICES], ndevices, nhosts; /* vertices of devices, then of hosts */
	struct way way[2][VERTICES];              /* over as many links as the round, or one less */
};

static uint32_t
below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

static void
drew(struct drawn *d, uint32_t vertex, double passing, bool forwards)
{
	assert_int_equal(vertex, d->nvertices);
	d->passing[vertex] = passing;
	d->forwards[vertex] = forwards;
	d->nvertices++;
}

static uint32_t
draw_link(struct drawn *d)
{
	d->latency[d->nlinks] = below(3);
	const uint32_t link = cluster_add_link(d->c, "l", 1 + below(4), d->latency[d->nlinks]);
	assert_int_equal(link, d->nlinks);
	return d->nlinks++;
}

static void
draw_way(struct drawn *d, uint32_t from, uint32_t to, uint32_t link)
{
	cluster_add_way(d->c, from, to, link);
	d->edge[d->nedges].from = from;
	d->edge[d->nedges].to = to;
	d->edge[d->nedges++].link = link;
}

/* In both directions, by a link each or by one that is shared; at times by several. */
static void
draw_connection(struct drawn *d, uint32_t a, uint32_t b)
{
	for (uint32_t times = 1 + (below(8) == 0); times > 0; times--) {
		const uint32_t link = draw_link(d);
		draw_way(d, a, b, link);
		draw_way(d, b, a, below(4) ? draw_link(d) : link);
	}
}

/* Switches under switches, devices and hosts at some of them, and a few links across. */
static struct drawn *
draw(bool forward)
{
	struct drawn *d = talloc_zero(NULL, struct drawn);
	struct device *kind = device_generic(NULL);
	kind->forward = forward;
	d->c = cluster_create(d, "test");
	cluster_add_kind(d->c, kind);
	const uint32_t switches = 1 + below(20), devices = 2 + below(60), hosts = below(8);
	for (uint32_t i = 0; i < switches; i++) {
		const double passing = below(2);
		drew(d, cluster_add_switch(d->c, "s", passing, INFINITY), passing, true);
		if (i && below(12))
			draw_connection(d, i, below(i));
	}
	for (uint32_t i = 0; i < devices + hosts; i++) {
		const bool host = i >= devices;
		const uint32_t v = host ? cluster_add_host(d->c, "h", CLUSTER_NO_NODE)
					: cluster_add_device(d->c, "g", 0, CLUSTER_NO_NODE);
		drew(d, v, 0, host || forward);
		d->end[i] = v;
		for (uint32_t links = 1 + below(2); links > 0; links--)
			draw_connection(d, v, below(switches));
	}
	for (uint32_t across = below(10); across > 0; across--)
		draw_connection(d, below(d->nvertices), below(d->nvertices));
	d->ndevices = devices;
	d->nhosts = hosts;
	return d;
}

/* As cluster_route says; ways of as many links. */
static bool
is_better(const struct way *a, const struct way *b)
{
	if (!b->found || a->latency != b->latency)
		return !b->found || a->latency < b->latency;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->link[i] != b->link[i])
			return a->link[i] < b->link[i];
	return false;
}

static struct way
longer(const struct drawn *d, const struct way *way, uint32_t from, uint32_t source, uint32_t link)
{
	struct way w = *way;
	w.latency += (from == source ? 0 : d->passing[from]) + d->latency[link];
	w.link[w.n++] = link;
	return w;
}

/* The best way of fewest links; not found: there is none. */
static struct way
plain_search(struct drawn *d, uint32_t source, uint32_t goal)
{
	struct way *now = d->way[0], *next = d->way[1];
	memset(d->way, 0, sizeof d->way);
	now[source].found = true;
	for (uint32_t round = 0; round < LONGEST && !now[goal].found; round++) {
		for (uint32_t v = 0; v < d->nvertices; v++)
			next[v].found = false;
		for (uint32_t e = 0; e < d->nedges; e++) {
			const uint32_t from = d->edge[e].from, to = d->edge[e].to;
			if (!now[from].found || (from != source && !d->forwards[from]))
				continue;
			const struct way w = longer(d, &now[from], from, source, d->edge[e].link);
			if (is_better(&w, &next[to]))
				next[to] = w;
		}
		struct way *swap = now;
		now = next;
		next = swap;
	}
	return now[goal];
}

static void
compare(struct drawn *d, uint32_t from, uint32_t to)
{
	const struct way w = plain_search(d, d->end[from], d->end[to]);
	struct cluster_route r;
	assert_int_equal(cluster_route(d->c, from, to, &r), w.found);
	if (!w.found)
		return;
	assert_int_equal(r.nlinks, w.n);
	assert_memory_equal(r.link, w.link, w.n * sizeof *w.link);
	assert_true(r.latency == w.latency);
}

static void
routes_are_those_of_a_plain_search(void **state)
{
	(void)state;
	enum { CLUSTERS = 40, PAIRS = 300, RECEIVERS = 30 };
	for (unsigned seed = 0; seed < CLUSTERS; seed++) {
		srand(seed);
		struct drawn *d = draw(seed % 4 == 0);
		const uint32_t ends = d->ndevices + d->nhosts, one = below(ends);
		for (int i = 0; i < PAIRS; i++)
			compare(d, below(ends), below(ends));
		for (int i = 0; i < RECEIVERS; i++)
			compare(d, one, below(ends));
		talloc_free(d);
	}
}

/* Nodes of eight below leaves, leaves below spines: what is between two devices follows from their
 * numbers. A search of the whole graph for each sender would take minutes. */
static void
many_devices(void **state)
{
	(void)state;
	enum { EACH = 8, NODES = 8192, LEAF = 32, LEAVES = NODES / LEAF, SPINES = 4 };
	struct cluster *c = cluster_create(NULL, "test");
	const struct cluster_link nvlink = {"nvlink", 450e9, 1}, nic = {"nic", 50e9, 5},
				  up = {"up", 400e9, 2};
	uint32_t spine[SPINES], leaf[LEAVES];
	cluster_add_kind(c, device_generic(NULL));
	for (int s = 0; s < SPINES; s++)
		spine[s] = cluster_add_switch(c, "spine", 0, INFINITY);
	for (int l = 0; l < LEAVES; l++) {
		leaf[l] = cluster_add_switch(c, "leaf", 0, INFINITY);
		for (int s = 0; s < SPINES; s++)
			cluster_connect(c, leaf[l], spine[s], &up);
	}
	for (uint32_t n = 0; n < NODES; n++) {
		const uint32_t node = cluster_add_node(c);
		const uint32_t inner = cluster_add_switch(c, "nvswitch", 0, INFINITY);
		for (int i = 0; i < EACH; i++)
			cluster_connect(c, cluster_add_device(c, "g", 0, node), inner, &nvlink);
		cluster_connect(c, inner, leaf[n / LEAF], &nic);
	}
	for (uint32_t shift = 1; shift < NODES * EACH; shift *= 8)
		for (uint32_t i = 0; i < NODES * EACH; i++) {
			const uint32_t j = i ^ shift, a = i / EACH, b = j / EACH;
			struct cluster_route r;
			assert_true(cluster_route(c, i, j, &r));
			const bool near = a / LEAF == b / LEAF;
			assert_true(r.latency == (a == b ? 2 : near ? 12 : 16));
			assert_int_equal(r.nlinks, a == b ? 2 : near ? 4 : 6);
			assert_true(r.bandwidth == (a == b ? 450e9 : 50e9));
			/* Of four equal ways, the one by the first links: those of the first spine. */
			if (!near)
				assert_int_equal(r.link[2], 2 * SPINES * (a / LEAF));
		}
	talloc_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_those_of_a_plain_search),
		cmocka_unit_test(many_devices),
	};
	return cmocka_run_group_tests_name("searches for routes", tests, NULL, NULL);
}
