/*
 * Sums of rows that have the same number, for lower/cuda/scatter.c. Work and order depend on sizes
 * alone, not on how the rows are distributed over their targets:
 *
 *     keys       number of the target row, then the position in the source, in one word
 *     sorted     tiles in shared memory, then runs of twice the length by each launch
 *     summed     CHUNK entries per thread and column, in order. The first and the last number of
 *                a chunk may continue in its neighbours: their sums become the entries of the next
 *                launch, two per chunk; the sums between them are stored
 *
 * So no thread adds more than CHUNK entries in a launch, and a row's sum is a tree.
 */
#ifndef RUNTIME_CUDA_SCATTER_H
#define RUNTIME_CUDA_SCATTER_H

#include "runtime/cuda/device.h"

/* Tests count a thread's additions here. */
#ifndef SCATTER_ADDED
#define SCATTER_ADDED()
#endif

/* Sorts the P words of a block: a bitonic network. */
template <int THREADS, int P>
DEV void
scatter_sort(uint64_t *key)
{
	__syncthreads();
	for (int size = 2; size <= P; size <<= 1)
		for (int step = size >> 1; step > 0; step >>= 1) {
			for (int i = threadIdx.x; i < P / 2; i += THREADS) {
				const int x = 2 * i - (i & (step - 1)), y = x + step;
				const uint64_t kx = key[x], ky = key[y];
				if ((kx > ky) == ((x & size) == 0)) {
					key[x] = ky;
					key[y] = kx;
				}
			}
			__syncthreads();
		}
}

/* Merges runs of `width` sorted words, all different, to runs of twice that width. */
template <int THREADS>
DEV void
scatter_merge(const uint64_t *from, uint64_t *to, int64_t n, int64_t width)
{
	for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
		i += (int64_t)gridDim.x * THREADS) {
		const uint64_t key = from[i];
		const int64_t run = i / width, other = (run ^ 1) * width;
		int64_t low = other, high = other + width < n ? other + width : n;
		while (low < high) {
			const int64_t middle = (low + high) / 2;
			if (from[middle] < key)
				low = middle + 1;
			else
				high = middle;
		}
		const int64_t smaller = low > other ? low - other : 0;
		to[run / 2 * 2 * width + i % width + smaller] = key;
	}
}

/*
 * Sums entries [chunk * CHUNK, ...) of n. row(e): the number that entry e goes to; value(e);
 * add(sum, value); store(row, sum): the sum is complete. keep(slot, row, sum): entry `slot` of the
 * next launch; in the last launch, of one chunk, every sum is complete.
 */
template <int CHUNK, bool LAST, typename T, typename ROW, typename VALUE, typename ADD,
	typename STORE, typename KEEP>
DEV void
scatter_chunk(
	int64_t chunk, int64_t n, T zero, ROW row, VALUE value, ADD add, STORE store, KEEP keep)
{
	const int64_t from = chunk * CHUNK, to = from + CHUNK < n ? from + CHUNK : n;
	int64_t now = row(from);
	bool first = !LAST;
	T sum = zero;

	for (int64_t e = from; e < to; e++) {
		const int64_t next = row(e);
		if (next != now) {
			if (first)
				keep(2 * chunk, now, sum);
			else
				store(now, sum);
			first = false;
			now = next;
			sum = zero;
		}
		sum = add(sum, value(e));
		SCATTER_ADDED();
	}
	if (LAST) {
		store(now, sum);
	} else if (first) {
		keep(2 * chunk, now, sum);
		keep(2 * chunk + 1, now, zero);
	} else {
		keep(2 * chunk + 1, now, sum);
	}
}

#endif
