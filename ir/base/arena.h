/*
 * Bump allocation for objects that exist in large numbers: ops, values, uses, attributes. An arena
 * has a talloc owner and is freed with it; single objects are never freed.
 */
#ifndef IR_ARENA_H
#define IR_ARENA_H

#include "ir/base/api.h"

#include <stddef.h>

DOPT_API_BEGIN

struct arena;

/* A new, empty arena owned by the talloc context `owner`. Never NULL: out of memory is fatal. */
struct arena *arena_create(const void *owner);

/* `size` zeroed bytes, aligned for any object. Never NULL. */
void *arena_alloc(struct arena *a, size_t size);

/* A copy of the `n` bytes at `s`, terminated by a NUL. */
char *arena_strndup(struct arena *a, const char *s, size_t n);

/* Frees all objects and keeps the memory for reuse. For scratch space in a loop. */
void arena_reset(struct arena *a);

/* Bytes allocated so far, alignment included. */
size_t arena_bytes(const struct arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

/* Ends the program with a message: the one place that handles a failed allocation. */
void out_of_memory(void) __attribute__((noreturn));

DOPT_API_END

#endif
