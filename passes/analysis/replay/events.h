/*
 * A step as events for replay: one for each kernel, one for each collective and device that takes
 * part, for every iteration of the loops over time axes, in the order in which a device issues
 * them.
 *
 * All devices run the same program, so one stands for all of them, except along axes on which some
 * value is single, or on which the machines are of different kinds: devices along those do
 * different things, or take different times, and each is a device of its own here. Device d has the
 * streams 2d (compute) and 2d + 1 (communication).
 *
 *     collective along an axis with single values, 2 devices:
 *     device 0   post ---+--- join --+-- collective     starts when the last device has posted and
 *     device 1   post ---+           +-- collective     the link of each is free; ends for all at
 *                                                       the same time
 *
 * Where kernels are queued ahead (device.async = 1) a collective starts when its operands are
 * ready. Else one thread computes, posts and waits: a collective is posted once the kernels before
 * it are done, and posting and the first wait for a result take time on the compute stream.
 */
#ifndef PASSES_ANALYSIS_EVENTS_H
#define PASSES_ANALYSIS_EVENTS_H

#include "ir/base/api.h"
#include "ir/ir.h"
#include "passes/analysis/replay/replay.h"

DOPT_API_BEGIN

enum {
	/*
	 * More than that many, and each loop becomes one turn of so many times the duration:
	 * replaying 4 million events takes 20 ms and 200 MB.
	 */
	EVENTS_MAX = 1 << 22,
	EVENTS_MAX_DEVICES = REPLAY_MAX_STREAMS / 2,
};

enum event_kind {
	EVENT_KERNEL,
	EVENT_COLLECTIVE,
	EVENT_POST, /* and what is copied for it before */
	EVENT_JOIN, /* takes no time: the last of the places has posted */
	EVENT_WAIT,
	EVENT_STEP /* what a step takes besides its ops; it comes first */
};

/*
 * The places that a device stands for, in groups along a mesh axis: those that communicate in one
 * collective, which all groups do at the same time.
 */
struct event_group {
	int axis;
	uint32_t ngroups, places;
	uint32_t *place; /* [ngroups * places] numbers of the places of the mesh, row-major over the
			    device axes */
};

struct event {
	const struct ir_op *op;
	uint32_t turn;
	uint32_t group;  /* of a collective: its number in events.group */
	uint32_t leader; /* of a collective: the first event that is a party of it, often itself */
	uint16_t device;
	uint8_t kind; /* enum event_kind */
};

struct events {
	struct replay_graph graph; /* in issue order: graph.order is NULL */
	struct event *event;       /* [graph.n] */
	uint32_t *turns;           /* by op->order: how often a place does it */
	struct event_group *group; /* [naxes * ndevices]: axis * ndevices + device; without places
				      where no collective is along the axis */
	uint32_t *first_place;     /* [ndevices] one of the places that a device stands for */
	uint32_t ndevices;
	bool collapsed; /* loops are one turn: see EVENTS_MAX */
};

/* What one kind of device takes. */
struct event_device {
	const replay_time *op; /* by op->order: one run of a kernel at one place; what is copied on
				  the compute stream before a collective is posted */
	replay_time post, wait, step;
	bool async;
	bool overlap; /* false: collectives run on the compute stream, where they are waited for */
};

/* What events take. */
struct event_times {
	const struct event_device *kind; /* of devices */
	const uint16_t *kind_of;         /* by place; NULL: all are of kind 0 */
	/* The time of a collective from the moment when all its places are ready. */
	replay_time (*collective)(
		const void *data, const struct ir_op *op, const struct event_group *g);
	const void *data;
};

/*
 * The events of a block whose ops are numbered; owned by `owner`. NULL after reporting where there
 * are more than EVENTS_MAX_DEVICES devices.
 */
struct events *events_create(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct event_times *times);

DOPT_API_END

#endif
