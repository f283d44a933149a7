/* Keeps the libraries that compute for us from starting threads of their own. */
#ifndef RUNTIME_THREADS_H
#define RUNTIME_THREADS_H

/* One thread for OpenMP in what the calling thread calls: the ranks share the cores already. Called
 * first in every thread. */
void rt_single_threaded_libraries(void);

#endif
