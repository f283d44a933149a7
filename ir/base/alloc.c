/* See alloc.h. */
#include "ir/base/alloc.h"

#include "ir/base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <talloc.h>

enum array_exit {
	EXIT_MEMORY = 1, /* as enum driver_exit: a resource that the input needs is missing */
	EXIT_BUG = 3,    /* more than any use needs */
};

enum {
	CHUNK_BYTES = 64 << 10, /* arrays below are chunks of talloc: one allocation, not two */
	AMOUNT_BYTES = 64,
	HUGE_PAGE_BYTES = 2 << 20,        /* of x86-64 and arm64 with pages of 4 KiB */
	HUGE_BYTES = 2 * HUGE_PAGE_BYTES, /* a block that has a huge page wherever it begins */
};

/* Bytes: more than any 64-bit machine can map in one process, 128 TiB. */
static const size_t most_bytes = (size_t)1 << 47;

struct block {
	alignas(max_align_t) void *holder; /* the talloc chunk: a holder, or the block itself */
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

/* The size that was requested. The product may overflow a size_t. */
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

_Noreturn void
out_of_memory(void)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "dopt: out of memory with %.1f GB in use\n",
		(double)usage.ru_maxrss * 1024 / 1e9);
	exit(EXIT_MEMORY);
}

/* --- chunks of talloc --- */

void *
alloc_array(const void *owner, size_t n, size_t size, const char *what)
{
	void *p = is_absurd(n, size) ? NULL : talloc_named_const(owner, n * size, what);

	if (!p)
		out_of_memory_for(n, size, what);
	return p;
}

void *
alloc_zero(const void *owner, size_t n, size_t size, const char *what)
{
	return memset(alloc_array(owner, n, size, what), 0, n * size);
}

void *
alloc_copy(const void *owner, const void *from, size_t n, size_t size, const char *what)
{
	void *p = alloc_array(owner, n, size, what);

	return n ? memcpy(p, from, n * size) : p;
}

void *
alloc_resize(const void *owner, void *array, size_t n, size_t size, const char *what)
{
	if (!array)
		return alloc_array(owner, n, size, what);
	/* Never of size 0, which talloc would free. */
	void *p = is_absurd(n, size) ? NULL
				     : talloc_realloc_size(owner, array, n && size ? n * size : 1);
	if (!p)
		out_of_memory_for(n, size, what);
	return p;
}

void *
must_have(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

void *
alloc_scratch(const void *owner)
{
	return must_have(talloc_new(owner));
}

char *
text_vprint(const void *owner, const char *format, va_list ap)
{
	return must_have(talloc_vasprintf(owner, format, ap));
}

char *
text_print(const void *owner, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *text = text_vprint(owner, format, ap);
	va_end(ap);
	return text;
}

char *
text_append(char *text, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text = must_have(talloc_vasprintf_append(text, format, ap));
	va_end(ap);
	return text;
}

char *
text_append_end(char *text, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text = must_have(talloc_vasprintf_append_buffer(text, format, ap));
	va_end(ap);
	return text;
}

char *
text_copy(const void *owner, const char *text)
{
	return text ? must_have(talloc_strdup(owner, text)) : NULL;
}

char *
text_copy_n(const void *owner, const char *text, size_t n)
{
	return text ? must_have(talloc_strndup(owner, text, n)) : NULL;
}

FILE *
text_stream(char **text, size_t *n)
{
	return must_have(open_memstream(text, n));
}

void
text_stream_close(FILE *stream)
{
	if (fclose(stream))
		out_of_memory();
}

/* --- arrays of any size --- */

static struct block *
block_of(const void *array)
{
	return (struct block *)array - 1;
}

static int
holder_destroy(struct holder *h)
{
	free(h->block);
	return 0;
}

/* Is it a chunk, not a block that a holder frees? */
static bool
is_chunk(const struct block *b)
{
	return b->holder == b;
}

static size_t
block_bytes(size_t n, size_t size, const char *what)
{
	if (is_absurd(n, size))
		out_of_memory_for(n, size, what);
	return sizeof(struct block) + n * size;
}

/* Asks for huge pages for a block from malloc, or NULL: walks over steps of 100,000 ops take up to a
 * fifth less time with them. */
static void *
with_huge_pages(void *block, size_t bytes)
{
	const uintptr_t page = HUGE_PAGE_BYTES, begin = ((uintptr_t)block + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)block + bytes) & ~(page - 1);

	if (block && bytes >= HUGE_BYTES)
		madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
	return block;
}

/* Room for n elements in a block of `owner`, zeroed or not. */
static void *
create(const void *owner, size_t n, size_t size, const char *what, bool zero)
{
	const size_t bytes = block_bytes(n, size, what);
	struct block *b;

	if (bytes < CHUNK_BYTES) {
		b = zero ? alloc_zero(owner, bytes, 1, what) : alloc_array(owner, bytes, 1, what);
		*b = (struct block){b, n * size};
		return b + 1;
	}
	/* The kernel's pages are already zero, and are mapped only when they are written to. */
	b = with_huge_pages(zero ? calloc(1, bytes) : malloc(bytes), bytes);
	if (!b)
		out_of_memory_for(n, size, what);
	struct holder *h = NEW(owner, struct holder);
	h->block = b;
	talloc_set_destructor(h, holder_destroy);
	*b = (struct block){h, n * size};
	return b + 1;
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

static struct block *
chunk_resize(struct block *chunk, size_t bytes, const char *what)
{
	chunk = alloc_resize(NULL, chunk, bytes, 1, what);
	chunk->holder = chunk;
	return chunk;
}

static struct block *
block_resize(struct block *b, size_t bytes)
{
	struct holder *h = b->holder;

	h->block = with_huge_pages(realloc(b, bytes), bytes);
	return h->block;
}

/* A chunk becomes the holder of a block and keeps its children. */
static struct block *
chunk_to_block(struct block *chunk, size_t bytes)
{
	struct block *b = with_huge_pages(malloc(bytes), bytes);

	if (!b)
		return NULL;
	memcpy(b, chunk, sizeof *b + chunk->bytes);
	struct holder *h = alloc_resize(NULL, chunk, 1, sizeof *h, "an array");
	h->block = b;
	talloc_set_destructor(h, holder_destroy);
	b->holder = h;
	return b;
}

void *
array_resize(const void *owner, void *array, size_t n, size_t size, const char *what)
{
	if (!array)
		return create(owner, n, size, what, false);
	const size_t bytes = block_bytes(n, size, what);
	struct block *b = block_of(array);
	if (is_chunk(b))
		b = bytes < CHUNK_BYTES ? chunk_resize(b, bytes, what) : chunk_to_block(b, bytes);
	else
		b = block_resize(b, bytes);
	if (!b)
		out_of_memory_for(n, size, what);
	b->bytes = n * size;
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
