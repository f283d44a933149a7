/* Arenas: a list of chunks, each twice as large as the last, up to a limit. */
#include "ir/base/arena.h"

#include "ir/base/alloc.h"

#include <stdint.h>
#include <string.h>

enum {
	ARENA_FIRST_CHUNK = 4 << 10, /* small: many arenas hold a handful of objects */
	ARENA_LAST_CHUNK = 1 << 20,  /* large enough that chunk headers vanish */
	ARENA_ALIGN = 8,
};

static const char contents[] = "ops, values and attributes"; /* for messages */

struct arena {
	char *start, *next, *end; /* of the current chunk */
	size_t chunk, used;
};

struct arena *
arena_create(const void *owner)
{
	struct arena *a = NEW(owner, struct arena);

	a->chunk = ARENA_FIRST_CHUNK;
	return a;
}

static void
arena_grow(struct arena *a, size_t size)
{
	size_t bytes = size > a->chunk ? size : a->chunk;

	a->next = array_create_zero(a, bytes, 1, contents);
	a->start = a->next;
	a->end = a->next + bytes;
	if (a->chunk < ARENA_LAST_CHUNK)
		a->chunk *= 2;
}

void *
arena_alloc(struct arena *a, size_t size)
{
	if (size > SIZE_MAX - ARENA_ALIGN) /* rounded up it would be 0 */
		out_of_memory_for(size, 1, contents);
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!a->next || size > (size_t)(a->end - a->next))
		arena_grow(a, size);
	void *p = a->next;
	a->next += size;
	a->used += size;
	return p;
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

/* Earlier chunks stay unused: together they are smaller than the current one. */
void
arena_reset(struct arena *a)
{
	if (a->next)
		memset(a->start, 0, (size_t)(a->next - a->start));
	a->next = a->start;
	a->used = 0;
}

size_t
arena_bytes(const struct arena *a)
{
	return a->used;
}
