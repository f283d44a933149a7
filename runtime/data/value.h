/* One element of any type as a double. */
#ifndef RUNTIME_VALUE_H
#define RUNTIME_VALUE_H

#include "runtime/kernel/dtype.h"

#include <stdbool.h>

/* Element i of an array of type `t`. */
double rt_value_get(enum rt_dtype t, const void *array, int64_t i);

/* Is x a value of an integer type of at most 32 bits? */
bool rt_value_fits(enum rt_dtype t, double x);

/* Rounds x to type `t` (integers: to nearest; bool: not zero) and stores it as element i. x is
 * within the range of an integer type. */
void rt_value_set(enum rt_dtype t, void *array, int64_t i, double x);

#endif
