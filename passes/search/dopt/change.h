/* What change.c, sweep.c and walk.c share: one small change. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_CHANGE_H
#define PASSES_SEARCH_SEARCH_DOPT_CHANGE_H

#include "passes/search/dopt/impl.h"

/* What can be done to a node; the second one where there is one. */
enum change_kind {
	CHANGE_FUSE,
	CHANGE_NEAR, /* with one that reads the same, or is as large */
	CHANGE_COPY,
	CHANGE_INLINE,
	CHANGE_CUT,    /* in two: the first ops, the last ops */
	CHANGE_SINGLE, /* one op goes by itself */
	CHANGE_SHIFT,  /* and into a neighbour */
	CHANGE_APART, /* cut in two, of which each computes for itself what it needs of the other */
	CHANGE_LEAVE, /* the same with one op that leaves */
	CHANGE_PACK,
	CHANGE_UNPACK,
	CHANGE_BORDER, /* a tensor goes from a message to its neighbour */
	CHANGE_PART,
	CHANGE_MOVE,
	CHANGE_KINDS
};

struct change {
	enum change_kind kind;
	uint32_t node, other;
	uint32_t at; /* which op, how many parts, which position */
};

/* May changes of that kind be done at all? */
bool change_allowed(const struct dopt *d, enum change_kind kind);

/*
 * Does it, replays, and takes it back if it scores worse than the limit. False: it is not possible,
 * or was taken back.
 */
bool change_try(struct dopt *d, const struct change *c, replay_time limit);

/*
 * What a change is done to, to find its twins once it is done: call change_colours before. Twins
 * are the places that look the same; each is tried, and kept where it scores better.
 */
struct change_colours {
	uint32_t node, other;
};
struct change_colours change_colours(const struct dopt *d, const struct change *c);
void change_try_twins(struct dopt *d, const struct change *c, struct change_colours colours);

/* Equal for nodes that do the same. */
uint32_t change_colour(const struct dopt *d, uint32_t node);

#endif
