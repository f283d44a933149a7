/*
 * Schedules made ready for fine replay: classes of sends, places and links that behave alike, see
 * fine.h, with the sequence of stops of each place.
 *
 *     place p    stop 0 (x3)          stop 1         a stop: a round in which p sends or receives,
 *                out: s0  in: s7      in: s9         repeated
 */
#ifndef PASSES_ANALYSIS_FINE_PLAN_H
#define PASSES_ANALYSIS_FINE_PLAN_H

#include "ir/base/alloc.h"
#include "passes/analysis/replay/fine.h"

/* Rates times picoseconds: 1 MB is 1e21. */
__extension__ typedef unsigned __int128 fine_amount;

/* Load of a send on a link: `weight` sends of its class use each link of the class. */
struct fine_use {
	uint32_t link, weight;
};

struct fine_send {
	fine_amount amount; /* of one chunk */
	replay_time latency;
	uint32_t from, to;           /* places */
	uint32_t from_stop, to_stop; /* the round, as numbered by either place */
	uint32_t first_use, nuses;   /* of plans.use */
	int64_t bound;               /* its rate without other flows */
};

struct fine_stop {
	uint32_t first_out, nout, first_in, nin; /* of plan.at_stop */
	uint32_t repeat, stage;
};

/* One request. */
struct fine_plan {
	uint32_t nplaces, nsends, nstops;
	uint32_t chunks, parts; /* chunks of all parts together */
	uint32_t nstages;       /* 0 if there is one part: stages are not used then */
	uint32_t *in_stage; /* [nplaces * nstages] sends that a place makes or receives there, with
			       repeats; if there are stages */
	struct fine_send *send;
	struct fine_stop *stop;
	uint32_t *place_first; /* [nplaces + 1] of stop */
	uint32_t *at_stop;     /* sends */
	uint32_t *link;        /* [nlinks] all links that it uses, each once */
	uint32_t nlinks;
	replay_time alone; /* time without other load on its links; -1: not known yet */
	bool stretched;    /* so that this matches the request */
};

struct fine_plans {
	struct fine_plan *plan; /* [nrequests] */
	uint32_t nlinks;        /* number of classes of used links */
	int64_t *capacity;      /* [nlinks] units of FINE_RATE_UNIT of one link of the class */
	struct fine_use *use;
	uint32_t max_uses; /* of a send */
};

/*
 * Plans of all the requests of a step, owned by `owner`; NULL if *status and *culprit give an
 * error. Without `classes` every send, place and link is a class of its own.
 */
struct fine_plans *fine_plans_create(const void *owner, struct cluster *c,
	const struct fine_request *requests, uint32_t n, bool classes, enum fine_status *status,
	uint32_t *culprit);

/* A send of a schedule with its route, before classes are formed. */
struct fine_raw_send {
	uint32_t request, round, from, to; /* places of all requests together */
	double bytes;                      /* of one chunk */
	replay_time latency;
	uint32_t first_link, nlinks; /* of raw.way */
};

struct fine_raw {
	uint32_t nsends, nplaces, nlinks, nways;
	struct fine_raw_send *send;
	uint32_t *request_of; /* [nplaces] */
	uint32_t *way;        /* links, numbered by first use */
	int64_t *capacity;    /* [nlinks] */
};

/* n consecutive sends with the same bytes. */
struct fine_bytes {
	double bytes; /* of one chunk */
	uint32_t n;
};

/*
 * A request: requests that differ only in their bytes share the sends, which are stored once, with
 * the first of them.
 */
struct fine_shape {
	uint32_t base;            /* the request that holds the sends */
	uint32_t first, end;      /* of raw.send; of the base */
	uint32_t chunks, parts;   /* chunks of all parts together */
	struct fine_bytes *bytes; /* [nbytes] of the sends from `first` to `end` */
	uint32_t nbytes;
	const struct collective_schedule *schedule; /* of the base */
};

struct fine_gathered {
	struct fine_raw raw;
	struct fine_shape *shape; /* [n] by request */
};

/* All sends of all requests, owned by `owner`; NULL if *status and *culprit give an error. */
struct fine_gathered *fine_gather(const void *owner, struct cluster *c,
	const struct fine_request *requests, uint32_t n, enum fine_status *status,
	uint32_t *culprit);

struct fine_classes {
	uint32_t nsends, nplaces, nlinks;
	uint32_t *send, *place, *link; /* the class of each, numbered by first member */
};

/*
 * The coarsest classes such that sends of a class have the same request, round, bytes and latency,
 * go from and to places of the same classes over links of the same classes, and places and links of
 * a class have the same number of sends of each class. Owned by `owner`.
 */
struct fine_classes *fine_classes_find(const void *owner, const struct fine_raw *raw);

#endif
