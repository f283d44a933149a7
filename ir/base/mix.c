/* See mix.h. */
#include "ir/base/mix.h"

#include <string.h>

/* Eight bytes at a time. */
uint64_t
mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const char *p = bytes;
	uint64_t word;

	for (hash ^= n; n >= sizeof word; n -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		hash = mix_word(hash, word);
	}
	word = 0;
	memcpy(&word, p, n);
	return mix_word(hash, word);
}
