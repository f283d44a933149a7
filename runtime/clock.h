/* The clock of all measurements: monotonic, in nanoseconds. */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include <stdint.h>

/* Now. */
int64_t rt_now_ns(void);

/* Sleeps until the clock shows `at`; returns at once if it is past. */
void rt_sleep_until_ns(int64_t at);

/* Lets this thread's sleeps end when they should and not up to 50 us later (Linux' timer slack). */
void rt_precise_sleep(void);

#endif
