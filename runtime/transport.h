/* Who carries a collective: threads of one process, or MPI processes. A transport belongs to one
 * rank, works on that rank's arena in host memory, and runs one collective at a time, start to end.
 * All of them give the same bits. */
#ifndef RUNTIME_TRANSPORT_H
#define RUNTIME_TRANSPORT_H

#include "runtime/rt_program.h"
#include "runtime/status.h"
#include "runtime/world.h"
#include <stdatomic.h>

struct rt_transport;

struct rt_transport_ops {
	/* Runs a collective that was posted at `posted_ns`. */
	void (*run)(struct rt_transport *t, const struct rt_coll *c, int64_t posted_ns);
	void (*free)(struct rt_transport *t);
};

struct rt_transport {
	const struct rt_transport_ops *ops;
	const struct rt_program *prog;
	char *arena;
	int64_t coord[RT_MAX_AXES];
	/* The rank has nothing to do but to wait for this collective: it may use the core. */
	_Atomic bool urgent;
};

/* An emulated link; bandwidth 0: none. */
struct rt_link {
	double bytes_per_second, latency;
};

/* The transports of all ranks of a process: an array from malloc of pointers, in the order of the
 * places. Their arenas are set by their ranks before the first collective, with a barrier between.
 * NULL without memory. Each rank frees its own; the last one frees what they share. */
struct rt_transport **rt_threads_transports(
	const struct rt_program *prog, int nranks, struct rt_link link);

/* The transport of an MPI rank. All ranks call it together. NULL without memory. */
struct rt_transport *rt_mpi_transport(
	const struct rt_program *prog, const struct rt_world *w, const int64_t *coord);

#endif
