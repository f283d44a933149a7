/* The ways of a machine configuration are its paths, over links that are shared as FlexFlow has it.
 */
#include "parser/cluster/cluster.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 2 nodes of 2 sockets with 2 GPUs: GPUs 0 to 7, memories of the sockets 8 to 11. Round numbers. */
#define COUNTS                                                                                     \
	"num_nodes = 2\nnum_sockets_per_node = 2\nnum_cpus_per_socket = 1\n"                       \
	"num_gpus_per_socket = 2\n"
#define LINKS                                                                                      \
	"membus_latency = 0.001\nmembus_bandwidth = 1\nupi_latency = 0.002\nupi_bandwidth = 2\n"   \
	"nic_latency = 0.004\nnic_bandwidth = 3\npci_latency = 0.008\npci_bandwidth = 4\n"         \
	"nvlink_latency = 0.016\nnvlink_bandwidth = 5\n"
#define PATHS                                                                                      \
	"inter_socket_sys_mem_to_sys_mem = upi\n"                                                  \
	"inter_node_sys_mem_to_sys_mem = nic\n"                                                    \
	"intra_socket_gpu_fb_mem_to_gpu_fb_mem = nvlink\n"                                         \
	"inter_socket_gpu_fb_mem_to_gpu_fb_mem = pci_to_host upi pci_to_dev\n"                     \
	"inter_node_gpu_fb_mem_to_gpu_fb_mem = pci_to_host nic pci_to_dev\n"                       \
	"intra_socket_sys_mem_to_gpu_fb_mem = membus pci_to_dev\n"                                 \
	"inter_socket_sys_mem_to_gpu_fb_mem = null\n"                                              \
	"inter_node_sys_mem_to_gpu_fb_mem = nic pci_to_dev\n"                                      \
	"intra_socket_gpu_fb_mem_to_sys_mem = pci_to_host\n"                                       \
	"inter_socket_gpu_fb_mem_to_sys_mem = pci_to_host upi\n"                                   \
	"inter_node_gpu_fb_mem_to_sys_mem = pci_to_host nic membus\n"

struct fixture {
	struct ir_context *ctx;
	struct cluster *one, *several; /* with one nic a node, with three a socket */
};

static struct cluster *
parse(struct fixture *f, const char *nics)
{
	char *text = talloc_asprintf(f, COUNTS LINKS PATHS "nic_persocket = %s\n", nics);
	struct cluster *c = cluster_parse(f, f->ctx, "machine_config", text, strlen(text));

	assert_non_null(c);
	return c;
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	f->one = parse(f, "0");
	f->several = parse(f, "3");
	*state = f;
	return 0;
}

static struct cluster_route
route(struct cluster *c, uint32_t from, uint32_t to)
{
	struct cluster_route r;
	assert_true(cluster_route(c, from, to, &r));
	return r;
}

static void
each_pair_takes_its_path(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t from, to;
		double latency_us, bandwidth;
		const char *links;
	} want[] = {
		{0, 1, 16, 5e9, "nvlink "},
		{1, 0, 16, 5e9, "nvlink "},
		{0, 2, 18, 2e9, "pci upi upi pci "},
		{3, 4, 20, 3e9, "pci nic nic pci "},
		{8, 9, 2, 2e9, "upi upi "},
		{9, 10, 4, 3e9, "nic nic "},
		{8, 1, 9, 1e9, "membus pci "},
		{8, 2, 0, INFINITY, ""},
		{8, 7, 12, 3e9, "nic nic pci "},
		{3, 9, 8, 4e9, "pci "},
		{3, 8, 10, 2e9, "pci upi upi "},
		{3, 11, 13, 1e9, "pci nic nic membus "},
		{5, 5, 0, INFINITY, ""},
	};
	assert_int_equal(f->one->ndevices, 8);
	assert_int_equal(f->one->nhosts, 4);
	assert_int_equal(f->one->nnodes, 2);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct cluster_route r = route(f->one, want[i].from, want[i].to);
		char links[64] = "";
		for (uint32_t k = 0; k < r.nlinks; k++) {
			strcat(links, f->one->link[r.link[k]].name);
			strcat(links, " ");
		}
		assert_string_equal(links, want[i].links);
		assert_true(fabs(r.latency * 1e6 - want[i].latency_us) < 1e-9);
		assert_true(r.bandwidth == want[i].bandwidth);
	}
}

static void
links_are_shared_as_they_are_in_the_machine(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = f->one;
	/* a socket has one pci each way, whatever the GPU and where to */
	uint32_t to_host = route(c, 0, 4).link[0], to_dev = route(c, 4, 0).link[3];
	assert_int_equal(route(c, 1, 2).link[0], to_host);
	assert_int_equal(route(c, 1, 8).link[0], to_host);
	assert_int_equal(route(c, 8, 1).link[1], to_dev);
	assert_int_not_equal(to_host, to_dev);
	assert_int_not_equal(route(c, 2, 4).link[0], to_host);
	/* a node has one nic, which sends and receives at once */
	uint32_t out = route(c, 0, 4).link[1], in = route(c, 0, 4).link[2];
	assert_int_equal(route(c, 3, 7).link[1], out);
	assert_int_equal(route(c, 3, 7).link[2], in);
	assert_int_not_equal(route(c, 4, 0).link[1], out);
	assert_int_not_equal(route(c, 4, 0).link[2], in);
	/* the membus of the socket where the message is: the receiver's, behind a nic */
	assert_int_equal(route(c, 0, 11).link[3], route(c, 11, 6).link[0]);
	assert_int_not_equal(route(c, 0, 11).link[3], route(c, 8, 0).link[0]);
	/* two GPUs have an nvlink for each way, and nobody else */
	assert_int_not_equal(route(c, 0, 1).link[0], route(c, 1, 0).link[0]);
	assert_int_not_equal(route(c, 0, 1).link[0], route(c, 4, 5).link[0]);
}

static void
nics_of_a_socket_are_its_own_and_all_used(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = f->several;
	bool used[3] = {false, false, false};
	uint32_t first = UINT32_MAX;
	for (uint32_t from = 0; from < 2; from++)
		for (uint32_t to = 4; to < 8; to++)
			if (route(c, from, to).link[1] < first)
				first = route(c, from, to).link[1];
	for (uint32_t from = 0; from < 2; from++)
		for (uint32_t to = 4; to < 8; to++) {
			uint32_t nic = route(c, from, to).link[1] - first;
			assert_true(nic < 3);
			used[nic] = true;
			assert_string_equal(c->link[nic + first].name, "nic");
		}
	assert_true(used[0] && used[1] && used[2]);
	for (uint32_t to = 4; to < 8; to++)
		assert_true(route(c, 2, to).link[1] >= first + 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pair_takes_its_path),
		cmocka_unit_test(links_are_shared_as_they_are_in_the_machine),
		cmocka_unit_test(nics_of_a_socket_are_its_own_and_all_used),
	};
	return cmocka_run_group_tests_name("machine configurations", tests, setup, free_scratch);
}
