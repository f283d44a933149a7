/* Parts of a collective: the elements of its message, those of all buffers in order, cut into
 * nearly equal ranges. Each range is a collective by itself, so transports need no code for
 * parts. */
#ifndef RUNTIME_PARTS_H
#define RUNTIME_PARTS_H

#include "runtime/rt_program.h"

/* The most buffers that one part needs, over all collectives of a program; 0: no collective has
 * several parts. */
int rt_parts_room(const struct rt_program *p);

/* The number of parts of a collective, at least 1. */
static inline int
rt_parts(const struct rt_coll *c)
{
	return c->parts > 1 ? c->parts : 1;
}

/* Part i of a collective on an axis with `places` places. Its buffers are in room[rt_parts_room]; a
 * collective with one part is returned as it is. A part has no buffers if there are fewer elements
 * than parts. */
struct rt_coll rt_part(const struct rt_coll *c, int places, int i, struct rt_buf *room);

#endif
