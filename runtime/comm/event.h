/* A counter that threads wait for: spin briefly, then sleep in the kernel (futex), so that a
 * waiting thread leaves the core to computation. Waking costs a system call only if a thread
 * sleeps. */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How often a waiter polls before it sleeps. First with a pause between polls, about 15 ns each: no
 * longer than falling asleep takes. Then, if its rank has nothing else to do, for longer, since
 * waking up takes 20 us and more if the core sleeps, too. With more ranks than cores it calls
 * sched_yield instead, which is not suitable elsewhere: Linux reduces the share of a thread that
 * yields and lets it wait for some milliseconds once another thread is ready. */
#define RT_PAUSES 100
#define RT_SPINS 10000
#define RT_YIELDS 500

struct rt_event {
	_Atomic uint32_t value;
	_Atomic uint32_t sleepers;
};

/* The value; memory that was written before it was reached is visible afterwards. */
static inline uint32_t
rt_event_value(const struct rt_event *e)
{
	return atomic_load_explicit(&e->value, memory_order_acquire);
}

/* Adds one and wakes all sleepers. */
void rt_event_bump(struct rt_event *e);

/* How the waiters for a rank's collective wait. */
struct rt_haste {
	struct rt_event changes; /* odd: the rank has nothing to do except wait */
	int processors;          /* shared by the ranks of this machine */
	bool crowded;            /* there are fewer processors than ranks */
};

static inline bool
rt_is_urgent(const struct rt_haste *h)
{
	return h && (rt_event_value(&h->changes) & 1);
}

/* Polls the value for as long as it is worthwhile, depending on `haste`; has it changed from
 * `old`? */
bool rt_event_look(const struct rt_event *e, uint32_t old, const struct rt_haste *haste);

/* Returns once the value differs from `old`. `haste` may be NULL. */
void rt_event_wait(struct rt_event *e, uint32_t old, const struct rt_haste *haste);

/* The same without haste, until the clock shows `at`, in ns, at the latest; false: it does. */
bool rt_event_wait_until(struct rt_event *e, uint32_t old, int64_t at);

/* A barrier of `count` threads that may be passed again and again. */
struct rt_barrier {
	struct rt_event phase;
	_Atomic uint32_t arrived;
	uint32_t count;
};

void rt_barrier_wait(struct rt_barrier *b, const struct rt_haste *haste);

/* The same in two halves: the first announces this thread and returns a ticket for the second,
 * which returns once all threads have arrived. */
uint32_t rt_barrier_arrive(struct rt_barrier *b);
void rt_barrier_pass(struct rt_barrier *b, uint32_t phase, const struct rt_haste *haste);

#endif
