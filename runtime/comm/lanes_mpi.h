/* Bytes on their way between one MPI rank and the others of its group. A lane is what goes to, or
 * comes from, one other rank in one phase of a collective. */
#ifndef RUNTIME_COMM_LANES_MPI_H
#define RUNTIME_COMM_LANES_MPI_H

#include "runtime/comm/transport.h"

#include <mpi.h>

struct rt_lanes;

/* For phases between at most `places` ranks, some of them on other machines if `remote`. `owner` is
 * asked how to wait, and told for whom; it outlives the lanes. NULL without memory. */
struct rt_lanes *rt_lanes_create(const struct rt_transport *owner, int places, bool remote);
void rt_lanes_free(struct rt_lanes *l);

/* Adds a lane: at most one each way for every other place of the group. The memory belongs to the
 * lane until it has run. */
void rt_lanes_send(struct rt_lanes *l, const char *from, size_t bytes, int to);
void rt_lanes_receive(struct rt_lanes *l, char *to, size_t bytes, int from);

/* Adds bytes to the lane that was added last. Those to send are there as far as `came` has made
 * them; those that are received may lie where the lane to the same place sends from. */
void rt_lanes_then_send(struct rt_lanes *l, const char *from, size_t bytes);
void rt_lanes_then_receive(struct rt_lanes *l, char *to, size_t bytes);

/* Carries all lanes to their end. `came`, unless it is NULL, is called as bytes arrive: so many of
 * what the receiving lanes have first, which is equally long in all, have come from every place.
 * `c`: the collective, for messages. */
void rt_lanes_run(struct rt_lanes *l, const struct rt_coll *c, MPI_Comm comm,
	void (*came)(void *arg, size_t bytes), void *arg);

/* Waits for a request of MPI's own as for lanes: with pauses, and until the run is ended. */
void rt_lanes_wait(struct rt_lanes *l, MPI_Request *request);

#endif
