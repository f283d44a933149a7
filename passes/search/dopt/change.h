/* Small changes of a plan, for change.c, sweep.c and walk.c. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_CHANGE_H
#define PASSES_SEARCH_SEARCH_DOPT_CHANGE_H

#include "passes/search/dopt/impl.h"

/* Changes of a node, some together with another node. */
enum change_kind {
	CHANGE_FUSE,
	CHANGE_NEAR, /* fuse with a kernel that reads the same, or has the same size */
	CHANGE_COPY,
	CHANGE_INLINE,
	CHANGE_CUT,    /* cut into two nodes: the first ops, the last ops */
	CHANGE_SINGLE, /* make one op a node */
	CHANGE_SHIFT,  /* move one op into a neighbour */
	CHANGE_APART,  /* cut in two; each part recomputes the ops that it needs of the other */
	CHANGE_LEAVE,  /* the same for one op that leaves */
	CHANGE_PACK,
	CHANGE_UNPACK,
	CHANGE_BORDER, /* move a tensor from a message to its neighbour */
	CHANGE_PART,
	CHANGE_MOVE,
	CHANGE_KINDS
};

struct change {
	enum change_kind kind;
	uint32_t node, other;
	uint32_t at; /* which op, the number of parts, or the position */
};

/* Do the options allow changes of that kind? */
bool change_allowed(const struct dopt *d, enum change_kind kind);

/*
 * Makes the change, replays, and undoes it if it scores worse than the limit. False: it was not
 * possible, or was undone.
 */
bool change_try(struct dopt *d, const struct change *c, replay_time limit);

/*
 * The colours of the nodes of a change, needed to find its twins after it: call change_colours
 * before the change. Twins are the places that look the same; the change is tried at each, and kept
 * if it scores better.
 */
struct change_colours {
	uint32_t node, other;
};
struct change_colours change_colours(const struct dopt *d, const struct change *c);
void change_try_twins(struct dopt *d, const struct change *c, struct change_colours colours);

/* The colour of a node: equal for nodes that do the same. */
uint32_t change_colour(const struct dopt *d, uint32_t node);

#endif
