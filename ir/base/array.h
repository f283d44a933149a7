/*
 * Arrays that grow with the input: texts, tensors, tables of all ops. talloc refuses chunks of 256
 * MiB and more, so the elements stand in a block of their own, which a small talloc chunk frees:
 *
 *     owner ──talloc──> holder ──destructor frees──> block: │ header │ elements ... │
 *                                                                     ^ the array
 *
 * An array goes with its owner, like a chunk, but it is not a chunk: of the functions of talloc
 * none takes it, not even as an owner. Never NULL: a failed allocation ends the program.
 */
#ifndef IR_ARRAY_H
#define IR_ARRAY_H

#include <stddef.h>

/* `n` elements of `size` bytes each, zeroed or not. `what` names them in a message. */
void *array_create(const void *owner, size_t n, size_t size, const char *what);
void *array_create_zero(const void *owner, size_t n, size_t size, const char *what);

/*
 * The array with room for n elements; those that were there stay, others are not zeroed. NULL
 * becomes a new array of `owner`, which is not asked otherwise.
 */
void *array_resize(const void *owner, void *array, size_t n, size_t size, const char *what);

/* Frees it before its owner does. NULL is fine. */
void array_free(const void *array);

/* Bytes of all its elements. */
size_t array_bytes(const void *array);

/* Gives it another owner. */
void array_steal(const void *owner, const void *array);

/* A talloc context that goes with the array, for what goes with it, too. */
void *array_context(const void *array);

/* A copy of another owner's array. */
void *array_copy(const void *owner, const void *array);

#define ARRAY_NEW(owner, type, n)                                                                  \
	((type *)array_create((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define ARRAY_ZERO(owner, type, n)                                                                 \
	((type *)array_create_zero((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define ARRAY_RESIZE(owner, array, type, n)                                                        \
	((type *)array_resize((owner), (array), (size_t)(n), sizeof(type), "an array of " #type))

/*
 * Ends the program because n elements of `size` bytes each were not to be had, and says so. No
 * machine has an address space for some sizes: to ask for those is a bug, and ends as one.
 */
_Noreturn void out_of_memory_for(size_t n, size_t size, const char *what);

#endif
