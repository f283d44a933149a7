/*
 * Collectives on clusters: schedules bring every part to where it belongs, and take what closed
 * forms and sums by hand say.
 */
#include "ir/cluster/device.h"
#include "passes/analysis/collective/build.h"
#include "passes/analysis/replay/fine.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GB 1e9
#define US 1e-6

static const struct cluster_link nvlink = {"nvlink", 100 * GB, 2 * US};
static const struct cluster_link net = {"net", 10 * GB, 10 * US};

/* Any number of devices, each with a link of 10 us and 10 GB/s. */
static struct cluster *
star(void *owner)
{
	return cluster_of_device(owner, device_generic(owner));
}

/* Nodes of so many devices on a switch by nvlink; how they reach each other is said afterwards. */
static struct cluster *
nodes(void *owner, uint32_t n, const uint32_t *members, uint32_t *device_vertex)
{
	struct cluster *c = cluster_create(owner, "nodes");
	cluster_add_kind(c, device_generic(c));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t node = cluster_add_node(c);
		uint32_t inside = cluster_add_switch(c, "inside", 0, INFINITY);
		for (uint32_t i = 0; i < members[k]; i++) {
			uint32_t v = cluster_add_device(c, "d", 0, node);
			cluster_connect(c, v, inside,
				&(struct cluster_link){
					"nvlink", nvlink.bandwidth, nvlink.latency / 2});
			*device_vertex++ = v;
		}
	}
	return c;
}

/* Nodes of m devices; each node has one card, a host between its switch and the net. */
static struct cluster *
one_card(void *owner, uint32_t n, uint32_t m)
{
	struct cluster *c = cluster_create(owner, "one card");
	cluster_add_kind(c, device_generic(c));
	uint32_t spine = cluster_add_switch(c, "spine", 0, INFINITY);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t node = cluster_add_node(c);
		uint32_t host = cluster_add_host(c, "h", node);
		cluster_connect(c, host, spine,
			&(struct cluster_link){"net", net.bandwidth, net.latency / 2});
		for (uint32_t i = 0; i < m; i++)
			cluster_connect(c, cluster_add_device(c, "d", 0, node), host,
				&(struct cluster_link){
					"nvlink", nvlink.bandwidth, nvlink.latency / 2});
	}
	return c;
}

/* Nodes of m devices; each device has a card of its own. */
static struct cluster *
own_cards(void *owner, uint32_t n, uint32_t m)
{
	uint32_t vertex[64], members[16];
	for (uint32_t k = 0; k < n; k++)
		members[k] = m;
	struct cluster *c = nodes(owner, n, members, vertex);
	uint32_t spine = cluster_add_switch(c, "spine", 0, INFINITY);
	for (uint32_t i = 0; i < n * m; i++)
		cluster_connect(c, vertex[i], spine,
			&(struct cluster_link){"net", net.bandwidth, net.latency / 2});
	return c;
}

/* One group of the first n devices. */
static struct collective_request
request(void *owner, enum rt_coll_kind kind, uint32_t places, double bytes)
{
	uint32_t *device = talloc_array(owner, uint32_t, places);
	for (uint32_t i = 0; i < places; i++)
		device[i] = i;
	return (struct collective_request){
		kind, 1, places, device, bytes, 0, kind == RT_SEND ? places - 1 : 0, 1};
}

static void
same(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-11 * expected))
		fail_msg("%.17g instead of %.17g", got, expected);
}

static double
seconds(struct cluster *c, const struct collective_request *q, enum collective_algorithm a)
{
	enum collective_algorithm chosen = COLLECTIVE_NALGORITHMS;
	double t = collective_seconds(c, q, a, &chosen);
	if (a != COLLECTIVE_AUTO)
		assert_int_equal(chosen, a);
	return t;
}

static void
equal_links_give_the_closed_forms(void **state)
{
	static const uint32_t places[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 100, 256};
	static const double sizes[] = {0, 1, 1e3, 1e6, 1e9, 1e12};
	struct cluster *c = star(*state);
	for (size_t p = 0; p < sizeof places / sizeof *places; p++)
		for (int kind = 0; kind < RT_COLL_KINDS; kind++)
			for (int a = COLLECTIVE_RING; a < COLLECTIVE_NALGORITHMS; a++) {
				double latencies, tensors;
				bool fits = collective_closed_form((enum rt_coll_kind)kind,
					(enum collective_algorithm)a, (int)places[p], &latencies,
					&tensors);
				for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
					struct collective_request q = request(*state,
						(enum rt_coll_kind)kind, places[p], sizes[s]);
					double t = seconds(c, &q, (enum collective_algorithm)a);
					if (fits)
						same(t, latencies * 10 * US +
								tensors * sizes[s] / (10 * GB));
					else if (places[p] > 1)
						assert_true(isinf(t));
				}
			}
}

static void
the_ring_is_collective_ring_seconds(void **state)
{
	struct cluster *c = star(*state);
	for (int kind = 0; kind < RT_COLL_KINDS; kind++)
		for (uint32_t p = 2; p < 40; p += 3) {
			struct collective_request q =
				request(*state, (enum rt_coll_kind)kind, p, 12345678);
			same(seconds(c, &q, COLLECTIVE_RING),
				collective_ring_seconds(q.kind, (int)p, q.bytes, 10 * US, 10 * GB));
		}
}

/* What each device knows of which others, by 64 bits. */
static uint64_t
everyone(uint32_t places)
{
	return places == 64 ? ~(uint64_t)0 : ((uint64_t)1 << places) - 1;
}

static bool
arrived(const struct collective_request *q, const uint64_t *knows, const uint64_t *direct)
{
	for (uint32_t i = 0; i < q->places; i++) {
		uint64_t all = everyone(q->places);
		switch (q->kind) {
		case RT_BROADCAST:
		case RT_SCATTER: all = 1u << q->from; break;
		case RT_SEND: all = i == q->to ? 1u << q->from : 0; break;
		case RT_REDUCE:
		case RT_GATHER: all = i == q->to ? all : 0; break;
		case RT_ALLTOALL:
			if ((direct[i] | (uint64_t)1 << i) != all)
				return false;
			break;
		default: break;
		}
		if ((knows[i] & all) != all)
			return false;
	}
	return true;
}

/* One round in one lane: what an end knows at its start is what it sends. */
static void
pass_on(const struct collective_send *send, uint32_t n, uint32_t ends, uint64_t *knows,
	const struct collective_request *q, uint64_t *direct)
{
	uint64_t *next = talloc_memdup(NULL, knows, ends * sizeof *knows);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(send[i].from < ends && send[i].to < ends);
		assert_true(send[i].from != send[i].to);
		next[send[i].to] |= knows[send[i].from];
		for (uint32_t k = 0; k < q->places; k++)
			if (q->device[k] == send[i].from)
				direct[send[i].to] |= (uint64_t)1 << k;
	}
	memcpy(knows, next, ends * sizeof *knows);
	talloc_free(next);
}

/* Every lane carries a part of the tensor, and brings it to where it belongs. */
static void
check_lane(const struct cluster *c, const struct collective_request *q,
	const struct collective_schedule *s, uint32_t lane)
{
	uint32_t ends = c->ndevices + c->nhosts;
	uint64_t *knows = talloc_zero_array(s, uint64_t, 2 * ends), *direct = knows + ends;
	for (uint32_t i = 0; i < q->places; i++)
		knows[q->device[i]] = (uint64_t)1 << i;
	for (uint32_t r = 0; r < s->nrounds; r++) {
		const struct collective_round *round = &s->round[r];
		assert_true(round->n > 0 && round->repeat > 0);
		assert_true(round->first + round->n <= s->nsends && round->n % s->lanes == 0);
		uint32_t n = round->n / s->lanes;
		for (uint32_t t = 0; t < round->repeat; t++)
			pass_on(&s->send[round->first + lane * n], n, ends, knows, q, direct);
	}
	uint64_t *member = talloc_array(s, uint64_t, 2 * q->places);
	for (uint32_t i = 0; i < q->places; i++) {
		member[i] = knows[q->device[i]];
		member[q->places + i] = direct[q->device[i]];
	}
	assert_true(arrived(q, member, member + q->places));
}

static void
check_schedule(struct cluster *c, const struct collective_request *q, enum collective_algorithm a)
{
	struct collective_schedule *s = collective_schedule(c, c, q, a, NULL);
	assert_non_null(s);
	assert_true(s->lanes > 0);
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		check_lane(c, q, s, lane);
	talloc_free(s);
}

/*
 * Each schedule, of little and much as variants differ, brings all to where it belongs; and
 * replayed finely, send by send with the links shared as they come, it takes what the model says.
 * Where latencies and bytes overlap in a pipeline or in rings of unequal hops, the model is the sum
 * of what a replay hides in part; a pipeline is filled in chunks which the model takes as small. Of
 * gather and scatter the model counts a latency for each place. Between uneven nodes rounds run
 * into each other, so that a replay may take half as long again.
 */
static void
check_algorithms(struct cluster *c, const struct collective_request *q, bool even)
{
	for (int a = COLLECTIVE_RING; a < COLLECTIVE_NALGORITHMS; a++) {
		const struct fine_request fine = {*q, (enum collective_algorithm)a, NULL, 1};
		double t = collective_seconds(c, q, fine.algorithm, NULL);
		if (isinf(t))
			continue;
		check_schedule(c, q, fine.algorithm);
		if (q->kind == RT_GATHER || q->kind == RT_SCATTER || !even)
			continue;
		double replayed = replay_seconds(fine_alone(c, &fine));
		if (!(replayed < 1.2 * t && replayed > 0.85 * t))
			fail_msg("%s, %s, %u places, %g bytes: %g s replayed, %g s",
				rt_coll_name(q->kind), collective_algorithm_name(fine.algorithm),
				q->places, q->bytes, replayed, t);
	}
}

static void
every_part_arrives_when_it_should(void **state)
{
	const uint32_t uneven[] = {3, 1, 2}, members[] = {1, 4, 2, 0};
	uint32_t vertex[8];
	struct cluster *clusters[] = {star(*state), own_cards(*state, 4, 4), one_card(*state, 8, 2),
		nodes(*state, 3, uneven, vertex)};
	uint32_t spine = cluster_add_switch(clusters[3], "spine", 0, INFINITY);
	for (int i = 0; i < 6; i++)
		cluster_connect(clusters[3], vertex[i], spine, &net);
	for (int k = 0; k < 4; k++)
		for (uint32_t p = 2; p <= (k == 3 ? 6 : 16); p++)
			for (int kind = 0; kind < RT_COLL_KINDS; kind++) {
				struct collective_request q =
					request(*state, (enum rt_coll_kind)kind, p, 1);
				bool even = p < members[k] || (members[k] && p % members[k] == 0);
				q.from = p / 3;
				q.to = p - 1;
				check_algorithms(clusters[k], &q, even);
				q.bytes = 1e9;
				check_algorithms(clusters[k], &q, even);
				q.parts = 3;
				check_algorithms(clusters[k], &q, even);
			}
}

static void
order_of_the_group_does_not_matter(void **state)
{
	static const uint32_t mixed[] = {5, 0, 7, 2, 1, 6, 3, 4};
	struct cluster *c = one_card(*state, 4, 2);
	for (int a = COLLECTIVE_RING; a < COLLECTIVE_NALGORITHMS; a++) {
		struct collective_request q = request(*state, RT_ALLREDUCE, 8, 1e8);
		double t = seconds(c, &q, (enum collective_algorithm)a);
		q.device = mixed;
		same(seconds(c, &q, (enum collective_algorithm)a), t);
	}
}

/*
 * A ring through n nodes of m members: by the rules of collective.h alone, each send with the time
 * that it takes with nothing else on its links, step by step for every device.
 */
static double
simulate_ring(const double *latency, const double *pass, int n, int steps)
{
	double ready[64] = {0}, out[64] = {0}, next[64], last = 0;
	for (int t = 0; t < steps; t++) {
		for (int i = 0; i < n; i++) {
			double start = fmax(ready[i], out[i]);
			out[i] = start + pass[i];
			next[(i + 1) % n] = out[i] + latency[i];
		}
		for (int i = 0; i < n; i++) {
			ready[i] = next[i];
			last = fmax(last, next[i]);
		}
	}
	return last;
}

static void
a_ring_through_nodes_pays_the_way_between_them_once_a_node(void **state)
{
	enum { N = 4, M = 4, P = N * M };
	struct cluster *c = one_card(*state, N, M);
	for (double bytes = 1e2; bytes < 1e11; bytes *= 3) {
		double latency[P], pass[P];
		for (int i = 0; i < P; i++) {
			bool across = i % M == M - 1;
			latency[i] = across ? nvlink.latency + net.latency : nvlink.latency;
			pass[i] = bytes / P / (across ? net.bandwidth : nvlink.bandwidth);
		}
		struct collective_request q = request(*state, RT_ALLREDUCE, P, bytes);
		double exact = simulate_ring(latency, pass, P, 2 * (P - 1));
		double got = seconds(c, &q, COLLECTIVE_RING);
		assert_true(got <= exact * (1 + 1e-12)); /* ways that mix are left out */
		assert_true(got >= exact * 0.97);
		if (bytes < 1e3 || bytes > 1e9)
			same(got, exact);
	}
}

/* Four devices on one medium that carries one message at a time, so to say. */
static void
a_shared_medium_carries_all_sends_of_a_round(void **state)
{
	struct cluster *c = cluster_create(*state, "bus");
	cluster_add_kind(c, device_generic(c));
	uint32_t link = cluster_add_link(c, "bus", 1 * GB, 3 * US), v[4];
	for (int i = 0; i < 4; i++)
		v[i] = cluster_add_device(c, "d", 0, CLUSTER_NO_NODE);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			if (i != j)
				cluster_add_way(c, v[i], v[j], link);
	struct collective_request q = request(*state, RT_ALLREDUCE, 4, 4e6);
	same(seconds(c, &q, COLLECTIVE_RING), 6 * (3 * US + 4 * 1e6 / GB));
	same(seconds(c, &q, COLLECTIVE_HALVING), 4 * 3 * US + 2 * (4 * 2e6 + 4 * 1e6) / GB);
	q.kind = RT_BROADCAST; /* three hops of the whole on one medium */
	same(seconds(c, &q, COLLECTIVE_RING), 3 * 3 * US + 3 * 4e6 / GB);
	q.kind = RT_ALLTOALL;
	same(seconds(c, &q, COLLECTIVE_RING), 3 * (3 * US + 4 * 1e6 / GB));
}

/* Two pairs of nodes; what passes from switch to switch shares 5 GB/s, a quarter of the ports. */
static void
an_oversubscribed_switch_is_shared(void **state)
{
	struct cluster *c = cluster_create(*state, "oversubscribed");
	cluster_add_kind(c, device_generic(c));
	uint32_t left = cluster_add_switch(c, "left", 0, INFINITY);
	uint32_t right = cluster_add_switch(c, "right", 0, INFINITY);
	uint32_t spine = cluster_add_switch(c, "spine", 1 * US, 5 * GB);
	for (int i = 0; i < 4; i++)
		cluster_connect(c, cluster_add_device(c, "d", 0, CLUSTER_NO_NODE),
			i < 2 ? left : right, &net);
	cluster_connect(c, left, spine, &(struct cluster_link){"up", 20 * GB, 0});
	cluster_connect(c, right, spine, &(struct cluster_link){"up", 20 * GB, 0});

	/* Pairs at distance 2, four sends through the spine; then at distance 1. */
	struct collective_request q = request(*state, RT_ALLREDUCE, 4, 4e6);
	same(seconds(c, &q, COLLECTIVE_HALVING),
		2 * (20 * US + 2e6 / (10 * GB) + 21 * US + 4 * 1e6 / (5 * GB)));
	/* A ring crosses it twice in each of six steps: 2 of 4 hops. The sender at the spine is the
	 * slowest, 1 MB at 2.5 GB/s; messages meet it at every step. */
	same(seconds(c, &q, COLLECTIVE_RING), 21 * US + 6 * 1e6 / (2.5 * GB));
	q.kind = RT_SEND;
	q.from = 0;
	q.to = 3;
	same(seconds(c, &q, COLLECTIVE_RING), 21 * US + 4e6 / (5 * GB));
}

static void
groups_share_the_card_of_their_node(void **state)
{
	static const uint32_t device[] = {0, 2, 1, 3};
	struct cluster *c = one_card(*state, 2, 2);
	const struct collective_request one = {RT_ALLREDUCE, 1, 2, device, 8e6, 0, 0, 1};
	const struct collective_request two = {RT_ALLREDUCE, 2, 2, device, 8e6, 0, 0, 1};
	same(seconds(c, &one, COLLECTIVE_RING), 2 * (12 * US + 4e6 / (10 * GB)));
	same(seconds(c, &two, COLLECTIVE_RING), 2 * (12 * US + 2 * 4e6 / (10 * GB)));
	same(seconds(c, &two, COLLECTIVE_HALVING), 2 * (12 * US + 2 * 4e6 / (10 * GB)));
	/* Sends of both groups in one direction. */
	const struct collective_request send = {RT_SEND, 2, 2, device, 8e6, 0, 1, 1};
	same(seconds(c, &send, COLLECTIVE_RING), 12 * US + 2 * 8e6 / (10 * GB));
}

/* Where each member has a card, as many rings as cards: each carries a part between the nodes. */
static void
rings_use_all_cards_of_a_node(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	struct collective_request q = request(*state, RT_ALLREDUCE, 16, 16e9);
	/* A step of 1/16: a card takes a quarter of it, 0.25 GB at 10 GB/s; nvlink the rest, twice
	 * as fast or more. 30 steps wait for the cards. */
	same(seconds(c, &q, COLLECTIVE_RING), 10 * US + 30 * 0.25 / 10);
	struct collective_schedule *s = collective_schedule(*state, c, &q, COLLECTIVE_RING, NULL);
	assert_int_equal(s->nrounds, 1);
	assert_int_equal(s->round[0].repeat, 30);
	assert_int_equal(s->nsends, 4 * 16);
	assert_int_equal(s->lanes, 4);
	/* With one card a node several rings are no better, and one it is. */
	c = one_card(*state, 4, 4);
	s = collective_schedule(*state, c, &q, COLLECTIVE_RING, NULL);
	assert_int_equal(s->nsends, 16);
}

/*
 * Trees that span nodes: up a chain of four, three times by nvlink, up and down a tree of 4 nodes,
 * two levels, and down the chain. Each of four cards sends what an inner node of the two trees
 * does, twice a quarter; nvlink twice three quarters, much faster.
 */
static void
trees_use_all_cards_of_a_node(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	struct collective_request q = request(*state, RT_ALLREDUCE, 16, 16e9);
	double latencies = 2 * 3 * 2 * US + 2 * 2 * 10 * US;
	same(seconds(c, &q, COLLECTIVE_TREE), latencies + 2 * 4.0 / 10);
	/* One card a node carries twice the whole. */
	c = one_card(*state, 4, 4);
	latencies = 2 * 3 * 2 * US + 2 * 2 * 12 * US;
	double one = seconds(c, &q, COLLECTIVE_TREE);
	assert_true(one <= (latencies + 2 * 16.0 / 10) * (1 + 1e-12) && one >= 2 * 16.0 / 10);
}

/* A broadcast through nodes with a card each: one level to the trees, two in them, a chain. */
static void
a_tree_from_a_root_takes_each_card_once(void **state)
{
	struct cluster *c = one_card(*state, 5, 3);
	struct collective_request q = request(*state, RT_BROADCAST, 15, 15e9);
	q.from = 7;
	double expected = 3 * 12 * US + 2 * 2 * US + 15.0 / 10;
	same(seconds(c, &q, COLLECTIVE_TREE), expected);
	q.kind = RT_REDUCE;
	q.to = 4;
	same(seconds(c, &q, COLLECTIVE_TREE), expected);
}

/*
 * 16 H100 in two nodes with eight cards of 200 Gbit/s: an all_reduce_perf of 8 GiB took 47.5 ms
 * (test/passes/analysis/profile/Inputs/nccl_tests.py). The rings that fill the cards would take 1.9 times as long as trees.
 */
static void
the_choice_is_near_what_nccl_reaches(void **state)
{
	struct cluster *c = cluster_create(*state, "a3mega");
	cluster_add_kind(c, device_generic(c));
	uint32_t net_switch = cluster_add_switch(c, "net", 0, INFINITY);
	for (int k = 0; k < 2; k++) {
		uint32_t node = cluster_add_node(c);
		uint32_t inside = cluster_add_switch(c, "nvswitch", 0, INFINITY);
		for (int i = 0; i < 8; i++) {
			uint32_t v = cluster_add_device(c, "d", 0, node);
			cluster_connect(
				c, v, inside, &(struct cluster_link){"nvlink", 450 * GB, 1 * US});
			cluster_connect(
				c, v, net_switch, &(struct cluster_link){"card", 25 * GB, 5 * US});
		}
	}
	struct collective_request q = request(*state, RT_ALLREDUCE, 16, 8589934592.0);
	enum collective_algorithm chosen;
	double t = collective_seconds(c, &q, COLLECTIVE_AUTO, &chosen);
	assert_int_equal(chosen, COLLECTIVE_TREE);
	assert_true(t < 47.5e-3 && t > 0.85 * 47.5e-3);
	assert_true(seconds(c, &q, COLLECTIVE_RING) > 1.8 * t);
}

static void
hierarchical_is_the_sum_of_its_parts(void **state)
{
	struct cluster *c = own_cards(*state, 3, 4);
	struct collective_request q = request(*state, RT_ALLREDUCE, 12, 12e8);
	double inside = 3 * (2 * US + 3e8 / (100 * GB));
	double across = 2 * (10 * US + 1e8 / (10 * GB));
	same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), 2 * inside + 2 * across);
	q.kind = RT_ALLGATHER;
	same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), inside + across);
	q.kind = RT_REDUCESCATTER;
	same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), inside + across);
	/* One card a node: four sends share it. */
	c = one_card(*state, 3, 4);
	across = 2 * (12 * US + 4 * 1e8 / (10 * GB));
	same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), inside + across);
	/* Four nodes: halving between them has fewer rounds. */
	c = own_cards(*state, 4, 4);
	q = request(*state, RT_ALLREDUCE, 16, 16e4);
	inside = 3 * (2 * US + 4e4 / (100 * GB));
	across = 2 * (10 * US) + (2e4 + 1e4) / (10 * GB);
	same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), 2 * inside + 2 * across);
	/* All in one node; a broadcast; nodes that differ. */
	q = request(*state, RT_ALLREDUCE, 4, 1e6);
	assert_true(isinf(seconds(c, &q, COLLECTIVE_HIERARCHICAL)));
	q = request(*state, RT_ALLREDUCE, 7, 1e6);
	assert_true(isinf(seconds(c, &q, COLLECTIVE_HIERARCHICAL)));
	assert_null(collective_schedule(*state, c, &q, COLLECTIVE_HIERARCHICAL, NULL));
	q = request(*state, RT_BROADCAST, 8, 1e6);
	assert_true(isinf(seconds(c, &q, COLLECTIVE_HIERARCHICAL)));
}

static void
servers_take_and_give_equal_parts(void **state)
{
	struct cluster *c = star(*state);
	struct collective_request q = request(*state, RT_ALLREDUCE, 5, 5e6);
	same(seconds(c, &q, COLLECTIVE_PS), 2 * (10 * US + 4 * 1e6 / (10 * GB)));
	/* Two nodes of two, a host each: inside, half of the tensor a step; then each member pushes
	 * a quarter to either host, the card carries two quarters each way, and back. */
	c = one_card(*state, 2, 2);
	q = request(*state, RT_ALLREDUCE, 4, 8e6);
	double inside = 2 * US + 4e6 / (100 * GB);
	double push = 11 * US + 2 * 2e6 / (10 * GB);
	same(seconds(c, &q, COLLECTIVE_PS), 2 * inside + 2 * push);
	struct collective_schedule *s = collective_schedule(*state, c, &q, COLLECTIVE_PS, NULL);
	assert_int_equal(s->send[s->round[1].first].to, c->ndevices);
	/* Three members on one node and one on the other: 2/3 and 1/3 inside take two steps. */
	q = request(*state, RT_ALLREDUCE, 4, 12e6);
	static const uint32_t device[] = {0, 1, 2, 4};
	q.device = device;
	c = one_card(*state, 2, 4);
	inside = 2 * (2 * US + 4e6 / (100 * GB));
	push = 11 * US + 6e6 / (10 * GB);
	same(seconds(c, &q, COLLECTIVE_PS), 2 * inside + 2 * push);
	q.kind = RT_ALLGATHER;
	assert_true(isinf(seconds(c, &q, COLLECTIVE_PS)));
}

/* n workers and s hosts, each with a link to one switch. */
static struct cluster *
workers_and_servers(void *owner, uint32_t n, uint32_t s)
{
	struct cluster *c = cluster_create(owner, "servers");
	cluster_add_kind(c, device_generic(c));
	uint32_t hub = cluster_add_switch(c, "switch", 0, INFINITY);
	const struct cluster_link half = {"net", net.bandwidth, net.latency / 2};
	for (uint32_t i = 0; i < n + s; i++)
		cluster_connect(c,
			i < n ? cluster_add_device(c, "worker", 0, CLUSTER_NO_NODE)
			      : cluster_add_host(c, "server", CLUSTER_NO_NODE),
			hub, &half);
	return c;
}

/*
 * A worker's link carries the tensor, a server's n/s of it, whichever is more; k parts of it are
 * pushed in k turns of that and a latency, and pulled a turn later: (1 + 1/k) S/b for s >= n.
 */
static void
parts_are_pulled_while_the_next_is_pushed(void **state)
{
	const double bytes = 24e6;
	for (uint32_t s = 1; s <= 8; s *= 2)
		for (uint32_t k = 1; k <= 64; k *= 2) {
			struct cluster *c = workers_and_servers(*state, 4, s);
			struct collective_request q = request(*state, RT_ALLREDUCE, 4, bytes);
			q.parts = k;
			double fullest = s < 4 ? 4.0 / s : 1;
			double turn = 10 * US + fullest * bytes / k / (10 * GB);
			same(seconds(c, &q, COLLECTIVE_PS), (k + 1) * turn);
			const struct fine_request fine = {q, COLLECTIVE_PS, NULL, 0};
			double replayed = replay_seconds(fine_alone(c, &fine));
			assert_true(fabs(replayed - (k + 1) * turn) < 1e-9 * turn);
		}
}

/* Servers that share the links of the workers: both directions are full in push and in pull, so
 * that parts hide latencies at best. */
static void
parts_gain_nothing_where_push_and_pull_share_links(void **state)
{
	struct cluster *c = star(*state);
	for (uint32_t k = 1; k <= 64; k *= 2) {
		struct collective_request q = request(*state, RT_ALLREDUCE, 5, 50e6);
		q.parts = k;
		double stage = 10 * US + 4 * 10e6 / k / (10 * GB);
		double both = 2 * 4 * 10e6 / k / (10 * GB);
		double t = seconds(c, &q, COLLECTIVE_PS);
		same(t, 2 * stage + (k - 1) * fmax(stage, both));
		const struct fine_request fine = {q, COLLECTIVE_PS, NULL, 0};
		double replayed = replay_seconds(fine_alone(c, &fine));
		assert_true(replayed > 0.8 * t && replayed < 1.2 * t);
	}
}

/*
 * Inside a node while another part is between nodes: the way of one, and for each other one the
 * longest of inside, between, and what a card inside a node carries in both stages inside.
 */
static void
parts_are_inside_nodes_and_between_them_at_once(void **state)
{
	for (uint32_t k = 1; k <= 32; k *= 2)
		for (int thin = 0; thin < 2; thin++) {
			struct cluster *c = own_cards(*state, 2, 4);
			double card = thin ? 10 * GB : 100 * GB;
			for (uint32_t i = 0; i < c->nlinks; i++)
				if (c->link[i].bandwidth == net.bandwidth)
					c->link[i].bandwidth = card;
			struct collective_request q = request(*state, RT_ALLREDUCE, 8, 80e6);
			q.parts = k;
			double s = 80e6 / k;
			double inside = 3 * (2 * US + s / 4 / (100 * GB));
			double between = 2 * (10 * US + s / 8 / card);
			double twice = 2 * 3 * s / 4 / (100 * GB);
			double t =
				2 * inside + between + (k - 1) * fmax(fmax(inside, between), twice);
			same(seconds(c, &q, COLLECTIVE_HIERARCHICAL), t);
			const struct fine_request fine = {q, COLLECTIVE_HIERARCHICAL, NULL, 0};
			double replayed = replay_seconds(fine_alone(c, &fine));
			if (!(replayed > 0.8 * t && replayed < 1.2 * t))
				fail_msg("%u parts: %g s replayed, %g s", k, replayed, t);
		}
}

/* Algorithms of one stage take one part after the other. */
static void
parts_of_one_stage_are_messages_in_a_row(void **state)
{
	static const enum collective_algorithm algorithms[] = {
		COLLECTIVE_RING, COLLECTIVE_TREE, COLLECTIVE_HALVING};
	struct cluster *c = star(*state);
	for (int kind = RT_ALLREDUCE; kind <= RT_REDUCESCATTER; kind++)
		for (int i = 0; i < 3; i++)
			for (uint32_t k = 1; k <= 8; k *= 2) {
				struct collective_request q =
					request(*state, (enum rt_coll_kind)kind, 8, 8e6 / k);
				double one = seconds(c, &q, algorithms[i]);
				if (isinf(one))
					continue;
				const struct fine_request part = {q, algorithms[i], NULL, 0};
				double part_replayed = replay_seconds(fine_alone(c, &part));
				q.bytes = 8e6;
				q.parts = k;
				same(seconds(c, &q, algorithms[i]), k * one);
				const struct fine_request fine = {q, algorithms[i], NULL, 0};
				double replayed = replay_seconds(fine_alone(c, &fine));
				/* Chunks of a tree are half a latency apart at its ends. */
				if (algorithms[i] != COLLECTIVE_TREE && kind != RT_BROADCAST &&
					kind != RT_REDUCE && kind != RT_GATHER &&
					kind != RT_SCATTER)
					assert_true(fabs(replayed - k * part_replayed) <
						    1e-9 * replayed);
				assert_true(replayed <= k * part_replayed * (1 + 1e-9));
			}
}

static void
where_there_is_no_way_there_is_no_time(void **state)
{
	const uint32_t members[] = {2, 2};
	uint32_t vertex[4];
	struct cluster *c = nodes(*state, 2, members, vertex);
	for (int a = 0; a < COLLECTIVE_NALGORITHMS; a++) {
		struct collective_request q = request(*state, RT_ALLREDUCE, 4, 1e6);
		assert_true(isinf(collective_seconds(c, &q, (enum collective_algorithm)a, NULL)));
		assert_null(collective_schedule(*state, c, &q, (enum collective_algorithm)a, NULL));
	}
	struct collective_request q = request(*state, RT_ALLREDUCE, 2, 1e6);
	assert_false(isinf(seconds(c, &q, COLLECTIVE_AUTO)));
	q = request(*state, RT_ALLREDUCE, 5, 1e6); /* one more than there are */
	assert_true(isinf(seconds(c, &q, COLLECTIVE_AUTO)));
}

/* Four nodes with four devices each: a group of its first devices is on nodes that are alike where
 * their number is a multiple of four. */
static void
a_row_says_what_an_algorithm_does(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	for (int a = COLLECTIVE_AUTO + 1; a < COLLECTIVE_NALGORITHMS; a++)
		for (int kind = 0; kind < RT_COLL_KINDS; kind++)
			for (uint32_t p = 2; p <= 16; p++) {
				const enum collective_algorithm one = (enum collective_algorithm)a;
				const struct algorithm *row = algorithm_row(one);
				bool nodes = p > 4 && p % 4 == 0, power = !(p & (p - 1));
				bool does = row->kinds >> kind & 1 &&
					    (row->needs != NEEDS_NODES || nodes) &&
					    (row->needs != NEEDS_POWER_OF_2 || power);
				struct collective_request q =
					request(*state, (enum rt_coll_kind)kind, p, 1e6);
				assert_true(isinf(seconds(c, &q, one)) == !does);
				assert_true(
					!collective_schedule(*state, c, &q, one, NULL) == !does);
			}
}

static void
rows_have_names_of_their_own(void **state)
{
	(void)state;
	for (int a = 0; a < COLLECTIVE_NALGORITHMS; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(
				collective_algorithm_name((enum collective_algorithm)a),
				collective_algorithm_name((enum collective_algorithm)b));
	for (int kind = 0; kind < RT_COLL_KINDS; kind++) {
		const char *name = rt_coll_name((enum rt_coll_kind)kind);
		assert_int_equal(rt_coll_find(name, strlen(name)), kind);
		assert_int_equal(rt_coll_find(name, strlen(name) - 1), RT_COLL_KINDS);
	}
	for (int a = COLLECTIVE_AUTO + 1; a < COLLECTIVE_NALGORITHMS; a++) {
		const struct algorithm *row = algorithm_row((enum collective_algorithm)a);
		assert_non_null(row->build);
		assert_in_range(row->variants, 1, COLLECTIVE_NVARIANTS);
	}
}

static void
auto_is_the_fastest_that_fits(void **state)
{
	struct cluster *clusters[] = {
		star(*state), own_cards(*state, 4, 4), one_card(*state, 4, 4)};
	bool seen[COLLECTIVE_NALGORITHMS] = {false};
	for (int k = 0; k < 3; k++)
		for (int kind = 0; kind < RT_COLL_KINDS; kind++)
			for (double bytes = 1; bytes < 1e12; bytes *= 10) {
				struct collective_request q =
					request(*state, (enum rt_coll_kind)kind, 12, bytes);
				double best = INFINITY;
				for (int a = 0; a < COLLECTIVE_NALGORITHMS; a++)
					if (collective_automatic((enum collective_algorithm)a))
						best = fmin(best,
							seconds(clusters[k], &q,
								(enum collective_algorithm)a));
				enum collective_algorithm chosen;
				assert_true(collective_seconds(clusters[k], &q, COLLECTIVE_AUTO,
						    &chosen) == best);
				assert_true(seconds(clusters[k], &q, chosen) == best);
				seen[chosen] = true;
			}
	assert_true(seen[COLLECTIVE_RING] && seen[COLLECTIVE_TREE] &&
		    seen[COLLECTIVE_HIERARCHICAL] && !seen[COLLECTIVE_PS]);
}

static void
a_model_says_the_same_as_a_call(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	struct collective_model *m = collective_model_create(*state, c);
	for (int turn = 0; turn < 2; turn++)
		for (uint32_t p = 1; p <= 16; p++)
			for (int kind = 0; kind < RT_COLL_KINDS; kind++) {
				struct collective_request q =
					request(*state, (enum rt_coll_kind)kind, p, 1e3 + turn);
				q.from = p / 2;
				q.to = p / 3;
				for (int a = 0; a < COLLECTIVE_NALGORITHMS; a++) {
					enum collective_algorithm by = (enum collective_algorithm)a;
					enum collective_algorithm x, y;
					double t = collective_cost_seconds(
						collective_model_cost(m, &q), q.bytes, 1, by, &x);
					double u = collective_seconds(c, &q, by, &y);
					assert_true(t == u && x == y);
				}
			}
}

/* The groups that differ only on an axis of this size and stride, of 16 devices. */
static struct collective_request
along(void *owner, enum rt_coll_kind kind, uint32_t places, uint32_t stride, uint32_t shift)
{
	uint32_t *device = talloc_array(owner, uint32_t, 16), n = 0;
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t k = 0; k < places && i / stride % places == 0; k++)
			device[n++] = (i + k * stride + shift) % 16;
	return (struct collective_request){kind, 16 / places, places, device, 1e6, places / 2,
		kind == RT_SEND ? places - 1 : places / 3, 1};
}

/* With a node that no message reaches, not all nodes are alike, and no group is left out. */
static struct cluster *
with_another(struct cluster *c)
{
	cluster_add_device(c, "alone", 0, CLUSTER_NO_NODE);
	return c;
}

static void
groups_left_out_change_no_time(void **state)
{
	struct cluster *few[] = {own_cards(*state, 4, 4), one_card(*state, 8, 2)};
	struct cluster *all[] = {
		with_another(own_cards(*state, 4, 4)), with_another(one_card(*state, 8, 2))};
	uint32_t fewer = 0;
	for (int k = 0; k < 2; k++) {
		assert_true(cluster_uniform(few[k]));
		assert_false(cluster_uniform(all[k]));
		for (uint32_t places = 2; places <= 8; places *= 2)
			for (uint32_t stride = 1; stride * places <= 16; stride *= 2)
				for (uint32_t i = 0; i < 4 * RT_COLL_KINDS; i++) {
					const struct collective_request q = along(*state,
						(enum rt_coll_kind)(i / 4), places, stride, i % 4);
					const struct collective_request d =
						request_distinct(*state, few[k], &q);
					fewer += d.ngroups < q.ngroups;
					for (int a = 0; a < COLLECTIVE_NALGORITHMS; a++) {
						double t = seconds(
							few[k], &q, (enum collective_algorithm)a);
						double u = seconds(
							all[k], &q, (enum collective_algorithm)a);
						if (!isinf(t) || !isinf(u))
							same(t, u);
					}
				}
	}
	assert_true(fewer > 100);
}

/* Two of four groups of four inside nodes go to another node for one member each. */
static void
groups_that_differ_are_kept(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	static const uint32_t device[] = {0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 10, 11, 12, 13, 14, 15};
	const struct collective_request q = {RT_ALLREDUCE, 4, 4, device, 1, 0, 0, 1};
	const struct collective_request d = request_distinct(*state, c, &q);
	assert_int_equal(d.ngroups, 3); /* the last one is like the first */
	assert_memory_equal(d.device, device, 12 * sizeof *device);
}

/* Nodes that are connected to different switches, have another bandwidth, or share a link. */
static void
nodes_of_racks_are_not_alike(void **state)
{
	struct cluster *c = own_cards(*state, 4, 4);
	cluster_add_switch(c, "unused", 0, INFINITY);
	assert_true(cluster_uniform(c));
	for (int k = 0; k < 3; k++) {
		const uint32_t members[] = {2, 2};
		uint32_t v[4], leaf[2];
		c = nodes(*state, 2, members, v);
		leaf[0] = cluster_add_switch(c, "leaf", 0, k == 2 ? 1e9 : INFINITY);
		leaf[1] = k == 0 ? cluster_add_switch(c, "leaf", 0, INFINITY) : leaf[0];
		for (int i = 0; i < 4; i++)
			cluster_connect(c, v[i], leaf[i / 2], k == 1 && i == 3 ? &nvlink : &net);
		if (k == 0)
			cluster_connect(c, leaf[0], leaf[1], &net);
		assert_false(cluster_uniform(c));
	}
}

/* A pipeline has chunks, few for little and not too many for much; others have none. */
static void
chunks_fill_the_pipe_in_a_moment(void **state)
{
	struct cluster *c = star(*state);
	struct collective_request q = request(*state, RT_BROADCAST, 8, 0);
	const struct {
		double bytes;
		uint32_t chunks;
	} expected[] = {
		{0, 1}, {1e5, 7},      /* seven hops of 10 us are filled in one latency */
		{1e6, 70}, {1e9, 256}, /* 7 / 2 % = 350 */
	};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		q.bytes = expected[i].bytes;
		struct collective_schedule *s =
			collective_schedule(*state, c, &q, COLLECTIVE_RING, NULL);
		assert_int_equal(s->chunks, expected[i].chunks);
		assert_int_equal(s->nrounds, 7);
		assert_true(s->send[0].bytes == q.bytes);
	}
	q = request(*state, RT_ALLREDUCE, 8, 1e9);
	assert_int_equal(collective_schedule(*state, c, &q, COLLECTIVE_RING, NULL)->chunks, 1);
	assert_int_equal(collective_schedule(*state, c, &q, COLLECTIVE_HALVING, NULL)->chunks, 1);
	assert_true(collective_schedule(*state, c, &q, COLLECTIVE_TREE, NULL)->chunks > 1);
}

/* Inner places send and receive the tensor twice in an allreduce by trees, once in a broadcast. */
static void
trees_share_the_work(void **state)
{
	struct cluster *c = star(*state);
	for (uint32_t p = 2; p < 70; p++)
		for (int kind = RT_ALLREDUCE; kind <= RT_BROADCAST; kind++) {
			struct collective_request q =
				request(*state, (enum rt_coll_kind)kind, p, 1);
			q.from = q.to = p / 2;
			struct collective_schedule *s =
				collective_schedule(*state, c, &q, COLLECTIVE_TREE, NULL);
			double sent[70] = {0}, got[70] = {0}, most = kind == RT_ALLREDUCE ? 2 : 1;
			for (uint32_t i = 0; i < s->nsends; i++) {
				sent[s->send[i].from] += s->send[i].bytes;
				got[s->send[i].to] += s->send[i].bytes;
			}
			for (uint32_t i = 0; i < p; i++)
				assert_true(sent[i] <= most && got[i] <= most);
			talloc_free(s);
		}
}

/* Among 2,048 devices on one switch an alltoall takes what its closed form says. */
static void
an_alltoall_of_many_is_as_its_closed_form(void **state)
{
	struct collective_request q = request(*state, RT_ALLTOALL, 2048, 1e9);
	const double expected = collective_ring_seconds(RT_ALLTOALL, 2048, 1e9, 10 * US, 10 * GB);
	const double got = seconds(star(*state), &q, COLLECTIVE_RING);

	if (!(fabs(got - expected) <= 1e-9 * expected))
		fail_msg("%.17g instead of %.17g", got, expected);
}

/* In racks of 8, whose link upwards is as fast as two of theirs, it is the sum over all distances: as
 * many sends as the distance leave a rack, at most all. */
static void
an_alltoall_of_many_crosses_racks(void **state)
{
	enum { PLACES = 1536, RACK = 8 };
	struct cluster *c = cluster_create(*state, "racks");
	double expected = 0;

	cluster_add_kind(c, device_generic(c));
	uint32_t spine = cluster_add_switch(c, "spine", 0, INFINITY), rack = 0;
	for (uint32_t i = 0; i < PLACES; i++) {
		if (i % RACK == 0) {
			rack = cluster_add_switch(c, "rack", 0, INFINITY);
			cluster_connect(
				c, rack, spine, &(struct cluster_link){"up", 2 * net.bandwidth, 0});
		}
		cluster_connect(c, cluster_add_device(c, "d", 0, cluster_add_node(c)), rack,
			&(struct cluster_link){"net", net.bandwidth, 0});
	}
	for (uint32_t i = 1; i < PLACES; i++) {
		const uint32_t away = i < PLACES - i ? i : PLACES - i;
		const uint32_t up = away < RACK ? away : RACK;
		expected += fmax(1, up / 2.0) * 1e12 / PLACES / net.bandwidth;
	}
	struct collective_request q = request(*state, RT_ALLTOALL, PLACES, 1e12);
	const double got = seconds(c, &q, COLLECTIVE_RING);
	if (!(fabs(got - expected) <= 1e-3 * expected))
		fail_msg("%.17g instead of %.17g", got, expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, free_scratch)
		TEST(equal_links_give_the_closed_forms),
		TEST(the_ring_is_collective_ring_seconds),
		TEST(every_part_arrives_when_it_should),
		TEST(order_of_the_group_does_not_matter),
		TEST(a_ring_through_nodes_pays_the_way_between_them_once_a_node),
		TEST(a_shared_medium_carries_all_sends_of_a_round),
		TEST(an_oversubscribed_switch_is_shared),
		TEST(groups_share_the_card_of_their_node),
		TEST(rings_use_all_cards_of_a_node),
		TEST(trees_use_all_cards_of_a_node),
		TEST(a_tree_from_a_root_takes_each_card_once),
		TEST(the_choice_is_near_what_nccl_reaches),
		TEST(hierarchical_is_the_sum_of_its_parts),
		TEST(servers_take_and_give_equal_parts),
		TEST(parts_are_pulled_while_the_next_is_pushed),
		TEST(parts_gain_nothing_where_push_and_pull_share_links),
		TEST(parts_are_inside_nodes_and_between_them_at_once),
		TEST(parts_of_one_stage_are_messages_in_a_row),
		TEST(where_there_is_no_way_there_is_no_time),
		TEST(a_row_says_what_an_algorithm_does),
		TEST(rows_have_names_of_their_own),
		TEST(auto_is_the_fastest_that_fits),
		TEST(a_model_says_the_same_as_a_call),
		TEST(groups_left_out_change_no_time),
		TEST(groups_that_differ_are_kept),
		TEST(nodes_of_racks_are_not_alike),
		TEST(chunks_fill_the_pipe_in_a_moment),
		TEST(trees_share_the_work),
		TEST(an_alltoall_of_many_is_as_its_closed_form),
		TEST(an_alltoall_of_many_crosses_racks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
