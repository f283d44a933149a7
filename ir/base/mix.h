/* Pseudo-random numbers, the same on all machines: splitmix64 (Steele, Lea, Flood 2014). For hashes
 * and for seeded searches and samples; programs use runtime/kernel/rng.h. */
#ifndef IR_BASE_MIX_H
#define IR_BASE_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Every bit of x reaches every bit of the result. */
static inline uint64_t
mix64(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Adds one word, or n bytes, to a hash that starts as 0. Both halves of a product, as in wyhash
 * (Wang Yi 2019): tables are used all the time, and this takes a quarter of the time of mix64. */
static inline uint64_t
mix_word(uint64_t hash, uint64_t word)
{
	const unsigned __int128 x = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t n);

/* The hash of a word of a language, from the functions above. */
static inline uint64_t
mix_text(const char *s, size_t n)
{
	uint64_t hash = n, word = 0;
	uint32_t low, high;

	for (; n > 8; n -= 8, s += 8) {
		memcpy(&word, s, 8);
		hash = mix_word(hash, word);
	}
	if (n >= 4) {
		memcpy(&low, s, 4);
		memcpy(&high, s + n - 4, 4);
		word = (uint64_t)high << 32 | low;
	} else if (n) {
		word = (uint64_t)(unsigned char)s[0] << 16 |
		       (uint64_t)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1];
	}
	return mix_word(hash, word);
}

/* Are the n bytes equal? Most words are so short that a call of memcmp takes longer. */
static inline bool
text_equal(const char *a, const char *b, size_t n)
{
	uint64_t x, y;
	uint32_t low, high, other_low, other_high;

	if (n > 16)
		return memcmp(a, b, n) == 0;
	if (n >= 8) {
		memcpy(&x, a, 8);
		memcpy(&y, b, 8);
		if (x != y)
			return false;
		memcpy(&x, a + n - 8, 8);
		memcpy(&y, b + n - 8, 8);
		return x == y;
	}
	if (n >= 4) {
		memcpy(&low, a, 4);
		memcpy(&other_low, b, 4);
		memcpy(&high, a + n - 4, 4);
		memcpy(&other_high, b + n - 4, 4);
		return low == other_low && high == other_high;
	}
	return !n || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* The hash of an address. */
static inline uint64_t
mix_pointer(const void *p)
{
	return mix64((uintptr_t)p);
}

/* The next number of a sequence; any initial state is valid. */
static inline uint64_t
mix64_next(uint64_t *state)
{
	const uint64_t x = mix64(*state);
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return x;
}

/* The same, 0 ... n - 1; n > 0. */
static inline uint32_t
mix64_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((mix64_next(state) >> 32) * n >> 32);
}

#endif
