/* A counter that threads wait for: spin briefly, then sleep in the kernel (futex), so that a waiting
 * thread does not take the core that computes. Waking costs a system call only if somebody sleeps. */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

/* How often a waiter looks before it sleeps. A look with a pause is some 20-40 ns. Short: about what
 * falling asleep and waking costs, for a thread whose rank has something to compute. Long: for one
 * whose rank has nothing else to do. */
#define RT_SPIN_SHORT 50
#define RT_SPIN_LONG 1000

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
void
rt_event_bump(struct rt_event *e);

/* Returns once the value is no longer `old`. */
void
rt_event_wait(struct rt_event *e, uint32_t old, unsigned spins);

/* A barrier of `count` threads that may be passed again and again. */
struct rt_barrier {
	struct rt_event phase;
	_Atomic uint32_t arrived;
	uint32_t count;
};

void
rt_barrier_wait(struct rt_barrier *b, unsigned spins);

#endif
