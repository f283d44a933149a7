/* Signals that ask a run to save: SIGUSR1, and SIGTERM or SIGINT, which also end it.
 *
 *     SIGUSR1 -------------------------------------------\  blocked
 *                                                         > pending until rt_signals_take
 *     SIGTERM, SIGINT --thread---> queued stop signal ---/  blocked
 *                  the next one --> ends the process, as by default
 *
 * The ranks poll for them between steps. They are blocked before any other thread starts (MPI and
 * CUDA start some); threads inherit that. No thread that computes may run a handler: oneDNN keeps
 * data where the kernel puts a handler's frame. So a thread that only waits receives the second row.
 */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H

#include <stdbool.h>

struct rt_status;

/* Blocks all of them for this thread and threads that it starts. SIGPIPE is ignored: a reader of
 * the output that goes away must not end a run. */
void rt_signals_block(void);

/* From now on the run saves: the first SIGTERM or SIGINT is left for rt_signals_take.
 * The status says whether that failed. */
void rt_signals_catch(struct rt_status *st);

/* Restores their default effect in this thread: all end the program. */
void rt_signals_unblock(void);

/* The same once nothing is left to save: SIGUSR1 is ignored. */
void rt_signals_end(void);

/* Which of them has the process received since the last call? Any thread may ask; only one is
 * told. */
struct rt_signals {
	bool save; /* SIGUSR1 */
	int stop;  /* SIGTERM or SIGINT; 0: neither */
};
struct rt_signals rt_signals_take(void);

#endif
