/*
 * Text to cluster: docs/clusters.md defines the language.
 *
 *     cluster @pair {
 *       device card {f32 = 10TFLOP/s, memory = 16GB, source = "data sheet"}
 *       link pcie {bandwidth = 12GB/s, latency = 2us}
 *       switch root
 *       card g[2]
 *       connect g, root {link = pcie}
 *     }
 *
 * All errors of a text are reported, one a cause, at their place.
 */
#ifndef PARSER_CLUSTER_H
#define PARSER_CLUSTER_H

#include "ir/cluster/cluster.h"
#include "ir/ir.h"
#include "parser/dir/parse.h"

#include <stdio.h>

/* Sizes are checked before anything is built. Devices: CLUSTER_DEVICES_MAX. */
enum cluster_limit {
	CLUSTER_BYTES_MAX = 1 << 20, /* of a text: more is another kind of file */
	CLUSTER_PARTS_MAX = 1 << 20, /* devices, hosts, switches and repetitions of nodes */
	CLUSTER_LINKS_MAX = 1 << 22, /* a direction each; two thousand devices, each with each */
	CLUSTER_KINDS_MAX = 1 << 10, /* of devices */
};

/*
 * The cluster of a text of n bytes and a terminating zero, in this language or FlexFlow's; owned by
 * `owner`; messages show `file_name`. NULL after reporting an error.
 */
struct cluster *cluster_parse(const void *owner, struct ir_context *ctx, const char *file_name,
	const char *text, size_t n);

/*
 * The cluster of a command-line option: a shipped one, by its name, or else a file. NULL after
 * reporting an error.
 */
struct cluster *cluster_open(const void *owner, struct ir_context *ctx, const char *name);

/* The same with the lets of o->define set to their values, and o->used for those that it has. */
struct cluster *cluster_open_with(
	const void *owner, struct ir_context *ctx, const char *name, const struct parse_options *o);

/* The canonical text of a cluster that was parsed: parsing that gives the same text again. */
void cluster_print(FILE *out, const struct cluster *c);

/* Prints the names and descriptions of the shipped clusters, a line each. */
void cluster_list(FILE *out);

#endif
