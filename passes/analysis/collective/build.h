/*
 * What the algorithms share: where the members of a request are, and how a schedule is written.
 * Schedules are built for a tensor of one byte; collective_schedule scales them to the request.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_BUILD_H
#define PASSES_ANALYSIS_COLLECTIVE_BUILD_H

#include "passes/analysis/collective/collective.h"

/*
 * The request with as few of its groups as take as long, in a cluster whose nodes are all alike:
 * groups on different nodes do not share links, so of those that are alike one is enough. Its
 * devices are owned by `owner`, or those of q. In other clusters it is q.
 */
struct collective_request request_distinct(
	const void *owner, struct cluster *c, const struct collective_request *q);

/*
 * Members of each group in the order in which algorithms take them: node by node, so that a ring
 * enters and leaves each node once, and neighbours of a tree or of halving are near.
 */
struct placement {
	uint32_t ngroups, places;
	uint32_t *member; /* [ngroups * places] devices, each group's by node, then by number */
	uint32_t *nnodes; /* [ngroups] */
	uint32_t *node;   /* [ngroups * (places + 1)] member that each node begins with; places */
	uint32_t even;    /* members on each node if that is the same in all groups; else 0 */
	uint32_t *root;   /* [ngroups] member that is the root of a kind that has one */
};

/* Owned by `owner`; NULL if the cluster lacks one of the devices or there are no places. */
struct placement *placement_of(
	const void *owner, struct cluster *c, const struct collective_request *q);

/*
 * Number of parallel paths between nodes: the count of distinct narrowest links between the first
 * two nodes of the first group, lowered to a divisor of the members of a node. 1 if the nodes have
 * different numbers of members or there is only one node.
 */
uint32_t placement_ways(const struct placement *at, struct cluster *c);

/*
 * An alltoall between all pairs of places has at most this many sends, those of 512 places, which
 * takes some hundredths of a second. Above it, one distance stands for those from 2^k to 2^(k+1)
 * nodes, the middle one, and of the members of a node that receive, the one in the same position
 * and one other are enough. On one switch, or on switches whose links are alike, rounds take
 * equally long and nothing changes; with racks of R nodes that share an uplink the middle distance
 * crosses them as often as the others do on average.
 */
enum { PAIRWISE_SENDS = 1 << 18 };

struct builder {
	struct cluster *cluster;
	const struct collective_request *request;
	const struct placement *at;
	struct collective_schedule *schedule;
	bool pipelined; /* run in enough chunks that filling the pipeline costs little */
	uint32_t stage;
};

/* Starts a round that is run `repeat` times; a round without sends is dropped. */
void build_round(struct builder *b, uint32_t repeat);

/* Later rounds belong to a new stage; parts of a message pass through the stages in a pipeline. */
void build_stage(struct builder *b);

/* Adds a send to the last round, unless `from` equals `to`. */
void build_send(struct builder *b, uint32_t from, uint32_t to, double fraction);

/*
 * The schedule of an algorithm and its variant for one byte, owned by `owner`. NULL if the
 * algorithm does not apply or there is no such variant. Variants are tried from 0 on; if the first
 * does not apply, none does.
 */
struct collective_schedule *collective_build(const void *owner, struct cluster *c,
	const struct collective_request *q, const struct placement *at, enum collective_algorithm a,
	uint32_t variant, bool *pipelined);

enum { COLLECTIVE_NVARIANTS = 2 };

enum algorithm_choice { ALGORITHM_AUTO, ALGORITHM_ASKED };

enum algorithm_needs { NEEDS_NOTHING, NEEDS_POWER_OF_2, NEEDS_NODES };

/* A row of collective/algorithm.def. */
struct algorithm {
	const char *name;
	enum algorithm_choice choice;
	uint32_t kinds; /* 1 << enum rt_coll_kind */
	enum algorithm_needs needs;
	uint32_t variants;
	bool (*build)(struct builder *b, uint32_t variant);
	bool (*form)(enum rt_coll_kind kind, int places, double *latencies, double *tensors);
};

/* Never NULL; the row of COLLECTIVE_AUTO supports nothing. */
const struct algorithm *algorithm_row(enum collective_algorithm a);

/*
 * The algorithms. The variants of one differ in how they use several paths between nodes; the
 * fastest is taken. They are called only for what their row supports, with at least two places, and
 * return false if they do not apply after all. The forms are those of collective_closed_form.
 */
#define ALGORITHM(code, name, choice, kinds, needs, variants, form)                                \
	bool build_##name(struct builder *b, uint32_t variant);                                    \
	bool form(enum rt_coll_kind kind, int places, double *latencies, double *tensors);
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM

/* For algorithms without a closed form: returns false. */
bool form_none(enum rt_coll_kind kind, int places, double *latencies, double *tensors);

/*
 * Two trees over n ranks of places or nodes, see tree.c: the level of each rank of the
 * first, whose root is 0 and at level 0. `level` belongs to `owner`.
 */
struct trees {
	uint32_t n, levels;
	uint32_t *level; /* [n] */
};

struct trees trees_of(const void *owner, uint32_t n);

/* The rank of its parent; for the root, none. */
uint32_t tree_parent(uint32_t rank, uint32_t n);

/* The number 0 .. n-1 that has this rank in tree 0 or 1. */
uint32_t tree_number(const struct trees *t, int tree, uint32_t rank);

/* The variant of build_tree with trees over nodes; `up`: to the root, `down`: from it, or both. */
bool build_node_trees(struct builder *b, bool up, bool down);

/* A ring inside each node: members - 1 steps with `1 / members` of the tensor each. */
void build_inside(struct builder *b);

/*
 * The time of a schedule as a function of the bytes S: base.alpha + base.gamma S, plus for each
 * phase its repetitions times the maximum of its lines.
 */
struct collective_line {
	double alpha, gamma; /* seconds, seconds a byte */
};

struct collective_phase {
	double times;
	struct collective_line *line;
	uint32_t n;
};

struct collective_time {
	struct collective_line base;
	struct collective_phase *phase;
	uint32_t nphases;
	struct collective_line fill;    /* pipelined: gamma of one chunk through all rounds, else 0;
					alpha: the longest latency of a send */
	struct collective_time **stage; /* [nstages]; none if there is one stage */
	uint32_t nstages;
	double fullest; /* with stages: seconds per byte of the most loaded link over all of them */
};

/* The time of a schedule for one byte; NULL if there is no route between the ends of a send. */
struct collective_time *collective_time_of(
	const void *owner, struct cluster *c, const struct collective_schedule *s, bool pipelined);

/* The time for `bytes` sent in this number of equal parts, at least one. */
double collective_time_parts(const struct collective_time *t, double bytes, uint32_t parts);

/*
 * How long each send of a round takes for one byte of the tensor, without latency, if all start at
 * once; and its route.
 */
struct share;

struct share *share_create(const void *owner, struct cluster *c);

struct share_result {
	const struct cluster_route *route; /* [n] */
	const double *seconds;             /* [n] */
};

/* `result` is valid until the next call; false if there is no route. */
bool share_round(struct share *s, const struct collective_send *send, uint32_t n,
	struct share_result *result);

/*
 * The same if only the load of each link mattered: seconds of the most loaded link for a round;
 * `total`: for all rounds since share_create, each `repeat` times. Negative if there is no route.
 */
double share_fullest(struct share *s, const struct collective_send *send, uint32_t n,
	uint32_t repeat, struct share_result *result, double *total);

#endif
