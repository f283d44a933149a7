/* A map from pointers to pointers. */
#include "parser/stablehlo/import/state/state.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

struct ptr_entry {
	const void *key, *value;
};

struct ptr_map {
	struct map map;
	struct VEC(struct ptr_entry) entry;
};

struct ptr_map *
ptr_map_create(const void *owner)
{
	return NEW(owner, struct ptr_map);
}

MAP_SAME(same_key, struct ptr_map, void, list->entry.at[i].key == key)

void
ptr_map_set(struct ptr_map *m, const void *key, const void *value)
{
	const uint32_t i = map_add(m, &m->map, mix_pointer(key), same_key, m, key);

	if (i == m->entry.n)
		VEC_PUSH(m, &m->entry, (struct ptr_entry){.key = key});
	m->entry.at[i].value = value;
}

const void *
ptr_map_get(const struct ptr_map *m, const void *key)
{
	const uint32_t i = map_find(&m->map, mix_pointer(key), same_key, m, key);

	return i == MAP_NONE ? NULL : m->entry.at[i].value;
}
