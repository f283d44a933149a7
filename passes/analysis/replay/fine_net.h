/*
 * Links and the sends on them, which share the bandwidth max-min fairly; and the running
 * collectives that issue the sends.
 */
#ifndef PASSES_ANALYSIS_FINE_NET_H
#define PASSES_ANALYSIS_FINE_NET_H

#include "ir/base/vec.h"
#include "passes/analysis/replay/fine_heap.h"
#include "passes/analysis/replay/fine_plan.h"

/* An active send, as far as it shares bandwidth: 64 bytes, since it is the hot data. */
struct fine_flow {
	fine_amount left; /* at time `since` */
	replay_time since;
	int64_t rate;   /* from then on; 0: fully sent, the latency passes */
	int64_t bound;  /* upper limit from the capacity of its links */
	uint64_t visit; /* see fine_share.c */
	const struct fine_use *use;
	uint32_t nuses;
	uint32_t next_free;
};

/* The send that a flow belongs to. */
struct fine_cause {
	struct fine_run *run;
	uint32_t send, chunk;
};

/* An entry in the list of the flows of a link: use u of the flow. */
struct fine_link_flow {
	uint32_t flow, use;
};

/* Fields that sharing reads come first. */
struct fine_link {
	uint64_t visit; /* see fine_share.c */
	bool is_short;  /* the demand is more than the bandwidth */
	bool binds;     /* it did when bandwidth was last shared */
	bool dirty;     /* in net.dirty */
	struct VEC(struct fine_link_flow) flow;
	/* While bandwidth is shared: unassigned bandwidth, flows still to be served, a share. */
	int64_t left, share;
	uint64_t wanting;
	uint64_t weight; /* of all its flows */
	int64_t capacity;
	fine_amount demand; /* of all its flows: the most that they could ever use */
};

/* How far a send has got. */
enum fine_progress { FINE_UNDER_WAY, FINE_OUT, FINE_RECEIVED };

struct fine_todo {
	struct fine_run *run;
	uint32_t place, chunk; /* a place that may enter a stop; */
	uint32_t send;         /* or, if not FINE_NO_SEND, a send that has reached `progress` */
	enum fine_progress progress;
};

struct fine_net {
	const struct fine_plans *plans;
	struct fine_heap heap; /* 0 .. nslots-1 belong to the caller, then flows */
	uint32_t nslots;
	struct VEC(struct fine_flow) flow;
	struct fine_cause *cause; /* of each flow */
	uint32_t *position; /* [max_uses] of each flow: its position in the list of each link */
	uint32_t free_flow;
	struct fine_link *link; /* [plans->nlinks] */
	/* [plans->nlinks] It is short or binds, or did when last checked. Most links never do:
	 * sharing finds that here, in a byte, without reading the link. */
	bool *may_bind;
	/* Links that bind and lost a flow; new flows. */
	uint32_t *dirty, ndirty, *fresh, nfresh;
	uint32_t *part, nparts, *met, nmet; /* connected links and flows, while sharing */
	uint64_t visit;
	struct VEC(struct fine_todo) todo;
	struct fine_run *ended; /* runs that have ended and were not taken yet */
	uint64_t sends;
};

#define FINE_NO_SEND UINT32_MAX

/* Owned by `owner`; nslots numbers of its heap are for the caller. */
struct fine_net *fine_net_create(
	const void *owner, const struct fine_plans *plans, uint32_t nslots);

/* A send begins at time `now`; without latency and bytes it is out or received at once. */
enum fine_progress fine_net_send(
	struct fine_net *net, replay_time now, struct fine_run *run, uint32_t send, uint32_t chunk);

/*
 * Handles the heap's event for flow `number - nslots`. *cause is set to its send: out now, or
 * received if `*out` is false. A send without latency is both.
 */
enum fine_progress fine_net_happens(struct fine_net *net, replay_time now, uint32_t number,
	struct fine_cause *cause, bool *out);

/* Shares the bandwidth of all links that gained or lost sends: fine_share.c. */
void fine_net_share(struct fine_net *net, replay_time now);

/* --- collectives that run: fine_run.c --- */

struct fine_run {
	const struct fine_plan *plan;
	struct fine_run *next_ended;
	uint32_t instance; /* of the caller */
	uint32_t live;     /* places with stops still to come, for each chunk */
	struct fine_place {
		uint32_t stop, turn;  /* its current stop and turn, or those it enters next */
		uint32_t missing;     /* sends that it waits for to leave the stop */
		uint32_t missing_out; /* of these, its own sends */
		bool entered;
	} * place;         /* [nplaces * chunks] */
	uint32_t *done;    /* [nsends * chunks] turns in which the send is complete */
	uint32_t *to_come; /* [nplaces * chunks * nstages] remaining part of in_stage */
};

/* A collective starts. Owned by the net until it has ended and the caller takes it from there. */
struct fine_run *fine_run_begin(
	struct fine_net *net, replay_time now, const struct fine_plan *plan, uint32_t instance);

/* Handles the heap's event for a flow, and its consequences. */
void fine_run_happens(struct fine_net *net, replay_time now, uint32_t number);

/* Handles all events before time `until`, none of which may belong to the caller's numbers. */
void fine_run_until(struct fine_net *net, replay_time now, replay_time until);

/* The time of a plan alone; `net` must be idle and the heap empty. */
replay_time fine_run_alone(struct fine_net *net, const struct fine_plan *plan);

#endif
