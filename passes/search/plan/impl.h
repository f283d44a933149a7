/* What the files of a plan share: create.c, log.c, plan.c, move.c, replay.c,
 * save.c, read.c, apply.c. */
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

/* A dependency through a view: the two ops cannot share a kernel, the view would be left out. */
#define PLAN_THROUGH_VIEW 0x80000000u

/* What is known of an op of @main, once and for all. */
struct plan_op {
	const struct ir_op *op;
	uint32_t first_dep, ndeps;       /* work ops that it reads, in the order of its operands */
	uint32_t first_reader, nreaders; /* work ops that read it, ascending */
	uint32_t over;                   /* time axes of its loop: a set */
	uint32_t like; /* a collective: the first op of its kind, with which it may share a message
			*/
	double bytes;  /* of a collective's message */
	bool work, collective;
	bool sent; /* a collective reads it */
	bool kept; /* an update, an output, or a view that they read needs it */
};

/* What does not change; shared by the clones of a plan. */
struct plan_base {
	const struct cost_model *model;
	struct ir_module *m;
	struct cost_step *step; /* of the module as it stands */
	struct fuse_table *fuse;
	struct ir_numbering *ops; /* of the block of @main */
	struct plan_op *op;       /* [nops] by number */
	struct VEC(uint32_t) dep; /* with PLAN_THROUGH_VIEW */
	uint32_t *reader;
	struct awaited awaited;        /* of the value at hand, while the deps are found */
	uint32_t nops, room;           /* room: numbers of nodes, as many as there are work ops */
	uint32_t *first_node;          /* [nops] its node at first; PLAN_NONE: no work */
	replay_time post, wait, first; /* first: what a step takes besides its ops */
	bool async, overlap;
	pthread_mutex_t *asking; /* held by whoever asks the cost model, which remembers answers */
	bool whole; /* the sweep does not know such steps: each plan is applied and replayed */
};

/* Lists lie in the plan's pool, from `op` and `pred` on. Order of members: ascending. */
struct plan_state {
	uint32_t op, nops;     /* members: op | PLAN_COPY | PLAN_OUT */
	uint32_t pred, npreds; /* nodes, in the order in which it reads them */
	uint32_t position;     /* PLAN_NONE: there is no such node */
	uint32_t parts;
	bool message;
	double bytes;
	replay_time duration;
	replay_time packing; /* of a message: what is copied on the compute stream before it is
				posted */
};

/* Times of the last replay. */
struct plan_time {
	replay_time start, end;
	replay_time compute, message; /* when the two streams are free behind it */
	replay_time sum[2];           /* of kernels, of messages, up to it */
};

/* A node that has a copy of an op; the next one, or PLAN_NONE. */
struct plan_holder {
	uint32_t node, next;
};

/* What a message took that was asked for before. */
struct plan_answer {
	double bytes;
	uint32_t like, parts; /* parts 0: none is here */
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
	uint32_t *free, nfree; /* [room] numbers that no node has */
	/* Changes that can be undone: see log.c. */
	struct VEC(uint32_t) log;
	/* Positions whose times are those of the plan as it is now. */
	uint32_t clean;
	bool replayed; /* all of the order has its times, and makespan is theirs */
	replay_time makespan;
	bool *waited;     /* [room] messages: the compute stream has waited for it */
	uint32_t *stamp;  /* [room] scratch of whoever marks nodes */
	uint32_t *within; /* [nops] the same for ops */
	uint32_t now;     /* the stamp in use */
	uint32_t *scratch, *member, *moved; /* [nops] of a move: ops, members, members of another */
	uint32_t *late;                     /* [2 * room] of plan_put_behind: nodes, positions */
	struct VEC(uint32_t) dropped;       /* ops that nothing needs any more */
	bool *flag;                         /* [nops] */
	struct plan_answer *answer;
	struct plan_counts counts;
};

/* memcpy of lists, which may be empty and nowhere. */
static inline void
plan_copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
	if (n)
		memcpy(to, from, n * sizeof *to);
}

/* --- log.c: values that change, logged --- */

void plan_log_node(struct plan *p, uint32_t node); /* before it is changed */
void plan_set_home(struct plan *p, uint32_t op, uint32_t node);
void plan_add_copy(struct plan *p, uint32_t op, uint32_t node);
void plan_drop_copy(struct plan *p, uint32_t op, uint32_t node);
/* Logs how many free numbers and list entries there are. */
void plan_log_sizes(struct plan *p);
/* Room for n entries at the end of the pool; their place. */
uint32_t plan_pool(struct plan *p, uint32_t n);
void plan_dirty(struct plan *p, uint32_t position);
void plan_remove(struct plan *p, uint32_t node); /* takes a node out of the order */
void plan_insert(struct plan *p, uint32_t node, uint32_t position);
void plan_shift(struct plan *p, uint32_t from, uint32_t to);
/* Puts the nodes at low ... high - 1 that have the stamp in use behind the one at high, in the
 * order that they have. */
void plan_put_behind(struct plan *p, uint32_t low, uint32_t high);

/* Which nodes a node reads from, in the order of its ops and their operands. */
void plan_find_preds(struct plan *p, uint32_t node);

/* Is it a member of the node, at home or as a copy? As its list of members has it, but for homes. */
bool plan_holds(const struct plan *p, uint32_t node, uint32_t op);

/* Does another node than these two read the op from its home? b may be PLAN_NONE. */
bool plan_read_outside(const struct plan *p, uint32_t op, uint32_t a, uint32_t b);

/*
 * After members of a node have changed, or who reads them: drops what nothing needs, finds out who
 * reads what, and asks for its time. A kernel of which nothing is left is gone.
 */
void plan_settle(struct plan *p, uint32_t node);

/* Gives a node these members, which are op | PLAN_COPY, ascending. */
void plan_set_members(struct plan *p, uint32_t node, const uint32_t *member, uint32_t n);

replay_time plan_time_of_message(
	struct plan *p, uint32_t like, double bytes, uint32_t tensors, uint32_t parts);

/*
 * A collective of several tensors over an axis of one device sends nothing: each result is a view
 * of its own operand, and would wait for all of them. It becomes a collective for each.
 */
void plan_split_views(struct ir_module *m);

/* After plan_apply: the node of each op of @main, by op->id; PLAN_NONE: it is in none. An array of
 * `owner`. */
uint32_t *plan_nodes_of(const void *owner, const struct plan *p, struct ir_module *m);

/*
 * pack.c: what is copied into a message before it is posted, by the rules of ir/memory/storage.h; and
 * the same again for messages that read from a node, also through others, after it has changed.
 */
replay_time plan_packing(const struct plan *p, uint32_t node);
void plan_pack_again(struct plan *p, uint32_t node);

/* The plan's own arrays, of a plan whose base and estimator are set. */
void plan_set_up(struct plan *p);
/* No node at all; then nodes one behind the other, without members; then what all of them take. */
void plan_clear(struct plan *p);
void plan_add_node(struct plan *p, uint32_t node, uint32_t parts);
void plan_settle_all(struct plan *p);
/* Every op is a node of its own, in the order of the block. */
void plan_reset(struct plan *p);

#endif
