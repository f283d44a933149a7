/*
 * The readers of clusters against damaged texts: the clusters that are shipped, a machine
 * configuration of FlexFlow and texts with everything in the language, mutated some ten thousand
 * times in a fixed sequence. Each must give errors, every one with its place, and no cluster; or no
 * error and a cluster whose text is a fixed point and in which every device reaches every other.
 * Sanitized builds see the rest.
 *
 * With an argument N it makes N mutations; with N and S from seed S.
 */
#include "parser/cluster.h"
#include "parser/cluster_shipped.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <cmocka.h>

enum {
	FUZZ_MUTATIONS = 12000,  /* some seconds, with sanitizers less than a minute */
	FUZZ_MAX_DAMAGE = 4,     /* mutations of one text: more only makes nonsense */
	FUZZ_CONTEXT_LIFE = 200, /* texts a context sees, as its reporter keeps them */
	FUZZ_MAX_SEEDS = 40,
	FUZZ_WAYS = 64, /* ends of a cluster between which ways are looked for */
};

struct text {
	char *s;
	size_t n;
};

static struct text seed[FUZZ_MAX_SEEDS];
static int nseeds;
static uint64_t state_of_random;

static const char everything[] =
	"cluster @t {\n source \"me\"\n device d {f32 = 1TFLOP/s} {async = 0, source = \"x\"}\n"
	" device e\n link l {bandwidth = 1GB/s, latency = 1us, shared = true}\n"
	" link k {bandwidth = 2GB/s}\n switch s[2], t {latency = 1us, oversubscription = 2}\n"
	" switch u {bandwidth = 3GB/s}\n connect s[0,1], t {link = k}\n connect t, u {link = l}\n"
	" group r[2] {\n  node n[2] {\n   d g[2], h\n   e f\n   host c\n"
	"   connect g, s {link = l, each = true}\n   connect g, g {link = k}\n"
	"   connect h, t {link = l}\n   connect f, u {link = k}\n   connect c, u {link = k}\n"
	"  }\n }\n}\n";

static const char alone[] = "cluster @t {\n device d {launch = 1us, link_latency = 2us}\n}\n";

static const char config[] =
	"num_nodes = 2\nnum_sockets_per_node = 2\nnum_cpus_per_socket = 1\n"
	"num_gpus_per_socket = 2\nmembus_latency = 0.001\nmembus_bandwidth = 1\n"
	"upi_latency = 0.002\nupi_bandwidth = 2\nnic_latency = 0.004\nnic_bandwidth = 3\n"
	"nic_persocket = 3\npci_latency = 0.008\npci_bandwidth = 4\nnvlink_latency = 0.016\n"
	"nvlink_bandwidth = 5\ninter_socket_sys_mem_to_sys_mem = upi\n"
	"inter_node_sys_mem_to_sys_mem = nic\nintra_socket_gpu_fb_mem_to_gpu_fb_mem = nvlink\n"
	"inter_socket_gpu_fb_mem_to_gpu_fb_mem = pci_to_host upi pci_to_dev\n"
	"inter_node_gpu_fb_mem_to_gpu_fb_mem = pci_to_host nic pci_to_dev\n"
	"intra_socket_sys_mem_to_gpu_fb_mem = membus pci_to_dev\n"
	"inter_socket_sys_mem_to_gpu_fb_mem = null\n"
	"inter_node_sys_mem_to_gpu_fb_mem = nic pci_to_dev\n"
	"intra_socket_gpu_fb_mem_to_sys_mem = pci_to_host\n"
	"inter_socket_gpu_fb_mem_to_sys_mem = pci_to_host upi # far\n"
	"inter_node_gpu_fb_mem_to_sys_mem = pci_to_host nic membus\n";

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "%x", "%", "@f", "@", "=", ":",
	",", "+", "-", "*", "/", "\n", " ", "//", "\"", "\\", "\0", "\xff", "#", "cluster @c {",
	"device", "device q", "link", "link q {bandwidth = 1GB/s}", "switch", "switch q", "host q",
	"node q {", "group q[3] {", "connect g, s {link = l}", "connect", "source \"q\"", "d q[2]",
	"9223372036854775807", "99999999999999999999", "131072", "-1", "0", "1e999", "nan", "inf",
	"25MB", "0B/s", "1e308TB/s", "3us", "{shared = true}", "{oversubscription = 3}",
	"{link = l, each = true}", "num_nodes = 3", "nvlink", "null", "upi upi upi upi", "[0,1]",
	"[8]", "[1000000]", "module @m", "func @main() {"};

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. */
static uint64_t
fuzz_random(uint64_t below)
{
	state_of_random ^= state_of_random >> 12;
	state_of_random ^= state_of_random << 25;
	state_of_random ^= state_of_random >> 27;
	return (state_of_random * UINT64_C(2685821657736338717) >> 33) % below;
}

static void
add_seed(const char *s)
{
	assert_true(nseeds < FUZZ_MAX_SEEDS);
	seed[nseeds++] = (struct text){talloc_strdup(NULL, s), strlen(s)};
}

/* Texts end in a zero that is not counted. */
static void
splice(struct text *t, size_t at, size_t drop, const char *s, size_t n)
{
	char *to = talloc_zero_size(NULL, t->n - drop + n + 1);

	memcpy(to, t->s, at);
	memcpy(to + at, s, n);
	memcpy(to + at + n, t->s + at + drop, t->n - at - drop);
	talloc_free(t->s);
	t->s = to;
	t->n = t->n - drop + n;
}

static void
mutate(struct text *t)
{
	size_t at = fuzz_random(t->n + 1), left = t->n - at;
	size_t few = left ? fuzz_random(left < 12 ? left : 12) : 0;
	const struct text *other = &seed[fuzz_random((uint64_t)nseeds)];
	size_t from = fuzz_random(other->n);
	size_t length = fuzz_random(other->n - from < 200 ? other->n - from : 200);
	const char *word = token[fuzz_random(sizeof token / sizeof *token)];
	char byte = (char)fuzz_random(256);

	switch (fuzz_random(7)) {
	case 0: splice(t, at, few, "", 0); break;
	case 1: splice(t, at, few, word, *word ? strlen(word) : 1); break;
	case 2: splice(t, at, 0, word, *word ? strlen(word) : 1); break;
	case 3: splice(t, at, 0, other->s + from, length); break;
	case 4: splice(t, at, left < 200 ? left : 200, other->s + from, length); break;
	case 5: splice(t, at, left > 0, &byte, 1); break;
	case 6: splice(t, at, left, "", 0); break;
	}
}

static void
count_errors(void *data, const struct diag_message *m)
{
	unsigned *errors = data;

	assert_non_null(m->text);
	assert_true(m->line > 0 && m->column > 0);
	*errors += m->level == DIAG_ERROR;
}

static void
check_ways(struct cluster *c)
{
	struct cluster_route r;

	cluster_reserve(c, 3);
	uint32_t n = c->ndevices + c->nhosts, step = n / FUZZ_WAYS + 1;
	for (uint32_t i = 0; i < n; i += step)
		for (uint32_t j = 0; j < n; j += step) {
			assert_true(cluster_route(c, i, j, &r));
			assert_true(r.bandwidth > 0 && r.latency >= 0);
			for (uint32_t k = 0; k < r.nlinks; k++)
				assert_true(r.link[k] < c->nlinks);
		}
}

/* Is it a right cluster? */
static bool
check(struct ir_context *ctx, unsigned *errors, const struct text *t)
{
	*errors = 0;
	struct cluster *c = cluster_parse(ctx, ctx, "mutated", t->s, t->n);
	assert_true(c ? *errors == 0 : *errors > 0);
	if (!c)
		return false;
	struct cluster *again = cluster_parse(ctx, ctx, "printed", c->text, strlen(c->text));
	assert_non_null(again);
	assert_string_equal(again->text, c->text);
	assert_int_equal(again->ndevices, c->ndevices);
	assert_int_equal(again->nlinks, c->nlinks);
	check_ways(c);
	talloc_free(again);
	talloc_free(c);
	return true;
}

static int mutations = FUZZ_MUTATIONS;
static uint64_t first_seed = 1;

/* Where to find the text at hand after a crash: DOPT_FUZZ_KEEP=file. */
static void
keep(const struct text *t)
{
	const char *path = getenv("DOPT_FUZZ_KEEP");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fwrite(t->s, 1, t->n, f);
	fclose(f);
}

static void
mutated_texts(void **state)
{
	struct ir_context *ctx = NULL;
	unsigned errors = 0;
	int right = 0;

	(void)state;
	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++)
		add_seed(s->text);
	for (int i = 0; i < 8; i++) { /* as often as the others */
		add_seed(everything);
		add_seed(config);
		add_seed(alone);
	}
	state_of_random = first_seed * UINT64_C(0x9E3779B97F4A7C15);
	for (int i = 0; i < mutations; i++) {
		if (i % FUZZ_CONTEXT_LIFE == 0) {
			talloc_free(ctx);
			ctx = ir_context_create(NULL);
			diag_set_handler(ctx->diag, count_errors, &errors);
		}
		struct text t = seed[fuzz_random((uint64_t)nseeds)];
		t.s = talloc_memdup(NULL, t.s, t.n + 1);
		for (uint64_t k = fuzz_random(FUZZ_MAX_DAMAGE + 1); k > 0; k--)
			mutate(&t);
		keep(&t);
		right += check(ctx, &errors, &t);
		talloc_free(t.s);
	}
	talloc_free(ctx);
	print_message("%d of %d texts are right\n", right, mutations);
	assert_in_range(right, mutations / 50, mutations / 2); /* both kinds are met */
	while (nseeds)
		talloc_free(seed[--nseeds].s);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_texts)};

	if (argc > 1)
		mutations = atoi(argv[1]);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests_name("damaged clusters", tests, NULL, NULL);
}
