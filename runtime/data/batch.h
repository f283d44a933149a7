/* Maps row i of a step's batch to a row of the data set. Shared by programs and the interpreter.
 *
 * The rows form one endless stream: every epoch is a permutation of all rows, one epoch follows the
 * other, and a step takes the next `batch` rows. No row is left out if the batch does not divide
 * their number. The permutation is computed and not stored: a Feistel network over the smallest
 * even number of bits that hold the row numbers, iterated until the result is in range (Black,
 * Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002), so any rank finds any row without
 * the others. */
#ifndef RUNTIME_BATCH_H
#define RUNTIME_BATCH_H

#include "runtime/kernel/rng.h"

/* The row at position `pos` of an epoch of `nrows` rows: a permutation of 0 .. nrows-1. */
static inline uint64_t
rt_epoch_row(uint64_t seed, uint64_t epoch, uint64_t pos, uint64_t nrows)
{
	unsigned half = 1;
	while (half < 31 && (uint64_t)1 << 2 * half < nrows)
		half++;
	const uint64_t mask = ((uint64_t)1 << half) - 1;
	const uint64_t key = rt_mix64(rt_mix64(seed) + epoch);
	uint64_t x = pos;
	do {
		for (unsigned round = 0; round < 4; round++) {
			const uint64_t low = x & mask;
			const uint64_t f = rt_mix64(key ^ (low << 3 | round)) & mask;
			x = low << half | ((x >> half) ^ f);
		}
	} while (x >= nrows);
	return x;
}

/* The row of the data set that is row `i` of step `step`'s batch. nrows and batch are positive,
 * nrows below 2^62. */
static inline int64_t
rt_batch_row(uint64_t seed, int64_t step, int64_t i, int64_t nrows, int64_t batch)
{
	const uint64_t at = (uint64_t)step * (uint64_t)batch + (uint64_t)i;
	return (int64_t)rt_epoch_row(
		seed, at / (uint64_t)nrows, at % (uint64_t)nrows, (uint64_t)nrows);
}

/* The same where rows are not shuffled. */
static inline int64_t
rt_batch_row_in_order(int64_t step, int64_t i, int64_t nrows, int64_t batch)
{
	return (int64_t)(((uint64_t)step * (uint64_t)batch + (uint64_t)i) % (uint64_t)nrows);
}

#endif
