/* A counter that threads wait for: spin briefly, then sleep in the kernel (futex), so that a
 * waiting thread does not take the core that computes. Waking costs a system call only if somebody
 * sleeps. */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How often a waiter looks before it sleeps. First with a pause between looks, some 15 ns each: not
 * longer than falling asleep takes. Then, if its rank has nothing else to do (*urgent, which may
 * change meanwhile), offering the core to others: sleeping and being woken costs 50 us and more
 * where cores are shared, a yield that finds nobody a microsecond or less. */
#define RT_PAUSES 100
#define RT_YIELDS 500

struct rt_event {
	_Atomic uint32_t value;
	_Atomic uint32_t sleepers;
};

/* The value; what was written before it was reached is visible afterwards. */
static inline uint32_t
rt_event_value(const struct rt_event *e)
{
	return atomic_load_explicit(&e->value, memory_order_acquire);
}

/* Adds one and wakes everybody who sleeps. */
void rt_event_bump(struct rt_event *e);

/* Returns once the value is no longer `old`. urgent may be NULL: it is not. */
void rt_event_wait(struct rt_event *e, uint32_t old, const _Atomic bool *urgent);

/* A barrier of `count` threads that may be passed again and again. */
struct rt_barrier {
	struct rt_event phase;
	_Atomic uint32_t arrived;
	uint32_t count;
};

void rt_barrier_wait(struct rt_barrier *b, const _Atomic bool *urgent);

#endif
