/* What every rank says about itself while it runs: which step, which collective, whether it waits.
 * Written by the rank's own threads with plain stores, so that it costs nothing that can be
 * measured, and read by watchdogs (watchdog.h). Ranks of one machine share a board; what
 * is on it can be read also when the rank that wrote it is stopped. */
#ifndef RUNTIME_BOARD_H
#define RUNTIME_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank is about. */
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

/* Whom it waits for. */
enum rt_wait {
	RT_WAIT_NONE,
	RT_WAIT_COLLECTIVE, /* the others of its group */
	RT_WAIT_ALL,        /* everybody, outside of a step */
	RT_WAIT_ONE,        /* one other, outside of a step */
	RT_WAIT_DEVICE      /* its own device, where collectives are in a stream with other work */
};

/* What a device is about while its rank waits for it. */
enum rt_device_work { RT_DEVICE_UNKNOWN, RT_DEVICE_COMPUTES, RT_DEVICE_COLLECTIVE };

/* One rank, on a cache line of its own. */
struct rt_activity {
	_Alignas(64) _Atomic int32_t rank; /* of the world */
	_Atomic int32_t stage, wait;       /* enum rt_stage, enum rt_wait */
	/* 1 + the rank that it waits for, where it knows; 0: it does not. */
	_Atomic int32_t from;
	/* The last collective that it began, in rt_program.colls, and how many it has begun: the
	 * same number is the same collective at all ranks. */
	_Atomic int32_t coll;
	_Atomic uint32_t collectives;
	_Atomic uint32_t exchanges; /* with everybody, outside of a step */
	_Atomic uint32_t waits;     /* begun and ended */
	_Atomic int64_t step;
	_Atomic int32_t device; /* enum rt_device_work: its watchdog asks */
	_Atomic bool held;      /* an emulated link is at work, which ends by itself */
	_Atomic bool ended;     /* its watchdog has ended the run: to be left at once */
	_Atomic bool reported;  /* the first entry's: a watchdog of this machine has said why */
	_Atomic uint32_t beats; /* of the watchdog of its process */
};

/* All ranks of a machine, or of a process. */
struct rt_board {
	struct rt_activity *ranks;
	int n;
	int own, nown; /* the first rank of this process, and how many it has */
};

/* Only the writer's thread reads what it adds to. */
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

/* This rank waits from here on; `from` is the rank, or -1. */
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

/* It has got what it waited for. */
static inline void
rt_activity_go_on(struct rt_activity *p)
{
	if (p) {
		RT_PUT(p->waits, RT_GET(p->waits) + 1);
		RT_PUT(p->wait, (int32_t)RT_WAIT_NONE);
	}
}

/* It takes part in a collective from here on. One thread at a time. */
static inline void
rt_activity_collective(struct rt_activity *p, int32_t coll)
{
	if (p) {
		RT_PUT(p->coll, coll);
		RT_PUT(p->from, 0);
		RT_PUT(p->collectives, RT_GET(p->collectives) + 1);
	}
}

/* Has its watchdog given up? */
static inline bool
rt_activity_ended(const struct rt_activity *p)
{
	return p && RT_GET(p->ended);
}

#endif
