/* Sorting of rows for the ops sort and topk: see ir/ops/order.h for the order. */
#ifndef RUNTIME_ORDER_H
#define RUNTIME_ORDER_H

#include "runtime/kernel/dtype.h"

#include <stdbool.h>

/* Sort keys: unsigned numbers in the order of the elements. */
struct rt_order_entry {
	uint64_t key;
	int64_t at;
};

/* Bytes of scratch for rows of n elements of which the first k are kept. */
static inline int64_t
rt_order_scratch(int64_t n, int64_t k)
{
	return (k < n ? k : 2 * n) * (int64_t)sizeof(struct rt_order_entry);
}

/*
 * in[outer][n][inner] -> values[outer][k][inner] and positions of the same shape. Allocates
 * nothing; time n log n per row, or n log k.
 */
void rt_order(enum rt_dtype t, const void *in, void *values, int32_t *positions, int64_t outer,
	int64_t n, int64_t inner, int64_t k, bool descending, void *scratch);

#endif
