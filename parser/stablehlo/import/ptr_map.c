/* A map from pointers to pointers: open addressing, at most half full. */
#include "parser/stablehlo/import/import.h"

#include "ir/base/alloc.h"

struct ptr_map {
	struct ptr_slot {
		const void *key, *value;
	} * slot;
	size_t size, used; /* size is a power of two */
};

static struct ptr_slot *
make_slots(struct ptr_map *m, size_t n)
{
	struct ptr_slot *s = ARRAY_ZERO(m, struct ptr_slot, n);

	return s;
}

struct ptr_map *
ptr_map_create(const void *owner)
{
	struct ptr_map *m = NEW(owner, struct ptr_map);

	m->size = 64;
	m->slot = make_slots(m, m->size);
	return m;
}

static struct ptr_slot *
find_slot(const struct ptr_map *m, const void *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 20) & (m->size - 1);

	while (m->slot[i].key && m->slot[i].key != key)
		i = (i + 1) & (m->size - 1);
	return &m->slot[i];
}

static void
grow(struct ptr_map *m)
{
	struct ptr_slot *old = m->slot;
	size_t n = m->size;

	m->size *= 2;
	m->slot = make_slots(m, m->size);
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*find_slot(m, old[i].key) = old[i];
	array_free(old);
}

void
ptr_map_set(struct ptr_map *m, const void *key, const void *value)
{
	if (2 * (m->used + 1) > m->size)
		grow(m);
	struct ptr_slot *s = find_slot(m, key);
	m->used += !s->key;
	*s = (struct ptr_slot){key, value};
}

const void *
ptr_map_get(const struct ptr_map *m, const void *key)
{
	return find_slot(m, key)->value;
}
