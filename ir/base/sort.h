/* Sorts numbers in ascending order; n may be 0, with array NULL. The orders are for qsort and
 * bsearch; floating-point numbers must not be NaN. */
#ifndef IR_BASE_SORT_H
#define IR_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Orders and sorts by type: order_uint32(&a, &b), sort_uint32(array, n). */
#define SORT_TYPES(ROW)                                                                            \
	ROW(uint32, uint32_t)                                                                      \
	ROW(int64, int64_t) ROW(uint64, uint64_t) ROW(double, double)

#define SORT_DECLARE(name, type)                                                                   \
	int order_##name(const void *a, const void *b);                                            \
	void sort_##name(type *array, size_t n);
SORT_TYPES(SORT_DECLARE)
#undef SORT_DECLARE

#endif
