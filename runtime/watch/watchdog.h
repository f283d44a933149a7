/* Ends a run in which a rank waits too long for another one: -timeout. A thread of each process
 * reads the board of its machine periodically (board.h). If a rank has waited for the whole time
 * and neither it nor the ranks that it may wait for have made progress, the watchdog reports which
 * rank waits for which, in which collective of which step, and what is known of the missing ranks;
 * then it ends the job.
 *
 *	ends a wait of ours      `ended` of the rank: its loop leaves, by MPI_Abort
 *	ends a library's wait    the function set by the engine (NCCL: ncclCommAbort)
 *	neither helped           MPI_Abort by the watchdog itself, and in the end a signal
 *
 * A rank that computes is never ended because of its own time, however long it takes: only because
 * other ranks wait for it. Time in which the whole process was stopped does not count. */
#ifndef RUNTIME_WATCH_WATCHDOG_H
#define RUNTIME_WATCH_WATCHDOG_H

#include "runtime/comm/board.h"
#include "runtime/rt_program.h"
#include "runtime/comm/world.h"

struct rt_watchdog;

/* Starts it for the ranks of this process. `seconds` 0: no watchdog, and the result is NULL, as it
 * is without memory or threads, with a status. It runs until it is stopped; `w` and `prog` must
 * exist until then. */
struct rt_watchdog *rt_watchdog_start(const struct rt_program *prog, const struct rt_world *w,
	double seconds, struct rt_status *st);
void rt_watchdog_stop(struct rt_watchdog *d);

/* The watchdog's access to an engine whose collectives a library or a device carries. */
struct rt_watched {
	/* What the device is doing while the rank waits for it; also sets in `p` the collective. */
	enum rt_device_work (*look)(void *arg, struct rt_activity *p);
	void (*end)(void *arg); /* ends a library's wait */
	void *arg;
};

/* Sets it for a rank, or clears it with an empty one: afterwards it is not called any more. `d` may
 * be NULL. */
void rt_watchdog_watch(struct rt_watchdog *d, int rank, struct rt_watched w);

/* A watchdog's observations of a rank. */
struct rt_seen {
	int rank;
	uint32_t collectives, exchanges, waits, beats;
	int64_t step;
	int32_t stage, coll, from;
	enum rt_wait wait; /* never RT_WAIT_DEVICE: replaced by what the device waits for */
	bool held;
	int64_t age, quiet; /* ns without progress, and without a sign of life of its process */
	bool silent;        /* its process gives no sign of life */
};

/* Writes on stderr which of the n ranks on the board waits for which, and what the others do: see
 * watchdog_report.c. */
void rt_watchdog_report(const struct rt_program *prog, const struct rt_seen *seen, int n,
	int nranks, double seconds);

#endif
