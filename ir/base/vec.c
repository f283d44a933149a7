/* See vec.h. */
#include "ir/base/vec.h"

#include "ir/base/arena.h"

#include <string.h>

enum { FIRST_ROOM = 8 };

static int64_t
larger(int64_t room, int64_t most)
{
	room = room ? 2 * room : FIRST_ROOM;
	return room < most ? most : room;
}

void *
vec_grow(const void *owner, void *at, int64_t *room, int64_t most, size_t size)
{
	*room = larger(*room, most);
	return array_resize(owner, at, (size_t)*room, size, "a list");
}

void *
vec_grow_in(struct arena *a, void *at, int64_t *room, int64_t n, size_t size)
{
	*room = larger(*room, n + 1);
	void *to = arena_alloc(a, (size_t)*room * size);
	return n ? memcpy(to, at, (size_t)n * size) : to;
}
