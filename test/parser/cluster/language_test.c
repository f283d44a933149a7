/* What texts of clusters mean: which devices, nodes and links there are, worked out by hand. */
#include "ir/cluster/device.h"
#include "parser/cluster/cluster.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	struct ir_context *ctx;
	char message[512];
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;
	size_t used = strlen(f->message);
	snprintf(f->message + used, sizeof f->message - used, "%u:%u: %s\n", m->line, m->column,
		m->text);
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	diag_set_handler(f->ctx->diag, keep_message, f);
	*state = f;
	return 0;
}

static struct cluster *
parse(struct fixture *f, const char *text)
{
	f->message[0] = '\0';
	struct cluster *c = cluster_parse(f, f->ctx, "t.cluster", text, strlen(text));
	if (!c && !f->message[0])
		fail_msg("no cluster and no message: %s", text);
	return c;
}

static struct cluster *
parse_right(struct fixture *f, const char *text)
{
	struct cluster *c = parse(f, text);
	if (!c)
		fail_msg("%s", f->message);
	return c;
}

static struct cluster_route
route(struct cluster *c, uint32_t from, uint32_t to)
{
	struct cluster_route r;
	assert_true(cluster_route(c, from, to, &r));
	return r;
}

/* "fast slow": the kinds of links of a way. */
static const char *
kinds(const struct cluster *c, struct cluster_route r)
{
	static char text[256];
	*text = '\0';
	for (uint32_t i = 0; i < r.nlinks; i++) {
		strcat(text, i ? " " : "");
		strcat(text, c->link[r.link[i]].name);
	}
	return text;
}

#define HEAD                                                                                       \
	"cluster @t {\n device d\n device e {f32 = 2TFLOP/s}\n"                                    \
	" link fast {bandwidth = 8GB/s, latency = 1us}\n"                                          \
	" link slow {bandwidth = 2GB/s, latency = 4us}\n"                                          \
	" link bus {bandwidth = 3GB/s, shared = true}\n"

static void
devices_have_numbers_in_the_order_of_the_text(void **state)
{
	struct cluster *c = parse_right(*state, HEAD " switch s\n"
						     " d a[2]\n"
						     " connect a, s {link = fast}\n"
						     " node n[2] {\n"
						     "  d g[2], h\n"
						     "  e k\n"
						     "  host cpu\n"
						     "  connect g, s {link = slow}\n"
						     "  connect h, s {link = slow}\n"
						     "  connect k, s {link = slow}\n"
						     "  connect cpu, s {link = slow}\n"
						     " }\n"
						     " node m {\n"
						     "  e k\n"
						     "  connect k, s {link = fast}\n"
						     " }\n"
						     "}\n");
	static const char *const name[] = {"a[0]", "a[1]", "n[0].g[0]", "n[0].g[1]", "n[0].h",
		"n[0].k", "n[1].g[0]", "n[1].g[1]", "n[1].h", "n[1].k", "m.k", "n[0].cpu",
		"n[1].cpu"};
	static const uint32_t node[] = {0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4};
	static const uint16_t kind[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1};
	assert_int_equal(c->ndevices, 11);
	assert_int_equal(c->nnodes, 5);
	assert_int_equal(c->nhosts, 2);
	assert_int_equal(c->node_of_host[1], 3);
	for (uint32_t i = 0; i < 13; i++)
		assert_string_equal(cluster_end_name(c, i), name[i]);
	for (uint32_t i = 0; i < 11; i++) {
		assert_int_equal(c->node_of[i], node[i]);
		assert_int_equal(c->kind_of[i], kind[i]);
	}
	assert_true(c->kind[1]->f32 == 2e12);
	assert_string_equal(kinds(c, route(c, 0, 2)), "fast slow");
	assert_string_equal(kinds(c, route(c, 0, 10)), "fast fast");
	assert_true(fabs(route(c, 0, 2).latency - 5e-6) < 1e-18);
	assert_true(route(c, 0, 2).bandwidth == 2e9);
}

static void
sides_are_connected_each_with_each_or_in_pairs(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = parse_right(f, HEAD " d g[4]\n connect g, g {link = fast}\n}\n");
	assert_int_equal(c->nlinks, 2 * 6);
	c = parse_right(f, HEAD " d g[2*2]\n switch s[2], t\n connect g, s {link = fast}\n"
				" connect s, t {link = slow}\n}\n");
	assert_int_equal(c->nlinks, 2 * (8 + 2));
	c = parse_right(f, HEAD " d g[3]\n switch s[3], t\n"
				" connect g, s {link = fast, each = true}\n"
				" connect s, t {link = slow}\n}\n");
	assert_int_equal(c->nlinks, 2 * (3 + 3));
	assert_string_equal(kinds(c, route(c, 0, 2)), "fast slow slow fast");
	/* some of them, with others of the same name */
	c = parse_right(f, HEAD " d g[4]\n connect g[0,1], g[2,3] {link = fast}\n"
				" connect g[0,2], g[1,3] {link = slow, each = true}\n"
				" host h\n connect g, h {link = bus}\n}\n");
	assert_int_equal(c->nlinks, 2 * (4 + 2) + 4);
	assert_string_equal(kinds(c, route(c, 0, 3)), "fast");
	assert_string_equal(kinds(c, route(c, 2, 3)), "slow");
}

static void
a_shared_link_serves_both_ways(void **state)
{
	struct cluster *c =
		parse_right(*state, HEAD " d g[2]\n switch s\n connect g, s {link = bus}\n}\n");
	assert_int_equal(c->nlinks, 2);
	assert_int_equal(route(c, 0, 1).link[0], route(c, 1, 0).link[1]);
	assert_true(route(c, 0, 1).latency == 0);
}

static void
a_common_link_serves_all_connections(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = parse_right(f, HEAD " d g[3], h\n switch s {oversubscription = 2.5}\n"
						" connect g, s {link = fast, common = true}\n"
						" connect h, s {link = slow}\n}\n");
	assert_int_equal(c->nlinks, 1 + 2 + 2);
	assert_string_equal(kinds(c, route(c, 0, 1)), "fast s fast");
	assert_int_equal(route(c, 0, 1).link[0], route(c, 2, 3).link[0]);
	assert_int_equal(route(c, 0, 1).link[2], route(c, 3, 2).link[2]);
	assert_int_not_equal(route(c, 0, 1).link[0], route(c, 0, 1).link[2]);
	assert_true(route(c, 0, 1).bandwidth == (8e9 + 2e9) / 2.5); /* it comes in once */
	c = parse_right(f, HEAD " d g[3]\n connect g, g {link = fast, common = true}\n}\n");
	assert_int_equal(c->nlinks, 1);
	assert_int_equal(route(c, 0, 1).link[0], route(c, 2, 0).link[0]);
}

static void
switches_have_latency_bandwidth_or_oversubscription(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = parse_right(f, HEAD " d g[2]\n switch s {latency = 500ns}\n"
						" connect g, s {link = fast}\n}\n");
	assert_true(fabs(route(c, 0, 1).latency - 2.5e-6) < 1e-18);
	assert_int_equal(route(c, 0, 1).nlinks, 2);
	c = parse_right(f, HEAD " d g[2]\n switch s {latency = 500ns, bandwidth = 1GB/s}\n"
				" connect g, s {link = fast}\n}\n");
	assert_string_equal(kinds(c, route(c, 0, 1)), "fast s fast");
	assert_true(route(c, 0, 1).bandwidth == 1e9);
	assert_true(fabs(route(c, 0, 1).latency - 2.5e-6) < 1e-18);
	/* what comes in, 3 * 8 + 2 GB/s, by the ratio */
	c = parse_right(f, HEAD " d g[3], h\n switch s {oversubscription = 6.5}\n"
				" connect g, s {link = fast}\n connect h, s {link = slow}\n}\n");
	assert_true(route(c, 0, 1).bandwidth == 4e9);
	assert_true(route(c, 0, 3).bandwidth == 2e9);
	/* each of several counts what comes into itself */
	c = parse_right(f, HEAD " switch top\n"
				" node n[2] {\n"
				"  d g[2]\n"
				"  switch s {oversubscription = 4}\n"
				"  connect g, s {link = fast}\n"
				"  connect s, top {link = slow}\n"
				" }\n"
				"}\n");
	assert_true(route(c, 0, 1).bandwidth == (8e9 + 8e9 + 2e9) / 4);
	assert_string_equal(kinds(c, route(c, 0, 3)), "fast n[0].s slow slow n[1].s fast");
}

static void
groups_hold_nodes_and_switches_of_their_own(void **state)
{
	struct cluster *c = parse_right(*state, HEAD " switch spine {latency = 1us}\n"
						     " group rack[2] {\n"
						     "  switch leaf {latency = 2us}\n"
						     "  connect leaf, spine {link = slow}\n"
						     "  node n[2] {\n"
						     "   d g[2]\n"
						     "   connect g, leaf {link = fast}\n"
						     "  }\n"
						     " }\n"
						     "}\n");
	assert_int_equal(c->ndevices, 8);
	assert_int_equal(c->nnodes, 4);
	assert_string_equal(cluster_end_name(c, 7), "rack[1].n[1].g[1]");
	assert_string_equal(kinds(c, route(c, 0, 3)), "fast fast");
	assert_string_equal(kinds(c, route(c, 0, 4)), "fast slow slow fast");
	assert_true(fabs(route(c, 0, 4).latency - (1 + 2 + 4 + 1 + 4 + 2 + 1) * 1e-6) < 1e-18);
}

static void
a_device_alone_is_boundless(void **state)
{
	struct cluster *c =
		parse_right(*state, "cluster @c {\n source \"me\"\n"
				    " device x {link_bandwidth = 5GB/s, async = 0}\n}\n");
	assert_true(c->boundless);
	assert_string_equal(c->name, "c");
	assert_string_equal(c->source, "me");
	assert_string_equal(c->kind[0]->name, "x");
	assert_true(c->kind[0]->async == 0 && cluster_reserve(c, 2));
	assert_true(route(c, 0, 1).bandwidth == 5e9);
}

static void
a_device_may_have_a_name_that_is_no_word(void **state)
{
	struct cluster *c = parse_right(*state,
		"cluster @c {\n device x {name = \"A 100, 2 cores\"}\n device y\n x a\n y b\n"
		" link l {bandwidth = 1GB/s}\n connect a, b {link = l}\n}\n");
	assert_string_equal(c->kind[0]->name, "A 100, 2 cores");
	assert_string_equal(c->kind[1]->name, "y");
}

static void
values_have_units(void **state)
{
	struct cluster *c = parse_right(*state,
		"cluster @c {\n device x\n"
		"  {f64 = 500GFLOP/s, f32 = 1.5TFLOP/s, f16 = 2PFLOP/s, i8 = 7MFLOP/s}\n"
		"  {memory = 1GiB, bandwidth = 1.5TB/s, launch = 1500ns, wait = 2ms, slowdown = "
		"1.25}\n"
		"}\n");
	const struct device *d = c->kind[0];
	assert_true(d->f64 == 500e9 && d->f32 == 1.5e12 && d->f16 == 2e15 && d->i8 == 7e6);
	assert_true(d->memory == 1073741824 && d->bandwidth == 1.5e12 && d->wait == 2e-3);
	assert_true(fabs(d->launch - 1.5e-6) < 1e-20 && d->slowdown == 1.25);
	/* what is not given is the default's */
	assert_true(d->bf16 == 0 && d->post == 0 && d->async == 1);
}

static void
the_text_is_canonical(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = parse_right(f,
		"// a comment\n"
		"cluster   @t {   device d{f32=1000GFLOP/s}{}{memory = 8GB,source=\"a "
		"\\\"b\\\"\"}\n"
		"link l {bandwidth = 0.3GB/s // another\n}\n switch top {}\n"
		"  node n[2*2] { d g[ 3-1 ] ,h\n"
		"    switch s {latency=1e-3s,source = \"a long text that does not fit on the line "
		"any more\", oversubscription = 2}\n"
		"    connect g[0,1],s{link=l, each = false}\n"
		"    connect h, s {link = l}\n"
		"    connect s, top {link = l}\n  }\n}\n");
	assert_string_equal(c->text, "cluster @t {\n"
				     "  device d\n"
				     "    {f32 = 1000GFLOP/s}\n"
				     "    {memory = 8GB, source = \"a \\\"b\\\"\"}\n"
				     "  link l {bandwidth = 0.3GB/s}\n"
				     "  switch top\n"
				     "  node n[4] {\n"
				     "    d g[2], h\n"
				     "    switch s {latency = 0.001s, source = \"a long text that "
				     "does not fit on the line any "
				     "more\",\n"
				     "       oversubscription = 2}\n"
				     "    connect g[0, 1], s {link = l, each = false}\n"
				     "    connect h, s {link = l}\n"
				     "    connect s, top {link = l}\n"
				     "  }\n"
				     "}\n");
	assert_string_equal(parse_right(f, c->text)->text, c->text);
}

/* Types that are not given have the rates of the type that is computed alike; a link has what it
 * reaches of its bandwidth, and its half size as a latency: (n + 1MB) / 80GB/s + 2us. */
static void
kernels_and_messages_reach_shares(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = parse_right(f,
		"cluster @t {\n"
		"device d {f32 = 10TFLOP/s, tf32 = 40TFLOP/s}\n"
		"reach d {kernel = product, share = 0.5, half_k = 64, source = \"here\"}\n"
		"reach d {kernel = product, type = bf16, share = 0.7, unaligned = 0.25}\n"
		"reach d {kernel = product, type = tf32, share = 0.6}\n"
		"reach d {kernel = rows, share = 0.9, half = 3MB}\n"
		"link l {bandwidth = 100GB/s, latency = 2us}\n"
		"reach l {share = 0.8, half = 1MB}\n"
		"d g[2]\n"
		"connect g, g {link = l}\n"
		"}\n");
	struct device *d = (struct device *)c->kind[0];
	const struct reach *product = d->reach[REACH_product], *rows = d->reach[REACH_rows];
	const struct cluster_route r = route(c, 0, 1);

	assert_true(d->reached);
	assert_string_equal(d->reach_source, "here");
	assert_true(product[REACH_OF_f32].share == 0.5 && product[REACH_OF_f32].half_k == 64);
	assert_true(product[REACH_OF_f64].share == 0.5 && product[REACH_OF_i8].share == 0.5);
	assert_true(product[REACH_OF_bf16].share == 0.7 && product[REACH_OF_bf16].half_k == 0);
	assert_true(product[REACH_OF_f16].unaligned == 0.25);
	assert_true(rows[REACH_OF_bf16].share == 0.9 && rows[REACH_OF_bf16].half == 3e6);
	assert_true(d->reach[REACH_flat][REACH_OF_f32].share == 1);
	assert_true(fabs(r.bandwidth - 80e9) < 1 && fabs(r.latency - 14.5e-6) < 1e-12);
	assert_true(device_use_tf32(d));
	assert_true(d->f32 == 40e12 && product[REACH_OF_f32].share == 0.6);
	assert_false(device_use_tf32(device_generic(f)));
}

/* m, n and k at their half sizes: an eighth of the share; twice the half size: two thirds of it. */
static void
half_sizes_halve(void **state)
{
	(void)state;
	struct reach r = {.share = 0.8,
		.half_m = 10,
		.half_n = 20,
		.half_k = 30,
		.start = 1e-3,
		.unaligned = 0.5,
		.half = 1e6};

	/* The last in two calls. */
	const struct reach_size half = {0, 1, 10, 20, 30, false},
				large = {2, 1, 1e12, 1e12, 60, true};
	assert_true(fabs(reach_product_seconds(&r, 1e12, &half, 1e11) - 1) < 1e-12);
	assert_true(fabs(reach_product_seconds(&r, 3e12, &large, 8e11) - 1 - 2e-3) < 1e-9);
	assert_true(fabs(reach_seconds(&r, 1e9, 1e6) - 2.5e-3) < 1e-15);
	assert_true(reach_seconds(&r, 1e9, 0) == 0);
}

/* A kernel finds at most `cache` bytes of what it reads and writes in a cache. */
static void
bytes_in_a_cache_are_read_faster(void **state)
{
	(void)state;
	struct device *d = device_generic(NULL);

	d->bandwidth = 1e9;
	assert_true(fabs(device_memory_seconds(d, 3e6) - 3e-3) < 1e-15);
	d->cache = 1e6;
	assert_true(fabs(device_memory_seconds(d, 3e6) - 3e-3) < 1e-15);
	d->cache_bandwidth = 4e9;
	assert_true(device_memory_seconds(d, 0) == 0);
	assert_true(fabs(device_memory_seconds(d, 8e5) - 0.2e-3) < 1e-15);
	assert_true(fabs(device_memory_seconds(d, 3e6) - 2.25e-3) < 1e-15);
	talloc_free(d);
}

/* A card that is measured under the name of a shipped one reaches what that does. */
static void
known_devices_reach_what_was_fitted(void **state)
{
	struct fixture *f = *state;
	struct cluster *c =
		parse_right(f, "cluster @t {\ndevice card {measured = \"NVIDIA H100\"}\n}\n");
	struct cluster *other =
		parse_right(f, "cluster @t {\ndevice card {measured = \"NVIDIA H1\"}\n}\n");
	const struct cluster *shipped = cluster_open(f, f->ctx, "h100x32");

	assert_true(shipped->kind[0]->reached && c->kind[0]->reached);
	assert_false(other->kind[0]->reached);
	assert_memory_equal(c->kind[0]->reach, shipped->kind[0]->reach, sizeof c->kind[0]->reach);
	assert_string_equal(c->kind[0]->reach_source, shipped->kind[0]->reach_source);

	struct cluster *like =
		parse_right(f, "cluster @t {\ndevice card\n"
			       "reach card {like = \"NVIDIA H100\", source = \"here\"}\n}\n");
	assert_memory_equal(
		like->kind[0]->reach, shipped->kind[0]->reach, sizeof like->kind[0]->reach);
	assert_string_equal(like->kind[0]->reach_source, "here");
	assert_null(parse(f, "cluster @t {\ndevice card\nreach card {like = \"a card\"}\n}\n"));
	assert_non_null(
		strstr(f->message, "3:1: no shipped cluster says what kernels reach on 'a card'"));
}

/* A quantity is multiplied by an expression of lets. */
static void
quantities_have_factors(void **state)
{
	struct fixture *f = *state;
	const struct cluster *c = parse_right(f,
		"cluster @t {\nlet g = 3\n"
		"device card {bandwidth = (g + 1) * 1GB/s, launch = 2*3us, wait = g*0us}\n}\n");

	assert_true(c->kind[0]->bandwidth == 4e9 && c->kind[0]->wait == 0);
	assert_float_equal(c->kind[0]->launch, 6e-6, 1e-12);
	assert_null(parse(f, "cluster @t {\ndevice card {bandwidth = h * 1GB/s}\n}\n"));
	assert_non_null(strstr(f->message, "2:26: the size 'h' has no value"));
	assert_null(parse(f, "cluster @t {\ndevice card {bandwidth = 0 * 1GB/s}\n}\n"));
	assert_non_null(strstr(f->message, "2:26: bandwidth must be above 0, not 0 * 1GB/s"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_have_numbers_in_the_order_of_the_text),
		cmocka_unit_test(sides_are_connected_each_with_each_or_in_pairs),
		cmocka_unit_test(a_shared_link_serves_both_ways),
		cmocka_unit_test(a_common_link_serves_all_connections),
		cmocka_unit_test(switches_have_latency_bandwidth_or_oversubscription),
		cmocka_unit_test(groups_hold_nodes_and_switches_of_their_own),
		cmocka_unit_test(a_device_alone_is_boundless),
		cmocka_unit_test(a_device_may_have_a_name_that_is_no_word),
		cmocka_unit_test(values_have_units),
		cmocka_unit_test(kernels_and_messages_reach_shares),
		cmocka_unit_test(half_sizes_halve),
		cmocka_unit_test(bytes_in_a_cache_are_read_faster),
		cmocka_unit_test(known_devices_reach_what_was_fitted),
		cmocka_unit_test(quantities_have_factors),
		cmocka_unit_test(the_text_is_canonical),
	};
	return cmocka_run_group_tests_name("clusters as text", tests, setup, free_scratch);
}
