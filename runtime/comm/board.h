/* What every rank publishes about itself while it runs: its step, its collective, whether it waits.
 * Written by the rank's own threads with plain stores, so that the cost is not measurable, and read
 * by watchdogs (watchdog.h). The ranks of one machine share a board; an entry can be read even
 * while the rank that wrote it is stopped. */
#ifndef RUNTIME_BOARD_H
#define RUNTIME_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank is doing. */
enum rt_stage {
	RT_STAGE_START,
	RT_STAGE_OPEN,
	RT_STAGE_VALUES,
	RT_STAGE_BATCH,
	RT_STAGE_STEP,
	RT_STAGE_EVALUATE,
	RT_STAGE_WRITE,
	RT_STAGE_END,
	RT_STAGES
};

/* Which ranks it waits for. */
enum rt_wait {
	RT_WAIT_NONE,
	RT_WAIT_COLLECTIVE, /* the others of its group */
	RT_WAIT_ALL,        /* all ranks, outside of a step */
	RT_WAIT_ONE,        /* one other rank, outside of a step */
	RT_WAIT_DEVICE      /* its own device, where collectives are in a stream with other work */
};

/* What a device is doing while its rank waits for it. */
enum rt_device_work { RT_DEVICE_UNKNOWN, RT_DEVICE_COMPUTES, RT_DEVICE_COLLECTIVE };

/* One rank, on a cache line of its own. */
struct rt_activity {
	_Alignas(64) _Atomic int32_t rank; /* of the world */
	_Atomic int32_t stage, wait;       /* enum rt_stage, enum rt_wait */
	/* 1 + the rank that it waits for; 0: unknown. */
	_Atomic int32_t from;
	/* The last collective that it began, in rt_program.colls, and how many it has begun: equal
	 * numbers mean the same collective on all ranks. */
	_Atomic int32_t coll;
	_Atomic uint32_t collectives;
	_Atomic uint32_t exchanges; /* with all ranks, outside of a step */
	_Atomic uint32_t waits;     /* begun and ended */
	_Atomic int64_t step;
	_Atomic int32_t device; /* enum rt_device_work: set when its watchdog asks */
	_Atomic bool held;      /* it waits for an emulated link, which ends by itself */
	_Atomic bool ended;     /* its watchdog has ended the run: leave at once */
	_Atomic bool reported;  /* first entry only: a watchdog of this machine has reported */
	_Atomic uint32_t beats; /* of the watchdog of its process */
};

/* All ranks of a machine, or of a process. */
struct rt_board {
	struct rt_activity *ranks;
	int n;
	int own, nown; /* the first rank of this process, and the number of its ranks */
};

/* Adds without an atomic read-modify-write: only the writer's own thread reads the old value. */
#define RT_PUT(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
#define RT_GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

static inline void
rt_activity_stage(struct rt_activity *p, enum rt_stage stage)
{
	if (p)
		RT_PUT(p->stage, (int32_t)stage);
}

static inline void
rt_activity_step(struct rt_activity *p, enum rt_stage stage, int64_t step)
{
	if (p) {
		RT_PUT(p->step, step);
		RT_PUT(p->stage, (int32_t)stage);
	}
}

/* This rank waits from now on; `from` is the rank that it waits for, or -1. */
static inline void
rt_activity_wait(struct rt_activity *p, enum rt_wait wait, int from)
{
	if (!p)
		return;
	RT_PUT(p->from, from + 1);
	RT_PUT(p->wait, (int32_t)wait);
	RT_PUT(p->waits, RT_GET(p->waits) + 1);
	if (wait == RT_WAIT_ALL)
		RT_PUT(p->exchanges, RT_GET(p->exchanges) + 1);
}

/* It has received what it waited for. */
static inline void
rt_activity_go_on(struct rt_activity *p)
{
	if (p) {
		RT_PUT(p->waits, RT_GET(p->waits) + 1);
		RT_PUT(p->wait, (int32_t)RT_WAIT_NONE);
	}
}

/* It takes part in a collective from now on. One thread at a time. */
static inline void
rt_activity_collective(struct rt_activity *p, int32_t coll)
{
	if (p) {
		RT_PUT(p->coll, coll);
		RT_PUT(p->from, 0);
		RT_PUT(p->collectives, RT_GET(p->collectives) + 1);
	}
}

/* Has its watchdog ended the run? */
static inline bool
rt_activity_ended(const struct rt_activity *p)
{
	return p && RT_GET(p->ended);
}

#endif
