/* Data in flight between one MPI rank and the others of its group. A lane is the data that goes to,
 * or comes from, one other rank in one phase of a collective. */
#ifndef RUNTIME_COMM_LANES_MPI_H
#define RUNTIME_COMM_LANES_MPI_H

#include "runtime/comm/transport.h"

#include <mpi.h>

struct rt_lanes;

/* For phases between at most `places` ranks, some of them on other machines if `remote`. `owner`
 * says how to wait, and is told for which rank; it outlives the lanes. NULL without memory. */
struct rt_lanes *rt_lanes_create(const struct rt_transport *owner, int places, bool remote);
void rt_lanes_free(struct rt_lanes *l);

/* Adds a lane: at most one in each direction for every other place of the group. The caller keeps
 * the lane's memory until it has run. */
void rt_lanes_send(struct rt_lanes *l, const char *from, size_t bytes, int to);
void rt_lanes_receive(struct rt_lanes *l, char *to, size_t bytes, int from);

/* Adds bytes to the lane that was added last. Bytes to send are ready as far as `came` has produced
 * them; received bytes may overwrite memory that the lane to the same place sends from. */
void rt_lanes_then_send(struct rt_lanes *l, const char *from, size_t bytes);
void rt_lanes_then_receive(struct rt_lanes *l, char *to, size_t bytes);

/* Runs all lanes to their end. `came`, unless it is NULL, is called as bytes arrive, with the
 * number of bytes of the first parts that have come from every place; the first parts of all
 * receiving lanes have the same length. `c`: the collective, for messages. */
void rt_lanes_run(struct rt_lanes *l, const struct rt_coll *c, MPI_Comm comm,
	void (*came)(void *arg, size_t bytes), void *arg);

/* Waits for a request of MPI's own as for lanes: with pauses, and until the run is ended. */
void rt_lanes_wait(struct rt_lanes *l, MPI_Request *request);

#endif
