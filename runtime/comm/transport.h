/* What carries a collective: threads of one process, or MPI processes. A transport belongs to one
 * rank, works on that rank's arena in host memory, and runs one collective at a time, start to end.
 * All of them give the same bits, except for the collectives of the MPI library
 * (rt_program.library). */
#ifndef RUNTIME_TRANSPORT_H
#define RUNTIME_TRANSPORT_H

#include "runtime/comm/event.h"
#include "runtime/rt_program.h"
#include "runtime/status.h"
#include "runtime/comm/world.h"

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
	size_t bytes;          /* allocated for staging messages */
	struct rt_haste haste; /* for the current collective */
	/* Without cores for communication threads, a collective runs where it is waited for, unless
	 * another rank waits for this one. */
	bool lazy;
	_Atomic bool wanted;  /* another rank waits for this one */
	struct rt_event work; /* wakes the communication thread to look for something to do */
	struct rt_activity *activity; /* of the rank; NULL: it is not watched */
	int64_t finished;             /* ns: when the last collective was complete here */
	int64_t began, ended; /* ns: of the last collective, if its transport knows better */
};

/* An emulated link; bandwidth 0: none. */
struct rt_link {
	double bytes_per_second, latency;
};

/* The transports of all ranks of a process: an array from malloc of pointers, in the order of the
 * places. The ranks set their arenas before the first collective, followed by a barrier. NULL
 * without memory. Each rank frees its own; the last one frees what they share. */
struct rt_transport **rt_threads_transports(
	const struct rt_program *prog, int nranks, struct rt_link link);

/* The transport of an MPI rank. All ranks call it together. NULL without memory. */
struct rt_transport *rt_mpi_transport(
	const struct rt_program *prog, const struct rt_world *w, const int64_t *coord);

#endif
