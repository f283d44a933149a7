/* Small steps and clusters for the tests of fine replay. */
#ifndef TEST_PASSES_ANALYSIS_REPLAY_FINE_STEP_H
#define TEST_PASSES_ANALYSIS_REPLAY_FINE_STEP_H

#include "ir/cluster/device.h"
#include "passes/analysis/replay/fine.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 24, MAX_STREAMS = 6, MAX_REQUESTS = 4, MAX_DEVICES = 9, MAX_SENDS = 12, ROUNDS = 4 };

static inline uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

struct step {
	struct fine_step s;
	struct replay_graph g;
	uint16_t stream[MAX_N];
	replay_time duration[MAX_N];
	uint32_t dep_first[MAX_N + 1], dep[4 * MAX_N], request[MAX_N], leader[MAX_N];
	double slowdown[MAX_STREAMS / 2];
	struct fine_request requests[MAX_REQUESTS];
	struct collective_schedule schedule[MAX_REQUESTS];
	struct collective_round round[MAX_REQUESTS][ROUNDS];
	struct collective_send send[MAX_REQUESTS][MAX_SENDS];
};

struct times {
	struct fine_result r;
	replay_time start[MAX_N], end[MAX_N], busy[MAX_STREAMS];
};

static inline void
bind(struct step *s, struct cluster *c, uint32_t n, uint32_t nstreams, uint32_t nrequests)
{
	s->g = (struct replay_graph){
		n, nstreams, s->stream, s->duration, s->dep_first, s->dep, NULL, 0};
	s->s = (struct fine_step){.graph = &s->g,
		.request = s->request,
		.leader = s->leader,
		.requests = s->requests,
		.nrequests = nrequests,
		.cluster = c};
	for (uint32_t i = 0; i < nrequests; i++) {
		s->schedule[i].round = s->round[i];
		s->schedule[i].send = s->send[i];
		s->requests[i].schedule = &s->schedule[i];
	}
}

static inline enum fine_status
replay(const struct step *s, struct times *t)
{
	memset(t, 0x5a, sizeof *t);
	t->r.start = t->start;
	t->r.end = t->end;
	t->r.busy = t->busy;
	return fine_replay(&s->s, &t->r);
}

/* Event e of the step; it waits for nothing. */
static inline void
event(struct step *s, uint32_t e, uint32_t stream, replay_time duration, uint32_t request)
{
	s->stream[e] = (uint16_t)stream;
	s->duration[e] = duration;
	s->request[e] = request;
	s->leader[e] = e;
	s->dep_first[e + 1] = s->dep_first[e];
}

/* A request of one send. */
static inline void
point_to_point(struct step *s, uint32_t i, uint32_t from, uint32_t to, double bytes)
{
	s->schedule[i] = (struct collective_schedule){.nrounds = 1, .nsends = 1, .chunks = 1};
	s->round[i][0] = (struct collective_round){0, 1, 1, 0};
	s->send[i][0] = (struct collective_send){from, to, bytes};
}

/* A request of one ring of the devices at first, first + by ..., so many rounds. */
static inline void
ring(struct step *s, uint32_t i, uint32_t places, uint32_t first, uint32_t by, uint32_t rounds,
	double bytes)
{
	s->schedule[i] = (struct collective_schedule){.nrounds = 1, .nsends = places, .chunks = 1};
	s->round[i][0] = (struct collective_round){0, places, rounds, 0};
	for (uint32_t k = 0; k < places; k++)
		s->send[i][k] = (struct collective_send){
			first + k * by, first + (k + 1) % places * by, bytes};
}

/* Devices at one switch, a link in and one out each, of which it has half the latency. */
static inline struct cluster *
star(const void *owner, uint32_t n, double bandwidth, double latency)
{
	struct cluster *c = cluster_create(owner, "star");
	cluster_add_kind(c, device_generic(c));
	uint32_t hub = cluster_add_switch(c, "switch", 0, INFINITY);
	const struct cluster_link link = {"link", bandwidth, latency / 2};
	for (uint32_t d = 0; d < n; d++)
		cluster_connect(c, cluster_add_device(c, "d", 0, CLUSTER_NO_NODE), hub, &link);
	return c;
}

/* Nodes of `per` devices at a switch each, with a card to the spine. */
static inline struct cluster *
nodes(const void *owner, uint32_t n, uint32_t per, struct cluster_link inside,
	struct cluster_link card, double spine_bandwidth)
{
	struct cluster *c = cluster_create(owner, "nodes");
	cluster_add_kind(c, device_generic(c));
	uint32_t spine = cluster_add_switch(c, "spine", 0, spine_bandwidth);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t hub = cluster_add_switch(c, "switch", 0, INFINITY);
		cluster_connect(c, hub, spine, &card);
		uint32_t node = cluster_add_node(c);
		for (uint32_t d = 0; d < per; d++)
			cluster_connect(c, cluster_add_device(c, "d", 0, node), hub, &inside);
	}
	return c;
}

/* Nodes of `per` devices at a switch, each with a card of its own to the spine. */
static inline struct cluster *
cards(const void *owner, uint32_t n, uint32_t per, struct cluster_link inside,
	struct cluster_link card)
{
	struct cluster *c = cluster_create(owner, "cards");
	cluster_add_kind(c, device_generic(c));
	uint32_t spine = cluster_add_switch(c, "spine", 0, INFINITY);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t hub = cluster_add_switch(c, "switch", 0, INFINITY);
		uint32_t node = cluster_add_node(c);
		for (uint32_t d = 0; d < per; d++) {
			uint32_t device = cluster_add_device(c, "d", 0, node);
			cluster_connect(c, device, hub, &inside);
			cluster_connect(c, device, spine, &card);
		}
	}
	return c;
}

#endif
