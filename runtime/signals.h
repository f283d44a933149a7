/* Signals that ask a run to save. They are blocked and asked for between steps, so that there is no
 * handler and nothing is interrupted; a signal waits until then. Blocking comes before any other
 * thread starts (MPI and CUDA have some), which inherit it. */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H

#include <stdbool.h>

/* Blocks SIGTERM and SIGUSR1 for this thread and those that it starts. */
void rt_signals_block(void);

/* Lets them do in this thread what they do to any program: both end it. */
void rt_signals_unblock(void);

/* The same once there is nothing left to save: SIGUSR1 is ignored. */
void rt_signals_end(void);

/* Which of them has the process got since the last call? Any thread may ask; one is told. */
struct rt_signals {
	bool save; /* SIGUSR1 */
	bool stop; /* SIGTERM */
};
struct rt_signals rt_signals_take(void);

#endif
