/*
 * What the cost model takes to say how long a collective is: for the first time on a placement, and
 * for one more size. Nodes of eight devices with a card each; groups of all devices, and of eight
 * that lie across nodes, so that there are as many groups as nodes.
 *
 *     collective [NODES]     128 unless told
 */
#include "ir/base/clock.h"
#include "ir/cluster/device.h"
#include "passes/analysis/collective/collective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

enum { PER_NODE = 8, TURNS = 100000 };

static struct cluster *
cluster_make(const void *owner, uint32_t nnodes)
{
	struct cluster *c = cluster_create(owner, "nodes");
	cluster_add_kind(c, device_generic(c));
	const struct cluster_link inside = {"nvlink", 300e9, 1e-6}, card = {"card", 50e9, 5e-6};
	uint32_t spine = cluster_add_switch(c, "spine", 1e-6, INFINITY);
	for (uint32_t i = 0; i < nnodes; i++) {
		uint32_t hub = cluster_add_switch(c, "hub", 0, INFINITY);
		uint32_t node = cluster_add_node(c);
		for (uint32_t d = 0; d < PER_NODE; d++) {
			uint32_t v = cluster_add_device(c, "d", 0, node);
			cluster_connect(c, v, hub, &inside);
			cluster_connect(c, v, spine, &card);
		}
	}
	return c;
}

static void
measure(struct cluster *c, const struct collective_request *q, enum collective_algorithm a)
{
	double sum = collective_seconds(c, q, a, NULL); /* routes are found and kept */
	if (isinf(sum))
		return;
	struct collective_model *m = collective_model_create(c, c);
	double start = clock_seconds();
	struct collective_cost *cost = collective_model_cost(m, q);
	sum += collective_cost_seconds(cost, 1, 1, a, NULL);
	double first = clock_seconds() - start;
	start = clock_seconds();
	for (int i = 0; i < TURNS; i++)
		sum += collective_cost_seconds(cost, 1e3 * i, 1, a, NULL);
	double next = (clock_seconds() - start) / TURNS;
	printf("%-14s %-13s %6u %6u %9.3f ms %9.1f ns\n", rt_coll_name(q->kind),
		collective_algorithm_name(a), q->ngroups, q->places, first * 1e3,
		sum > 0 ? next * 1e9 : 0);
	talloc_free(m);
}

int
main(int argc, char **argv)
{
	uint32_t nnodes = argc > 1 ? (uint32_t)atoi(argv[1]) : 128, n = nnodes * PER_NODE;
	void *owner = talloc_new(NULL);
	struct cluster *c = cluster_make(owner, nnodes);
	uint32_t *device = talloc_array(owner, uint32_t, n);
	printf("%-14s %-13s %6s %6s %12s %12s\n", "collective", "algorithm", "groups", "places",
		"first", "next size");
	for (uint32_t places = n; places >= PER_NODE; places = places > PER_NODE ? PER_NODE : 0) {
		uint32_t groups = n / places;
		for (uint32_t i = 0; i < n; i++)
			device[i] = i % places * groups + i / places;
		static const enum rt_coll_kind kinds[] = {
			RT_ALLREDUCE, RT_BROADCAST, RT_ALLGATHER, RT_ALLTOALL};
		for (int k = 0; k < 4; k++)
			for (int a = COLLECTIVE_AUTO; a < COLLECTIVE_NALGORITHMS; a++) {
				const struct collective_request q = {
					kinds[k], groups, places, device, 1e8, 0, 0, 1};
				measure(c, &q, (enum collective_algorithm)a);
			}
	}
	talloc_free(owner);
	return 0;
}
