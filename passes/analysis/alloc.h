/* talloc that cannot fail: out of memory ends the program, in one place. */
#ifndef PASSES_ANALYSIS_ALLOC_H
#define PASSES_ANALYSIS_ALLOC_H

#include "ir/base/arena.h"
#include "ir/base/array.h"

#include <stdint.h>
#include <talloc.h>

static inline void *
must_have(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

/* What is small enough for talloc; what grows with the input is an array of ir/base/array.h. */
static inline void *
new_array(const void *owner, size_t n, size_t size, const char *what)
{
	void *p = talloc_array_size(owner, size, n ? n : 1);

	if (!p)
		out_of_memory_for(n, size, what);
	return p;
}

static inline void *
resize_array(const void *owner, void *array, size_t n, size_t size, const char *what)
{
	/* A product that is too large for a size_t is to be refused, not to be made small by it. */
	void *p =
		n > SIZE_MAX / size ? NULL : talloc_realloc_size(owner, array, size * (n ? n : 1));

	if (!p)
		out_of_memory_for(n, size, what);
	return p;
}

#define NEW(owner, type) ((type *)must_have(talloc_zero((owner), type)))
#define NEW_ARRAY(owner, type, n)                                                                  \
	((type *)new_array((owner), (size_t)(n), sizeof(type), "an array of " #type))
#define RESIZE(owner, array, type, n)                                                              \
	((type *)resize_array((owner), (array), (size_t)(n), sizeof(type), "an array of " #type))
#define TEXT(owner, ...) ((char *)must_have(talloc_asprintf((owner), __VA_ARGS__)))

#endif
