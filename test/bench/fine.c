/*
 * The speed of fine replay: sends a second where every send shares its links with others that start
 * and end at other times. Nodes of eight devices have one card each; the eight rings through the
 * nodes, one for each device of a node, go over the cards together. A send is two events: it is
 * out, it is received. Replayed three ways: every rank by itself; the same where the spine is too
 * narrow, so that each send shares with all others; and with classes of ranks that do the same.
 *
 *     fine [SECONDS]     how long to measure each size; 0.5 unless told
 */
#include "ir/base/clock.h"
#include "ir/cluster/device.h"
#include "passes/analysis/replay/fine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

enum { PER_NODE = 8, STEPS = 2 };

enum kind { RANKS, SPINE, CLASSES, KINDS };

struct bench {
	struct fine_step s;
	struct fine_result r;
	struct replay_graph g;
	uint32_t nnodes;
};

static struct cluster *
cluster_make(const void *owner, uint32_t nnodes, double spine_bandwidth)
{
	struct cluster *c = cluster_create(owner, "nodes");
	cluster_add_kind(c, device_generic(c));
	const struct cluster_link inside = {"nvlink", 300e9, 1e-6}, card = {"card", 50e9, 2e-6};
	uint32_t spine = cluster_add_switch(c, "spine", 1e-6, spine_bandwidth);
	for (uint32_t i = 0; i < nnodes; i++) {
		uint32_t hub = cluster_add_switch(c, "hub", 0, INFINITY);
		uint32_t node = cluster_add_node(c);
		cluster_connect(c, hub, spine, &card);
		for (uint32_t d = 0; d < PER_NODE; d++)
			cluster_connect(c, cluster_add_device(c, "d", 0, node), hub, &inside);
	}
	return c;
}

/* Ring number k: device k of every node. */
static struct collective_schedule *
ring_make(const void *owner, uint32_t k, uint32_t nnodes)
{
	struct collective_schedule *s = talloc_zero(owner, struct collective_schedule);
	*s = (struct collective_schedule){1, nnodes, 1, talloc_array(s, struct collective_round, 1),
		talloc_array(s, struct collective_send, nnodes), 1, 1};
	s->round[0] = (struct collective_round){0, nnodes, 2 * (nnodes - 1), 0};
	for (uint32_t i = 0; i < nnodes; i++)
		s->send[i] = (struct collective_send){
			PER_NODE * i + k, PER_NODE * ((i + 1) % nnodes) + k, 1e6 + 1e4 * k};
	return s;
}

static struct bench *
bench_make(uint32_t nnodes, enum kind kind)
{
	struct bench *b = talloc_zero(NULL, struct bench);
	uint32_t n = PER_NODE * STEPS;
	uint16_t *stream = talloc_array(b, uint16_t, n);
	uint32_t *request = talloc_array(b, uint32_t, n);
	struct fine_request *requests = talloc_zero_array(b, struct fine_request, PER_NODE);
	for (uint32_t e = 0; e < n; e++) {
		stream[e] = (uint16_t)(2 * (e % PER_NODE) + 1);
		request[e] = e % PER_NODE;
	}
	for (uint32_t k = 0; k < PER_NODE; k++)
		requests[k] = (struct fine_request){.schedule = ring_make(b, k, nnodes)};
	b->g = (struct replay_graph){n, 2 * PER_NODE, stream, talloc_zero_array(b, replay_time, n),
		talloc_zero_array(b, uint32_t, n + 1), talloc_array(b, uint32_t, 1), NULL, 0};
	b->s = (struct fine_step){&b->g, request, NULL, requests, PER_NODE,
		cluster_make(b, nnodes, kind == SPINE ? 25e9 * nnodes : INFINITY), NULL,
		.plainly = kind != CLASSES};
	b->r.start = talloc_array(b, replay_time, n);
	b->r.end = talloc_array(b, replay_time, n);
	return b;
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;
	const uint32_t nodes[] = {2, 8, 32, 128};
	printf("%8s  %24s  %24s  %24s\n", "devices", "ranks (sends, M/s)",
		"narrow spine (sends, M/s)", "classes (sends, M/s)");
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		printf("%8u", PER_NODE * nodes[i]);
		for (int kind = 0; kind < KINDS; kind++) {
			struct bench *b = bench_make(nodes[i], (enum kind)kind);
			double best = 1e9;
			for (double stop = clock_seconds() + seconds; clock_seconds() < stop;) {
				double t = clock_seconds();
				if (fine_replay(&b->s, &b->r) != FINE_OK)
					return 1;
				t = clock_seconds() - t;
				best = t < best ? t : best;
			}
			printf("  %14.0f %9.2f", (double)b->r.sends,
				(double)b->r.sends / best / 1e6);
			talloc_free(b);
		}
		printf("\n");
	}
	return 0;
}
