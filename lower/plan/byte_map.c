/* Owners of bytes: see byte_map.h. */
#include "lower/plan/byte_map.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"

#include <stdlib.h>
#include <string.h>

enum {
	WORD_BITS = 64,
	MAX_LEVELS = 6, /* 64^6 > 2^32: more than the number of offsets, which has 32 bits */
};

struct byte_map {
	uint64_t *offset; /* [n], ascending, each once, the first is 0 */
	uint32_t n;
	int32_t *owner; /* [n] owner of the segment that starts there */
	/* Bit i of level 0: a segment starts at i. Bit i of level k + 1: word i of level k is not
	 * 0. The last level is one word. Every level has a word of zeros after its last. */
	uint64_t *level[MAX_LEVELS];
	int nlevels;
};

static void
set_bit(struct byte_map *m, uint32_t i)
{
	for (int k = 0; k < m->nlevels; k++, i /= WORD_BITS)
		m->level[k][i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
}

static void
clear_bit(struct byte_map *m, uint32_t i)
{
	for (int k = 0; k < m->nlevels; k++, i /= WORD_BITS) {
		m->level[k][i / WORD_BITS] &= ~(UINT64_C(1) << i % WORD_BITS);
		if (m->level[k][i / WORD_BITS])
			return;
	}
}

static bool
has_bit(const struct byte_map *m, uint32_t i)
{
	return m->level[0][i / WORD_BITS] >> i % WORD_BITS & 1;
}

/* The first set bit at or after `i`: the last bit of the map is always set. */
static uint32_t
bit_from(const struct byte_map *m, uint32_t i)
{
	for (int k = 0; k < m->nlevels; k++) {
		const uint64_t word = m->level[k][i / WORD_BITS] >> i % WORD_BITS;
		if (!word) {
			i = i / WORD_BITS + 1;
			continue;
		}
		i += (uint32_t)__builtin_ctzll(word);
		while (k-- > 0)
			i = i * WORD_BITS + (uint32_t)__builtin_ctzll(m->level[k][i]);
		return i;
	}
	return m->n - 1;
}

/* The last set bit at or before `i`: bit 0 is always set. */
static uint32_t
bit_to(const struct byte_map *m, uint32_t i)
{
	for (int k = 0; k < m->nlevels; k++) {
		const uint64_t word = m->level[k][i / WORD_BITS] << (WORD_BITS - 1 - i % WORD_BITS);
		if (!word) {
			i = i / WORD_BITS - 1;
			continue;
		}
		i -= (uint32_t)__builtin_clzll(word);
		while (k-- > 0)
			i = i * WORD_BITS + WORD_BITS - 1 -
			    (uint32_t)__builtin_clzll(m->level[k][i]);
		return i;
	}
	return 0;
}

static void
make_levels(struct byte_map *m)
{
	uint32_t words = m->n;

	do {
		words = (words + WORD_BITS - 1) / WORD_BITS;
		m->level[m->nlevels++] = ARRAY_ZERO(m, uint64_t, (size_t)words + 1);
	} while (words > 1);
}

struct byte_map *
byte_map_create(const void *owner, const uint64_t *offset, uint32_t n)
{
	struct byte_map *m = NEW(owner, struct byte_map);

	m->offset = ARRAY_ZERO(m, uint64_t, (size_t)n + 1);
	m->owner = ARRAY_NEW(m, int32_t, (size_t)n + 1);
	if (n)
		memcpy(&m->offset[1], offset, sizeof *offset * n);
	sort_uint64(m->offset, (size_t)n + 1);
	for (uint32_t i = 0; i <= n; i++)
		if (!i || m->offset[i] != m->offset[m->n - 1])
			m->offset[m->n++] = m->offset[i];
	make_levels(m);
	m->owner[0] = m->owner[m->n - 1] = -1;
	set_bit(m, 0);
	set_bit(m, m->n - 1);
	return m;
}

static uint32_t
number_of(const struct byte_map *m, uint64_t offset)
{
	const uint64_t *at = bsearch(&offset, m->offset, m->n, sizeof *m->offset, order_uint64);

	return at ? (uint32_t)(at - m->offset) : 0;
}

struct byte_range
byte_map_range(const struct byte_map *m, uint64_t begin, uint64_t end)
{
	return (struct byte_range){number_of(m, begin), number_of(m, end)};
}

/* Starts a segment there, with the current owner of the byte. */
static void
split(struct byte_map *m, uint32_t at)
{
	if (has_bit(m, at))
		return;
	m->owner[at] = m->owner[bit_to(m, at)];
	set_bit(m, at);
}

void
byte_map_set(struct byte_map *m, struct byte_range r, int32_t owner)
{
	if (r.begin >= r.end)
		return;
	split(m, r.begin);
	split(m, r.end);
	for (uint32_t i = r.begin + 1; (i = bit_from(m, i)) < r.end; i++)
		clear_bit(m, i);
	m->owner[r.begin] = owner;
}

bool
byte_map_is(const struct byte_map *m, struct byte_range r, int32_t owner)
{
	return r.begin >= r.end || (has_bit(m, r.begin) && m->owner[r.begin] == owner &&
					   bit_from(m, r.begin + 1) == r.end);
}

int32_t
byte_map_next(const struct byte_map *m, struct byte_range r, uint32_t *at)
{
	const int32_t owner = m->owner[bit_to(m, *at)];
	const uint32_t next = bit_from(m, *at + 1);

	*at = next < r.end ? next : r.end;
	return owner;
}
