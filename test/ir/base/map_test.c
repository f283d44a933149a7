/* Maps: what is found, whatever the hashes are. */
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
	struct map map;
	struct VEC(const char *) name;
};

static bool
same_name(const void *list, uint32_t i, const void *key)
{
	const struct names *n = list;

	return strcmp(n->name.at[i], key) == 0;
}

static uint32_t
add_name(const void *owner, struct names *n, uint64_t hash, const char *name)
{
	const uint32_t i = map_add(owner, &n->map, hash, same_name, n, name);

	if (i == n->name.n)
		VEC_PUSH(owner, &n->name, name);
	return i;
}

static void
an_empty_map_has_nothing(void **state)
{
	struct names n = {0};

	(void)state;
	assert_int_equal(map_find(&n.map, 0, same_name, &n, "a"), MAP_NONE);
	map_clear(&n.map);
	map_free(&n.map);
	assert_int_equal(map_find(&n.map, 0, same_name, &n, "a"), MAP_NONE);
}

static void
a_key_has_one_entry(void **state)
{
	void *owner = talloc_new(NULL);
	struct names n = {0};
	char again[] = "alpha"; /* equal, not the same */

	(void)state;
	assert_int_equal(add_name(owner, &n, 7, "alpha"), 0);
	assert_int_equal(add_name(owner, &n, 9, "beta"), 1);
	assert_int_equal(add_name(owner, &n, 7, again), 0);
	assert_int_equal(n.name.n, 2);
	assert_int_equal(map_find(&n.map, 9, same_name, &n, "beta"), 1);
	assert_int_equal(map_find(&n.map, 9, same_name, &n, "gamma"), MAP_NONE);
	talloc_free(owner);
}

/* All of one hash, and of hashes that agree in the bits that choose a slot, or in all low ones. */
static void
keys_that_collide_stay_apart(void **state)
{
	static const uint64_t step[] = {0, 1 << 16, UINT64_C(1) << 32, UINT64_C(0xffffffff)};
	char text[500][8];

	(void)state;
	for (size_t s = 0; s < sizeof step / sizeof *step; s++) {
		void *owner = talloc_new(NULL);
		struct names n = {0};
		for (uint32_t i = 0; i < 500; i++) {
			snprintf(text[i], sizeof text[i], "k%u", i);
			assert_int_equal(add_name(owner, &n, i * step[s], text[i]), i);
		}
		for (uint32_t i = 0; i < 500; i++)
			assert_int_equal(map_find(&n.map, i * step[s], same_name, &n, text[i]), i);
		assert_int_equal(map_find(&n.map, 0, same_name, &n, "k500"), MAP_NONE);
		talloc_free(owner);
	}
}

struct numbers {
	struct map map;
	struct VEC(uint64_t) key;
};

static bool
same_number(const void *list, uint32_t i, const void *key)
{
	const struct numbers *n = list;

	return n->key.at[i] == *(const uint64_t *)key;
}

static uint32_t
add_number(const void *owner, struct numbers *n, uint64_t key)
{
	const uint32_t i = map_add(owner, &n->map, mix64(key), same_number, n, &key);

	if (i == n->key.n)
		VEC_PUSH(owner, &n->key, key);
	return i;
}

/* Against a plain array: i * i mod a prime takes half of all values below it, each twice. */
static void
many_keys_are_found(void **state)
{
	enum { PRIME = 1000003 };
	void *owner = talloc_new(NULL);
	struct numbers n = {0};
	uint32_t *first = calloc(PRIME, sizeof *first), next = 0;

	(void)state;
	assert_non_null(first);
	for (uint64_t i = 1; i < PRIME; i++) {
		const uint64_t key = i * i % PRIME;
		if (!first[key])
			first[key] = ++next;
		assert_int_equal(add_number(owner, &n, key), first[key] - 1);
	}
	assert_int_equal(next, (PRIME - 1) / 2);
	assert_int_equal(n.map.used, next);
	assert_true(4 * n.map.nslots >= 5 * (size_t)n.map.used);
	for (uint64_t key = 0; key < PRIME; key++)
		assert_int_equal(map_find(&n.map, mix64(key), same_number, &n, &key),
			first[key] ? first[key] - 1 : MAP_NONE);
	free(first);
	talloc_free(owner);
}

/* The caller's list has the keys as they first came, whatever the hashes. */
static void
the_order_is_that_of_adding(void **state)
{
	void *owner = talloc_new(NULL);
	struct numbers n = {0};

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		add_number(owner, &n, i * 7919 % 10007);
	for (uint64_t i = 0; i < 10000; i++)
		add_number(owner, &n, (9999 - i) * 7919 % 10007);
	assert_int_equal(n.key.n, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(n.key.at[i], i * 7919 % 10007);
	talloc_free(owner);
}

static void
a_cleared_map_begins_anew(void **state)
{
	void *owner = talloc_new(NULL);
	struct numbers n = {0};

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			assert_int_equal(add_number(owner, &n, i + (uint64_t)round), i);
		const size_t slots = n.map.nslots;
		map_clear(&n.map);
		n.key.n = 0;
		assert_int_equal(n.map.nslots, slots);
		assert_int_equal(
			map_find(&n.map, mix64(5), same_number, &n, &(uint64_t){5}), MAP_NONE);
	}
	map_free(&n.map);
	assert_null(n.map.slot);
	assert_int_equal(talloc_total_blocks(owner), 2); /* the owner and the list */
	talloc_free(owner);
}

/* Names that count, as programs that write programs give them: a table that is three quarters full
 * has to be asked for less than four slots a name, one where they crowd for dozens. */
static void
names_that_count_are_spread(void **state)
{
	static const char *const format[] = {"%u", "x%u", "%u_h", "layer.%u.weight", "%%h%u.1"};
	enum { SLOTS = 1 << 17, NAMES = 3 * SLOTS / 4 };
	bool *taken = calloc(SLOTS, sizeof *taken);

	(void)state;
	assert_non_null(taken);
	for (size_t f = 0; f < sizeof format / sizeof *format; f++) {
		uint64_t asked = 0;
		memset(taken, 0, SLOTS * sizeof *taken);
		for (unsigned i = 0; i < NAMES; i++) {
			char text[32];
			const int n = snprintf(text, sizeof text, format[f], i);
			size_t at = (uint32_t)mix_text(text, (size_t)n) % SLOTS;
			for (; taken[at]; at = (at + 1) % SLOTS)
				asked++;
			taken[at] = true;
			asked++;
		}
		assert_true(asked < (uint64_t)4 * NAMES);
	}
	free(taken);
}

/* Words of all lengths are told apart by each of their bytes. */
static void
words_are_compared(void **state)
{
	char a[40], b[40];

	(void)state;
	for (size_t n = 0; n < sizeof a; n++) {
		memset(a, 'a', sizeof a);
		memset(b, 'a', sizeof b);
		assert_true(text_equal(a, b, n));
		for (size_t i = 0; i < sizeof a; i++) {
			b[i] = 'b';
			assert_int_equal(text_equal(a, b, n), i >= n);
			b[i] = 'a';
		}
	}
}

/* What differs in a byte, in the length or in where it begins has another hash. */
static void
bytes_are_mixed(void **state)
{
	enum { N = 64 };
	static const char zeros[N];
	uint64_t hash[3 * N];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		char text[N] = {0};
		text[i] = 1;
		hash[n++] = mix_bytes(0, text, N);
		hash[n++] = mix_bytes(0, zeros, i);
		hash[n++] = mix_bytes(mix64(i), zeros, N);
		assert_int_equal(hash[n - 3], mix_bytes(0, text, N));
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_true((uint32_t)hash[i] != (uint32_t)hash[j]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(a_key_has_one_entry),
		cmocka_unit_test(keys_that_collide_stay_apart),
		cmocka_unit_test(many_keys_are_found),
		cmocka_unit_test(the_order_is_that_of_adding),
		cmocka_unit_test(a_cleared_map_begins_anew),
		cmocka_unit_test(names_that_count_are_spread),
		cmocka_unit_test(words_are_compared),
		cmocka_unit_test(bytes_are_mixed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
