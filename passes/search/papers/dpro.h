/*
 * What the files of the engine `dpro` share:
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
 * More parts than that are not tried: 128 parts of the largest tensor of the models that it was
 * measured with (VGG's, 411 MB) are 3 MB each, below the 4 MB of BytePS.
 */
enum { DPRO_MAX_PARTS = 128 };

struct dpro_alike;

struct dpro {
	struct search *s;
	const struct search_options *o;
	struct plan *plan;
	struct dpro_alike *alike; /* NULL: every block is looked at by itself */
	uint32_t *path, npath;    /* [plan_room] ops, each for the node that it is in */
	replay_time *start, *end; /* [plan_room] of nodes, as the last replay had them */
	uint32_t *reader;         /* [plan_room] scratch */
	uint32_t changes;         /* of the plan, in this iteration */
	bool stop;                /* search_more said so */
};

/* False: time to stop; sets d->stop. */
bool dpro_more(struct dpro *d);

/*
 * The nodes of a critical path of the last replay, in the order of time, into node[plan_room];
 * returns how many. Each starts when the one before it ends, but for what takes time and is in no
 * node (posting a message, waiting for it).
 */
uint32_t dpro_critical_path(const struct plan *p, uint32_t *node);

/* The messages that carry what a kernel makes, the one that was issued last; PLAN_NONE: null. */
uint32_t dpro_message_of(struct dpro *d, uint32_t kernel);
/* The kernel that makes what a message carries, the one that was issued last; PLAN_NONE: none. */
uint32_t dpro_kernel_of(const struct dpro *d, uint32_t message);

/* An op that is at home in a node, and read by others if there is one such: that stays when the
 * node is fused. (What nothing reads may be gone then, and is at home nowhere.) */
uint32_t dpro_op_of(const struct plan *p, uint32_t node);

/* What it takes to synchronize the tensors of a message; parts: their best number. */
struct dpro_sync {
	replay_time time;
	uint32_t parts;
};

/* OPTPARTNUM: the best number of parts, by grid search. Sets d->stop. */
struct dpro_sync dpro_best_parts(struct dpro *d, uint32_t message);
/* The same for one message of a and b; time negative: they cannot be one. */
struct dpro_sync dpro_best_parts_packed(struct dpro *d, uint32_t a, uint32_t b);

/*
 * Kernels a and b, neighbours on the critical path: decides by Theorem 1 and does it (lines 6 to 15
 * of the listing). `known`: only what was decided before for kernels like them.
 */
void dpro_kernels(struct dpro *d, uint32_t a, uint32_t b, bool known);

/*
 * Messages a and b: Theorem 2 (lines 18 to 24). Message a runs from start_of_a to *end, which is
 * set to the end of b, or of both as one.
 */
void dpro_messages(
	struct dpro *d, uint32_t a, uint32_t b, replay_time start_of_a, replay_time *end);

/* A message goes in the number of parts that is best for it; PLAN_NONE: nothing is done. */
void dpro_part(struct dpro *d, uint32_t message);

/* Fuses what is in one group of the coarsened view. */
void dpro_coarsen(struct dpro *d);

/* What was decided for two neighbours on the critical path. */
enum dpro_decision { DPRO_NULL = 0, DPRO_OPFS = 1 << 0, DPRO_TSFS = 1 << 1 };

/* Which parts of a step are alike; owned by `owner`. */
struct dpro_alike *dpro_alike_create(const void *owner, const struct plan *p);

/* Decisions of before do not count any more. */
void dpro_alike_forget(struct dpro_alike *a);

/* A number that nodes of blocks that are alike have in common; that of PLAN_NONE is one of its
 * own. */
uint64_t dpro_alike_class(const struct dpro_alike *a, const struct plan *p, uint32_t node);
/* Of several numbers, in that order. */
uint64_t dpro_alike_mix(const uint64_t *class, uint32_t n);

/* Was something decided before for a `what` of that number? *value is what. */
bool dpro_alike_find(const struct dpro_alike *a, uint64_t what, uint32_t *value);
void dpro_alike_set(struct dpro_alike *a, uint64_t what, uint32_t value);

#endif
