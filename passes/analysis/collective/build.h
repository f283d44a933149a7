/*
 * What the algorithms share: where the members of a request are, and how a schedule is written.
 * Schedules are built for a tensor of one byte; whoever hands one out scales it.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_BUILD_H
#define PASSES_ANALYSIS_COLLECTIVE_BUILD_H

#include "passes/analysis/collective/collective.h"

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

/* Owned by `owner`; NULL where the cluster has no such device or the request no place. */
struct placement *placement_of(
	const void *owner, struct cluster *c, const struct collective_request *q);

/*
 * How many ways between nodes the members of a node have: narrowest links from the first node to
 * the second one of the first group that differ, or a number a little lower that divides the
 * members; 1 where nodes are uneven or there is one.
 */
uint32_t placement_ways(const struct placement *at, struct cluster *c);

/*
 * An alltoall of all pairs of places has at most so many sends: that takes a tenth of a second. Where
 * there are more, one distance stands for those from 2^k to 2^(k+1) nodes, the middle one. On one
 * switch, or on switches whose links are alike, rounds take equally long and nothing changes; with
 * racks of R nodes behind shared links the middle distance crosses them as often as the others do on
 * average.
 */
enum { PAIRWISE_SENDS = 1 << 20 };

struct builder {
	struct cluster *cluster;
	const struct collective_request *request;
	const struct placement *at;
	struct collective_schedule *schedule;
	bool pipelined; /* the schedule is run in chunks, as many as make the pipe no matter */
	uint32_t stage;
};

/* Starts a round that is repeated; one without sends vanishes. */
void build_round(struct builder *b, uint32_t repeat);

/* Rounds from here on are another stage: parts of a message pass stages in a pipeline. */
void build_stage(struct builder *b);

/* Adds a send to the last round; none where `from` is `to`. */
void build_send(struct builder *b, uint32_t from, uint32_t to, double fraction);

/*
 * The schedule for one byte of an algorithm and its variant, owned by `owner`. NULL: it does not
 * fit, or there is no such variant. Variants are tried from 0 on; the first does not fit if none
 * does.
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

/* Never NULL; that of COLLECTIVE_AUTO does nothing. */
const struct algorithm *algorithm_row(enum collective_algorithm a);

/* Does it do that kind between so many places, whatever nodes they are on? */
bool algorithm_does(const struct algorithm *row, enum rt_coll_kind kind, uint32_t places);

/*
 * The algorithms. Variants of one differ in how they use several ways between nodes; the fastest
 * counts. They are asked for what their row says that they do, with at least two places; false
 * where it does not fit all the same. The forms are those of collective_closed_form.
 */
#define ALGORITHM(code, name, choice, kinds, needs, variants, form)                                \
	bool build_##name(struct builder *b, uint32_t variant);                                    \
	bool form(enum rt_coll_kind kind, int places, double *latencies, double *tensors);
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM

/* Where there is no closed form: false. */
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

/* The rank above; of the root none. */
uint32_t tree_parent(uint32_t rank, uint32_t n);

/* Which of 0 .. n-1 has that rank in tree 0 or 1. */
uint32_t tree_number(const struct trees *t, int tree, uint32_t rank);

/* The variant of build_tree with trees over nodes; up: to the root, down: from it, or both. */
bool build_node_trees(struct builder *b, bool up, bool down);

/* Rings of n members, each `stride` after the other in the list of group g from `first` on. */
void build_cycle(struct builder *b, uint32_t g, uint32_t first, uint32_t n, uint32_t stride,
	double fraction);

/* Inside each node a ring, `1 / members` of the tensor in each of members - 1 steps. */
void build_inside(struct builder *b);

/*
 * A schedule as a function of the bytes: base.alpha + base.gamma S, and for each phase so many
 * times the highest of its lines.
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
	struct collective_line fill; /* pipelined: gamma of the way of one chunk through all rounds,
					else 0; alpha: the longest latency of a send */
	struct collective_time **stage; /* [nstages] of each; none where there is one */
	uint32_t nstages;
	double fullest; /* with stages: seconds a byte that the fullest link has in all of them */
};

/* Of a schedule for one byte; NULL where there is no way between two of its ends. */
struct collective_time *collective_time_of(
	const void *owner, struct cluster *c, const struct collective_schedule *s, bool pipelined);

double collective_time_seconds(const struct collective_time *t, double bytes);

/* In so many equal parts, at least one. */
double collective_time_parts(const struct collective_time *t, double bytes, uint32_t parts);

/*
 * How long each send of a round takes for one byte of the tensor, without latency, where all start
 * at once; its route beside it.
 */
struct share;

struct share *share_create(const void *owner, struct cluster *c);

struct share_result {
	const struct cluster_route *route; /* [n] */
	const double *seconds;             /* [n] */
};

/* Valid until the next call; false where there is no way. */
bool share_round(struct share *s, const struct collective_send *send, uint32_t n,
	struct share_result *result);

/*
 * The same if a link were all that its sends need: seconds that the fullest link needs for a round;
 * `total`: for all rounds since share_create, each `repeat` times. Negative where there is no way.
 */
double share_fullest(struct share *s, const struct collective_send *send, uint32_t n,
	uint32_t repeat, struct share_result *result, double *total);

#endif
