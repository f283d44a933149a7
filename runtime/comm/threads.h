/* Keeps compute libraries from starting threads of their own. */
#ifndef RUNTIME_THREADS_H
#define RUNTIME_THREADS_H

/* Limits OpenMP to one thread in calls from the calling thread: the ranks already share the cores.
 * Called first in every thread. */
void rt_single_threaded_libraries(void);

#endif
