/* Events and barriers: see runtime/event.h.
 *
 * A sleeper announces itself before it looks at the value for the last time, a waker changes the
 * value before it looks for sleepers; with sequentially consistent order one of them sees the
 * other. */
#include "runtime/event.h"
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
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

void
rt_event_wait(struct rt_event *e, uint32_t old, const _Atomic bool *urgent)
{
	for (unsigned i = 0; i < RT_PAUSES + RT_YIELDS; i++) {
		if (rt_event_value(e) != old)
			return;
		if (i < RT_PAUSES)
			pause_cpu();
		else if (urgent && atomic_load_explicit(urgent, memory_order_relaxed))
			sched_yield();
		else
			break;
	}
	atomic_fetch_add(&e->sleepers, 1);
	while (atomic_load(&e->value) == old)
		syscall(SYS_futex, &e->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
	atomic_fetch_sub(&e->sleepers, 1);
}

void
rt_barrier_wait(struct rt_barrier *b, const _Atomic bool *urgent)
{
	const uint32_t phase = rt_event_value(&b->phase);
	if (atomic_fetch_add(&b->arrived, 1) + 1 == b->count) {
		atomic_store(&b->arrived, 0);
		rt_event_bump(&b->phase);
		return;
	}
	rt_event_wait(&b->phase, phase, urgent);
}
