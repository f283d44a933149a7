/* See array.h. */
#include "ir/base/array.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum array_exit {
	EXIT_MEMORY = 1, /* as enum driver_exit: what the input needs is not there */
	EXIT_BUG = 3,    /* nothing could need that much */
};

/* Bytes that the page tables of no 64-bit machine reach in one process: 128 TiB. */
static const size_t most_bytes = (size_t)1 << 47;

enum { AMOUNT_BYTES = 64 };

struct block {
	alignas(max_align_t) struct holder *holder;
	size_t bytes;
};

struct holder {
	struct block *block;
};

static bool
is_absurd(size_t n, size_t size)
{
	return size && n > most_bytes / size;
}

/* How much was asked for. The product may be more than a size_t holds. */
static void
amount_text(char text[AMOUNT_BYTES], size_t n, size_t size)
{
	if (is_absurd(n, size) && size > 1)
		snprintf(text, AMOUNT_BYTES, "%zu times %zu bytes", n, size);
	else
		snprintf(text, AMOUNT_BYTES, "%zu bytes", n * size);
}

_Noreturn void
out_of_memory_for(size_t n, size_t size, const char *what)
{
	const bool absurd = is_absurd(n, size);
	char amount[AMOUNT_BYTES];

	amount_text(amount, n, size);
	fprintf(stderr, "dopt: %s: cannot allocate %s for %s%s\n",
		absurd ? "internal error" : "out of memory", amount, what,
		absurd ? ": size out of range" : "");
	exit(absurd ? EXIT_BUG : EXIT_MEMORY);
}

static size_t
block_bytes(size_t n, size_t size, const char *what)
{
	if (is_absurd(n, size))
		out_of_memory_for(n, size, what);
	return sizeof(struct block) + n * size;
}

static int
holder_destroy(struct holder *h)
{
	free(h->block);
	return 0;
}

/* Room for n elements in a block of `owner`, zeroed or not. */
static void *
create(const void *owner, size_t n, size_t size, const char *what, bool zero)
{
	const size_t bytes = block_bytes(n, size, what);
	struct holder *h = talloc(owner, struct holder);
	/* The kernel's pages are zero already, and are not there before they are written to. */
	struct block *b = zero ? calloc(1, bytes) : malloc(bytes);

	if (!h || !b)
		out_of_memory_for(n, size, what);
	h->block = b;
	talloc_set_destructor(h, holder_destroy);
	*b = (struct block){h, n * size};
	return b + 1;
}

static struct block *
block_of(const void *array)
{
	return (struct block *)array - 1;
}

void *
array_create(const void *owner, size_t n, size_t size, const char *what)
{
	return create(owner, n, size, what, false);
}

void *
array_create_zero(const void *owner, size_t n, size_t size, const char *what)
{
	return create(owner, n, size, what, true);
}

void *
array_resize(const void *owner, void *array, size_t n, size_t size, const char *what)
{
	if (!array)
		return create(owner, n, size, what, false);
	struct holder *h = block_of(array)->holder;
	struct block *b = realloc(h->block, block_bytes(n, size, what));
	if (!b)
		out_of_memory_for(n, size, what);
	b->bytes = n * size;
	h->block = b;
	return b + 1;
}

void
array_free(const void *array)
{
	if (array)
		talloc_free(block_of(array)->holder);
}

void
array_steal(const void *owner, const void *array)
{
	talloc_steal(owner, block_of(array)->holder);
}

void *
array_context(const void *array)
{
	return block_of(array)->holder;
}

size_t
array_bytes(const void *array)
{
	return block_of(array)->bytes;
}

void *
array_copy(const void *owner, const void *array)
{
	const size_t n = array_bytes(array);

	return memcpy(array_create(owner, n, 1, "a copy of an array"), array, n);
}
