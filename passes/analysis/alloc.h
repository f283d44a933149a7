/* talloc that cannot fail: out of memory ends the program, in one place. */
#ifndef PASSES_ANALYSIS_ALLOC_H
#define PASSES_ANALYSIS_ALLOC_H

#include "ir/arena.h"

#include <talloc.h>

static inline void *
must_have(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

#define NEW(owner, type) ((type *)must_have(talloc_zero((owner), type)))
#define NEW_ARRAY(owner, type, n)                                                                  \
	((type *)must_have(talloc_array_size((owner), sizeof(type), (n) != 0 ? (n) : 1)))
#define RESIZE(owner, array, type, n)                                                              \
	((type *)must_have(                                                                        \
		talloc_realloc_size((owner), (array), sizeof(type) * ((n) != 0 ? (n) : 1))))
#define TEXT(owner, ...) ((char *)must_have(talloc_asprintf((owner), __VA_ARGS__)))

#endif
