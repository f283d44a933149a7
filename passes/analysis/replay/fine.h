/*
 * Fine replay: the events of a step as in replay.h, but a collective is the sends of its schedule
 * (collective.h) on the links of a cluster, and sends that share a link share its bandwidth.
 *
 *     coarse   [ compute ]              fine   [ compute, slower  ]
 *                [ collective ]                  [s][s][s][s ][s ][s]    rounds of sends, slower
 *                                                         [s ][s ]       while others share a link
 *
 * - An event without a request takes its duration from the graph. On a compute stream, while the
 *   communication stream of its device works, it makes progress at 1 / slowdown.
 * - A collective that has its links to itself makes progress at 1 / message_slowdown while one of
 *   its devices computes, and is later by message_delay if one does when it starts: messages need
 *   cores. The time of one that shares links is determined by its share of their bandwidth instead.
 * - A collective starts when the dependencies of all its participants are complete and their
 *   streams are free. It ends, for all of them, with its last send.
 * - A send transfers its bytes; its sender is done after the last byte, and the receiver has them
 *   one latency of the route later. Concurrent sends share the links max-min fairly: none could be
 *   faster without slowing down one that is not faster than it. Rates change when a send starts or
 *   ends.
 *
 * Times are integers of picoseconds, rates integers of units of FINE_RATE_UNIT; the rest of a send
 * is counted exactly in their product, and a send ends at the first picosecond at which the rest is
 * 0. So neither the order in which simultaneous events are processed nor a shift in time changes a
 * result, and it is the same on every machine.
 *
 * Ranks that behave alike are replayed once: devices, links and sends are partitioned into classes
 * such that all links of a class carry the same number of sends of each class, and all devices of a
 * class send and receive the same number. The members of a class then always have the same rate and
 * state, so one represents them exactly. A ring of 1,024 devices in nodes of 8 is 8 sends a round.
 * A collective that shares its links with no other is replayed once for all its occurrences.
 */
#ifndef PASSES_ANALYSIS_FINE_H
#define PASSES_ANALYSIS_FINE_H

#include "passes/analysis/collective/collective.h"
#include "passes/analysis/replay/replay.h"

#define FINE_NO_REQUEST UINT32_MAX

/* Bytes per second: rates and bandwidths are whole multiples of it, up to 9e15 bytes per second. */
#define FINE_RATE_UNIT (1.0 / 1024)

/* A collective of the step; several events may refer to it, as repetitions or as its parties. */
struct fine_request {
	struct collective_request request;
	enum collective_algorithm algorithm;
	const struct collective_schedule *schedule; /* or NULL: collective_schedule of the above */
	replay_time alone; /* time without other load on its links: the latencies and bytes of the
			      schedule are scaled to match it, so that fine replay agrees with the
			      measurement, or with coarse replay. 0: as computed from the
			      schedule */
};

struct fine_step {
	/* Device d has the streams 2d (compute) and 2d + 1 (communication). Durations of events
	 * with a request are ignored. Must pass replay_check. */
	const struct replay_graph *graph;
	const uint32_t *request; /* [graph->n] of each event, or FINE_NO_REQUEST: it computes */
	/* [graph->n] the first issued event of the collective, for events with a request: events
	 * with the same leader are parties of one collective. They have the same request and
	 * different streams. NULL: each event is a collective by itself, which is the case if one
	 * device of the graph represents all places. */
	const uint32_t *leader;
	const struct fine_request *requests;
	uint32_t nrequests;
	struct cluster *cluster; /* its devices are those of the requests */
	/* [replay_devices(graph)] factors of at least 1 by which a device computes slower while
	 * its communication stream works; NULL: 1 */
	const double *slowdown;
	/* The same length: factors of at least 1 by which a collective is slower while the device
	 * computes, the largest of its devices; NULL: 1. Not with `plainly`. */
	const double *message_slowdown;
	/* The same length: delay of a collective that starts while the device computes;
	 * the largest of its devices counts; NULL: 0. Not with `plainly`. */
	const replay_time *message_delay;
	bool plainly; /* replay every rank and every collective by itself: slow, the same result */
};

struct fine_result {
	replay_time makespan;      /* the latest end */
	replay_time *start, *end;  /* [n], arrays of the caller */
	replay_time *busy;         /* [nstreams] sum of end - start, array of the caller; or NULL */
	uint64_t sends;            /* sends that were replayed, those of a class counting as one */
	uint32_t alone, contended; /* collectives which had their links to themselves; the others */
	uint32_t culprit;          /* see below */
};

enum fine_status {
	FINE_OK,
	FINE_NO_SCHEDULE, /* of request `culprit`: the algorithm does not apply */
	FINE_NO_ROUTE,    /* between two devices of request `culprit` */
	FINE_STUCK        /* event `culprit` never starts: parties of two collectives issue them in
			     different orders */
};

/*
 * Replays a step; fills the result. Its start and end can be used in a struct replay_result:
 * functions that take one allow events to take longer than their duration.
 */
enum fine_status fine_replay(const struct fine_step *s, struct fine_result *r);

/*
 * The time of a request without other load on its links, from its schedule; -1 if there is no
 * schedule or no route. collective_seconds gives the same for rounds, up to rounding; for pipelines
 * of chunks it gives the limit for many.
 */
replay_time fine_alone(struct cluster *c, const struct fine_request *q);

#endif
