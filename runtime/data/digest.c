/* XXH64: see digest.h. Four lanes of 8 bytes, folded into one at the end. */
#include "runtime/data/digest.h"
#include <string.h>

#define PRIME_1 0x9E3779B185EBCA87u
#define PRIME_2 0xC2B2AE3D27D4EB4Fu
#define PRIME_3 0x165667B19E3779F9u
#define PRIME_4 0x85EBCA77C2B2AE63u
#define PRIME_5 0x27D4EB2F165667C5u
#define LANES 4

static inline uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t
word(const unsigned char *at)
{
	uint64_t x;
	memcpy(&x, at, sizeof x);
	return x;
}

static inline uint64_t
mix(uint64_t lane, uint64_t x)
{
	return rotate(lane + x * PRIME_2, 31) * PRIME_1;
}

static uint64_t
fold(const uint64_t *lane)
{
	uint64_t h =
		rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
	for (int i = 0; i < LANES; i++)
		h = (h ^ mix(0, lane[i])) * PRIME_1 + PRIME_4;
	return h;
}

/* The last bytes, fewer than the lanes take at once. */
static uint64_t
rest(uint64_t h, const unsigned char *at, const unsigned char *end)
{
	for (; end - at >= 8; at += 8)
		h = rotate(h ^ mix(0, word(at)), 27) * PRIME_1 + PRIME_4;
	if (end - at >= 4) {
		uint32_t x;
		memcpy(&x, at, sizeof x);
		h = rotate(h ^ x * PRIME_1, 23) * PRIME_2 + PRIME_3;
		at += 4;
	}
	for (; at < end; at++)
		h = rotate(h ^ *at * PRIME_5, 11) * PRIME_1;
	return h;
}

uint64_t
rt_digest(const void *bytes, size_t n, uint64_t seed)
{
	const unsigned char *at = bytes, *const end = at + n;
	uint64_t h = seed + PRIME_5;
	if (n >= 8 * LANES) {
		uint64_t lane[LANES] = {
			seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
		for (; end - at >= 8 * LANES; at += 8 * LANES)
			for (int i = 0; i < LANES; i++)
				lane[i] = mix(lane[i], word(at + 8 * i));
		h = fold(lane);
	}
	h = rest(h + n, at, end);
	h = (h ^ h >> 33) * PRIME_2;
	h = (h ^ h >> 29) * PRIME_3;
	return h ^ h >> 32;
}
