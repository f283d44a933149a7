/* See vec.h. */
#include "ir/base/vec.h"

#include "ir/base/arena.h"

#include <talloc.h>

enum { FIRST_ROOM = 8 };

static size_t
larger(size_t room, size_t most)
{
	room = room ? 2 * room : FIRST_ROOM;
	return room < most ? most : room;
}

void *
list_room(const void *owner, void *list, size_t most, size_t size)
{
	const size_t room = list ? talloc_get_size(list) / size : 0;

	if (most <= room)
		return list;
	return alloc_resize(owner, list, larger(room, most), size, "a list");
}

void *
array_room(const void *owner, void *array, size_t most, size_t size)
{
	const size_t room = array ? array_bytes(array) / size : 0;

	if (most <= room)
		return array;
	return array_resize(owner, array, larger(room, most), size, "a list");
}

void *
vec_grow(const void *owner, void *at, int64_t *room, int64_t most, size_t size)
{
	*room = (int64_t)larger((size_t)*room, (size_t)most);
	return array_resize(owner, at, (size_t)*room, size, "a list");
}

void *
vec_grow_in(struct arena *a, void *at, int64_t *room, int64_t n, size_t size)
{
	*room = (int64_t)larger((size_t)*room, (size_t)n + 1);
	void *to = arena_alloc(a, (size_t)*room * size);
	return n ? memcpy(to, at, (size_t)n * size) : to;
}
