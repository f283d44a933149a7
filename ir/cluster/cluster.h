/*
 * A cluster: devices, the switches and links between them, and the routes of messages. Declared in
 * text files (docs/clusters.md), which parser/cluster/cluster.h reads.
 *
 *     node 0              node 1            vertices: devices, hosts (the memories and processors
 *     d0 d1  ─ switch ─┐  d2 d3 ─ switch    of the nodes) and switches
 *                     spine ──────┘         links: one for each direction, or one for both where
 *                                           the medium is shared
 *
 * The time of a message depends on a set of links: a switch that is over-subscribed has a link of
 * its own for forwarded messages. Bandwidths are in bytes per second, latencies in seconds.
 */
#ifndef IR_CLUSTER_H
#define IR_CLUSTER_H

#include "ir/base/api.h"
#include "ir/base/diag.h"

#include <stdbool.h>
#include <stdint.h>

DOPT_API_BEGIN

struct device;
struct ir_module;

struct cluster_link {
	const char *name; /* of its kind: "nvlink" */
	double bandwidth; /* B/s, shared by all messages on it; above 0 */
	double latency;   /* s of a message, in addition */
};

/* The links of a message from one end to another, in order. */
struct cluster_route {
	uint32_t nlinks;
	const uint32_t *link; /* numbers of links; belong to the cluster */
	double latency;       /* sum, including that of switches on the route */
	double bandwidth;     /* of the slowest link; a link used k times counts as 1/k;
				 infinite for a message of a device to itself */
};

struct cluster_graph; /* vertices and edges, private to ir/cluster*.c */

struct cluster {
	const char *name;
	const char *source; /* origin of its description; NULL: unknown */
	const char *text;   /* its canonical text; NULL if it was not parsed from text */
	const char *lets;   /* "nodes = 4, cards = 8": the numbers that -D sets; NULL: none */
	const struct device **kind; /* [nkinds] */
	uint32_t nkinds;
	uint32_t ndevices, nnodes;
	uint16_t *kind_of; /* [ndevices] */
	uint32_t
		*node_of; /* [ndevices] number of the node; a device outside any node has its own */
	uint32_t nhosts;
	uint32_t *node_of_host;    /* [nhosts] as node_of */
	struct cluster_link *link; /* [nlinks] */
	uint32_t nlinks;
	bool boundless; /* any number of devices, all of kind[0], each with its own link to one
			   switch: a device described alone. ndevices is the largest number that
			   was requested so far: see cluster_reserve */
	struct cluster_graph *graph;
};

/* More devices than current machines have; numbers of links and routes fit easily in 32 bits. */
enum { CLUSTER_DEVICES_MAX = 1 << 17 };

/*
 * The route from end `from` to end `to` with the fewest links; among these, the one of least
 * latency, then the one whose links have the lowest numbers, the first link first. An end is a
 * device or, from ndevices on, a host. Switches and hosts forward messages, devices only with
 * `forward`. Computed once and cached. False: no route.
 */
bool cluster_route(struct cluster *c, uint32_t from, uint32_t to, struct cluster_route *r);

/*
 * Are all nodes alike: the same devices, hosts, switches and links in the same order, connected to
 * the same switches between nodes, and no link but those of nodes? Then a message between two ends
 * uses only links of the nodes of these ends: through a third node would be longer, since each has
 * what the third has. So messages between some nodes take as long as the same messages between as
 * many others, and do not share links with them. False as well for one node, and for a boundless
 * cluster.
 */
bool cluster_uniform(struct cluster *c);

/* Extends a boundless cluster to at least n devices, false above CLUSTER_DEVICES_MAX; for other
 * clusters returns whether they have n devices. */
bool cluster_reserve(struct cluster *c, uint32_t n);

/* A boundless cluster of devices of that kind, owned by `owner`; takes ownership of the device. */
struct cluster *cluster_of_device(const void *owner, struct device *device);

/*
 * Building one. Vertices and links are numbered in the order in which they are added, devices and
 * hosts also have separate numbers of their own. Names are kept, not copied: they must be children
 * of the cluster or constants. Nothing may be added after a route was requested.
 */
struct cluster *cluster_create(const void *owner, const char *name);

/* Takes ownership of the device; returns the number of the kind. */
uint32_t cluster_add_kind(struct cluster *c, struct device *device);

/* The number of the new node. */
uint32_t cluster_add_node(struct cluster *c);

enum { CLUSTER_NO_NODE = UINT32_MAX }; /* a node of its own, for a device or a host */

/* These return the vertex. */
uint32_t cluster_add_device(struct cluster *c, const char *name, uint32_t kind, uint32_t node);
uint32_t cluster_add_host(struct cluster *c, const char *name, uint32_t node);

/* `latency`: of a forwarded message; `bandwidth`: of all forwarded messages together, INFINITY if
 * the ports are the only limit. */
uint32_t cluster_add_switch(struct cluster *c, const char *name, double latency, double bandwidth);

/* The number of the new link, which is not connected yet. */
uint32_t cluster_add_link(struct cluster *c, const char *name, double bandwidth, double latency);

/* Connects vertex a to vertex b by the link, in this direction. A shared medium is one link with
 * several such connections. */
void cluster_add_way(struct cluster *c, uint32_t a, uint32_t b, uint32_t link);

/* Two links of that kind, one for each direction. */
void cluster_connect(struct cluster *c, uint32_t a, uint32_t b, const struct cluster_link *kind);

/* A copy without routes, owned by `owner`; names and kinds are those of the original. */
struct cluster *cluster_clone(const void *owner, const struct cluster *from);

/*
 * The cluster's device of each device of the module's mesh, row-major over the device axes: as in
 * `mesh [..] {devices = [...]}`, else device i for device i. Extends a boundless cluster. Owned by
 * `owner`; NULL after an error, reported at the mesh.
 */
uint32_t *cluster_placement(const void *owner, const struct ir_module *m, struct cluster *c);

/*
 * Is there a route between every two ends? If not, *from and *to are two without one. For clusters
 * whose links are all bidirectional.
 */
bool cluster_connected(struct cluster *c, uint32_t *from, uint32_t *to);

/* The name that a device or host was added with. */
const char *cluster_end_name(const struct cluster *c, uint32_t end);

DOPT_API_END

#endif
