/*
 * A plan, the candidate of a search: the assignment of the ops of a step to kernels and messages,
 * and the order in which these are issued. A search changes it; plan_apply converts it to IR.
 *
 *     module ──plan_create──> plan <──moves, marks, undo──> search engine (search.h)
 *                              │ plan_replay: the makespan that the cost model computes for
 *                              │ the applied module, to the picosecond
 *                              └──plan_apply──> module
 *
 * Nodes are kernels and messages. A kernel computes one or more ops of @main: each op has one home,
 * the kernel whose result other nodes read, and may have copies in kernels that use it themselves
 * (duplicate fusion: DisCo, section 2.2). A message is one or more collectives of the same kind,
 * axis and element type, sent in one or more chunks (dPRO, section 5.1). Ops that are not work
 * (params, views, updates) are in no node; a reader of a view reads the viewed value.
 *
 * Ops are named by their number in the block as plan_create numbered it. Times are picoseconds.
 */
#ifndef PASSES_SEARCH_PLAN_H
#define PASSES_SEARCH_PLAN_H

#include "ir/ir.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/estimate/estimate.h"
#include "passes/analysis/replay/replay.h"

#define PLAN_NONE UINT32_MAX

struct plan;
struct plan_save;

/*
 * The plan that is the module as it stands: each op a kernel or a message of its own. @main must
 * have no calls; fuses in it stay as they are, as one op each. Collectives of several tensors that
 * send nothing, over an axis of one device, are split in the module into one for each tensor. The
 * module and the model must live and stay as long as the plan. Owned by `owner`; NULL after
 * reporting.
 */
struct plan *plan_create(const void *owner, const struct cost_model *model, struct ir_module *m);

/* A copy for another thread, as the plan is now; nothing can be undone in it. */
struct plan *plan_clone(const void *owner, const struct plan *p);

/*
 * Makes the module what the plan says: fuses, variadic collectives with their `parts`, and the
 * order. The module must be that of plan_create, a clone of it, or of what that was made of; the
 * plan is void for a module once it is applied to it.
 *
 * Each op that stays is found to stand in the block once, after its operands. False: one does not,
 * and *wrong is it (NULL: not asked). That is a bug of the plan, and the module is broken.
 */
bool plan_apply(const struct plan *p, struct ir_module *m, const struct ir_op **wrong);

/*
 * A clone of the plan's module for passes to fuse, copy and pack in, and the plan that it is then:
 * plan_read gives p the kernels, messages and order of the module. False, and p is the plan that
 * plan_create made: the module has kernels that no plan has, with ops in them that are no work.
 */
struct ir_module *plan_module_to_change(const void *owner, const struct plan *p);
bool plan_read(struct plan *p, struct ir_module *m); /* marks are void */

/* --- current state --- */

enum plan_kind { PLAN_KERNEL, PLAN_MESSAGE };

/* Lists of ops say with each whether it is a copy, and whether others read it. */
#define PLAN_COPY 0x80000000u
#define PLAN_OUT 0x40000000u
#define PLAN_OP 0x3fffffffu
#define PLAN_OP_OF(member) ((member)&PLAN_OP)

struct plan_node {
	const uint32_t *op; /* [nops] ascending; in a kernel also copies: each PLAN_OP_OF(op[i]) */
	const uint32_t *pred; /* [npreds] nodes that it reads from, each once, in the order of its
				 operands */
	uint32_t nops, npreds;
	uint32_t position; /* in the order of issue */
	enum plan_kind kind;
	uint32_t parts;         /* of a message */
	double bytes;           /* of a message, all its tensors */
	replay_time duration;   /* what is estimated for it now */
	replay_time start, end; /* of the last replay: after an undo, replay again */
};

uint32_t plan_room(const struct plan *p);                  /* numbers of nodes are below that */
uint32_t plan_count(const struct plan *p);                 /* nodes that there are */
uint32_t plan_at(const struct plan *p, uint32_t position); /* the node there; position < count */
/* Is there a node of that number, which is below plan_room? Moves take nodes away. */
bool plan_exists(const struct plan *p, uint32_t node);
/* Of a node that there is; good until the next change. */
struct plan_node plan_node(const struct plan *p, uint32_t node);

/* The node that is home to an op; PLAN_NONE: it does no work, or only copies of it are left. */
uint32_t plan_home(const struct plan *p, uint32_t op);

/* Nodes that read from a node, each once, ascending, into reader[plan_room]; returns how many. */
uint32_t plan_readers(struct plan *p, uint32_t node, uint32_t *reader);

const struct ir_op *plan_op(const struct plan *p, uint32_t op);
/* The number of an op of the module; PLAN_NONE: it has none. */
uint32_t plan_number(const struct plan *p, const struct ir_op *op);
uint32_t plan_ops(const struct plan *p); /* numbers of ops are below that */

/*
 * Can the step not be replayed by a sweep over nodes, because it has loops or devices that do
 * different things? Then each replay applies the plan to a module: a thousand times slower, and not
 * usable by several threads at once.
 */
bool plan_is_whole(const struct plan *p);

/* --- moves: false (or PLAN_NONE), and nothing changes, where it is not possible --- */

enum plan_fuse {
	PLAN_FUSE,     /* non-duplicate: other readers wait for the fused kernel */
	PLAN_FUSE_COPY /* duplicate: the producer also stays, for its other readers, if it has any
			*/
};

/*
 * Kernels a and b become one, which has the number of b. With PLAN_FUSE they may be any two
 * kernels (b reads a, a reads b, or neither, such as two that read the same tensor); with
 * PLAN_FUSE_COPY b reads a. What stands between them in the order is moved before or behind where
 * it has to be; a path between them through others makes it impossible, and so does what
 * passes/fuse/fuse.h forbids. Copies that nobody reads any more are gone.
 */
bool plan_fuse(struct plan *p, uint32_t a, uint32_t b, enum plan_fuse how);

/*
 * The ops op[n] of a kernel, some but not all of it, become a kernel of their own, for all who read
 * them; its number is returned. What is left keeps the number.
 */
uint32_t plan_unfuse(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n);

/* Messages a and b, of one kind, become one, which has the number of b and its parts. */
bool plan_pack(struct plan *p, uint32_t a, uint32_t b);

/* The collectives op[n] of a message become a message of their own. */
uint32_t plan_unpack(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n);

/* Sends the message in that many chunks, at least 1. */
bool plan_part(struct plan *p, uint32_t node, uint32_t parts);

/* The node gets that position; those between move by one. It stays between what it reads and what
 * reads it. */
bool plan_move(struct plan *p, uint32_t node, uint32_t position);

/* May messages a and b be one: the same kind, axis, dim, element type? */
bool plan_packs(const struct plan *p, uint32_t a, uint32_t b);

/* --- evaluation --- */

/* The makespan; incremental: from the first change on until nothing is different. */
replay_time plan_replay(struct plan *p);

/* The same from the start of the step on, changed or not: to see what that would cost a search. */
replay_time plan_replay_all(struct plan *p);

/* slack[plan_room]: how much later each node could end with the makespan as it is (replay_slack);
 * after a replay. */
void plan_slack(const struct plan *p, replay_time *slack);

/*
 * The message alone, in that many parts, whatever it is now in: what dPRO's partial replay gives,
 * t_sync(s, k).
 */
replay_time plan_message_time(struct plan *p, uint32_t node, uint32_t parts);

/* What a kernel of a and b together would take; negative: not possible as one kernel. */
replay_time plan_fused_time(struct plan *p, uint32_t a, uint32_t b);

/* What one message of a and b would take in k parts. */
replay_time plan_packed_time(struct plan *p, uint32_t a, uint32_t b, uint32_t parts);

/* Sum of the durations of all kernels, of all messages. */
replay_time plan_compute(const struct plan *p);
replay_time plan_communication(const struct plan *p);

/* --- undo, and other candidates --- */

uint32_t plan_mark(const struct plan *p);
/* Undoes all since then, replays included. */
void plan_undo(struct plan *p, uint32_t mark);
/* Nothing before now can be undone; marks are void. */
void plan_forget(struct plan *p);

/* A candidate to come back to, of any plan or clone of the same module; owned by `owner`. */
struct plan_save *plan_save(const void *owner, const struct plan *p);
void plan_load(struct plan *p, const struct plan_save *s); /* marks are void */
size_t plan_save_bytes(const struct plan_save *s);

/* How many replays there were, moves that were done, and moves that were not possible. */
struct plan_counts {
	uint64_t replays, moves, refused;
};
struct plan_counts plan_counts(const struct plan *p);

/* Where the times of kernels that this plan asked for are from (estimate.h). */
struct estimator_counts plan_estimates(const struct plan *p);

#endif
