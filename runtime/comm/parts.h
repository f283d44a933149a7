/* Parts of a collective: the elements of its message, those of all buffers in a row, cut into
 * nearly equal ranges. Each range is a collective by itself, so that no transport has to know. */
#ifndef RUNTIME_PARTS_H
#define RUNTIME_PARTS_H

#include "runtime/rt_program.h"

/* Buffers that one part may need at most, over all collectives of a program; 0: none has parts. */
int rt_parts_room(const struct rt_program *p);

/* How many parts a collective goes in, at least 1. */
static inline int
rt_parts(const struct rt_coll *c)
{
	return c->parts > 1 ? c->parts : 1;
}

/* Part i of a collective on an axis of so many places. Its buffers are in room[rt_parts_room], but
 * where it has one part, which is itself. Without buffers where there are fewer elements than
 * parts. */
struct rt_coll rt_part(const struct rt_coll *c, int places, int i, struct rt_buf *room);

#endif
