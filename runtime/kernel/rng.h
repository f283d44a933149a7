/* Random numbers by position: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers:
 * as easy as 1, 2, 3; SC 2011). The counter is the element's number in the global tensor and the
 * key comes from seeds and a name, so a number depends neither on the layout, nor on the target,
 * nor on the order of the calls. */
#ifndef RUNTIME_RNG_H
#define RUNTIME_RNG_H

#include <math.h>
#include <stdint.h>

/* CUDA kernels use these functions too and mark them so. */
#ifndef RT_INLINE
#define RT_INLINE static inline
#endif

struct rt_philox {
	uint32_t v[4];
};

/* Ten rounds over the counter c with the key (k0, k1). */
RT_INLINE struct rt_philox
rt_philox4x32(struct rt_philox c, uint32_t k0, uint32_t k1)
{
	for (int round = 0; round < 10; round++) {
		const uint64_t p0 = (uint64_t)0xD2511F53u * c.v[0];
		const uint64_t p1 = (uint64_t)0xCD9E8D57u * c.v[2];
		c = (struct rt_philox){{(uint32_t)(p1 >> 32) ^ c.v[1] ^ k0, (uint32_t)p1,
			(uint32_t)(p0 >> 32) ^ c.v[3] ^ k1, (uint32_t)p0}};
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}

/* A 64-bit mix in which every input bit reaches every output bit (the finalizer of splitmix64). */
RT_INLINE uint64_t
rt_mix64(uint64_t x)
{
	x += 0x9E3779B97F4A7C15u;
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 27) * 0x94D049BB133111EBu;
	return x ^ x >> 31;
}

/* The key of a tensor's numbers: the program's seed, the tensor's seed and its name (FNV-1a). */
RT_INLINE uint64_t
rt_key(uint64_t program_seed, uint64_t tensor_seed, const char *name)
{
	uint64_t hash = 0xCBF29CE484222325u;
	for (const char *s = name; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001B3u;
	return rt_mix64(rt_mix64(rt_mix64(program_seed) ^ tensor_seed) ^ hash);
}

/* The Philox block of element `index` under `key`. */
RT_INLINE struct rt_philox
rt_random_block(uint64_t key, uint64_t index)
{
	const struct rt_philox c = {{(uint32_t)index, (uint32_t)(index >> 32), 0, 0}};
	return rt_philox4x32(c, (uint32_t)key, (uint32_t)(key >> 32));
}

/* The same at step n: a stream of blocks for each element. */
RT_INLINE struct rt_philox
rt_random_block_at(uint64_t key, uint64_t n, uint64_t index)
{
	const struct rt_philox c = {
		{(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)n, (uint32_t)(n >> 32)}};
	return rt_philox4x32(c, (uint32_t)key, (uint32_t)(key >> 32));
}

/* 53 random bits as a double of [0,1). */
RT_INLINE double
rt_unit_double(uint32_t hi, uint32_t lo)
{
	return (double)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53;
}

/* A uniform number in [0,1). A cast to a narrower float may round it to 1; the ops avoid that:
 * ir/ops/expr.c. */
RT_INLINE double
rt_uniform(uint64_t key, uint64_t index)
{
	const struct rt_philox b = rt_random_block(key, index);
	return rt_unit_double(b.v[0], b.v[1]);
}

/* A standard normal number of a block (Box-Muller, the cosine half). 1 - u is in (0,1], so it is
 * finite. */
RT_INLINE double
rt_block_normal(struct rt_philox b)
{
	const double u = 1 - rt_unit_double(b.v[0], b.v[1]);
	const double v = rt_unit_double(b.v[2], b.v[3]);
	return sqrt(-2 * log(u)) * cos(6.283185307179586476925 * v);
}

RT_INLINE double
rt_normal(uint64_t key, uint64_t index)
{
	return rt_block_normal(rt_random_block(key, index));
}

/* The results of the ops random_uniform, random_normal and random_bits for element `index` at count
 * n. Uniform numbers have 24 bits, so that a float holds them exactly and stays below 1. */
RT_INLINE double
rt_draw_uniform(int64_t key, int64_t n, int64_t index)
{
	const struct rt_philox b =
		rt_random_block_at(rt_mix64((uint64_t)key), (uint64_t)n, (uint64_t)index);
	return (b.v[0] >> 8) * 0x1p-24;
}

RT_INLINE double
rt_draw_normal(int64_t key, int64_t n, int64_t index)
{
	return rt_block_normal(
		rt_random_block_at(rt_mix64((uint64_t)key), (uint64_t)n, (uint64_t)index));
}

RT_INLINE int64_t
rt_draw_bits(int64_t key, int64_t n, int64_t index)
{
	const struct rt_philox b =
		rt_random_block_at(rt_mix64((uint64_t)key), (uint64_t)n, (uint64_t)index);
	return (int64_t)((uint64_t)b.v[1] << 32 | b.v[0]);
}

#endif
