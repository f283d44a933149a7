/* See sort.h. */
#include "ir/base/sort.h"

#include <stdlib.h>

#define DEFINE(name, type)                                                                         \
	int order_##name(const void *a, const void *b)                                             \
	{                                                                                          \
		const type x = *(const type *)a, y = *(const type *)b;                             \
                                                                                                   \
		return (x > y) - (x < y);                                                          \
	}                                                                                          \
                                                                                                   \
	void sort_##name(type *array, size_t n)                                                    \
	{                                                                                          \
		if (n) /* qsort takes no NULL */                                                   \
			qsort(array, n, sizeof *array, order_##name);                              \
	}
SORT_TYPES(DEFINE)
