/* Sums in order: see sum.h. Two and three sources, the frequent cases, are added in one
 * pass; more go through a tile that stays in the first-level cache. */
#include "runtime/comm/sum.h"
#include "runtime/kernel/half.h"
#include <stdbool.h>

/* Elements of a tile: 4 KB of f32, so that tile, sources and result fit a 32 KB cache. */
#define TILE 1024

#define SUM(name, type)                                                                            \
	static void sum_##name(type *dst, const void *const *src, int places, int64_t n)           \
	{                                                                                          \
		const type *a = src[0], *b = src[places > 1];                                      \
		if (places == 2) {                                                                 \
			for (int64_t i = 0; i < n; i++)                                            \
				dst[i] = (type)(0 + a[i] + b[i]);                                  \
			return;                                                                    \
		}                                                                                  \
		type tile[TILE];                                                                   \
		for (int64_t at = 0; at < n; at += TILE) {                                         \
			const int64_t m = n - at < TILE ? n - at : TILE;                           \
			for (int64_t i = 0; i < m; i++)                                            \
				tile[i] = (type)(0 + a[at + i]);                                   \
			for (int p = 1; p < places; p++) {                                         \
				const type *s = (const type *)src[p] + at;                         \
				for (int64_t i = 0; i < m; i++)                                    \
					tile[i] = (type)(tile[i] + s[i]);                          \
			}                                                                          \
			memcpy(dst + at, tile, (size_t)m * sizeof *tile);                          \
		}                                                                                  \
	}

#define SUM_HALF(name, load, store)                                                                \
	static void sum_##name(uint16_t *dst, const void *const *src, int places, int64_t n)       \
	{                                                                                          \
		float tile[TILE];                                                                  \
		for (int64_t at = 0; at < n; at += TILE) {                                         \
			const int64_t m = n - at < TILE ? n - at : TILE;                           \
			for (int p = 0; p < places; p++) {                                         \
				const uint16_t *s = (const uint16_t *)src[p] + at;                 \
				for (int64_t i = 0; i < m; i++)                                    \
					tile[i] = (p ? tile[i] : 0) + load(s[i]);                  \
			}                                                                          \
			for (int64_t i = 0; i < m; i++)                                            \
				dst[at + i] = store(tile[i]);                                      \
		}                                                                                  \
	}

/* Unsigned, because signed sums must not overflow. */
SUM(f64, double)
SUM(f32, float)
SUM(i64, uint64_t)
SUM(i32, uint32_t)
SUM(i16, uint16_t)
SUM(i8, uint8_t)
SUM_HALF(f16, rt_f16_to_f32, rt_f32_to_f16)
SUM_HALF(bf16, rt_bf16_to_f32, rt_f32_to_bf16)

static void
sum_bool(uint8_t *dst, const void *const *src, int places, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		bool any = false;
		for (int p = 0; p < places; p++)
			any |= ((const uint8_t *)src[p])[i] != 0;
		dst[i] = any;
	}
}

void
rt_sum(enum rt_dtype t, void *dst, const void *const *src, int places, int64_t n)
{
	if (places == 1) { /* nothing is summed */
		memcpy(dst, *src, (size_t)n * rt_dtype_bytes(t));
		return;
	}
	switch (t) {
	case RT_f64: sum_f64(dst, src, places, n); break;
	case RT_f32: sum_f32(dst, src, places, n); break;
	case RT_f16: sum_f16(dst, src, places, n); break;
	case RT_bf16: sum_bf16(dst, src, places, n); break;
	case RT_i64:
	case RT_u64: sum_i64(dst, src, places, n); break;
	case RT_i32:
	case RT_u32: sum_i32(dst, src, places, n); break;
	case RT_i16:
	case RT_u16: sum_i16(dst, src, places, n); break;
	case RT_i8:
	case RT_u8: sum_i8(dst, src, places, n); break;
	case RT_bool: sum_bool(dst, src, places, n); break;
	case RT_DTYPES: break;
	}
}
