/* What the files of engine dopt share: dopt.c says how they work together. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_IMPL_H
#define PASSES_SEARCH_SEARCH_DOPT_IMPL_H

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "passes/search/search.h"

struct dopt_colours VEC(uint32_t);

/*
 * One searcher on a plan of its own. Several work at the same time; each does the same whatever the
 * others do, so that what they find does not depend on how fast they are.
 */
struct dopt {
	struct plan *p;
	const struct search_options *o;
	struct search_random random;
	uint32_t room, nops; /* of the plan */
	replay_time now;     /* makespan of the plan as it is */
	replay_time score;   /* of the same: see dopt_score */
	replay_time best_time;
	struct plan_save *best; /* owned by this */
	uint32_t cold;          /* a worse plan is accepted up to 2^-cold of the time, at first */
	uint64_t quota;         /* of replays */
	double deadline;        /* seconds of the clock; 0: none */
	bool over;              /* time is over, or somebody interrupted */
	uint32_t tick;          /* the clock is read once in a while */
	struct dopt_near *near;
	struct dopt_colours seen; /* of kernels that were swept: in a large step some hundred */
	struct map seen_map;
	uint32_t *reader, *list, *colour; /* scratch [room], [room], of ops [nops] */
};

/* --- dopt.c --- */

/* A searcher on p, which is replayed; owned by `owner`. */
struct dopt *dopt_create(
	const void *owner, struct plan *p, const struct search_options *o, uint64_t seed);

/* Replays of its plan so far. */
uint64_t dopt_evaluations(const struct dopt *d);

/* May it evaluate once more? */
bool dopt_more(struct dopt *d);

/* Is the time over, or did somebody interrupt? */
bool dopt_over(struct dopt *d);

/* Replays, remembers the plan if it is the best so far, sets now and score. */
void dopt_evaluate(struct dopt *d);

/* Replays if times are not those of the plan as it is; sets now and score. */
void dopt_refresh(struct dopt *d);

/* Evaluates what was changed since the mark; takes it back if it scores worse than `limit`. */
bool dopt_keep(struct dopt *d, uint32_t mark, replay_time limit);

static inline bool
dopt_may(const struct dopt *d, unsigned moves)
{
	return (d->o->moves & moves) == moves;
}

/* --- near.c: what a kernel may be fused with that it does not read --- */

enum { DOPT_NEAR = 64 };

/* Owned by d; asks the plan as plan_create made it. */
struct dopt_near *dopt_near_create(struct dopt *d);

/*
 * Kernels near a kernel that read what it reads and, if `alike`, that have its shape, into
 * list[DOPT_NEAR]; returns how many.
 */
uint32_t dopt_near(struct dopt *d, uint32_t node, bool alike, uint32_t *list);

/* --- fuse.c: kernels, without regard to messages --- */

/* Fuses what saves most time first, until nothing saves any. `noise` in 1/1024: how much what a
 * fusion is said to save is made larger or smaller at random, so that others come first. `alike`:
 * kernels that have only their shape in common, too. */
void dopt_fuse_all(struct dopt *d, uint32_t noise, bool alike);

/* Puts copies of a kernel into all kernels that read it, where that is possible; does not replay.
 */
bool dopt_inline(struct dopt *d, uint32_t node);

/* Puts copies of kernels into all who read them, where that saves time. */
void dopt_inline_all(struct dopt *d);

/* --- pack.c: messages --- */

/* Packs messages of gradients anew, optimally for the times at which they are ready now. */
bool dopt_pack_all(struct dopt *d);

/* Each message in the number of parts that is fastest for it alone. */
void dopt_part_all(struct dopt *d);

/* --- order.c: the order of issue --- */

/* Ways to make a schedule, a set: see order.h. */
enum dopt_ways { DOPT_INSERT = 1, DOPT_DISPATCH = 2 };

/* Orders kernels and messages anew, in the best of these ways; keeps the order if that is no
 * better. */
bool dopt_order_all(struct dopt *d, unsigned ways);

/* --- change.c: small changes, each replayed --- */

/* Finds out which ops look the same, into d->colour. */
void dopt_colour(struct dopt *d);

/* --- sweep.c: all of them --- */

/* Every small change of every message once; keeps what is better. True: something was. */
bool dopt_sweep_messages(struct dopt *d);

/*
 * The same of kernels, one of each kind that looks the same and is not in d->seen; of those on the
 * critical path only, or of all.
 */
bool dopt_sweep_kernels(struct dopt *d, bool critical);

/* Forgets which kernels were swept. */
void dopt_sweep_anew(struct dopt *d);

/* --- walk.c: some of them --- */

/* Small changes at random, until the quota is used up; worse ones, too, at first. */
void dopt_walk(struct dopt *d);

#endif
