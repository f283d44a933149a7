/* One element of any type as a double. */
#ifndef RUNTIME_VALUE_H
#define RUNTIME_VALUE_H

#include "runtime/kernel/dtype.h"

#include <stdbool.h>

/* Element i of an array of type `t`. */
double rt_value_get(enum rt_dtype t, const void *array, int64_t i);

/* Rounds x to type `t` (integers: to nearest; bool: not zero) and stores it as element i. x is
 * within the range of an integer type. */
void rt_value_set(enum rt_dtype t, void *array, int64_t i, double x);

/* Can elements of a file of type `from` be read into a tensor of type `to`? Floats into floats, and
 * integers into integers. `from` may be RT_DTYPES, an unknown type. */
bool rt_value_converts(enum rt_dtype from, enum rt_dtype to);

/*
 * Stores n elements, from index `at` of `data` on, which need not be aligned, as elements `first`
 * on of `to`. False: an integer, *lost, is not representable in that type; otherwise *lost is
 * undefined.
 */
struct rt_conversion {
	enum rt_dtype from, to;
	const char *data;
};
bool rt_value_convert(const struct rt_conversion *c, int64_t at, void *to, int64_t first, int64_t n,
	double *lost);

#endif
