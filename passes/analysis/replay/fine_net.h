/*
 * Links and the sends on them, which share the bandwidth max-min fairly; and running collectives,
 * whose sends they are.
 */
#ifndef PASSES_ANALYSIS_FINE_NET_H
#define PASSES_ANALYSIS_FINE_NET_H

#include "ir/base/vec.h"
#include "passes/analysis/replay/fine_heap.h"
#include "passes/analysis/replay/fine_plan.h"

/* A send under way, as far as it shares bandwidth: 64 bytes, since that is where the time goes. */
struct fine_flow {
	fine_amount left; /* at time `since` */
	replay_time since;
	int64_t rate;   /* from then on; 0: it is out, the latency passes */
	int64_t bound;  /* more than that is not to be had on one of its links */
	uint64_t visit; /* see fine_share.c */
	const struct fine_use *use;
	uint32_t nuses;
	uint32_t next_free;
};

/* What a flow is. */
struct fine_cause {
	struct fine_run *run;
	uint32_t send, chunk;
};

/* An entry in the list of the flows of a link: use u of the flow. */
struct fine_link_flow {
	uint32_t flow, use;
};

/* What sharing reads comes first. */
struct fine_link {
	uint64_t visit; /* see fine_share.c */
	bool is_short;  /* the demand is more than the bandwidth */
	bool binds;     /* it was when it was shared last */
	bool dirty;     /* in net.dirty */
	struct VEC(struct fine_link_flow) flow;
	/* While bandwidth is shared: what nobody has yet, the flows that want some, a share. */
	int64_t left, share;
	uint64_t wanting;
	uint64_t weight; /* of all its flows */
	int64_t capacity;
	fine_amount demand; /* of all its flows, as much as they could ever take */
};

/* What a send has behind it. */
enum fine_progress { FINE_UNDER_WAY, FINE_OUT, FINE_RECEIVED };

struct fine_todo {
	struct fine_run *run;
	uint32_t place, chunk; /* a place that may enter a stop; */
	uint32_t send;         /* or, if not FINE_NO_SEND, a send that has done `progress` */
	enum fine_progress progress;
};

struct fine_net {
	const struct fine_plans *plans;
	struct fine_heap heap; /* 0 .. nslots-1 belong to the caller, then flows */
	uint32_t nslots;
	struct VEC(struct fine_flow) flow;
	struct fine_cause *cause; /* of each flow */
	uint32_t *position; /* [max_uses] of each flow: where it is in the list of each link */
	uint32_t free_flow;
	struct fine_link *link; /* [plans->nlinks] */
	/* [plans->nlinks] It is short or binds, or was or did when it was last looked at. Most links never
	 * are: sharing finds that here, in a byte, and does not read the link. */
	bool *may_bind;
	/* Links that bind and lost a flow; flows that came. */
	uint32_t *dirty, ndirty, *fresh, nfresh;
	uint32_t *part, nparts, *met, nmet; /* links and flows that hang together, while sharing */
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
 * What the heap has for flow `number - nslots` happens. *cause is what it is: out now, or received
 * `*out` false. A send without latency is both.
 */
enum fine_progress fine_net_happens(struct fine_net *net, replay_time now, uint32_t number,
	struct fine_cause *cause, bool *out);

/* Shares the bandwidth of all links that sends came to or left: fine_share.c. */
void fine_net_share(struct fine_net *net, replay_time now);

/* --- collectives that run: fine_run.c --- */

struct fine_run {
	const struct fine_plan *plan;
	struct fine_run *next_ended;
	uint32_t instance; /* of the caller */
	uint32_t live;     /* places that have stops to come, for each chunk */
	struct fine_place {
		uint32_t stop, turn;  /* of that stop: where it is, or what it enters next */
		uint32_t missing;     /* sends that it waits for to leave the stop */
		uint32_t missing_out; /* its own among them */
		bool entered;
	} * place;         /* [nplaces * chunks] */
	uint32_t *done;    /* [nsends * chunks] turns in which the send is through */
	uint32_t *to_come; /* [nplaces * chunks * nstages] of in_stage, what has not come yet */
};

/* A collective starts. Owned by the net until it has ended and the caller takes it from there. */
struct fine_run *fine_run_begin(
	struct fine_net *net, replay_time now, const struct fine_plan *plan, uint32_t instance);

/* What the heap has for a flow happens, and what follows from it. */
void fine_run_happens(struct fine_net *net, replay_time now, uint32_t number);

/* All that happens before time `until`, nothing of which may belong to the caller's numbers. */
void fine_run_until(struct fine_net *net, replay_time now, replay_time until);

/* What a plan takes by itself; `net` has nothing to do and the heap is empty. */
replay_time fine_run_alone(struct fine_net *net, const struct fine_plan *plan);

#endif
