/*
 * FlexFlow's machine_config: lines `name = value` with the numbers of nodes, sockets and GPUs, the
 * rates of the links between them, and the links that a message uses. FlexFlow, under the Apache
 * licence, reads it in src/runtime/machine_model.cc; the meaning is taken from there:
 *
 *     membus          a socket has one, for both ways
 *     upi, nic        a message leaves the one of its socket and enters that of the other: half of
 *                     the latency each. nic_persocket = 0: one nic for all sockets of a node
 *     pci_to_host, pci_to_dev   a socket has one of each, for all of its GPUs
 *     nvlink          any two GPUs of a node have one for each way
 *
 * FlexFlow distributes messages over the nics of a socket in turn; here a route is always the same
 * and uses the nic that follows from its two ends.
 */
#include "parser/cluster/shipped.h"

#include "ir/base/alloc.h"
#include "ir/cluster/device.h"
#include "ir/base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum step { MEMBUS, UPI_OUT, UPI_IN, NIC_OUT, NIC_IN, PCI_TO_HOST, PCI_TO_DEV, NVLINK, NSTEPS };

struct path {
	uint32_t n;
	uint8_t step[CLUSTER_STEPS_MAX];
};

/* The distance of two ends, and their kinds. */
enum { INTRA_SOCKET, INTER_SOCKET, INTER_NODE, NFAR };
enum { MEMORY, GPU };

struct config {
	int64_t nodes, sockets, cpus, gpus, nics; /* sockets: of a node; others: of a socket */
	double membus_latency, membus_bandwidth, upi_latency, upi_bandwidth, nic_latency,
		nic_bandwidth, pci_latency, pci_bandwidth, nvlink_latency, nvlink_bandwidth;
	struct path path[NFAR][2][2]; /* how far, from what, to what */
	uint32_t base[NSTEPS];        /* the first link of each */
};

enum key_kind { KEY_COUNT, KEY_COUNT_0, KEY_LATENCY, KEY_BANDWIDTH, KEY_PATH };

#define AT(field) offsetof(struct config, field)

static const struct key {
	const char *name;
	enum key_kind kind;
	size_t at;
} keys[] = {
	{"num_nodes", KEY_COUNT, AT(nodes)},
	{"num_sockets_per_node", KEY_COUNT, AT(sockets)},
	{"num_cpus_per_socket", KEY_COUNT_0, AT(cpus)},
	{"num_gpus_per_socket", KEY_COUNT, AT(gpus)},
	{"membus_latency", KEY_LATENCY, AT(membus_latency)},
	{"membus_bandwidth", KEY_BANDWIDTH, AT(membus_bandwidth)},
	{"upi_latency", KEY_LATENCY, AT(upi_latency)},
	{"upi_bandwidth", KEY_BANDWIDTH, AT(upi_bandwidth)},
	{"nic_latency", KEY_LATENCY, AT(nic_latency)},
	{"nic_bandwidth", KEY_BANDWIDTH, AT(nic_bandwidth)},
	{"nic_persocket", KEY_COUNT_0, AT(nics)},
	{"pci_latency", KEY_LATENCY, AT(pci_latency)},
	{"pci_bandwidth", KEY_BANDWIDTH, AT(pci_bandwidth)},
	{"nvlink_latency", KEY_LATENCY, AT(nvlink_latency)},
	{"nvlink_bandwidth", KEY_BANDWIDTH, AT(nvlink_bandwidth)},
	{"intra_socket_sys_mem_to_sys_mem", KEY_PATH, AT(path[INTRA_SOCKET][MEMORY][MEMORY])},
	{"intra_socket_sys_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTRA_SOCKET][MEMORY][GPU])},
	{"intra_socket_gpu_fb_mem_to_sys_mem", KEY_PATH, AT(path[INTRA_SOCKET][GPU][MEMORY])},
	{"intra_socket_gpu_fb_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTRA_SOCKET][GPU][GPU])},
	{"inter_socket_sys_mem_to_sys_mem", KEY_PATH, AT(path[INTER_SOCKET][MEMORY][MEMORY])},
	{"inter_socket_sys_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTER_SOCKET][MEMORY][GPU])},
	{"inter_socket_gpu_fb_mem_to_sys_mem", KEY_PATH, AT(path[INTER_SOCKET][GPU][MEMORY])},
	{"inter_socket_gpu_fb_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTER_SOCKET][GPU][GPU])},
	{"inter_node_sys_mem_to_sys_mem", KEY_PATH, AT(path[INTER_NODE][MEMORY][MEMORY])},
	{"inter_node_sys_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTER_NODE][MEMORY][GPU])},
	{"inter_node_gpu_fb_mem_to_sys_mem", KEY_PATH, AT(path[INTER_NODE][GPU][MEMORY])},
	{"inter_node_gpu_fb_mem_to_gpu_fb_mem", KEY_PATH, AT(path[INTER_NODE][GPU][GPU])},
};

enum { NKEYS = sizeof keys / sizeof *keys };

static const struct {
	const char *name;
	int n;
	uint8_t step[2];
} words[] = {
	{"null", 0, {0, 0}},
	{"membus", 1, {MEMBUS, 0}},
	{"upi", 2, {UPI_OUT, UPI_IN}},
	{"nic", 2, {NIC_OUT, NIC_IN}},
	{"pci_to_host", 1, {PCI_TO_HOST, 0}},
	{"pci_to_dev", 1, {PCI_TO_DEV, 0}},
	{"nvlink", 1, {NVLINK, 0}},
};

enum { NWORDS = sizeof words / sizeof *words };

/* --- reading --------------------------------------------------------------------------------- */

struct reader {
	struct diag *diag;
	const char *text;
	uint32_t base;
	struct config *config;
	bool given[NKEYS];
};

/* A word of a line. */
struct word {
	const char *s;
	size_t n;
};

#define IS(word, text) ((word).n == strlen(text) && !memcmp((word).s, (text), (word).n))

static struct ir_loc
loc_of(const struct reader *r, struct word w)
{
	uint32_t at = r->base + (uint32_t)(w.s - r->text);

	return (struct ir_loc){at, at + (uint32_t)w.n};
}

/* The next word of the line that ends at `end`; n 0: none. A comment ends a line. */
static struct word
next_word(const char **at, const char *end)
{
	const char *s = *at;

	while (s < end && isspace((unsigned char)*s))
		s++;
	const char *from = s;
	while (s < end && !isspace((unsigned char)*s) && *s != '#' && (s == from || *s != '=') &&
		(s == from || s[-1] != '='))
		s++;
	*at = s;
	return (struct word){from, (size_t)(s - from)};
}

static bool
read_count(struct reader *r, const struct key *k, struct word w, int64_t *to)
{
	int64_t least = k->kind == KEY_COUNT;
	char *end;

	errno = 0;
	long long v = strtoll(w.s, &end, 10);
	if (end == w.s + w.n && !errno && v >= least && v <= CLUSTER_DEVICES_MAX) {
		*to = v;
		return true;
	}
	diag_error(r->diag, loc_of(r, w), "%s must be a whole number from %d to %d, not %.*s",
		k->name, (int)least, CLUSTER_DEVICES_MAX, (int)w.n, w.s);
	return false;
}

static bool
read_number(struct reader *r, const struct key *k, struct word w, double *to)
{
	bool latency = k->kind == KEY_LATENCY;
	char *end;
	double v = strtod(w.s, &end);

	/* Bounds that keep times finite: an hour; a byte a second to a zettabyte. */
	bool fits = latency ? v >= 0 && v <= 3600e3 : v >= 1e-9 && v <= 1e12;
	if (end == w.s + w.n && fits) {
		*to = latency ? v * 1e-3 : v * 1e9;
		return true;
	}
	diag_error(r->diag, loc_of(r, w), "%s must be a number %s, not %.*s", k->name,
		latency ? "of milliseconds, at least 0" : "of GB/s, above 0", (int)w.n, w.s);
	return false;
}

/* Do the steps lead from one end to the other? nvlink is between GPUs of a node. */
static bool
step_fits(struct reader *r, const struct key *k, struct word w, int number)
{
	bool gpus = k->at == AT(path[INTRA_SOCKET][GPU][GPU]) ||
		    k->at == AT(path[INTER_SOCKET][GPU][GPU]);

	if (words[number].step[0] != NVLINK || !words[number].n || gpus)
		return true;
	diag_error(r->diag, loc_of(r, w), "nvlink only connects GPUs of one node");
	return false;
}

static bool
read_step(struct reader *r, const struct key *k, struct word w, struct path *path)
{
	int i = 0;

	while (i < NWORDS && !IS(w, words[i].name))
		i++;
	if (i == NWORDS) {
		diag_error(r->diag, loc_of(r, w),
			"'%.*s' is not a link; expected membus, upi, nic, pci_to_host, "
			"pci_to_dev, nvlink, or null for none",
			(int)w.n, w.s);
		return false;
	}
	if (path->n + (uint32_t)words[i].n > CLUSTER_STEPS_MAX) {
		diag_error(r->diag, loc_of(r, w),
			"a path has at most %d links, where upi and nic count as two",
			CLUSTER_STEPS_MAX);
		return false;
	}
	for (int step = 0; step < words[i].n; step++)
		path->step[path->n++] = words[i].step[step];
	return step_fits(r, k, w, i);
}

static void
unknown_key(struct reader *r, struct word w)
{
	char *name = text_copy_n(NULL, w.s, w.n);
	struct suggestion near = suggestion_for(name);

	for (int i = 0; i < NKEYS; i++)
		suggestion_add(&near, keys[i].name);
	diag_error(r->diag, loc_of(r, w), "a machine configuration has no '%s'%s", name,
		suggestion_text(name, &near));
	talloc_free(name);
}

static void
read_value(struct reader *r, const struct key *k, const char *at, const char *end)
{
	void *to = (char *)r->config + k->at;
	struct word w = next_word(&at, end);
	bool ok = true;

	if (k->kind == KEY_PATH) {
		for (; w.n && ok; w = next_word(&at, end))
			ok = read_step(r, k, w, to);
		return;
	}
	ok = k->kind <= KEY_COUNT_0 ? read_count(r, k, w, to) : read_number(r, k, w, to);
	w = next_word(&at, end);
	if (ok && w.n)
		diag_error(r->diag, loc_of(r, w), "%s takes one value; found '%.*s' after it",
			k->name, (int)w.n, w.s);
}

static void
read_line(struct reader *r, const char *at, const char *end)
{
	struct word name = next_word(&at, end), equals = next_word(&at, end), value;
	const char *after = at;
	int i = 0;

	if (!name.n)
		return;
	while (i < NKEYS && !IS(name, keys[i].name))
		i++;
	value = next_word(&after, end);
	if (i == NKEYS)
		unknown_key(r, name);
	else if (!IS(equals, "=") || !value.n)
		diag_error(r->diag, loc_of(r, name), "expected '%s =' and a value", keys[i].name);
	else if (r->given[i])
		diag_error(r->diag, loc_of(r, name), "'%s' is given twice", keys[i].name);
	else
		read_value(r, &keys[i], at, end);
	if (i < NKEYS)
		r->given[i] = true;
}

/* Does a cluster with those counts use the path at that offset? */
static bool
path_is_used(const struct config *c, size_t at)
{
	const struct path *path = (const struct path *)((const char *)c + at);
	size_t far = (size_t)(path - c->path[0][0]) / 4;

	if (far == INTER_NODE)
		return c->nodes > 1;
	if (far == INTER_SOCKET)
		return c->sockets > 1;
	/* a socket has one memory */
	return path != &c->path[INTRA_SOCKET][MEMORY][MEMORY] &&
	       (path != &c->path[INTRA_SOCKET][GPU][GPU] || c->gpus > 1);
}

static void
check_complete(struct reader *r)
{
	struct ir_loc start = {r->base, r->base};

	for (int i = 0; i < NKEYS; i++)
		if (!r->given[i] &&
			(keys[i].kind != KEY_PATH || path_is_used(r->config, keys[i].at)))
			diag_error(r->diag, start, "the machine configuration does not set %s",
				keys[i].name);
}

static bool
check_size(struct reader *r)
{
	const struct config *c = r->config;
	int64_t sockets = c->nodes * c->sockets, most = CLUSTER_DEVICES_MAX;
	struct ir_loc start = {r->base, r->base};

	if (sockets > most || sockets * c->gpus > most || sockets * c->nics > most)
		diag_error(r->diag, start, "the machine has more than %d GPUs, sockets or nics",
			CLUSTER_DEVICES_MAX);
	else if (c->nodes * c->sockets * c->gpus * (c->sockets * c->gpus - 1) > CLUSTER_LINKS_MAX)
		diag_error(r->diag, start, "the machine has more than %d links", CLUSTER_LINKS_MAX);
	else
		return true;
	return false;
}

static bool
read_config(struct reader *r, size_t n)
{
	unsigned errors = diag_errors(r->diag);
	const char *end = r->text + n;

	for (const char *s = r->text; s < end;) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		const char *line_end = newline ? newline : end;
		const char *comment = memchr(s, '#', (size_t)(line_end - s));
		read_line(r, s, comment ? comment : line_end);
		s = line_end + 1;
	}
	if (diag_errors(r->diag) == errors)
		check_complete(r);
	return diag_errors(r->diag) == errors && check_size(r);
}

/* --- building -------------------------------------------------------------------------------- */

struct end {
	uint32_t socket, node, gpu; /* gpu: among those of the node */
	int kind;
};

static struct end
end_of(const struct config *c, uint32_t number)
{
	uint32_t sockets = (uint32_t)c->sockets, gpus = (uint32_t)c->gpus;
	uint32_t devices = (uint32_t)c->nodes * sockets * gpus;
	bool is_gpu = number < devices;
	uint32_t socket = is_gpu ? number / gpus : number - devices;

	return (struct end){socket, socket / sockets, is_gpu ? number % (sockets * gpus) : 0,
		is_gpu ? GPU : MEMORY};
}

/* The link of that kind that a step at socket `at` takes. */
static uint32_t
link_of(const struct config *c, enum step step, uint32_t at, const struct end *from,
	const struct end *to)
{
	uint32_t gpus = (uint32_t)(c->sockets * c->gpus), nics = (uint32_t)c->nics;

	if (step == NVLINK)
		return (from->node * gpus + from->gpu) * (gpus - 1) + to->gpu -
		       (to->gpu > from->gpu);
	if (step != NIC_IN && step != NIC_OUT)
		return at;
	return nics ? at * nics + (from->gpu + to->gpu) % nics : at / (uint32_t)c->sockets;
}

/* A message is at the socket of its sender until it enters another. */
static uint32_t
route(const void *data, uint32_t from_end, uint32_t to_end, uint32_t link[CLUSTER_STEPS_MAX])
{
	const struct config *c = data;
	struct end from = end_of(c, from_end), to = end_of(c, to_end);
	int far = from.socket == to.socket ? INTRA_SOCKET
		  : from.node == to.node   ? INTER_SOCKET
					   : INTER_NODE;
	const struct path *path = &c->path[far][from.kind][to.kind];
	uint32_t at = from.socket;

	for (uint32_t i = 0; i < path->n; i++) {
		enum step step = (enum step)path->step[i];
		at = step == UPI_IN || step == NIC_IN ? to.socket : at;
		link[i] = c->base[step] + link_of(c, step, at, &from, &to);
	}
	return path->n;
}

static void
add_links(struct cluster *c, struct config *k, enum step step, const char *name, int64_t n,
	double bandwidth, double latency)
{
	k->base[step] = c->nlinks;
	for (int64_t i = 0; i < n; i++)
		cluster_add_link(c, name, bandwidth, latency);
}

static void
add_all_links(struct cluster *c, struct config *k)
{
	int64_t sockets = k->nodes * k->sockets, gpus = k->sockets * k->gpus;
	int64_t nics = k->nics ? sockets * k->nics : k->nodes;

	add_links(c, k, MEMBUS, "membus", sockets, k->membus_bandwidth, k->membus_latency);
	add_links(c, k, UPI_OUT, "upi", sockets, k->upi_bandwidth, k->upi_latency / 2);
	add_links(c, k, UPI_IN, "upi", sockets, k->upi_bandwidth, k->upi_latency / 2);
	add_links(c, k, NIC_OUT, "nic", nics, k->nic_bandwidth, k->nic_latency / 2);
	add_links(c, k, NIC_IN, "nic", nics, k->nic_bandwidth, k->nic_latency / 2);
	add_links(c, k, PCI_TO_HOST, "pci", sockets, k->pci_bandwidth, k->pci_latency);
	add_links(c, k, PCI_TO_DEV, "pci", sockets, k->pci_bandwidth, k->pci_latency);
	add_links(c, k, NVLINK, "nvlink", k->nodes * gpus * (gpus - 1), k->nvlink_bandwidth,
		k->nvlink_latency);
}

/* The file does not describe GPUs: the default device is used. */
static struct cluster *
build(const void *owner, struct config *k, const char *text)
{
	struct cluster *c = cluster_create(owner, "machine_config");
	struct device *gpu = device_generic(NULL);

	talloc_free(gpu->name);
	gpu->name = text_copy(gpu, "gpu");
	cluster_add_kind(c, gpu);
	c->source = "a FlexFlow machine configuration";
	c->text = text_copy(c, text);
	talloc_steal(c, k);
	for (int64_t n = 0; n < k->nodes; n++) {
		uint32_t node = cluster_add_node(c);
		for (int64_t i = 0; i < k->sockets * k->gpus; i++)
			cluster_add_device(c, "gpu", 0, node);
		for (int64_t i = 0; i < k->sockets; i++)
			cluster_add_host(c, "sys_mem", node);
	}
	add_all_links(c, k);
	cluster_set_router(c, route, k);
	return c;
}

/* The stored text ends at a zero byte, so it must not contain one. */
static bool
is_text(const struct reader *r, size_t n)
{
	const char *zero = memchr(r->text, 0, n);

	if (zero)
		diag_error(r->diag, loc_of(r, (struct word){zero, 1}),
			"expected a machine configuration, found a zero byte");
	return !zero;
}

struct cluster *
machine_config_parse(const void *owner, struct ir_context *ctx, const char *file_name,
	const char *text, size_t n)
{
	uint32_t base = diag_add_source(ctx->diag, file_name, text, n);
	const char *copy = diag_source_text(ctx->diag, base);
	struct reader r = {
		.diag = ctx->diag, .text = copy, .base = base, .config = NEW(NULL, struct config)};

	if (is_text(&r, n) && read_config(&r, n))
		return build(owner, r.config, copy);
	talloc_free(r.config);
	return NULL;
}

bool
is_machine_config(const char *text)
{
	const char *s = text + strspn(text, " \t\r\n");

	if (*s == '#')
		return true;
	for (int i = 0; i < NKEYS; i++) {
		size_t n = strlen(keys[i].name);
		if (!strncmp(s, keys[i].name, n) && s[n + strspn(s + n, " \t")] == '=')
			return true;
	}
	return false;
}
