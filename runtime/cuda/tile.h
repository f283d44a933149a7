/*
 * Products of tiles, for kernels in which values of one product are operands of the next and never
 * in memory (lower/cuda/stream.c). A block of threads has a tile of ROWS x COLUMNS values; a thread
 * has Y x X of them in registers: value [y][x] is in row(y) and column(x). LANES neighbouring lanes
 * share the rows of a thread. Sums are in f32.
 */
#ifndef RUNTIME_CUDA_TILE_H
#define RUNTIME_CUDA_TILE_H

#include "runtime/cuda/device.h"

/* How elements are read. */
struct tile_f32 {
	typedef float memory;
	DEV float
	load(float x)
	{
		return x;
	}
};

struct tile_bf16 {
	typedef uint16_t memory;
	DEV float
	load(uint16_t x)
	{
		return rt_bf16_to_f32(x);
	}
};

struct tile_f16 {
	typedef uint16_t memory;
	DEV float
	load(uint16_t x)
	{
		return rt_f16_to_f32(x);
	}
};

/* Multiplications and additions of f32, of any type converted to it. */
struct tile_fma {
	enum {
		ROWS = 64,
		COLUMNS = 64,
		THREADS = 256,
		Y = 4,
		X = 4,
		LANES = 16,
		DEPTH = 32,             /* of the operands in shared memory at a time */
		PITCH = COLUMNS + 4,    /* of a line in shared memory: vectors of 16 bytes */
		ROOM = COLUMNS * PITCH, /* floats of operands; as many of the value of a product */
	};
	DEV int
	row(int y)
	{
		return (int)threadIdx.x / LANES * Y + y;
	}
	DEV int
	column(int x)
	{
		return (int)threadIdx.x % LANES * X + x;
	}
};

static_assert(2 * tile_fma::DEPTH <= tile_fma::COLUMNS, "room for both operands");

/* The reductions of a row over the lanes that share it; all of them get the result. */
#define TILE_LANES(name, combine)                                                                  \
	template <int LANES> DEV float name(float x)                                               \
	{                                                                                          \
		for (int step = LANES / 2; step > 0; step >>= 1)                                   \
			x = combine(x, __shfl_xor_sync(0xFFFFFFFFu, x, step));                     \
		return x;                                                                          \
	}

TILE_LANES(tile_sum, m_sum)
TILE_LANES(tile_max, M_max)
TILE_LANES(tile_min, M_min)

/* a - b; no change is 0, also of an infinite value. */
DEV float
tile_minus(float a, float b)
{
	return a == b ? 0.0f : a - b;
}

/* The sum so far after a change of what all summands are multiplied by. An empty sum stays 0, even
 * if the factor is infinite. */
DEV float
tile_scaled(float sum, float by)
{
	return sum == 0.0f ? sum : sum * by;
}

/*
 * to[o][i], LINES lines of 64 floats, = element o of the outer, i of the inner dim of a matrix in
 * memory with these strides; 0 outside of noutside x ninside. Neighbouring lanes read along the dim
 * that is contiguous.
 */
template <int LINES, typename L>
DEV void
tile_load(float *to, const typename L::memory *from, int64_t outer, int64_t inner, int nouter,
	int ninner)
{
#pragma unroll 4
	for (int at = (int)threadIdx.x; at < LINES * tile_fma::COLUMNS; at += tile_fma::THREADS) {
		const int o = outer == 1 ? at % LINES : at / tile_fma::COLUMNS;
		const int i = outer == 1 ? at / LINES : at % tile_fma::COLUMNS;
		to[o * tile_fma::PITCH + i] =
			o < nouter && i < ninner ? L::load(from[o * outer + i * inner]) : 0.0f;
	}
}

/* sum[y][x] += sum over n lines k of a[k][row(y)] b[k][column(x)] */
DEV void
tile_multiply(float (&sum)[tile_fma::Y][tile_fma::X], const float *a, const float *b, int n)
{
	a += tile_fma::row(0);
	b += tile_fma::column(0);
#pragma unroll 8
	for (int k = 0; k < n; k++) {
		const vec<float, 4> p = vec_load<4>(a + k * tile_fma::PITCH);
		const vec<float, 4> q = vec_load<4>(b + k * tile_fma::PITCH);
#pragma unroll
		for (int y = 0; y < tile_fma::Y; y++)
#pragma unroll
			for (int x = 0; x < tile_fma::X; x++)
				sum[y][x] += p.at[y] * q.at[x];
	}
}

/*
 * value[y][x] = sum over DEPTH elements k of p[row(y), k] q[column(x), k], for `rows` rows and
 * `columns` columns from p and q on; 0 beyond.
 */
template <int DEPTH, typename L>
DEV void
tile_wide(float (&value)[tile_fma::Y][tile_fma::X], float *room, const typename L::memory *p,
	int64_t p_row, int64_t p_k, int rows, const typename L::memory *q, int64_t q_column,
	int64_t q_k, int columns)
{
	float *const second = room + tile_fma::DEPTH * tile_fma::PITCH;

#pragma unroll
	for (int y = 0; y < tile_fma::Y; y++)
#pragma unroll
		for (int x = 0; x < tile_fma::X; x++)
			value[y][x] = 0.0f;
	for (int k = 0; k < DEPTH; k += tile_fma::DEPTH) {
		const int n = DEPTH - k < tile_fma::DEPTH ? DEPTH - k : tile_fma::DEPTH;
		__syncthreads();
		tile_load<tile_fma::DEPTH, L>(room, p + k * p_k, p_k, p_row, n, rows);
		tile_load<tile_fma::DEPTH, L>(second, q + k * q_k, q_k, q_column, n, columns);
		__syncthreads();
		tile_multiply(value, room, second, n);
	}
}

/* sum[c][y][x] += sum over columns k of value[row(y), k] q[k, 64 c + column(x)], for WIDTH elements
 * of each of `columns` columns from q on. `value` is the thread's part of a tile, 0 beyond. */
template <int WIDTH, typename L>
DEV void
tile_narrow(float (&sum)[(WIDTH + 63) / 64][tile_fma::Y][tile_fma::X],
	const float (&value)[tile_fma::Y][tile_fma::X], float *room, const typename L::memory *q,
	int64_t q_column, int64_t q_inner, int columns)
{
	float *const left = room + tile_fma::ROOM;

	__syncthreads();
#pragma unroll
	for (int x = 0; x < tile_fma::X; x++) {
		vec<float, 4> of_rows;
#pragma unroll
		for (int y = 0; y < tile_fma::Y; y++)
			of_rows.at[y] = value[y][x];
		vec_store(left + tile_fma::column(x) * tile_fma::PITCH + tile_fma::row(0), of_rows);
	}
#pragma unroll
	for (int c = 0; c < (WIDTH + 63) / 64; c++) {
		const int n = WIDTH - 64 * c < 64 ? WIDTH - 64 * c : 64;
		if (c > 0)
			__syncthreads();
		tile_load<tile_fma::COLUMNS, L>(
			room, q + 64 * c * q_inner, q_column, q_inner, columns, n);
		__syncthreads();
		tile_multiply(sum[c], left, room, tile_fma::COLUMNS);
	}
}

#endif
