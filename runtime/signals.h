/* Signals that ask a run to save: SIGUSR1, and SIGTERM or SIGINT, which also end it.
 *
 *     SIGUSR1 -------------------------------------------\  blocked
 *                                                         > pending until rt_signals_take
 *     SIGTERM, SIGINT --handler--> queued stop signal ---/  blocked
 *                  the next one --> ends the process, as by default
 *
 * The ranks ask for them between steps. Blocking comes before any other thread starts (MPI and CUDA
 * have some), which inherit it. */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H

#include <stdbool.h>

/* Blocks all of them for this thread and those that it starts. SIGPIPE is ignored: a reader of the
 * output that goes away must not end a run. */
void rt_signals_block(void);

/* From here on the run saves: the first SIGTERM or SIGINT is for rt_signals_take. */
void rt_signals_catch(void);

/* Lets them do in this thread what they do to any program: all end it. */
void rt_signals_unblock(void);

/* The same once there is nothing left to save: SIGUSR1 is ignored. */
void rt_signals_end(void);

/* Which of them has the process got since the last call? Any thread may ask; one is told. */
struct rt_signals {
	bool save; /* SIGUSR1 */
	int stop;  /* SIGTERM or SIGINT; 0: neither */
};
struct rt_signals rt_signals_take(void);

#endif
