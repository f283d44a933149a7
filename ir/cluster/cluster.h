/*
 * A cluster: devices, the switches and links between them, and the way a message takes. Declared in
 * text files of their own (docs/clusters.md); parser/cluster/cluster.h reads them.
 *
 *     node 0              node 1            vertices: devices, hosts (the memories and processors
 *     d0 d1  ─ switch ─┐  d2 d3 ─ switch    beside the devices) and switches
 *                     spine ──────┘         links: one for each direction, or one for both where
 *                                           the medium is shared
 *
 * What limits a message is a set of links: a switch that is over-subscribed has a link of its own
 * for what passes through it. Bandwidths in bytes a second, latencies in seconds.
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
	double bandwidth; /* B/s of all messages on it together; above 0 */
	double latency;   /* s that a message spends on it besides */
};

/* The links that a message from one end to another takes, in order. */
struct cluster_route {
	uint32_t nlinks;
	const uint32_t *link; /* numbers of links; belong to the cluster */
	double latency;       /* sum, that of switches on the way included */
	double bandwidth;     /* of the narrowest, a link that is taken k times counting as a k-th;
				 infinite for a message of a device to itself */
};

struct cluster_graph; /* vertices and edges, private to ir/cluster*.c */

struct cluster {
	const char *name;
	const char *source;         /* where its description is from; NULL: nobody says */
	const char *text;           /* its canonical text; NULL where it was not read from text */
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
	bool boundless; /* any number of devices, all of kind[0], each with a link of its own to one
			   switch: what a device alone describes. ndevices is as many as were asked
			   for so far: see cluster_reserve */
	struct cluster_graph *graph;
};

/* More devices than any machine has so far; numbers of links and routes stay far below 32 bits. */
enum { CLUSTER_DEVICES_MAX = 1 << 17 };
enum { CLUSTER_STEPS_MAX = 16 }; /* links of a way that is given */

/*
 * The route from end `from` to end `to` with the fewest links, of these the one of least latency,
 * then the one whose links have the lowest numbers, the first link first. An end is a device or,
 * from ndevices on, a host. Switches and hosts pass messages on, devices do only if they say so
 * (`forward`). Computed once and kept. False: there is none.
 */
bool cluster_route(struct cluster *c, uint32_t from, uint32_t to, struct cluster_route *r);

/* Makes a boundless cluster have at least n devices, false above CLUSTER_DEVICES_MAX; of others
 * says whether they have so many. */
bool cluster_reserve(struct cluster *c, uint32_t n);

/* A boundless cluster of devices as described; owned by `owner`, takes the device over. */
struct cluster *cluster_of_device(const void *owner, struct device *device);

/*
 * Building one. Vertices and links are numbered in the order in which they are added, devices and
 * hosts each among themselves as well. Names are kept, not copied: children of the cluster or
 * constants. Nothing is added once a route was asked for.
 */
struct cluster *cluster_create(const void *owner, const char *name);

/* Takes the device over; its number. */
uint32_t cluster_add_kind(struct cluster *c, struct device *device);

/* The number of the new node. */
uint32_t cluster_add_node(struct cluster *c);

enum { CLUSTER_NO_NODE = UINT32_MAX }; /* a node of its own, for a device or a host */

/* These return the vertex. */
uint32_t cluster_add_device(struct cluster *c, const char *name, uint32_t kind, uint32_t node);
uint32_t cluster_add_host(struct cluster *c, const char *name, uint32_t node);

/* `latency`: of a message that passes; `bandwidth`: of all that pass together, INFINITY where the
 * ports are the only limit. */
uint32_t cluster_add_switch(struct cluster *c, const char *name, double latency, double bandwidth);

/* The number of the new link, which no vertex has yet. */
uint32_t cluster_add_link(struct cluster *c, const char *name, double bandwidth, double latency);

/* Lets messages go over the link from vertex a to vertex b. A medium that is shared is one link
 * with several such ways. */
void cluster_add_way(struct cluster *c, uint32_t a, uint32_t b, uint32_t link);

/* Two links of that kind, one for each direction. */
void cluster_connect(struct cluster *c, uint32_t a, uint32_t b, const struct cluster_link *kind);

/* A second copy, without routes, owned by `owner`; names and kinds are those of the
 * original. */
struct cluster *cluster_clone(const void *owner, const struct cluster *from);

/*
 * The device of each place of the module's mesh, row-major over the device axes: as `mesh [..]
 * {devices = [...]}` says, else place i on device i. A boundless cluster has as many devices
 * afterwards. Owned by `owner`; NULL after reporting, at the mesh, what the cluster lacks.
 */
uint32_t *cluster_placement(const void *owner, const struct ir_module *m, struct cluster *c);

/*
 * Is there a way between any two ends? *from and *to get two where there is none. For clusters
 * whose links all lead both ways.
 */
bool cluster_connected(struct cluster *c, uint32_t *from, uint32_t *to);

/*
 * For a cluster whose ways are given and not found on its graph: writes the numbers of the links
 * from one end to another, which are not the same, and returns how many, at most CLUSTER_STEPS_MAX.
 */
typedef uint32_t cluster_router(
	const void *data, uint32_t from, uint32_t to, uint32_t link[CLUSTER_STEPS_MAX]);

/* `data` lives as long as the cluster. */
void cluster_set_router(struct cluster *c, cluster_router *router, const void *data);

/* The name that a device or host was added with. */
const char *cluster_end_name(const struct cluster *c, uint32_t end);

DOPT_API_END

#endif
