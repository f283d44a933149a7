/* Binding: see bind.h. */
#include "runtime/bind.h"
#include <errno.h>
#include <sched.h>
#include <string.h>

bool
rt_bind(int rank, int nranks, struct rt_status *st)
{
	cpu_set_t all, own;
	if (sched_getaffinity(0, sizeof all, &all))
		return rt_fail(st, RT_EXIT_RUN,
			"-bind: cannot get the cores that this process may use: %s",
			strerror(errno));
	const int cores = CPU_COUNT(&all);
	if (cores < nranks)
		return rt_fail(st, RT_EXIT_USAGE,
			"-bind: %d ranks need a core each, but this process may only use %d",
			nranks, cores);
	const int first = (int)((long)rank * cores / nranks);
	const int last = (int)((long)(rank + 1) * cores / nranks);
	CPU_ZERO(&own);
	for (int cpu = 0, number = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && number++ >= first && number <= last)
			CPU_SET(cpu, &own);
	if (sched_setaffinity(0, sizeof own, &own))
		return rt_fail(
			st, RT_EXIT_RUN, "-bind: cannot bind rank %d: %s", rank, strerror(errno));
	return true;
}

int
rt_cores(void)
{
	cpu_set_t all;
	return sched_getaffinity(0, sizeof all, &all) ? 1 : CPU_COUNT(&all);
}
