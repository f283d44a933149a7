/* Binds each rank of a process to its own cores. */
#ifndef RUNTIME_BIND_H
#define RUNTIME_BIND_H

#include "runtime/status.h"
#include <stdbool.h>

/* Binds the calling thread, and those that it will start, to its share of the cores that the
 * process may use: rank r of n gets the r-th of n equal parts. False and a status if there are
 * fewer cores than ranks. */
bool rt_bind(int rank, int nranks, struct rt_status *st);

/* The number of cores that the process may use. */
int rt_cores(void);

#endif
