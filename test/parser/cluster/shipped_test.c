/*
 * The clusters that are shipped: each is read, prints as a fixed point, says where its values are
 * from, and has the sizes and the ways that its papers and data sheets say.
 */
#include "ir/cluster/device.h"
#include "parser/cluster/cluster.h"
#include "parser/cluster/shipped.h"
#include "passes/analysis/collective/collective.h"
#include "test/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct cluster *
open_cluster(struct ir_context *ctx, const char *name)
{
	struct cluster *c = cluster_open(ctx, ctx, name);
	assert_non_null(c);
	return c;
}

/* Each group of attributes with numbers in it has a source. */
static void
check_sources(const char *name, const char *text)
{
	for (const char *s = strchr(text, '{'); s; s = strchr(s + 1, '{')) {
		const char *word = s + 1 + strspn(s + 1, " \n"), *end = s;
		while (isalnum((unsigned char)*word) || *word == '_')
			word++;
		if (strncmp(word, " =", 2))
			continue; /* the parts of a node */
		for (bool quoted = false; quoted || *end != '}'; end++)
			quoted ^= *end == '"';
		char *group = talloc_strndup(NULL, s, (size_t)(end - s));
		if (strpbrk(group, "0123456789") && !strstr(group, "source = "))
			fail_msg("%s: no source: %s}", name, group);
		talloc_free(group);
	}
}

static void
each_is_read_and_prints_as_a_fixed_point(void **state)
{
	(void)state;
	for (int i = 0; i == 0 || shipped_clusters[i - 1].name; i++) {
		const char *name =
			shipped_clusters[i].name ? shipped_clusters[i].name : "this_machine";
		struct ir_context *ctx = ir_context_create(NULL);
		struct cluster *c = open_cluster(ctx, name);
		assert_string_equal(c->name, name);
		assert_non_null(c->source);
		check_sources(name, c->text);
		struct cluster *again = cluster_parse(ctx, ctx, name, c->text, strlen(c->text));
		assert_non_null(again);
		assert_string_equal(again->text, c->text);
		assert_int_equal(again->ndevices, c->ndevices);
		talloc_free(ctx);
	}
}

static void
generic_is_the_default(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	struct cluster *c = open_cluster(ctx, "generic");
	struct device *d = device_generic(ctx);
	assert_true(c->boundless);
	assert_string_equal(c->kind[0]->name, d->name);
#define DEVICE(name, unit, value, fits, why) assert_true(c->kind[0]->name == d->name);
#include "ir/cluster/device.def"
#undef DEVICE
	talloc_free(ctx);
}

static void
names_may_have_dashes(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	assert_string_equal(open_cluster(ctx, "v100x128-tcp")->name, "v100x128_tcp");
	talloc_free(ctx);
}

/* Ways as the papers and data sheets have them. */
static const struct {
	const char *name;
	uint32_t devices, nodes, hosts;
	uint32_t from, to, nlinks;
	double bandwidth, latency_us;
} ways[] = {
	/* two cards of a machine: PCIe up and down; machines: the network card */
	{"gtx1080ti_x12", 12, 6, 6, 0, 1, 2, 15.75e9, 5.7},
	{"gtx1080ti_x12", 12, 6, 6, 1, 2, 4, 12.5e9, 14},
	{"t4_x64", 64, 8, 8, 0, 7, 2, 15.75e9, 5.7},
	{"t4_x64", 64, 8, 8, 7, 8, 4, 12.5e9, 14},
	{"v100x128_rdma", 128, 16, 16, 0, 7, 2, 150e9, 3.4},
	{"v100x128_rdma", 128, 16, 16, 0, 127, 4, 12.5e9, 14},
	{"v100x128_tcp", 128, 16, 16, 0, 127, 4, 4e9, 65.7},
	{"h100x32", 32, 4, 4, 0, 7, 2, 450e9, 3.4},
	{"a100", 32, 4, 4, 0, 7, 2, 300e9, 3.4},
	{"a100", 32, 4, 4, 7, 8, 4, 25e9, 14},
	{"h100", 32, 4, 4, 7, 8, 4, 50e9, 14},
	{"h200", 32, 4, 4, 7, 8, 4, 50e9, 14},
	{"b200", 32, 4, 4, 0, 7, 2, 900e9, 3.4},
	{"l40s", 8, 1, 1, 0, 7, 2, 31.5e9, 5.7},
	{"rtx4090", 8, 1, 1, 0, 7, 2, 31.5e9, 5.7},
	/* two cards with a network card between them: NVLink all the same; two servers */
	{"v100_dgx1", 32, 4, 4, 0, 1, 2, 150e9, 3.4},
	{"v100_dgx1", 32, 4, 4, 7, 8, 4, 12.5e9, 14},
	{"v100_dgx2", 64, 4, 4, 0, 15, 2, 150e9, 3.4},
	{"v100_dgx2", 64, 4, 4, 15, 16, 4, 12.5e9, 14},
	{"h100x32", 32, 4, 4, 7, 8, 4, 42.5e9, 14},
	{"h100x32", 32, 4, 4, 0, 32, 2, 63e9, 5.7}, /* to the host of its server */
	{"h200x8", 8, 1, 1, 0, 7, 2, 450e9, 3.4},
	/* on one processor; by both processors; another node */
	{"summit_x192", 192, 32, 64, 0, 2, 1, 50e9, 3.4},
	{"summit_x192", 192, 32, 64, 0, 3, 3, 50e9, 7.3},
	{"summit_x192", 192, 32, 64, 5, 6, 4, 12.5e9, 14},
};

static void
ways_are_as_wide_as_their_sources_say(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct cluster *c = open_cluster(ctx, ways[i].name);
		struct cluster_route r;
		assert_int_equal(c->ndevices, ways[i].devices);
		assert_int_equal(c->nnodes, ways[i].nodes);
		assert_int_equal(c->nhosts, ways[i].hosts);
		assert_true(cluster_route(c, ways[i].from, ways[i].to, &r));
		if (r.nlinks != ways[i].nlinks || r.bandwidth != ways[i].bandwidth ||
			fabs(r.latency * 1e6 - ways[i].latency_us) > 1e-6)
			fail_msg("%s: %u links, %g B/s, %g us", ways[i].name, r.nlinks, r.bandwidth,
				r.latency * 1e6);
	}
	talloc_free(ctx);
}

/* What nvidia-smi shows as the total of such a card, in MiB: the driver has reserved up to 2 % of it. */
static const struct {
	const char *name;
	double mib;
} totals[] = {
	{"gtx1080ti_x12", 11264},
	{"t4_x64", 15360},
	{"summit_x192", 16384},
	{"v100x128_rdma", 32768},
	{"v100x128_tcp", 32768},
	{"h100x32", 81559},
	{"h200x8", 143771},
	{"a100", 81920},
	{"h100", 81559},
	{"h200", 143771},
	{"b200", 183359},
	{"l40s", 46068},
	{"rtx4090", 24564},
	{"v100_dgx1", 16384},
	{"v100_dgx2", 32768},
};

static void
a_card_has_the_memory_that_its_driver_reports(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
		const double memory = open_cluster(ctx, totals[i].name)->kind[0]->memory / 1048576;
		if (memory > totals[i].mib || memory < 0.98 * totals[i].mib)
			fail_msg("%s: %g MiB of %g", totals[i].name, memory, totals[i].mib);
	}
	talloc_free(ctx);
}

/* Any two devices, and devices and hosts, have a way to each other and back. */
static void
everything_is_connected(void **state)
{
	(void)state;
	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++) {
		struct ir_context *ctx = ir_context_create(NULL);
		struct cluster *c = open_cluster(ctx, s->name);
		uint32_t n = c->ndevices + c->nhosts;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++) {
				struct cluster_route r, back;
				assert_true(cluster_route(c, i, j, &r));
				assert_true(cluster_route(c, j, i, &back));
				assert_int_equal(r.nlinks, back.nlinks);
				assert_true(r.bandwidth == back.bandwidth);
			}
		talloc_free(ctx);
	}
}

/* DeepCompile, section 5.1: an allgather between the servers was observed at 340 GB/s. */
static void
an_allgather_is_as_fast_as_it_was_observed(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	struct cluster *c = open_cluster(ctx, "h100x32");
	uint32_t device[32];
	for (uint32_t i = 0; i < 32; i++)
		device[i] = i;
	const struct collective_request q = {RT_ALLGATHER, 1, 32, device, 1e9, 0, 0, 1};
	double t = collective_seconds(c, &q, COLLECTIVE_AUTO, NULL);
	assert_true(fabs(1e9 * 31 / 32 / t / 340e9 - 1) < 0.02);
	talloc_free(ctx);
}

static void
this_machine_was_measured(void **state)
{
	(void)state;
	struct ir_context *ctx = ir_context_create(NULL);
	struct cluster *c = open_cluster(ctx, "this-machine");
	const struct device *d = c->kind[0];
	assert_true(c->boundless && cluster_reserve(c, 4));
	assert_true(d->f32 > 1e6 && d->bandwidth > 1e6 && d->link_bandwidth > 1e6);
	assert_true(d->cache > 1e4 && d->cache_bandwidth >= d->bandwidth);
	assert_true(d->memory > 1e6 && d->link_latency > 0 && d->async == 0);
	talloc_free(ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_read_and_prints_as_a_fixed_point),
		cmocka_unit_test(generic_is_the_default),
		cmocka_unit_test(names_may_have_dashes),
		cmocka_unit_test(ways_are_as_wide_as_their_sources_say),
		cmocka_unit_test(a_card_has_the_memory_that_its_driver_reports),
		cmocka_unit_test(everything_is_connected),
		cmocka_unit_test(an_allgather_is_as_fast_as_it_was_observed),
		cmocka_unit_test(this_machine_was_measured),
	};
	return cmocka_run_group_tests_name("shipped clusters", tests, NULL, NULL);
}
