/* The clock of all measurements: monotonic, in nanoseconds. */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The current time. */
int64_t rt_now_ns(void);

/* A time as a timespec. */
struct timespec rt_timespec(int64_t at);

/* Sleeps until the clock shows `at`; returns at once if that is past. */
void rt_sleep_until_ns(int64_t at);

/* A thread that sleeps on an idle core may wake this late, or later: the core itself must wake (20
 * to 45 us, measured on a virtual machine). A thread that must not be late polls the clock for the
 * rest. */
#define RT_WAKE_NS 60000

/* Lets this thread's sleeps end on time and not up to 50 us later (Linux' timer slack). */
void rt_precise_sleep(void);

#endif
