/* Routes through clusters: which links, what latency and bandwidth, worked out by hand. */
#include "ir/cluster/cluster.h"
#include "ir/cluster/device.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>

static struct cluster *
empty(void)
{
	struct cluster *c = cluster_create(NULL, "test");
	assert_int_equal(cluster_add_kind(c, device_generic(NULL)), 0);
	return c;
}

static uint32_t
device(struct cluster *c, uint32_t node)
{
	return cluster_add_device(c, "g", 0, node);
}

/* The route's links are exactly the n numbers. */
static struct cluster_route
expect_links(struct cluster *c, uint32_t from, uint32_t to, uint32_t n, const uint32_t *link)
{
	struct cluster_route r;
	assert_true(cluster_route(c, from, to, &r));
	assert_int_equal(r.nlinks, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(r.link[i], link[i]);
	return r;
}

#define LINKS(...)                                                                                 \
	sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[])                                        \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void
a_message_to_oneself_takes_nothing(void **state)
{
	(void)state;
	struct cluster *c = empty();
	device(c, CLUSTER_NO_NODE);
	struct cluster_route r;
	assert_true(cluster_route(c, 0, 0, &r));
	assert_int_equal(r.nlinks, 0);
	assert_true(r.latency == 0 && isinf(r.bandwidth));
	talloc_free(c);
}

static void
latencies_add_and_the_narrowest_link_decides(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	uint32_t s = cluster_add_switch(c, "s", 0.25, INFINITY);
	cluster_connect(c, a, s, &(struct cluster_link){"fast", 8, 1});
	cluster_connect(c, s, b, &(struct cluster_link){"slow", 2, 4});
	struct cluster_route r = expect_links(c, 0, 1, LINKS(0, 2));
	assert_true(r.latency == 5.25 && r.bandwidth == 2);
	r = expect_links(c, 1, 0, LINKS(3, 1));
	assert_true(r.latency == 5.25 && r.bandwidth == 2);
	talloc_free(c);
}

static void
an_oversubscribed_switch_has_a_link_of_its_own(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	uint32_t s = cluster_add_switch(c, "s", 0.5, 3); /* link 0 */
	cluster_connect(c, a, s, &(struct cluster_link){"l", 8, 1});
	cluster_connect(c, b, s, &(struct cluster_link){"l", 8, 1});
	struct cluster_route r = expect_links(c, 0, 1, LINKS(1, 0, 4));
	assert_true(r.latency == 2.5 && r.bandwidth == 3);
	talloc_free(c);
}

static void
fewest_links_then_least_latency_then_lowest_numbers(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	uint32_t s[4];
	for (int i = 0; i < 4; i++)
		s[i] = cluster_add_switch(c, "s", 0, INFINITY);
	static const double latency[] = {3, 2, 2, 1};
	uint32_t in[4], out[4];
	for (int i = 0; i < 3; i++) { /* three ways over one switch */
		out[i] = cluster_add_link(c, "l", 1, latency[i]);
		cluster_add_way(c, s[i], b, out[i]);
	}
	for (int i = 2; i >= 0; i--) { /* links 3, 4, 5 to switches 2, 1, 0 */
		in[i] = cluster_add_link(c, "l", 1, 1);
		cluster_add_way(c, a, s[i], in[i]);
	}
	assert_int_equal(in[2], 3);
	/* a way of less latency and more links does not count */
	uint32_t quick = cluster_add_link(c, "quick", 1, 0);
	cluster_add_way(c, a, s[3], quick);
	uint32_t t = cluster_add_switch(c, "t", 0, INFINITY);
	cluster_add_way(c, s[3], t, cluster_add_link(c, "quick", 1, 0));
	cluster_add_way(c, t, b, cluster_add_link(c, "quick", 1, 0));
	struct cluster_route r = expect_links(c, 0, 1, LINKS(3, 1 + 1));
	assert_true(r.latency == 3);
	talloc_free(c);
}

static void
a_shared_medium_is_one_link_for_all(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	uint32_t bus = cluster_add_link(c, "bus", 6, 1);
	cluster_add_way(c, a, b, bus);
	cluster_add_way(c, b, a, bus);
	expect_links(c, 0, 1, LINKS(bus));
	assert_true(expect_links(c, 1, 0, LINKS(bus)).bandwidth == 6);
	talloc_free(c);
}

/* In and out of a host over the same bus: half of it is left. */
static void
a_link_taken_twice_counts_half(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	uint32_t h = cluster_add_host(c, "h", CLUSTER_NO_NODE);
	uint32_t bus = cluster_add_link(c, "bus", 6, 1);
	cluster_add_way(c, a, h, bus);
	cluster_add_way(c, h, b, bus);
	struct cluster_route r = expect_links(c, 0, 1, LINKS(bus, bus));
	assert_true(r.bandwidth == 3 && r.latency == 2);
	/* the host is an end too, behind the devices */
	assert_int_equal(c->nhosts, 1);
	expect_links(c, 0, 2, LINKS(bus));
	expect_links(c, 2, 1, LINKS(bus));
	talloc_free(c);
}

static void
devices_do_not_pass_messages_on(void **state)
{
	(void)state;
	for (int forward = 0; forward < 2; forward++) {
		struct cluster *c = cluster_create(NULL, "chain");
		struct device *d = device_generic(NULL);
		d->forward = forward;
		cluster_add_kind(c, d);
		uint32_t v[3];
		for (int i = 0; i < 3; i++)
			v[i] = device(c, CLUSTER_NO_NODE);
		struct cluster_link l = {"l", 1, 1};
		cluster_connect(c, v[0], v[1], &l);
		cluster_connect(c, v[1], v[2], &l);
		struct cluster_route r;
		assert_int_equal(cluster_route(c, 0, 2, &r), forward);
		assert_true(cluster_route(c, 0, 1, &r));
		assert_false(cluster_route(c, 0, 3, &r));
		talloc_free(c);
	}
}

/* Nodes of eight devices on a switch; a network card a node; all cards on one spine. */
static void
a_thousand_devices(void **state)
{
	(void)state;
	enum { NODES = 128, EACH = 8 };
	struct cluster *c = empty();
	uint32_t spine = cluster_add_switch(c, "spine", 0, INFINITY);
	struct cluster_link nvlink = {"nvlink", 450e9, 1e-6}, nic = {"nic", 50e9, 5e-6};
	for (int n = 0; n < NODES; n++) {
		uint32_t node = cluster_add_node(c);
		uint32_t inner = cluster_add_switch(c, "nvswitch", 0, INFINITY);
		for (int i = 0; i < EACH; i++)
			cluster_connect(c, device(c, node), inner, &nvlink);
		cluster_connect(c, inner, spine, &nic);
	}
	assert_int_equal(c->ndevices, NODES * EACH);
	/* links of a node: out and in of each device, then of the card */
	enum { LINKS_A_NODE = 2 * EACH + 2 };
	for (uint32_t shift = 1; shift < NODES * EACH; shift += 331) /* as an all-to-all asks */
		for (uint32_t i = 0; i < NODES * EACH; i++) {
			uint32_t j = (i + shift) % (NODES * EACH), a = i / EACH, b = j / EACH;
			uint32_t up = LINKS_A_NODE * a + 2 * (i % EACH);
			uint32_t down = LINKS_A_NODE * b + 2 * (j % EACH) + 1;
			uint32_t card = LINKS_A_NODE * a + 2 * EACH;
			uint32_t far = LINKS_A_NODE * b + 2 * EACH + 1;
			if (a == b)
				expect_links(c, i, j, LINKS(up, down));
			else
				assert_true(expect_links(c, i, j, LINKS(up, card, far, down))
						    .bandwidth == 50e9);
			assert_int_equal(c->node_of[i], a);
		}
	talloc_free(c);
}

/* Every pair of a random graph, asked in random order, against the definition: the least of all
 * ways, by trying them. */
struct way {
	uint32_t n, link[8];
	double latency;
};

struct random_graph {
	uint32_t from[40], to[40], n;
	struct cluster *c;
	uint32_t goal;
	struct way best;
};

static bool
better(const struct way *a, const struct way *b)
{
	if (a->n != b->n)
		return a->n < b->n;
	if (a->latency != b->latency)
		return a->latency < b->latency;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->link[i] != b->link[i])
			return a->link[i] < b->link[i];
	return false;
}

static void
try_all(struct random_graph *g, uint32_t at, struct way way)
{
	if (at == g->goal && better(&way, &g->best))
		g->best = way;
	if (at == g->goal || way.n == 6)
		return;
	for (uint32_t l = 0; l < g->n; l++)
		if (g->from[l] == at) {
			struct way longer = way;
			longer.link[longer.n++] = l;
			longer.latency += g->c->link[l].latency;
			try_all(g, g->to[l], longer);
		}
}

static void
equals_trying_all_ways(void **state)
{
	(void)state;
	enum { HOSTS = 7 };
	srand(1);
	for (int seed = 0; seed < 20; seed++) {
		struct random_graph g = {.c = empty()};
		for (int i = 0; i < HOSTS; i++)
			cluster_add_host(g.c, "h", CLUSTER_NO_NODE);
		for (g.n = 0; g.n < 16; g.n++) {
			uint32_t link = cluster_add_link(g.c, "l", 1, rand() % 2);
			g.from[g.n] = (uint32_t)rand() % HOSTS;
			g.to[g.n] = (uint32_t)rand() % HOSTS;
			cluster_add_way(g.c, g.from[g.n], g.to[g.n], link);
		}
		for (int asked = 0; asked < 60; asked++) {
			uint32_t from = (uint32_t)rand() % HOSTS;
			g.goal = (uint32_t)rand() % HOSTS;
			g.best = (struct way){.n = 7};
			try_all(&g, from, (struct way){0});
			struct cluster_route r;
			if (g.best.n == 7)
				assert_false(cluster_route(g.c, from, g.goal, &r));
			else
				assert_true(expect_links(g.c, from, g.goal, g.best.n, g.best.link)
						    .latency == g.best.latency);
		}
		talloc_free(g.c);
	}
}

static void
a_device_alone_is_any_number_of_devices(void **state)
{
	(void)state;
	struct device *d = device_generic(NULL);
	d->link_bandwidth = 7;
	d->link_latency = 3;
	struct cluster *c = cluster_of_device(NULL, d);
	assert_true(c->boundless);
	assert_int_equal(c->ndevices, 0);
	assert_true(cluster_reserve(c, 3));
	assert_int_equal(c->ndevices, 3);
	struct cluster_route r = expect_links(c, 0, 2, LINKS(0, 5)), same;
	assert_true(r.latency == 3 && r.bandwidth == 7);
	assert_false(cluster_route(c, 0, 3, &same));
	assert_true(cluster_reserve(c, 1000));
	assert_true(cluster_reserve(c, 2));
	assert_int_equal(c->ndevices, 1000);
	expect_links(c, 999, 0, LINKS(1998, 1));
	/* what was found stays where it is */
	assert_true(cluster_route(c, 0, 2, &same));
	assert_ptr_equal(same.link, r.link);
	assert_int_equal(c->node_of[17], 17);
	assert_false(cluster_reserve(c, CLUSTER_DEVICES_MAX + 1));
	talloc_free(c);
}

static void
a_copy_has_values_and_room_of_its_own(void **state)
{
	(void)state;
	struct cluster *c = empty();
	uint32_t a = device(c, CLUSTER_NO_NODE), b = device(c, CLUSTER_NO_NODE);
	cluster_connect(c, a, b, &(struct cluster_link){"l", 8, 1});
	struct cluster *copy = cluster_clone(NULL, c);
	copy->link[0].bandwidth = 2;
	assert_true(expect_links(c, 0, 1, LINKS(0)).bandwidth == 8);
	assert_true(expect_links(copy, 0, 1, LINKS(0)).bandwidth == 2);
	talloc_free(copy);
	talloc_free(c);
	c = cluster_of_device(NULL, device_generic(NULL));
	cluster_reserve(c, 5);
	expect_links(c, 4, 0, LINKS(8, 1));
	copy = cluster_clone(NULL, c);
	cluster_reserve(copy, 9);
	expect_links(copy, 8, 0, LINKS(16, 1));
	assert_int_equal(c->ndevices, 5);
	talloc_free(copy);
	talloc_free(c);
}

static void
other_clusters_say_whether_they_have_so_many(void **state)
{
	(void)state;
	struct cluster *c = empty();
	device(c, CLUSTER_NO_NODE);
	device(c, CLUSTER_NO_NODE);
	assert_true(cluster_reserve(c, 2));
	assert_false(cluster_reserve(c, 3));
	assert_int_equal(c->ndevices, 2);
	talloc_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_to_oneself_takes_nothing),
		cmocka_unit_test(latencies_add_and_the_narrowest_link_decides),
		cmocka_unit_test(an_oversubscribed_switch_has_a_link_of_its_own),
		cmocka_unit_test(fewest_links_then_least_latency_then_lowest_numbers),
		cmocka_unit_test(a_shared_medium_is_one_link_for_all),
		cmocka_unit_test(a_link_taken_twice_counts_half),
		cmocka_unit_test(devices_do_not_pass_messages_on),
		cmocka_unit_test(a_thousand_devices),
		cmocka_unit_test(equals_trying_all_ways),
		cmocka_unit_test(a_device_alone_is_any_number_of_devices),
		cmocka_unit_test(a_copy_has_values_and_room_of_its_own),
		cmocka_unit_test(other_clusters_say_whether_they_have_so_many),
	};
	return cmocka_run_group_tests_name("cluster routes", tests, NULL, NULL);
}
