/*
 * The readers of clusters against damaged texts: the clusters that are shipped, a machine
 * configuration of FlexFlow and texts with everything in the language.
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

static void
add_seeds(struct fuzz *f)
{
	static const char *const texts[] = {everything, config, alone};

	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++)
		fuzz_add_seed(f, s->text, strlen(s->text));
	fuzz_add_folder(f, "fuzz/Inputs", ".cluster");
	for (int i = 0; i < 24; i++) /* as often as the others */
		fuzz_add_seed(f, texts[i % 3], strlen(texts[i % 3]));
}

const struct fuzz_test fuzz_test = {.reader = "cluster",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 25,
	.mutations = 12000};
