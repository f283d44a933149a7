/* Shared by the files of a plan: create.c, log.c, plan.c, move.c, replay.c, save.c, read.c,
 * apply.c, pack.c. */
#ifndef PASSES_SEARCH_PLAN_IMPL_H
#define PASSES_SEARCH_PLAN_IMPL_H

#include "ir/base/vec.h"
#include "ir/memory/awaited.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/estimate.h"
#include "passes/fuse/fuse.h"
#include "passes/search/plan/plan.h"

#include <pthread.h>
#include <string.h>

/* A dependency through a view: the two ops cannot share a kernel, which would leave out the
 * view. */
#define PLAN_THROUGH_VIEW 0x80000000u

/* The fixed properties of an op of @main. */
struct plan_op {
	const struct ir_op *op;
	uint32_t first_dep, ndeps;       /* work ops that it reads, in the order of its operands */
	uint32_t first_reader, nreaders; /* work ops that read it, ascending */
	uint32_t over;                   /* time axes of its loop, a set */
	uint32_t like; /* first collective of its kind, with which it may share a message */
	double bytes;  /* size of a collective's message */
	bool work, collective;
	bool sent; /* is it read by a collective? */
	bool kept; /* is it read by an update, an output, or a view that they read? */
};

/* Fixed data of a plan; shared by its clones. */
struct plan_base {
	const struct cost_model *model;
	struct ir_module *m;
	struct cost_step *step; /* of the unchanged module */
	struct fuse_table *fuse;
	struct ir_numbering *ops; /* of the block of @main */
	struct plan_op *op;       /* [nops] by number */
	struct VEC(uint32_t) dep; /* numbers of ops, with PLAN_THROUGH_VIEW */
	uint32_t *reader;
	struct awaited awaited;        /* scratch while dependencies are found */
	uint32_t nops, room;           /* room: numbers of nodes, one for each work op */
	uint32_t *first_node;          /* [nops] its initial node; PLAN_NONE: no work */
	replay_time post, wait, first; /* first: time of a step in addition to its ops */
	bool async, overlap;
	pthread_mutex_t *asking; /* held while the cost model is called, which caches results */
	bool whole; /* the sweep does not support this step: each plan is applied and replayed */
};

/* Lists are in the plan's pool, starting at `op` and `pred`. Members are in ascending order. */
struct plan_state {
	uint32_t op, nops;     /* members: op | PLAN_COPY | PLAN_OUT */
	uint32_t pred, npreds; /* nodes, in the order of the operands */
	uint32_t position;     /* PLAN_NONE: the node does not exist */
	uint32_t parts;
	bool message;
	double bytes;
	replay_time duration;
	replay_time packing; /* of a message: time of copies into it before it is posted */
};

/* Times of the last replay. */
struct plan_time {
	replay_time start, end;
	replay_time compute, message; /* when the two streams are free after it */
	replay_time sum[2];           /* kernels, messages: sums up to this position */
};

/* A node that has a copy of an op; next: another holder, or PLAN_NONE. */
struct plan_holder {
	uint32_t node, next;
};

/* A cached time of a message. */
struct plan_answer {
	double bytes;
	uint32_t like, parts; /* parts 0: the entry is empty */
	uint32_t tensors;
	replay_time time;
};

struct plan {
	const struct plan_base *base;
	struct estimator *estimator;
	struct plan_state *node; /* [room] */
	struct plan_time *time;  /* [room] */
	uint32_t *order, count;  /* [room] nodes */
	uint32_t *home;          /* [nops] */
	uint32_t *copies;        /* [nops] first holder of a copy, or PLAN_NONE */
	struct plan_holder *holder;
	uint32_t nholders;
	uint32_t *pool, npool;
	uint32_t *free, nfree; /* [room] unused node numbers */
	/* The undo log: see log.c. */
	struct VEC(uint32_t) log;
	/* Positions before this one have up-to-date times. */
	uint32_t clean;
	bool replayed; /* all positions have up-to-date times, and so has makespan */
	replay_time makespan;
	bool *waited;     /* [room] of messages: the compute stream has waited for it */
	uint32_t *stamp;  /* [room] scratch to mark nodes */
	uint32_t *within; /* [nops] scratch to mark ops */
	uint32_t now;     /* the current stamp */
	uint32_t *scratch, *member, *moved; /* [nops] of a move: ops, members, other members */
	uint32_t *late;                     /* [2 * room] of plan_put_behind: nodes, positions */
	struct VEC(uint32_t) dropped;       /* ops that are no longer needed */
	bool *flag;                         /* [nops] */
	struct plan_answer *answer;
	struct plan_counts counts;
};

/* memcpy of lists, which may be empty with null pointers. */
static inline void
plan_copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
	if (n)
		memcpy(to, from, n * sizeof *to);
}

/* --- log.c: logged values --- */

void plan_log_node(struct plan *p, uint32_t node); /* call before changing the node */
void plan_set_home(struct plan *p, uint32_t op, uint32_t node);
void plan_add_copy(struct plan *p, uint32_t op, uint32_t node);
void plan_drop_copy(struct plan *p, uint32_t op, uint32_t node);
/* Logs the numbers of free node numbers and list entries. */
void plan_log_sizes(struct plan *p);
/* Reserves n entries at the end of the pool; returns their position. */
uint32_t plan_pool(struct plan *p, uint32_t n);
void plan_dirty(struct plan *p, uint32_t position);
void plan_remove(struct plan *p, uint32_t node); /* takes a node out of the order */
void plan_insert(struct plan *p, uint32_t node, uint32_t position);
void plan_shift(struct plan *p, uint32_t from, uint32_t to);
/* Moves the nodes at positions low ... high - 1 that have the current stamp after the one at
 * `high`, keeping their order. */
void plan_put_behind(struct plan *p, uint32_t low, uint32_t high);

/* Finds the nodes that a node reads from, in the order of its ops and their operands. */
void plan_find_preds(struct plan *p, uint32_t node);

/* Is op a member of the node, at home or as a copy? Equivalent to a search in its list of members,
 * except that an op is a member of its home even if not listed. */
bool plan_holds(const struct plan *p, uint32_t node, uint32_t op);

/* Does a node other than a and b read the op from its home? b may be PLAN_NONE. */
bool plan_read_outside(const struct plan *p, uint32_t op, uint32_t a, uint32_t b);

/*
 * After a change of a node's members or of their readers: drops members that are no longer read,
 * updates readers and predecessors, and gets the node's time. A kernel without members is removed.
 */
void plan_settle(struct plan *p, uint32_t node);

/* Sets the members of a node, op | PLAN_COPY each, ascending. */
void plan_set_members(struct plan *p, uint32_t node, const uint32_t *member, uint32_t n);

replay_time plan_time_of_message(
	struct plan *p, uint32_t like, double bytes, uint32_t tensors, uint32_t parts);

/*
 * Splits collectives of several tensors over an axis of one device, which send nothing: each result
 * is a view of its own operand, but would wait for all operands. Each tensor gets its own
 * collective.
 */
void plan_split_views(struct ir_module *m);

/* After plan_apply: the node of each op of @main, by op->id; PLAN_NONE: in no node. An array owned
 * by `owner`. */
uint32_t *plan_nodes_of(const void *owner, const struct plan *p, struct ir_module *m);

/*
 * pack.c: plan_packing returns the time of copies into a message before it is posted, by the rules
 * of ir/memory/storage.h. plan_pack_again updates it for messages that read from a node, also
 * through others, after the node has changed.
 */
replay_time plan_packing(const struct plan *p, uint32_t node);
void plan_pack_again(struct plan *p, uint32_t node);

/* Allocates the plan's own arrays; base and estimator must be set. */
void plan_set_up(struct plan *p);
/* Removes all nodes; appends a node without members; computes the times of all nodes. */
void plan_clear(struct plan *p);
void plan_add_node(struct plan *p, uint32_t node, uint32_t parts);
void plan_settle_all(struct plan *p);
/* Makes every op a node of its own, in the order of the block. */
void plan_reset(struct plan *p);

#endif
