/*
 * Allocations never return NULL: a failed one ends the program with a message, in one place.
 * Everything is freed with its owner, a talloc context (NULL: no owner):
 *
 *     NEW, NEW_ARRAY ...   chunks of talloc, below 256 MiB each: objects, short lists, texts
 *     ARRAY_NEW ...        arrays that grow with the input, of any size (ir/base/vec.h, too)
 *     ir/base/arena.h      objects in hundreds of thousands that are never freed singly
 */
#ifndef IR_BASE_ALLOC_H
#define IR_BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* --- chunks of talloc --- */

/* Zeroed objects; arrays of n elements: zeroed, or not, or with those at `from`. n may be 0. */
#define NEW(owner, type) ((type *)alloc_zero((owner), 1, sizeof(type), #type))
#define NEW_ARRAY(owner, type, n)                                                                  \
	((type *)alloc_array((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define ZERO_ARRAY(owner, type, n)                                                                 \
	((type *)alloc_zero((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define COPY_ARRAY(owner, type, from, n)                                                           \
	((type *)alloc_copy((owner), (from), (size_t)(n), sizeof(type), "an array of " #type))
/* The array with room for n elements, those that are new not zeroed; NULL: a new one of `owner`. */
#define RESIZE(owner, array, type, n)                                                              \
	((type *)alloc_resize((owner), (array), (size_t)(n), sizeof(type), "an array of " #type))

/* A separate context for data that is freed together: for scratch. */
void *alloc_scratch(const void *owner);

/* Formats a text as printf does. */
#define TEXT(owner, ...) text_print((owner), __VA_ARGS__)
char *text_print(const void *owner, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_vprint(const void *owner, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* Appends a formatted text to `text`, a chunk (NULL: a new one without an owner), which may move.
 * For texts that become long: if `text` fills its chunk, its end need not be searched for. */
char *text_append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_append_end(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A copy of a text, or of at most n of its bytes; NULL for NULL. */
char *text_copy(const void *owner, const char *text);
char *text_copy_n(const void *owner, const char *text, size_t n);

/* A stream; once flushed or closed, *text (from malloc) has its *n bytes and a zero byte. */
FILE *text_stream(char **text, size_t *n);
void text_stream_close(FILE *stream);

/* Returns p, from another allocator; ends the program if it is NULL. */
void *must_have(void *p);

void *alloc_array(const void *owner, size_t n, size_t size, const char *what);
void *alloc_zero(const void *owner, size_t n, size_t size, const char *what);
void *alloc_copy(const void *owner, const void *from, size_t n, size_t size, const char *what);
void *alloc_resize(const void *owner, void *array, size_t n, size_t size, const char *what);

/* --- arrays of any size --- */

/*
 * talloc refuses chunks of 256 MiB and more, so the elements of a large array stand in a block of
 * their own, which a small talloc chunk frees; a small array is a chunk with the same header:
 *
 *     owner ──talloc──> holder ──destructor frees──> block: │ header │ elements ... │
 *     owner ──talloc──> chunk: │ header │ elements ... │              ^ the array
 *
 * An array is freed with its owner, but it is not a chunk itself: no talloc function accepts it,
 * not even as an owner.
 */
#define ARRAY_NEW(owner, type, n)                                                                  \
	((type *)array_create((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define ARRAY_ZERO(owner, type, n)                                                                 \
	((type *)array_create_zero((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define ARRAY_RESIZE(owner, array, type, n)                                                        \
	((type *)array_resize((owner), (array), (size_t)(n), sizeof(type), "an array of " #type))

/* `n` elements of `size` bytes each, zeroed or not. `what` names them in a message. */
void *array_create(const void *owner, size_t n, size_t size, const char *what);
void *array_create_zero(const void *owner, size_t n, size_t size, const char *what);

/*
 * The array with room for n elements; existing ones are kept, others are not zeroed. NULL becomes a
 * new array of `owner`, which is not used otherwise.
 */
void *array_resize(const void *owner, void *array, size_t n, size_t size, const char *what);

/* Frees it before its owner does. NULL is fine. */
void array_free(const void *array);

/* Bytes of all its elements. */
size_t array_bytes(const void *array);

/* Changes the owner of an array. */
void array_steal(const void *owner, const void *array);

/* A talloc context that is freed with the array, as owner of further data. */
void *array_context(const void *array);

/* A copy of another owner's array. */
void *array_copy(const void *owner, const void *array);

/* --- the end --- */

/*
 * Ends the program with a message, because n elements of `size` bytes each could not be allocated.
 * Sizes that exceed any address space are a bug, and are reported as one.
 */
_Noreturn void out_of_memory_for(size_t n, size_t size, const char *what);

#endif
