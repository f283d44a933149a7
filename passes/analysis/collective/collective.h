/*
 * What a collective costs on a cluster: an algorithm is a schedule of rounds of sends between
 * devices, and its time follows from the links that the sends take. One schedule serves both
 * replays: coarse takes collective_seconds as the duration of one event, fine replays the sends.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_H
#define PASSES_ANALYSIS_COLLECTIVE_H

#include "ir/base/api.h"
#include "ir/cluster/cluster.h"
#include "runtime/comm/collective.h"

DOPT_API_BEGIN

/* The rows of passes/analysis/collective/algorithm.def, and the fastest of those that fit, which is
 * what libraries try to choose; not parameter servers, which a user must set up. */
enum collective_algorithm {
	COLLECTIVE_AUTO,
#define ALGORITHM(code, name, choice, kinds, needs, variants, form) COLLECTIVE_##code,
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM
	COLLECTIVE_NALGORITHMS
};

/* "auto", "ring", "tree" ... */
const char *collective_algorithm_name(enum collective_algorithm a);

/* Is it one of those of which COLLECTIVE_AUTO is the fastest? */
bool collective_automatic(enum collective_algorithm a);

/*
 * One collective, issued by all its groups at the same time: along a mesh axis there are as many
 * groups as there are places on the other axes, and they share links.
 */
struct collective_request {
	enum rt_coll_kind kind;
	uint32_t ngroups, places;
	const uint32_t *device; /* [ngroups * places] devices of the cluster, group by group */
	double bytes;      /* of the whole tensor, as in struct cost_collective; not negative */
	uint32_t from, to; /* places: root in `to` or `from`, as the kind has it */
	uint32_t parts;    /* equal ones, in which the bytes go, one after the other; 0: 1 */
};

/* Sends of one round start together as far as their devices are ready; see below. */
struct collective_send {
	uint32_t from, to; /* ends of the cluster, see cluster_route: devices, hosts too for ps */
	double bytes;
};

struct collective_round {
	uint32_t first, n; /* of schedule.send */
	uint32_t repeat;   /* so many times one after another: a ring is one round P-1 times */
	uint32_t stage;    /* rounds with the same number are a stage; ascending */
};

/*
 * The bytes of a send pass as soon as it starts, sharing the links fairly with those of other
 * sends; it is out when the last byte is through, and received the latency of its route later, in
 * which its sender and the links are free for others. (Were they not, a ring through nodes would
 * pay the latency between nodes in every round; libraries and their models, as NCCL's, pay it once
 * for each node.)
 *
 * Device x sends in a round once it has received what it got in the round before (of the repeats
 * too), and its own sends of that round are out. `chunks`: the whole schedule may be run so many
 * times with bytes / chunks, in a pipeline: round r of chunk c+1 beside round r+1 of chunk c; the
 * sends of chunk c+1 start once those of chunk c and the same round are out.
 *
 * `parts`: all of that is run so many times with bytes / parts, each part by itself, stage by
 * stage: a device enters a stage with part p+1 once all that it sends and gets in that stage of
 * part p has come. So an algorithm of one stage, as a ring is, takes one part after the other, and
 * one of several, such as push and pull, has a part in each.
 *
 *     push   [p0][p1][p2]          parameter servers, 3 parts
 *     pull       [p0][p1][p2]
 *
 * Sends of a ring that is repeated stand one behind the other, d0 -> d1, d1 -> d2, ... -> d0.
 */
struct collective_schedule {
	uint32_t nrounds, nsends, chunks; /* chunks: of a part */
	struct collective_round *round;
	struct collective_send *send;
	uint32_t lanes; /* above 1: the sends of each round are so many equal parts, one after the
			   other, and those of a part wait only for those of the same part in other
			   rounds: several rings, or trees, beside each other. They share links. */
	uint32_t parts; /* 0: 1 */
};

/*
 * The schedule of an algorithm, owned by `owner`; NULL where the algorithm does not fit the request
 * (halving with 6 places; ps for an allgather) or there is no way between two of its devices. For
 * COLLECTIVE_AUTO the fastest; *chosen (may be NULL) gets it.
 */
struct collective_schedule *collective_schedule(const void *owner, struct cluster *c,
	const struct collective_request *q, enum collective_algorithm a,
	enum collective_algorithm *chosen);

/*
 * Seconds from the moment when all places are ready to the end of the last send, nothing else on
 * the links; 0 for one place. Infinite where there is no way or the algorithm does not fit; *chosen
 * as above.
 */
double collective_seconds(struct cluster *c, const struct collective_request *q,
	enum collective_algorithm a, enum collective_algorithm *chosen);

/*
 * The same for many requests on one cluster: what was found out about a request is kept for other
 * bytes. The cluster must outlive the model.
 */
struct collective_model;

/* Owned by `owner`. */
struct collective_model *collective_model_create(const void *owner, struct cluster *c);

double collective_model_seconds(struct collective_model *m, const struct collective_request *q,
	enum collective_algorithm a, enum collective_algorithm *chosen);

/* A request of the model without its bytes and parts, so that its devices are looked up once;
 * belongs to the model. */
struct collective_cost *collective_model_cost(
	struct collective_model *m, const struct collective_request *q);
double collective_cost_seconds(struct collective_cost *k, double bytes, uint32_t parts,
	enum collective_algorithm a, enum collective_algorithm *chosen);

/*
 * The closed form of the ring among `places` over links with latency alpha and bandwidth beta, none
 * of them shared (Thakur, Rabenseifner, Gropp 2005; Patarasuk and Yuan 2009), S bytes of the whole
 * tensor:
 *
 *     allreduce                         2 (P-1) (alpha + S/P / beta)
 *     allgather, reducescatter          (P-1) (alpha + S/P / beta)
 *     alltoall                          (P-1) (alpha + s/P / beta)       s: bytes at one place
 *     gather, scatter                   (P-1) (alpha + S/P / beta)       through the root's link
 *     broadcast, reduce                 (P-1) alpha + S / beta           pieces in a pipeline
 *     send                              alpha + S / beta
 */
double collective_ring_seconds(
	enum rt_coll_kind c, int places, double bytes, double alpha, double beta);

/*
 * The same for each algorithm, on links that are equal and not shared: `latencies` alpha +
 * `tensors` S / beta. False where there is none: hierarchical; what does not fit.
 *
 *     tree, allreduce             2 ceil(log2 P) alpha + 2 S / beta            P > 3
 *     tree, broadcast, reduce     (1 + ceil(log2 (P-1))) alpha + S / beta
 *     halving, allreduce          2 log2 P alpha + 2 (P-1)/P S / beta          P = 2^k
 *     halving, allgather, reducescatter   half of it
 *     ps, allreduce               2 alpha + 2 (P-1)/P S / beta                 a server a place
 *
 * In k parts algorithms of one stage take k times as long as with S/k; hierarchical and ps take
 *
 *     sum of the stages + (k-1) max(longest stage, what the fullest link carries in all stages)
 *
 * with S/k: the way of the first part, and then a part each time that the slowest is ready for it.
 * For push and pull between workers and servers on links of their own that is (1 + 1/k) of what
 * S takes to the servers, and k+1 latencies (dPRO, section 5.1: t_sync(s, k)).
 */
bool collective_closed_form(enum rt_coll_kind c, enum collective_algorithm a, int places,
	double *latencies, double *tensors);

DOPT_API_END

#endif
