/*
 * Shared by the files of the engine `dpro`:
 *
 *     dpro.c          Algorithm 1: along the critical path, again and again
 *     dpro_theorem.c  what is decided for two neighbours on it
 *     dpro_path.c     the critical path
 *     dpro_sync.c     t_sync and the best number of parts
 *     dpro_coarsen.c  the coarsened view
 *     dpro_alike.c    symmetry
 */
#ifndef PASSES_SEARCH_SEARCH_DPRO_H
#define PASSES_SEARCH_SEARCH_DPRO_H

#include "passes/search/search.h"

/*
 * The largest number of parts tried: 128 parts of the largest tensor of the models that dPRO was
 * measured with (VGG's, 411 MB) have 3 MB each, less than the 4 MB of BytePS.
 */
enum { DPRO_MAX_PARTS = 128 };

struct dpro_alike;

struct dpro {
	struct search *s;
	const struct search_options *o;
	struct plan *plan;
	struct dpro_alike *alike; /* NULL: blocks are treated separately */
	uint32_t *path, npath;    /* [plan_room] ops, each representing the node that it is in */
	replay_time *start, *end; /* [plan_room] by node, from the last replay */
	uint32_t *reader;         /* [plan_room] scratch */
	uint32_t changes;         /* changes of the plan in this iteration */
	bool stop;                /* search_more returned false */
};

/* False: time to stop; sets d->stop. */
bool dpro_more(struct dpro *d);

/*
 * Writes the nodes of a critical path of the last replay, in the order of time, to node[plan_room];
 * returns how many. Each starts when the previous one ends, except for times that belong to no node
 * (posting a message, waiting for it).
 */
uint32_t dpro_critical_path(const struct plan *p, uint32_t *node);

/* Of the messages that carry a result of a kernel, the one issued last; PLAN_NONE: none. */
uint32_t dpro_message_of(struct dpro *d, uint32_t kernel);
/* Of the kernels that make what a message carries, the one issued last; PLAN_NONE: none. */
uint32_t dpro_kernel_of(const struct dpro *d, uint32_t message);

/* An op whose home is the node, preferably one that other nodes read: that op stays when the node
 * is fused. (An op without readers may be removed then, and has no home.) */
uint32_t dpro_op_of(const struct plan *p, uint32_t node);

/* Time to synchronize the tensors of a message, and the best number of parts. */
struct dpro_sync {
	replay_time time;
	uint32_t parts;
};

/* OPTPARTNUM: the best number of parts, by grid search. Sets d->stop. */
struct dpro_sync dpro_best_parts(struct dpro *d, uint32_t message);
/* As above for one message of a and b; negative time: they cannot be packed. */
struct dpro_sync dpro_best_parts_packed(struct dpro *d, uint32_t a, uint32_t b);

/*
 * Kernels a and b, neighbours on the critical path: decides by Theorem 1 and applies the decision
 * (lines 6 to 15 of the listing). `known`: applies only earlier decisions for kernels like them.
 */
void dpro_kernels(struct dpro *d, uint32_t a, uint32_t b, bool known);

/*
 * Messages a and b: Theorem 2 (lines 18 to 24). Message a runs from start_of_a to *end, which is
 * set to the end of b, or of the fused message.
 */
void dpro_messages(
	struct dpro *d, uint32_t a, uint32_t b, replay_time start_of_a, replay_time *end);

/* Sets the best number of parts for a message; PLAN_NONE: does nothing. */
void dpro_part(struct dpro *d, uint32_t message);

/* Fuses the nodes of each group of the coarsened view. */
void dpro_coarsen(struct dpro *d);

/* Decisions for two neighbours on the critical path. */
enum dpro_decision { DPRO_NULL = 0, DPRO_OPFS = 1 << 0, DPRO_TSFS = 1 << 1 };

/* Classes of ops that are alike; owned by `owner`. */
struct dpro_alike *dpro_alike_create(const void *owner, const struct plan *p);

/* Drops all earlier decisions. */
void dpro_alike_forget(struct dpro_alike *a);

/* A number that nodes of alike blocks have in common; PLAN_NONE has a number of its own. */
uint64_t dpro_alike_class(const struct dpro_alike *a, const struct plan *p, uint32_t node);
/* A hash of several such numbers, in that order. */
uint64_t dpro_alike_mix(const uint64_t *class, uint32_t n);

/* Is there an earlier decision for `what`, a hash? *value: the decision. */
bool dpro_alike_find(const struct dpro_alike *a, uint64_t what, uint32_t *value);
void dpro_alike_set(struct dpro_alike *a, uint64_t what, uint32_t value);

#endif
