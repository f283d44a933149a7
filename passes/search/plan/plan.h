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
 * The plan of the unchanged module: each op is a kernel or a message of its own. @main must have no
 * calls; fuses in it stay as they are, as one op each. Collectives of several tensors that send
 * nothing, over an axis of one device, are split in the module into one for each tensor. The module
 * and the model must live, unchanged, as long as the plan. Owned by `owner`; NULL: reported.
 */
struct plan *plan_create(const void *owner, const struct cost_model *model, struct ir_module *m);

/* A copy of the current plan for another thread; earlier changes cannot be undone in it. */
struct plan *plan_clone(const void *owner, const struct plan *p);

/*
 * Applies the plan to the module: fuses, variadic collectives with their `parts`, and the order.
 * The module must be that of plan_create, a clone of it, or a clone of the module that it was
 * cloned from; afterwards the plan is no longer valid for the module.
 *
 * Checks that each remaining op is in the block once, after its operands. False: an op is not;
 * *wrong (unless NULL) is that op. That is a bug in the plan, and the module is broken.
 */
bool plan_apply(const struct plan *p, struct ir_module *m, const struct ir_op **wrong);

/*
 * plan_module_to_change clones the plan's module for passes that fuse, copy and pack. plan_read
 * then sets the kernels, messages and order of p from that module. False: the module has kernels
 * that no plan can have, with ops that do no work; then p is the plan that plan_create made.
 */
struct ir_module *plan_module_to_change(const void *owner, const struct plan *p);
bool plan_read(struct plan *p, struct ir_module *m); /* invalidates marks */

/* --- current state --- */

enum plan_kind { PLAN_KERNEL, PLAN_MESSAGE };

/* Flags of a member: it is a copy; other nodes read it. */
#define PLAN_COPY 0x80000000u
#define PLAN_OUT 0x40000000u
#define PLAN_OP 0x3fffffffu
#define PLAN_OP_OF(member) ((member)&PLAN_OP)

struct plan_node {
	const uint32_t *op;   /* [nops] ascending, PLAN_OP_OF(op[i]); in kernels also copies */
	const uint32_t *pred; /* [npreds] nodes that it reads, once each, in order of operands */
	uint32_t nops, npreds;
	uint32_t position; /* in the issue order */
	enum plan_kind kind;
	uint32_t parts;         /* of a message: number of chunks */
	double bytes;           /* of a message, all its tensors */
	replay_time duration;   /* current estimate */
	replay_time start, end; /* from the last replay: replay again after an undo */
};

uint32_t plan_room(const struct plan *p);                  /* limit of node numbers */
uint32_t plan_count(const struct plan *p);                 /* number of existing nodes */
uint32_t plan_at(const struct plan *p, uint32_t position); /* the node there; < plan_count */
/* Does the node exist? `node` is less than plan_room; moves remove nodes. */
bool plan_exists(const struct plan *p, uint32_t node);
/* An existing node; valid until the next change. */
struct plan_node plan_node(const struct plan *p, uint32_t node);

/* The node that is home to an op; PLAN_NONE: the op does no work, or only copies of it exist. */
uint32_t plan_home(const struct plan *p, uint32_t op);

/* Writes the nodes that read from a node to reader[plan_room], each once, ascending; returns how
 * many. */
uint32_t plan_readers(struct plan *p, uint32_t node, uint32_t *reader);

const struct ir_op *plan_op(const struct plan *p, uint32_t op);
/* The number of an op of the module; PLAN_NONE: it has none. */
uint32_t plan_number(const struct plan *p, const struct ir_op *op);
uint32_t plan_ops(const struct plan *p); /* limit of op numbers */

/*
 * Is a sweep over nodes unable to replay the step, because it has loops or because devices do
 * different things? Then each replay applies the plan to a module, which is a thousand times slower
 * and cannot be done by several threads at once.
 */
bool plan_is_whole(const struct plan *p);

/* --- moves: if one is not possible, it returns false (or PLAN_NONE) and changes nothing --- */

enum plan_fuse {
	PLAN_FUSE,     /* non-duplicate: other readers wait for the fused kernel */
	PLAN_FUSE_COPY /* duplicate: the producer also stays if it has other readers */
};

/*
 * Fuses kernels a and b into one, which has the number of b. With PLAN_FUSE they may be any two
 * kernels (b reads a, a reads b, or neither, such as two that read the same tensor); with
 * PLAN_FUSE_COPY b reads a. Nodes between them in the order are moved before or after the kernel as
 * needed. Not possible if a path through other nodes connects them, or if passes/fuse/fuse.h
 * forbids it. Copies that are no longer read are removed.
 */
bool plan_fuse(struct plan *p, uint32_t a, uint32_t b, enum plan_fuse how);

/*
 * Splits the ops op[n], some but not all ops of a kernel, off into a new kernel, which all of their
 * readers then read; returns its number. The remaining ops keep the old number.
 */
uint32_t plan_unfuse(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n);

/* Packs messages a and b, of the same kind, into one, with the number and the parts of b. */
bool plan_pack(struct plan *p, uint32_t a, uint32_t b);

/* Splits the collectives op[n] of a message off into a new message; returns its number. */
uint32_t plan_unpack(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n);

/* Sends the message in `parts` chunks, at least 1. */
bool plan_part(struct plan *p, uint32_t node, uint32_t parts);

/* Moves the node to that position; the nodes between move by one. Not possible across nodes that it
 * reads or that read it. */
bool plan_move(struct plan *p, uint32_t node, uint32_t position);

/* Can messages a and b be packed: are kind, axis, dim and element type equal? */
bool plan_packs(const struct plan *p, uint32_t a, uint32_t b);

/* --- evaluation --- */

/* Replays and returns the makespan; incremental: from the first change until times agree again. */
replay_time plan_replay(struct plan *p);

/* As plan_replay, but from the start of the step: to measure what that would cost a search. */
replay_time plan_replay_all(struct plan *p);

/* slack[plan_room]: how much later each node could end without changing the makespan
 * (replay_slack); call after a replay. */
void plan_slack(const struct plan *p, replay_time *slack);

/*
 * The time of the message alone in `parts` chunks, whatever its current number: the t_sync(s, k) of
 * dPRO's partial replay.
 */
replay_time plan_message_time(struct plan *p, uint32_t node, uint32_t parts);

/* The time of a kernel fused of a and b; negative: not possible as one kernel. */
replay_time plan_fused_time(struct plan *p, uint32_t a, uint32_t b);

/* The time of a message packed of a and b in `parts` chunks. */
replay_time plan_packed_time(struct plan *p, uint32_t a, uint32_t b, uint32_t parts);

/* The sum of the durations of all kernels; of all messages. */
replay_time plan_compute(const struct plan *p);
replay_time plan_communication(const struct plan *p);

/* --- undo, and saved candidates --- */

uint32_t plan_mark(const struct plan *p);
/* Undoes everything since the mark, replays included. */
void plan_undo(struct plan *p, uint32_t mark);
/* Drops the undo log: earlier changes cannot be undone; invalidates marks. */
void plan_forget(struct plan *p);

/* A saved candidate, for any plan or clone of the same module; owned by `owner`. */
struct plan_save *plan_save(const void *owner, const struct plan *p);
void plan_load(struct plan *p, const struct plan_save *s); /* invalidates marks */
size_t plan_save_bytes(const struct plan_save *s);

/* Numbers of replays, of moves made, and of moves that were not possible. */
struct plan_counts {
	uint64_t replays, moves, refused;
};
struct plan_counts plan_counts(const struct plan *p);

/* The sources of the kernel times used by this plan (estimate.h). */
struct estimator_counts plan_estimates(const struct plan *p);

#endif
