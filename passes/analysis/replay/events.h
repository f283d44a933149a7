/*
 * A step as events for replay: one for each kernel, one for each collective and device that takes
 * part, for every iteration of the loops over time axes, in the order in which a device issues
 * them.
 *
 * All devices run the same program, so one represents all of them, except along axes on which some
 * value is single, or on which the machines are of different kinds: devices along those do
 * different things, or take different times, and each is represented separately. Device d of n has
 * the streams 2d (compute) and 2d + 1 (communication) and, in a step with copies to the host or
 * back, 2n + 2d (out) and 2n + 2d + 1 (back): hardware has a copy engine for each direction. Where
 * devices have queues for each axis, streams of the axes after the first come last.
 *
 *     collective along an axis with single values, 2 devices:
 *     device 0   post ---+--- join --+-- collective     starts when the last device has posted and
 *     device 1   post ---+           +-- collective     the link of each is free; ends for all at
 *                                                       the same time
 *
 * A collective is posted once the kernels that are issued before it are done: its buffers may hold
 * what they read. If kernels are queued ahead (device.async = 1), posting takes no time. Else one
 * thread computes, posts and waits, and posting and the first wait for a result take time on the
 * compute stream. A copy is posted as a collective is, and starts when its operands are ready and
 * earlier copies in its direction have ended.
 */
#ifndef PASSES_ANALYSIS_EVENTS_H
#define PASSES_ANALYSIS_EVENTS_H

#include "ir/base/api.h"
#include "ir/ir.h"
#include "passes/analysis/replay/replay.h"
#include "runtime/comm/collective.h"

DOPT_API_BEGIN

struct bundles;

enum {
	/*
	 * With more events, each loop becomes one iteration of the total duration: replaying 4
	 * million events takes 20 ms and 200 MB.
	 */
	EVENTS_MAX = 1 << 22,
	/* A loop with a schedule cannot be represented by one iteration, so it may have four times
	 * as many: 64 stages with 512 micro-batches of two layers. */
	EVENTS_MAX_STAGED = 1 << 24,
	EVENTS_MAX_DEVICES = REPLAY_MAX_STREAMS / 2, /* fewer with copies or queues of axes */
};

enum event_kind {
	EVENT_KERNEL,
	EVENT_COLLECTIVE,
	EVENT_POST, /* including the copies made for it beforehand */
	EVENT_COPY,
	EVENT_JOIN, /* takes no time: the last of the devices has posted */
	EVENT_WAIT,
	EVENT_STEP /* the overhead of a step in addition to its ops; it is first */
};

struct collective_cost;
struct collective_model;

/* What the collectives of a group cost on its devices, as far as the model was asked for it. */
struct event_costs {
	const struct collective_model *model;
	struct collective_cost *of[RT_COLL_KINDS]; /* of kinds without a root; NULL: not asked */
};

/*
 * The devices of the mesh that a device here represents, in groups along a mesh axis: each group
 * communicates in one collective, all groups at the same time.
 */
struct event_group {
	int axis;
	uint32_t ngroups, places;
	uint32_t *place; /* [ngroups * places] numbers of devices of the mesh, row-major over the
			    device axes */
	struct event_costs *costs; /* NULL: not kept. passes/analysis/cost/times.c writes it; a
				      group is always asked for with the same devices of the
				      cluster */
};

struct event {
	const struct ir_op *op;
	uint32_t iteration;
	uint32_t group;  /* of a collective: its number in events.group */
	uint32_t leader; /* of a collective: the first event that takes part, often itself */
	uint16_t device;
	uint8_t kind; /* enum event_kind */
};

struct events {
	struct replay_graph graph; /* in issue order: graph.order is NULL */
	struct event *event;       /* [graph.n] */
	uint32_t *iterations;      /* by op->id: its iterations on a device */
	struct event_group *group; /* [naxes * ndevices]: axis * ndevices + device; empty if no
				      collective is along the axis */
	uint32_t *first_place;     /* [ndevices] a device of the mesh that it represents */
	uint32_t ndevices;
	bool collapsed; /* loops are one iteration: see EVENTS_MAX */
};

/* Times of one kind of device. */
struct event_device {
	const replay_time *op; /* by op->id: one run of a kernel on one device; for a collective
				  the copies on the compute stream before it is posted; of a
				  copy to the host or back its own time */
	replay_time post, wait, step;
	bool async;
	bool overlap; /* false: collectives run on the compute stream, where they are waited for */
	bool queues;  /* collectives on different axes do not wait for each other */
};

/* Times of events. */
struct event_times {
	const struct event_device *kind; /* of devices */
	const uint16_t *kind_of;         /* by device of the mesh; NULL: all are of kind 0 */
	/* The time of a collective from when all its devices are ready. */
	replay_time (*collective)(
		const void *data, const struct ir_op *op, const struct event_group *g);
	const void *data;
	/* Kernels of a bundle (ir/memory/bundle.h) follow one another where it is launched; NULL:
	 * there are none. */
	const struct bundles *bundles;
};

/*
 * The events of a block; owned by `owner`. NULL, after reporting, if there are more than
 * EVENTS_MAX_DEVICES devices.
 */
struct events *events_create(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct event_times *times);

DOPT_API_END

#endif
