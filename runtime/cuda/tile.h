/*
 * Products of tiles, for kernels in which values of one product are operands of the next and never
 * in memory (lower/cuda/stream.c). A block of threads has a tile of ROWS x COLUMNS values; a thread
 * has Y x X of them in registers: value [y][x] is in row(y) and column(x). LANES neighbouring lanes
 * share the rows of a thread. Sums are in f32.
 *
 *     wide      value[row, column] = sum over k of p[row, k] q[column, k]
 *     narrow    sum[row, inner] += sum over columns of value[row, column] q[column, inner]
 *
 * p and q are in memory with any strides, 0 beyond `rows` and `columns`.
 */
#ifndef RUNTIME_CUDA_TILE_H
#define RUNTIME_CUDA_TILE_H

#include "runtime/cuda/device.h"

/*
 * What a warp does together: a program that runs kernels without a GPU defines these two itself.
 * matrices: four matrices of 8 lines of 16 bytes to which the lanes point, in the order of the
 * lanes; lane l gets the 4 bytes l % 4 of line l / 4 of each. TRANSPOSED: elements of 16 bits, the
 * two in lines 2 (l % 4) and the next of column l / 4. mma: c[16,8] += a[16,k] b[k,8] in the
 * fragments that PTX defines for mma.m16n8k16 of 16-bit floats and mma.m16n8k8 of TF32.
 */
#ifndef TILE_WARP
template <bool TRANSPOSED>
DEV void
tile_matrices(uint32_t (&to)[4], const void *line)
{
#ifdef __CUDA_ARCH__
	const uint32_t at = (uint32_t)__cvta_generic_to_shared(line);
	if (TRANSPOSED)
		asm volatile(
			"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
			: "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
			: "r"(at));
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
			     : "r"(at));
#endif
}

#ifdef __CUDA_ARCH__
#define TILE_MMA(shape, type)                                                                      \
	asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                       \
		     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                              \
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define TILE_MMA(shape, type) ((void)0)
#endif

template <typename L>
DEV void
tile_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	if constexpr (sizeof(typename L::memory) == sizeof(float))
		TILE_MMA("m16n8k8", "tf32");
	else if constexpr (L::IS_BF16)
		TILE_MMA("m16n8k16", "bf16");
	else
		TILE_MMA("m16n8k16", "f16");
}
#endif

/* An element as an operand of tensor cores: TF32 has 10 bits after the point, and ties are rounded
 * away from 0. */
DEV float
tile_operand(float x)
{
#ifdef __CUDA_ARCH__
	uint32_t bits;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return rt_bits_float(bits);
#else
	return x - x == 0 ? rt_bits_float((rt_float_bits(x) + 0x1000u) & ~0x1FFFu) : x;
#endif
}

DEV uint16_t
tile_operand(uint16_t x)
{
	return x;
}

/* How elements are read. */
struct tile_f32 {
	typedef float memory;
	enum { IS_BF16 = 0 };
	DEV float
	load(float x)
	{
		return x;
	}
};

struct tile_bf16 {
	typedef uint16_t memory;
	enum { IS_BF16 = 1 };
	DEV float
	load(uint16_t x)
	{
		return rt_bf16_to_f32(x);
	}
	DEV uint16_t
	store(float x)
	{
		return rt_f32_to_bf16(x);
	}
};

struct tile_f16 {
	typedef uint16_t memory;
	enum { IS_BF16 = 0 };
	DEV float
	load(uint16_t x)
	{
		return rt_f16_to_f32(x);
	}
	DEV uint16_t
	store(float x)
	{
		return rt_f32_to_f16(x);
	}
};

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
		ROOM = COLUMNS * PITCH, /* of operands; as many for the value of a product */
	};
	typedef float shared;

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

	/* to[o][i], LINES lines of 64 floats, = element o of the outer, i of the inner dim of a
	 * matrix with these strides; 0 outside of nouter x ninner. Neighbouring lanes read along
	 * the dim that is contiguous. */
	template <int LINES, typename L>
	DEV void
	fill(float *to, const typename L::memory *from, int64_t outer, int64_t inner, int nouter,
		int ninner)
	{
#pragma unroll 4
		for (int at = (int)threadIdx.x; at < LINES * COLUMNS; at += THREADS) {
			const int o = outer == 1 ? at % LINES : at / COLUMNS;
			const int i = outer == 1 ? at / LINES : at % COLUMNS;
			to[o * PITCH + i] = o < nouter && i < ninner
						    ? L::load(from[o * outer + i * inner])
						    : 0.0f;
		}
	}

	/* sum[y][x] += sum over n lines k of a[k][row(y)] b[k][column(x)] */
	DEV void
	multiply(float (&sum)[Y][X], const float *a, const float *b, int n)
	{
		a += row(0);
		b += column(0);
#pragma unroll 8
		for (int k = 0; k < n; k++) {
			const vec<float, 4> p = vec_load<4>(a + k * PITCH);
			const vec<float, 4> q = vec_load<4>(b + k * PITCH);
#pragma unroll
			for (int y = 0; y < Y; y++)
#pragma unroll
				for (int x = 0; x < X; x++)
					sum[y][x] += p.at[y] * q.at[x];
		}
	}

	template <int SIZE, typename L>
	DEV void
	wide(float (&value)[Y][X], float *room, const typename L::memory *p, int64_t p_row,
		int64_t p_k, int rows, const typename L::memory *q, int64_t q_column, int64_t q_k,
		int columns)
	{
		float *const second = room + DEPTH * PITCH;

#pragma unroll
		for (int y = 0; y < Y; y++)
#pragma unroll
			for (int x = 0; x < X; x++)
				value[y][x] = 0.0f;
		for (int k = 0; k < SIZE; k += DEPTH) {
			const int n = SIZE - k < DEPTH ? SIZE - k : DEPTH;
			__syncthreads();
			fill<DEPTH, L>(room, p + k * p_k, p_k, p_row, n, rows);
			fill<DEPTH, L>(second, q + k * q_k, q_k, q_column, n, columns);
			__syncthreads();
			multiply(value, room, second, n);
		}
	}

	template <int SIZE, typename L>
	DEV void
	narrow(float (&sum)[(SIZE + 63) / 64][Y][X], const float (&value)[Y][X], float *room,
		const typename L::memory *q, int64_t q_column, int64_t q_inner, int columns)
	{
		float *const left = room + ROOM;

		__syncthreads();
#pragma unroll
		for (int x = 0; x < X; x++) {
			vec<float, 4> of_rows;
#pragma unroll
			for (int y = 0; y < Y; y++)
				of_rows.at[y] = value[y][x];
			vec_store(left + column(x) * PITCH + row(0), of_rows);
		}
#pragma unroll
		for (int c = 0; c < (SIZE + 63) / 64; c++) {
			const int n = SIZE - 64 * c < 64 ? SIZE - 64 * c : 64;
			if (c > 0)
				__syncthreads();
			fill<COLUMNS, L>(room, q + 64 * c * q_inner, q_column, q_inner, columns, n);
			__syncthreads();
			multiply(sum[c], left, room, COLUMNS);
		}
	}
};

static_assert(2 * tile_fma::DEPTH <= tile_fma::COLUMNS, "room for both operands");

/*
 * Tensor cores: a warp for 16 rows. S is what operands are in shared memory: 16-bit floats as they
 * are, or f32 rounded to TF32.
 */
template <typename S> struct tile_cores {
	enum {
		ROWS = 64,
		COLUMNS = 64,
		THREADS = 128,
		Y = 2,
		X = 16,
		LANES = 4,
		GROUP = 16 / sizeof(S), /* elements of 16 bytes */
		STEP = 2 * GROUP,       /* of the sum of one instruction */
		DEPTH = 64,             /* of the operands in shared memory at a time */
		PITCH = DEPTH + GROUP,  /* lines of a matrix are in different banks */
		ROOM = 64 * PITCH,      /* of 64 lines */
		PAIRS = sizeof(S) == 2, /* two elements in a register */
		NEXT = PAIRS ? 16 : 8,  /* columns of a result for which an operand is read */
	};
	typedef S shared;

	DEV int
	row(int y)
	{
		return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / LANES + 8 * y;
	}

	DEV int
	column(int x)
	{
		return x / 2 * 8 + (int)threadIdx.x % LANES * 2 + x % 2;
	}

	/* to[l][a], 64 lines of SIZE elements and zeros up to a multiple of NEXT, = element l, a of
	 * a matrix with these strides; 0 beyond `lines`. VECTOR: 16 bytes at a time. */
	template <int SIZE, bool VECTOR>
	DEV void
	fill(S *to, const S *from, int64_t line, int64_t along, int lines)
	{
		enum {
			WIDTH = (SIZE + NEXT - 1) / NEXT * NEXT,
			VECTORS = WIDTH / GROUP,
		};

		if constexpr (VECTOR) {
#pragma unroll 4
			for (int at = (int)threadIdx.x; at < 64 * VECTORS; at += THREADS) {
				const int l = at / VECTORS, a = at % VECTORS * GROUP;
				vec<S, GROUP> x = {};
				if (l < lines && a < SIZE)
					x = vec_load<GROUP>(from + l * line + a);
#pragma unroll
				for (int i = 0; i < GROUP; i++)
					x.at[i] = tile_operand(x.at[i]);
				vec_store(to + l * PITCH + a, x);
			}
		} else {
#pragma unroll 4
			for (int at = (int)threadIdx.x; at < 64 * WIDTH; at += THREADS) {
				const int l = along == 1 ? at / WIDTH : at % 64;
				const int a = along == 1 ? at % WIDTH : at / 64;
				to[l * PITCH + a] =
					l < lines && a < SIZE
						? tile_operand(from[l * line + a * along])
						: (S)0;
			}
		}
	}

	/* Elements k to k + 63 of each line, as far as there are any. */
	template <int SIZE, bool VECTOR>
	DEV void
	fill_part(S *to, const S *from, int k, int64_t line, int64_t along, int lines)
	{
		enum { REST = SIZE % DEPTH ? SIZE % DEPTH : DEPTH };

		if (SIZE - k >= DEPTH)
			fill<DEPTH, VECTOR>(to, from + k * along, line, along, lines);
		else
			fill<REST, VECTOR>(to, from + k * along, line, along, lines);
	}

	/* to = all of the rows of p, 64 elements of each after another. */
	template <int SIZE, bool VECTOR>
	DEV void
	keep(S *to, const S *p, int64_t p_row, int64_t p_k, int rows)
	{
#pragma unroll
		for (int k = 0; k < SIZE; k += DEPTH)
			fill_part<SIZE, VECTOR>(to + k / DEPTH * ROOM, p, k, p_row, p_k, rows);
	}

	/* Columns 8 n to 8 n + 7 of a tile += a b */
	template <typename L>
	DEV void
	add(float (&value)[Y][X], int n, const uint32_t (&a)[4], const uint32_t (&b)[2])
	{
		const int x = 2 * n;
		float c[4] = {value[0][x], value[0][x + 1], value[1][x], value[1][x + 1]};

		tile_mma<L>(c, a, b);
		value[0][x] = c[0];
		value[0][x + 1] = c[1];
		value[1][x] = c[2];
		value[1][x + 1] = c[3];
	}

	/* value[row, column] += sum over `steps` STEPs of a[row, k] b[column, k] */
	template <typename L>
	DEV void
	multiply(float (&value)[Y][X], const S *a, const S *b, int steps)
	{
		const int lane = (int)threadIdx.x % 32;
		const S *const of_a =
			a + ((int)threadIdx.x / 32 * 16 + lane % 16) * PITCH + lane / 16 * GROUP;
		const S *const of_b = b + (lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * GROUP;

#pragma unroll
		for (int k = 0; k < steps; k++) {
			uint32_t p[4];
			tile_matrices<false>(p, of_a + k * STEP);
#pragma unroll
			for (int n = 0; n < COLUMNS / 8; n += 2) {
				uint32_t q[4];
				tile_matrices<false>(q, of_b + n * 8 * PITCH + k * STEP);
				add<L>(value, n, p, {q[0], q[1]});
				add<L>(value, n + 1, p, {q[2], q[3]});
			}
		}
	}

	/* `kept`: what keep() wrote; NULL: p is read again. */
	template <int SIZE, typename L, bool P_VECTOR, bool Q_VECTOR>
	DEV void
	wide(float (&value)[Y][X], S *room, const S *kept, const S *p, int64_t p_row, int64_t p_k,
		int rows, const S *q, int64_t q_column, int64_t q_k, int columns)
	{
#pragma unroll
		for (int y = 0; y < Y; y++)
#pragma unroll
			for (int x = 0; x < X; x++)
				value[y][x] = 0.0f;
#pragma unroll
		for (int k = 0; k < SIZE; k += DEPTH) {
			const S *a = kept ? kept + k / DEPTH * ROOM : room + ROOM;
			__syncthreads();
			if (!kept)
				fill_part<SIZE, P_VECTOR>(room + ROOM, p, k, p_row, p_k, rows);
			fill_part<SIZE, Q_VECTOR>(room, q, k, q_column, q_k, columns);
			__syncthreads();
			multiply<L>(value, a, room,
				((SIZE - k < DEPTH ? SIZE - k : DEPTH) + STEP - 1) / STEP);
		}
	}

	/* The k-th STEP columns of a tile as a first operand: they are in the registers in which
	 * the instruction takes it, of TF32 up to the order of columns. */
	template <typename L>
	DEV void
	left(uint32_t (&a)[4], const float (&value)[Y][X], int k)
	{
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const float *const of_row = value[i % 2];
			if constexpr (PAIRS)
				a[i] = L::store(of_row[4 * k + i / 2 * 2]) |
				       (uint32_t)L::store(of_row[4 * k + i / 2 * 2 + 1]) << 16;
			else
				a[i] = rt_float_bits(tile_operand(of_row[2 * k + i / 2]));
		}
	}

	/* sum[row, c] += sum over the k-th STEP columns of a[row, column] q[column, c], for SIZE c,
	 * at most 64 of them. */
	template <typename L>
	DEV void
	add_step(float (&sum)[Y][X], const uint32_t (&a)[4], const S *q, int k, int size)
	{
		const int lane = (int)threadIdx.x % 32;

#pragma unroll
		for (int n = 0; n < (size + NEXT - 1) / NEXT * (NEXT / 8); n += NEXT / 8) {
			if constexpr (PAIRS) {
				uint32_t b[4];
				tile_matrices<true>(b,
					q + (k * STEP + lane % 16) * PITCH + lane / 16 * 8 + n * 8);
				add<L>(sum, n, a, {b[0], b[1]});
				add<L>(sum, n + 1, a, {b[2], b[3]});
			} else {
				const S *const at = q + (k * STEP + lane % LANES * 2) * PITCH +
						    n * 8 + lane / LANES;
				add<L>(sum, n, a, {rt_float_bits(at[0]), rt_float_bits(at[PITCH])});
			}
		}
	}

	template <int SIZE, typename L, bool VECTOR>
	DEV void
	narrow(float (&sum)[(SIZE + 63) / 64][Y][X], const float (&value)[Y][X], S *room,
		const S *q, int64_t q_column, int64_t q_inner, int columns)
	{
		uint32_t a[COLUMNS / STEP][4];

#pragma unroll
		for (int k = 0; k < COLUMNS / STEP; k++)
			left<L>(a[k], value, k);
#pragma unroll
		for (int c = 0; c < (SIZE + 63) / 64; c++) {
			__syncthreads();
			fill_part<SIZE, VECTOR>(room, q, 64 * c, q_column, q_inner, columns);
			__syncthreads();
#pragma unroll
			for (int k = 0; k < COLUMNS / STEP; k++)
				add_step<L>(sum[c], a[k], room, k,
					SIZE - 64 * c < 64 ? SIZE - 64 * c : 64);
		}
	}
};

typedef tile_cores<uint16_t> tile_tensor;
typedef tile_cores<float> tile_tf32;

#endif
