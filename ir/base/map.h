/*
 * A hash index over a list of the caller: from the key of an entry to its number. The list (mostly
 * a vec) has the keys and the values, in the order in which they were added, so a walk over it has
 * the same order in every run. A zeroed map is empty:
 *
 *     slots, by hash        the caller's list
 *     │ hash │ number │      0: key value
 *     │      │        │      1: key value
 *     │ hash │ number │──>   2: key value
 *
 *     MAP_SAME(same, struct list, struct key, list->at[i].key.n == key->n && ...)
 *
 *     uint32_t i = map_add(owner, &map, mix_text(text, n), same, &list, &key);
 *     if (i == list.n)
 *         VEC_PUSH(owner, &list, (struct entry){key, value});
 *
 * Open addressing with linear probing, at most four fifths full. Entries are not removed.
 */
#ifndef IR_BASE_MAP_H
#define IR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0: free */
};

struct map {
	struct map_slot *slot; /* an array of alloc.h */
	size_t nslots;         /* a power of two, or 0 */
	uint32_t used;
};

#define MAP_NONE UINT32_MAX

/* Is entry i of the list the one of this key? Called if the hashes are equal. */
typedef bool map_same(const void *list, uint32_t i, const void *key);

/* Such a function: an expression of `list`, `i` and `key`, pointers to constants of these types. */
#define MAP_SAME(name, list_type, key_type, ...)                                                   \
	static bool name(const void *of_list, uint32_t i, const void *of_key)                      \
	{                                                                                          \
		list_type const *const list = of_list;                                             \
		key_type const *const key = of_key;                                                \
                                                                                                   \
		return __VA_ARGS__;                                                                \
	}

/* Room for one more. Out of memory, or of numbers, ends the program. */
void map_grow(const void *owner, struct map *m);

/* map_clear: removes all entries, keeps the memory for reuse; map_free: back to zeroed. */
void map_clear(struct map *m);
void map_free(struct map *m);

/* The slot of the key, or the free one where it belongs; for map_find and map_add. */
static inline struct map_slot *
map_slot_of(const struct map *m, uint64_t hash, map_same *same, const void *list, const void *key)
{
	size_t at = (uint32_t)hash & (m->nslots - 1);

	while (m->slot[at].number &&
		!(m->slot[at].hash == (uint32_t)hash && same(list, m->slot[at].number - 1, key)))
		at = (at + 1) & (m->nslots - 1);
	return &m->slot[at];
}

/* The slot of the key, for callers with their own numbers: 0 in a new one, until map_fill. */
static inline struct map_slot *
map_slot_for(const void *owner, struct map *m, uint64_t hash, map_same *same, const void *list,
	const void *key)
{
	if (4 * m->nslots <= 5 * (size_t)m->used)
		map_grow(owner, m);
	return map_slot_of(m, hash, same, list, key);
}

static inline void
map_fill(struct map *m, struct map_slot *slot, uint64_t hash, uint32_t number)
{
	*slot = (struct map_slot){(uint32_t)hash, number + 1};
	m->used++;
}

/* The number of the key's entry, or MAP_NONE. Only the low 32 bits of `hash` are used. */
static inline uint32_t
map_find(const struct map *m, uint64_t hash, map_same *same, const void *list, const void *key)
{
	return m->used ? map_slot_of(m, hash, same, list, key)->number - 1 : MAP_NONE;
}

/* The same; a new key gets the next number, which is the number of entries before. */
static inline uint32_t
map_add(const void *owner, struct map *m, uint64_t hash, map_same *same, const void *list,
	const void *key)
{
	struct map_slot *slot = map_slot_for(owner, m, hash, same, list, key);
	if (!slot->number)
		map_fill(m, slot, hash, m->used);
	return slot->number - 1;
}

#endif
