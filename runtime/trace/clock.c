/* The clock: see clock.h. */
#include "runtime/trace/clock.h"
#include <errno.h>
#include <sys/prctl.h>

#define NS_PER_S 1000000000

int64_t
rt_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct timespec
rt_timespec(int64_t at)
{
	return (struct timespec){.tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S};
}

void
rt_sleep_until_ns(int64_t at)
{
	if (rt_now_ns() >= at)
		return;
	const struct timespec t = rt_timespec(at);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void
rt_precise_sleep(void)
{
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}
