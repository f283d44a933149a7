/*
 * The readers of clusters against damaged texts: the clusters that are shipped, and texts with
 * everything in the language.
 */
#include "parser/cluster/shipped.h"
#include "test/fuzz/mutate.h"

#include <string.h>

static const char everything[] =
	"cluster @t {\n source \"me\"\n device d {f32 = 1TFLOP/s} {async = 0, source = \"x\"}\n"
	" device e\n link l {bandwidth = 1GB/s, latency = 1us, shared = true}\n"
	" link k {bandwidth = 2GB/s}\n switch s[2], t {latency = 1us, oversubscription = 2}\n"
	" switch u {bandwidth = 3GB/s}\n connect s[0,1], t {link = k}\n connect t, u {link = l}\n"
	" group r[2] {\n  node n[2] {\n   d g[2], h\n   e f\n   host c\n"
	"   connect g, s {link = l, each = true}\n   connect g, g {link = k}\n"
	"   connect h, t {link = l, common = true}\n   connect f, u {link = k}\n   connect c, u {link = k}\n"
	"  }\n }\n}\n";

static const char alone[] = "cluster @t {\n device d {launch = 1us, link_latency = 2us}\n}\n";

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "%x", "%", "@f", "@", "=", ":",
	",", "+", "-", "*", "/", "\n", " ", "//", "\"", "\\", "\0", "\xff", "#", "cluster @c {",
	"device", "device q", "link", "link q {bandwidth = 1GB/s}", "switch", "switch q", "host q",
	"node q {", "group q[3] {", "connect g, s {link = l}", "connect", "source \"q\"", "d q[2]",
	"9223372036854775807", "99999999999999999999", "131072", "-1", "0", "1e999", "nan", "inf",
	"25MB", "0B/s", "1e308TB/s", "3us", "{shared = true}", "{oversubscription = 3}",
	"{link = l, each = true}", "{link = k, common = true}", "[0,1]", "[8]", "[1000000]",
	"module @m", "func @main() {"};

static void
add_seeds(struct fuzz *f)
{
	static const char *const texts[] = {everything, alone};

	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++)
		fuzz_add_seed(f, s->text, strlen(s->text));
	fuzz_add_folder(f, "fuzz/Inputs", ".cluster");
	for (int i = 0; i < 24; i++) /* as often as the others */
		fuzz_add_seed(f, texts[i % 2], strlen(texts[i % 2]));
}

const struct fuzz_test fuzz_test = {.reader = "cluster",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 25,
	.mutations = 12000};
