/* One route by searches from both of its ends, for ir/cluster/route.c alone. */
#ifndef IR_CLUSTER_MEET_H
#define IR_CLUSTER_MEET_H

#include "ir/cluster/graph.h"

struct meeting; /* data of the searches in a cluster */

/* For a complete cluster, which must not change later. Owned by `owner`. */
struct meeting *meeting_create(const void *owner, const struct cluster *c);

/*
 * The edges of the route from one vertex to another, in order, valid until the next call; NULL: no
 * route. *n: their number. *steps: number of edges that were looked at.
 */
const uint32_t *meeting_route(
	struct meeting *m, uint32_t source, uint32_t goal, uint32_t *n, uint32_t *steps);

#endif
