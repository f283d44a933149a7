/*
 * An array that grows at its end, of any size. One that is zeroed is empty:
 *
 *     struct ops VEC(struct ir_op *);              struct ops { struct ir_op **at; int64_t n, room; }
 *     struct ops v = {0};
 *     VEC_PUSH(owner, &v, op);
 *     for (int64_t i = 0; i < v.n; i++)
 *         use(v.at[i]);
 *
 * v.at is an array of alloc.h, so it is freed with the owner, a talloc context; or it is in an
 * arena (VEC_PUSH_IN), which also keeps outgrown arrays. Pointers into it are valid until it grows.
 * The macros evaluate `v` several times.
 *
 * LIST_PUSH and ARRAY_PUSH append to a plain pointer with a count: a talloc chunk below 256 MiB, or
 * an array of alloc.h. They get its capacity from the allocator.
 */
#ifndef IR_BASE_VEC_H
#define IR_BASE_VEC_H

#include "ir/base/alloc.h"

#include <stdint.h>
#include <string.h>

struct arena;

#define VEC(type)                                                                                  \
	{                                                                                          \
		type *at;                                                                          \
		int64_t n, room;                                                                   \
	}

/* Appends a value, whose expression must not push to the same vec: it is evaluated after growth. */
#define VEC_PUSH(owner, v, ...)                                                                    \
	do {                                                                                       \
		VEC_ROOM(owner, v, (v)->n + 1);                                                    \
		(v)->at[(v)->n] = (__VA_ARGS__);                                                   \
		(v)->n++;                                                                          \
	} while (0)
#define VEC_PUSH_IN(arena, v, ...)                                                                 \
	do {                                                                                       \
		if ((v)->n == (v)->room)                                                           \
			(v)->at = vec_grow_in(                                                     \
				(arena), (v)->at, &(v)->room, (v)->n, sizeof *(v)->at);            \
		(v)->at[(v)->n] = (__VA_ARGS__);                                                   \
		(v)->n++;                                                                          \
	} while (0)

/* Appends `count` values from outside the vec; `from` may be NULL if `count` is 0. */
#define VEC_PUSH_ALL(owner, v, from, count)                                                        \
	do {                                                                                       \
		VEC_ROOM(owner, v, (v)->n + (int64_t)(count));                                     \
		if (count)                                                                         \
			memcpy((v)->at + (v)->n, (from), (size_t)(count) * sizeof *(v)->at);       \
		(v)->n += (int64_t)(count);                                                        \
	} while (0)

/* Reserves room for `most` elements, so that pushing up to that number does not move them. */
#define VEC_ROOM(owner, v, most)                                                                   \
	do {                                                                                       \
		if ((most) > (v)->room)                                                            \
			(v)->at = vec_grow((owner), (v)->at, &(v)->room, (most), sizeof *(v)->at); \
	} while (0)

/* VEC_POP removes the last element and returns it; VEC_LAST only returns it. There must be one. */
#define VEC_POP(v) ((v)->at[--(v)->n])
#define VEC_LAST(v) ((v)->at[(v)->n - 1])
/* The first of the last `count` elements. */
#define VEC_TOP(v, count) ((v)->at + ((v)->n - (count)))

/* Frees the elements of a vec that is not in an arena, before its owner is freed; empties it. */
#define VEC_FREE(v) (array_free((v)->at), (v)->at = NULL, (v)->n = (v)->room = 0)

/* Appends a value to a list of n elements, NULL if it never had any, and increments n. */
#define LIST_PUSH(owner, list, n, ...)                                                             \
	do {                                                                                       \
		LIST_ROOM(owner, list, (n) + 1);                                                   \
		(list)[n] = (__VA_ARGS__);                                                         \
		(n)++;                                                                             \
	} while (0)
#define ARRAY_PUSH(owner, array, n, ...)                                                           \
	do {                                                                                       \
		ARRAY_ROOM(owner, array, (n) + 1);                                                 \
		(array)[n] = (__VA_ARGS__);                                                        \
		(n)++;                                                                             \
	} while (0)

/* Reserves room for `most` elements; if that needs more, for at least twice the former room. */
#define LIST_ROOM(owner, list, most)                                                               \
	((list) = list_room((owner), (list), (size_t)(most), sizeof *(list)))
#define ARRAY_ROOM(owner, array, most)                                                             \
	((array) = array_room((owner), (array), (size_t)(most), sizeof *(array)))

void *list_room(const void *owner, void *list, size_t most, size_t size);
void *array_room(const void *owner, void *array, size_t most, size_t size);

/* Returns the array with room for at least `most` elements, doubling it; sets `room`. */
void *vec_grow(const void *owner, void *at, int64_t *room, int64_t most, size_t size);
void *vec_grow_in(struct arena *a, void *at, int64_t *room, int64_t n, size_t size);

#endif
