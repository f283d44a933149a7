/* A counter that threads wait for: spin briefly, then sleep in the kernel (futex), so that a
 * waiting thread does not take the core that computes. Waking costs a system call only if somebody
 * sleeps. */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How often a waiter looks before it sleeps. First with a pause between looks, some 15 ns each: not
 * longer than falling asleep takes. Then, if its rank has nothing else to do, for longer: being
 * woken takes 20 us and more where the core sleeps, too. Where there are more ranks than cores it
 * offers the core to others instead, which is no way to wait elsewhere: Linux takes from who yields
 * what it had of the core, and lets it wait some milliseconds once there is somebody else. */
#define RT_PAUSES 100
#define RT_SPINS 10000
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

/* How those who wait for a rank's collective do it. */
struct rt_haste {
	struct rt_event changes; /* odd: the rank has nothing to do but to wait */
	int processors;          /* that the ranks of this machine share */
	bool crowded;            /* these are fewer than the ranks */
};

static inline bool
rt_is_urgent(const struct rt_haste *h)
{
	return h && (rt_event_value(&h->changes) & 1);
}

/* Looks at the value for as long as it is worth while with or without haste; is it no longer `old`?
 */
bool rt_event_look(const struct rt_event *e, uint32_t old, const struct rt_haste *haste);

/* Returns once the value is no longer `old`. `haste` may be NULL: there is none. */
void rt_event_wait(struct rt_event *e, uint32_t old, const struct rt_haste *haste);

/* The same without haste, but not longer than until the clock shows `at`, ns; false: it does. */
bool rt_event_wait_until(struct rt_event *e, uint32_t old, int64_t at);

/* A barrier of `count` threads that may be passed again and again. */
struct rt_barrier {
	struct rt_event phase;
	_Atomic uint32_t arrived;
	uint32_t count;
};

void rt_barrier_wait(struct rt_barrier *b, const struct rt_haste *haste);

/* The same in two halves: says that this thread is there, and returns what it gives to the other
 * half, which returns once all are. */
uint32_t rt_barrier_arrive(struct rt_barrier *b);
void rt_barrier_pass(struct rt_barrier *b, uint32_t phase, const struct rt_haste *haste);

#endif
