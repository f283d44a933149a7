/*
 * Shared by the files that turn ops into events: events.c, and staged.c for loops with a schedule.
 */
#ifndef PASSES_ANALYSIS_REPLAY_EVENTS_BUILD_H
#define PASSES_ANALYSIS_REPLAY_EVENTS_BUILD_H

#include "ir/base/vec.h"
#include "ir/memory/awaited.h"
#include "ir/memory/bundle.h"
#include "ir/memory/issue.h"
#include "passes/analysis/replay/events.h"
#include "passes/analysis/replay/kind.h"

#define NO_EVENT UINT32_MAX

/* Some of the devices, ascending. */
struct events_devices {
	uint32_t *at, n;
	uint32_t *index; /* [devices of the step] number among these; NO_EVENT: not one of them */
};

/* State of an op: when its results are ready, by iteration and device. */
struct events_record {
	const struct ir_op *source; /* the op itself; NULL: it takes no time */
	enum cost_kind kind;
	uint32_t over, iterations;       /* its loop */
	const struct events_devices *on; /* may run it */
	uint32_t *ready;                 /* [iterations * on->n] events; NULL: from the start */
	uint32_t *done;                  /* collectives, the same: their end for every party */
	bool *waited;                    /* the same: has the compute stream waited for that? */
};

/* A collective that was posted and is run when it is waited for. */
struct events_pending {
	const struct ir_op *op; /* NULL: it has run */
	uint32_t over, iteration, device;
};

struct events_builder {
	const struct ir_module *m;
	const struct event_times *times;
	struct events *e;
	struct events_record *record; /* by op->id */
	struct arena *arena;          /* of the records' arrays */
	struct VEC(replay_time) duration;
	uint16_t *stream;    /* [duration.room] */
	uint32_t *dep_first; /* [duration.room + 1] */
	struct VEC(uint32_t) dep;
	uint32_t axes;                      /* set of device axes along which places differ */
	const struct event_device **device; /* [ndevices] */
	struct awaited waits, deps;         /* of the current operand; a wait may lead to deps */
	uint32_t *computed;                 /* [ndevices] the newest event on the compute stream */
	uint32_t queues;                    /* the first stream of an axis with its own queue */
	struct VEC(struct events_pending) pending;
	int64_t pending_first; /* those before it have run */
	uint32_t nbundles;     /* emitted so far */
	struct events_devices all;
	const struct events_devices *now; /* run what is emitted, as far as they take part */
	/* in a loop with a schedule: by coordinate on the axis of the stages; or NULL */
	struct events_devices *at_stage;
};

/* The place in an op's arrays of an iteration; NO_EVENT: the device does not run the op. */
static inline uint32_t
events_slot(const struct events_record *r, uint32_t iteration, uint32_t device)
{
	const uint32_t index = r->on->index[device];

	return index == NO_EVENT ? NO_EVENT : iteration * r->on->n + index;
}

/* The coordinate of a device on an axis. */
uint32_t events_coordinate(const struct events_builder *b, uint32_t device, int axis);

/* Records of the work of one loop, whose iterations have `all` events. */
void events_record_work(
	struct events_builder *b, const struct issue *o, const struct issue_loop *l, uint32_t all);

/* The events of an op in an iteration. */
void events_emit(struct events_builder *b, const struct ir_op *op, uint32_t iteration);

/* In iteration `iteration` the compute stream waits, once, for the collective of iteration `made`. */
void events_wait_for(struct events_builder *b, struct events_record *r, uint32_t made,
	uint32_t iteration, uint32_t device);

/* Waits for what ops of a loop that run once, or those that do not, have posted in an iteration. */
void events_wait_for_all(struct events_builder *b, const struct issue *o,
	const struct issue_loop *l, bool once, uint32_t iteration);

/* The events of a loop with a schedule: staged.c. */
void events_emit_staged(
	struct events_builder *b, const struct issue *o, const struct issue_loop *l);

#endif
