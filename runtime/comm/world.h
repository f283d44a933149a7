/* The ranks of a run as a group: the number of this rank, and small exchanges in host memory
 * outside of a step (agreement on errors, gathering tensors for files, an id for another library).
 * Threads of one process and MPI processes look the same. Calls come from each rank's main thread,
 * while no collective of a step is in flight. */
#ifndef RUNTIME_WORLD_H
#define RUNTIME_WORLD_H

#include "runtime/comm/board.h"
#include "runtime/status.h"
#include <stddef.h>

struct rt_watchdog;
struct rt_world;

struct rt_world_ops {
	/* Gathers the `bytes` bytes of every rank, in the order of the ranks, into all[nranks *
	 * bytes]. */
	void (*allgather)(struct rt_world *w, const void *mine, void *all, size_t bytes);
	/* From one rank's memory into another's; both call it, other ranks need not. */
	void (*send)(struct rt_world *w, const void *from, size_t bytes, int to);
	void (*receive)(struct rt_world *w, void *to, size_t bytes, int from);
};

struct rt_world {
	const struct rt_world_ops *ops;
	int rank, nranks;
	int local; /* number of this rank among the `nlocal` on this machine */
	int nlocal;
	struct rt_activity *activity; /* this rank's, on the board */
	const struct rt_board *board; /* of the ranks of this process or machine */
	struct rt_watchdog *watchdog; /* NULL: none */
	void *shared;                 /* for the implementation */
};

/* All ranks adopt the failure of the lowest rank that has one. Returns true if no rank has failed.
 * Every rank calls it at the same points. */
bool rt_agree(struct rt_world *w, struct rt_status *st);

/* Returns when all ranks have called it. */
void rt_meet(struct rt_world *w);

/* The ranks of this process as threads: makes `nranks` worlds (an array from malloc, whose threads
 * the caller starts). NULL without memory. Free with rt_threads_world_free. */
struct rt_world *rt_threads_world(int nranks);
void rt_threads_world_free(struct rt_world *worlds);

/* Was this process started by mpirun or a similar launcher? */
bool rt_mpi_started(void);

/* Starts MPI and fills the world; ends MPI, once all ranks have arrived. If other ranks keep it
 * waiting for `seconds`, which watchdogs cannot see here, the process ends with a message; 0:
 * never. */
bool rt_mpi_world(struct rt_world *w, double seconds, struct rt_status *st);
void rt_mpi_finish(struct rt_world *w, double seconds);

/* Ends all ranks at once with this exit code, including those that wait for this one. */
_Noreturn void rt_abort(const struct rt_world *w, int code);

#endif
