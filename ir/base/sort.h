/*
 * Sorts numbers in ascending order; n may be 0, with array NULL. The orders are for qsort and
 * bsearch; floating-point numbers must not be NaN.
 *
 * An order of structs is a row, from the most to the least significant key: a member by UP or DOWN,
 * or any number below, at or above 0 about the structs x and y.
 *
 *     ORDER_BY(by_bytes, struct memory_held, DOWN(bytes), UP(first), strcmp(x->name, y->name))
 */
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

#define ORDER_UP(a, b) (((a) > (b)) - ((a) < (b)))
#define UP(member) ORDER_UP(x->member, y->member)
#define DOWN(member) ORDER_UP(y->member, x->member)

#define ORDER_BY(name, type, ...) ORDER_OF(name, const type *x = left, *y = right, __VA_ARGS__)
/* The same of an array of pointers to structs. */
#define ORDER_POINTERS_BY(name, type, ...)                                                         \
	ORDER_OF(name, const type *x = *(const type *const *)left,                                 \
		*y = *(const type *const *)right, __VA_ARGS__)
#define ORDER_OF(name, x, y, ...)                                                                  \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		x, y;                                                                              \
		const int key[] = {__VA_ARGS__};                                                   \
		size_t i = 0;                                                                      \
                                                                                                   \
		while (i + 1 < sizeof key / sizeof *key && !key[i])                                \
			i++;                                                                       \
		return key[i];                                                                     \
	}

#endif
