/* Events and barriers: see event.h.
 *
 * A sleeper announces itself before it looks at the value for the last time, a waker changes the
 * value before it looks for sleepers; with sequentially consistent order one of them sees the
 * other. */
#include "runtime/comm/event.h"
#include "runtime/trace/clock.h"
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void
pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

void
rt_event_bump(struct rt_event *e)
{
	atomic_fetch_add(&e->value, 1);
	if (atomic_load(&e->sleepers))
		syscall(SYS_futex, &e->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Polls this often, with a pause between polls; true: the value has changed. */
static bool
spin(const struct rt_event *e, uint32_t old, unsigned looks)
{
	for (unsigned i = 0; i < looks; i++) {
		if (rt_event_value(e) != old)
			return true;
		pause_cpu();
	}
	return false;
}

/* The same while there is haste; yields the core instead. */
static bool
yield(const struct rt_event *e, uint32_t old, const struct rt_haste *haste)
{
	for (unsigned i = 0; i < RT_YIELDS && rt_is_urgent(haste); i++) {
		if (rt_event_value(e) != old)
			return true;
		sched_yield();
	}
	return false;
}

bool
rt_event_look(const struct rt_event *e, uint32_t old, const struct rt_haste *haste)
{
	if (spin(e, old, RT_PAUSES))
		return true;
	if (!rt_is_urgent(haste))
		return false;
	return haste->crowded ? yield(e, old, haste) : spin(e, old, RT_SPINS);
}

void
rt_event_wait(struct rt_event *e, uint32_t old, const struct rt_haste *haste)
{
	if (rt_event_look(e, old, haste))
		return;
	atomic_fetch_add(&e->sleepers, 1);
	while (atomic_load(&e->value) == old)
		syscall(SYS_futex, &e->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
	atomic_fetch_sub(&e->sleepers, 1);
}

bool
rt_event_wait_until(struct rt_event *e, uint32_t old, int64_t at)
{
	const struct timespec t = rt_timespec(at);
	atomic_fetch_add(&e->sleepers, 1);
	while (atomic_load(&e->value) == old && rt_now_ns() < at)
		syscall(SYS_futex, &e->value, FUTEX_WAIT_BITSET_PRIVATE, old, &t, NULL,
			FUTEX_BITSET_MATCH_ANY);
	atomic_fetch_sub(&e->sleepers, 1);
	return atomic_load(&e->value) != old;
}

uint32_t
rt_barrier_arrive(struct rt_barrier *b)
{
	const uint32_t phase = rt_event_value(&b->phase);
	if (atomic_fetch_add(&b->arrived, 1) + 1 == b->count) {
		atomic_store(&b->arrived, 0);
		rt_event_bump(&b->phase);
	}
	return phase;
}

void
rt_barrier_pass(struct rt_barrier *b, uint32_t phase, const struct rt_haste *haste)
{
	rt_event_wait(&b->phase, phase, haste);
}

void
rt_barrier_wait(struct rt_barrier *b, const struct rt_haste *haste)
{
	rt_barrier_pass(b, rt_barrier_arrive(b), haste);
}
