/* Shared by the files of engine dopt: dopt.c describes how they work together. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_IMPL_H
#define PASSES_SEARCH_SEARCH_DOPT_IMPL_H

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "passes/search/search.h"

struct dopt_colours VEC(uint32_t);

/*
 * A searcher with a plan of its own. Several run at the same time; none depends on the others, so
 * that the result does not depend on their speed.
 */
struct dopt {
	struct plan *p;
	const struct search_options *o;
	struct search_random random;
	uint32_t room, nops; /* of the plan: limits of node and op numbers */
	replay_time now;     /* makespan of the current plan */
	replay_time score;   /* of the current plan: see dopt_score */
	replay_time best_time;
	struct plan_save *best; /* owned by this searcher */
	uint32_t cold;          /* initially a plan may be worse by up to 2^-cold of the time */
	uint64_t quota;         /* remaining replays */
	double deadline;        /* clock time in seconds; 0: none */
	bool over;              /* out of time, or interrupted */
	uint32_t tick;          /* counts calls: the clock is read only now and then */
	struct dopt_near *near;
	struct dopt_colours seen; /* colours of kernels that were swept; some hundred */
	struct map seen_map;
	uint32_t *reader, *list, *colour; /* scratch: [room], [room], [nops] */
};

/* --- dopt.c --- */

/* Replays of its plan so far. */
uint64_t dopt_evaluations(const struct dopt *d);

/* May the searcher evaluate once more? */
bool dopt_more(struct dopt *d);

/* Is the searcher out of time, or was the search interrupted? */
bool dopt_over(struct dopt *d);

/* Replays; saves the plan if it is the best so far; sets now and score. */
void dopt_evaluate(struct dopt *d);

/* Replays unless the times are up to date; sets now and score. */
void dopt_refresh(struct dopt *d);

/* Evaluates the changes since `mark`; undoes them if the plan scores worse than `limit`. */
bool dopt_keep(struct dopt *d, uint32_t mark, replay_time limit);

static inline bool
dopt_may(const struct dopt *d, unsigned moves)
{
	return (d->o->moves & moves) == moves;
}

/* --- near.c: kernels to fuse with that the kernel does not read --- */

enum { DOPT_NEAR = 64 };

/* Owned by d; must be called on the plan as plan_create made it. */
struct dopt_near *dopt_near_create(struct dopt *d);

/*
 * Writes to list[DOPT_NEAR] the kernels near a kernel that read a value it reads and, if `alike`,
 * those of the same shape; returns how many.
 */
uint32_t dopt_near(struct dopt *d, uint32_t node, bool alike, uint32_t *list);

/* --- fuse.c: kernels, without regard to messages --- */

/* Fuses the pairs that save most time first, until none saves time. `noise`, in 1/1024: how much
 * the estimated savings are changed at random, to get other orders. `alike`: also pairs of kernels
 * that have only their shape in common. */
void dopt_fuse_all(struct dopt *d, uint32_t noise, bool alike);

/* Copies a kernel into all kernels that read it, if possible; does not replay. */
bool dopt_inline(struct dopt *d, uint32_t node);

/* Copies kernels into all their readers, where that saves time. */
void dopt_inline_all(struct dopt *d);

/* --- pack.c: messages --- */

/* Packs messages of gradients again, optimally for the times at which they are ready now. */
bool dopt_pack_all(struct dopt *d);

/* Sets each message to the number of parts that is fastest for the message alone. */
void dopt_part_all(struct dopt *d);

/* --- order.c: the order of issue --- */

/* Methods of scheduling, a set: see order.h. */
enum dopt_ways { DOPT_INSERT = 1, DOPT_DISPATCH = 2 };

/* Orders kernels and messages again by the best of these methods; keeps the order if none improves
 * it. */
bool dopt_order_all(struct dopt *d, unsigned ways);

/* --- change.c: small changes, each replayed --- */

/* Computes which ops look the same, into d->colour. */
void dopt_colour(struct dopt *d);

/* --- sweep.c: all of them --- */

/* Tries every small change of every message once; keeps improvements. True: there were some. */
bool dopt_sweep_messages(struct dopt *d);

/*
 * As above for kernels, one of each colour that is not in d->seen; `critical`: only kernels on the
 * critical path.
 */
bool dopt_sweep_kernels(struct dopt *d, bool critical);

/* Forgets which colours of kernels were swept. */
void dopt_sweep_anew(struct dopt *d);

/* --- walk.c: some of them --- */

/* Makes random small changes until the quota is used up; at first also to worse plans. */
void dopt_walk(struct dopt *d);

#endif
