/*
 * The time of a collective on a cluster: an algorithm is a schedule of rounds of sends between
 * devices, and its time follows from the links that the sends use. Both replays use the same
 * schedule: in the coarse one collective_seconds is the duration of an event, the fine one replays
 * the sends.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_H
#define PASSES_ANALYSIS_COLLECTIVE_H

#include "ir/base/api.h"
#include "ir/cluster/cluster.h"
#include "runtime/comm/collective.h"

DOPT_API_BEGIN

/* The rows of passes/analysis/collective/algorithm.def, and AUTO, the fastest applicable one, which
 * is what libraries try to select; not parameter servers, which a user must set up. */
enum collective_algorithm {
	COLLECTIVE_AUTO,
#define ALGORITHM(code, name, choice, kinds, needs, variants, form) COLLECTIVE_##code,
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM
	COLLECTIVE_NALGORITHMS
};

/* "auto", "ring", "tree" ... */
const char *collective_algorithm_name(enum collective_algorithm a);

/* Is it among the algorithms that COLLECTIVE_AUTO selects from? */
bool collective_automatic(enum collective_algorithm a);

/*
 * One collective, issued by all its groups at the same time: along a mesh axis there are as many
 * groups as there are devices on the other axes, and they share links.
 */
struct collective_request {
	enum rt_coll_kind kind;
	uint32_t ngroups, places;
	const uint32_t *device; /* [ngroups * places] devices of the cluster, group by group */
	double bytes;      /* of the whole tensor, as in struct cost_collective; not negative */
	uint32_t from, to; /* the root, by position in its group, for kinds that have one */
	uint32_t parts;    /* equal chunks that are sent one after another; 0: 1 */
};

/* Sends of one round start together if their devices are ready; see below. */
struct collective_send {
	uint32_t from, to; /* ends of the cluster, see cluster_route: devices, hosts too for ps */
	double bytes;
};

struct collective_round {
	uint32_t first, n; /* of schedule.send */
	uint32_t repeat;   /* number of repetitions: a ring is one round P-1 times */
	uint32_t stage;    /* rounds with the same number form a stage; ascending */
};

/*
 * The bytes of a send are transferred from its start on, sharing the links fairly with those of
 * other sends. The send is out when the last byte has been transferred, and received one latency of
 * its route later; meanwhile its sender and the links are free for others. (Otherwise a ring
 * through nodes would have the latency between nodes in every round; in libraries and their models,
 * such as NCCL's, it occurs once for each node.)
 *
 * Device x sends in a round once it has received everything of the round before (repetitions
 * included), and its own sends of that round are out. `chunks`: the whole schedule is run this many
 * times with bytes / chunks, pipelined: round r of chunk c+1 in parallel with round r+1 of chunk c;
 * the sends of chunk c+1 start once those of chunk c in the same round are out.
 *
 * `parts`: all of that is run this many times with bytes / parts, stage by stage: a device enters a
 * stage with part p+1 once everything that it sends and receives in that stage for part p is
 * complete. So an algorithm of one stage, such as a ring, sends one part after another, and one of
 * several stages, such as push and pull, has a part in each.
 *
 *     push   [p0][p1][p2]          parameter servers, 3 parts
 *     pull       [p0][p1][p2]
 *
 * Sends of a ring that is repeated are in the order of the ring, d0 -> d1, d1 -> d2, ... -> d0.
 */
struct collective_schedule {
	uint32_t nrounds, nsends, chunks; /* chunks: of a part */
	struct collective_round *round;
	struct collective_send *send;
	uint32_t lanes; /* above 1: the sends of each round are this many groups of equal size, in
			   order, and those of a group wait only for those of the same group in
			   other rounds: several rings, or trees, in parallel. They share links. */
	uint32_t parts; /* 0: 1 */
};

/*
 * The schedule of an algorithm, owned by `owner`; NULL if the algorithm does not apply to the
 * request (halving on 6 devices; ps for an allgather) or there is no route between two of its
 * devices. For COLLECTIVE_AUTO the fastest; *chosen is set to it (`chosen` may be NULL).
 */
struct collective_schedule *collective_schedule(const void *owner, struct cluster *c,
	const struct collective_request *q, enum collective_algorithm a,
	enum collective_algorithm *chosen);

/*
 * Seconds from when all devices are ready to the end of the last send, without other load on the
 * links; 0 for one device. Infinite if there is no route or the algorithm does not apply; *chosen
 * as above.
 */
double collective_seconds(struct cluster *c, const struct collective_request *q,
	enum collective_algorithm a, enum collective_algorithm *chosen);

/*
 * The same for many requests on one cluster: intermediate results are cached for requests that
 * differ only in bytes. The cluster must outlive the model.
 */
struct collective_model;

/* Owned by `owner`. */
struct collective_model *collective_model_create(const void *owner, struct cluster *c);

/* A request without its bytes and parts, so that its devices are looked up once; belongs to the
 * model. */
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
 *     alltoall                          (P-1) (alpha + s/P / beta)       s: bytes on one device
 *     gather, scatter                   (P-1) (alpha + S/P / beta)       through the root's link
 *     broadcast, reduce                 (P-1) alpha + S / beta           pipelined
 *     send                              alpha + S / beta
 */
double collective_ring_seconds(
	enum rt_coll_kind c, int places, double bytes, double alpha, double beta);

/*
 * The same for each algorithm, on equal links that are not shared: `latencies` alpha + `tensors`
 * S / beta. False if there is none: hierarchical, and algorithms that do not apply.
 *
 *     tree, allreduce             2 ceil(log2 P) alpha + 2 S / beta            P > 3
 *     tree, broadcast, reduce     (1 + ceil(log2 (P-1))) alpha + S / beta
 *     halving, allreduce          2 log2 P alpha + 2 (P-1)/P S / beta          P = 2^k
 *     halving, allgather, reducescatter   half of it
 *     ps, allreduce               2 alpha + 2 (P-1)/P S / beta     a server on each device
 *
 * In k chunks, algorithms of one stage take k times as long as with S/k; hierarchical and ps take
 *
 *     sum of the stages + (k-1) max(longest stage, time of the most loaded link in all stages)
 *
 * with S/k: all stages for the first chunk, then one chunk per period of the slowest stage. For
 * push and pull between workers and servers with their own links, this is (1 + 1/k) times the time
 * of S to the servers, and k+1 latencies (dPRO, section 5.1: t_sync(s, k)).
 */
bool collective_closed_form(enum rt_coll_kind c, enum collective_algorithm a, int places,
	double *latencies, double *tensors);

DOPT_API_END

#endif
