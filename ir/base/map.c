/* See map.h. */
#include "ir/base/map.h"

#include "ir/base/alloc.h"

#include <string.h>

enum { FIRST_SLOTS = 16 };

void
map_grow(const void *owner, struct map *m)
{
	const struct map old = *m;

	if (old.nslots > MAP_NONE) /* all numbers are used */
		out_of_memory_for(2 * old.nslots, sizeof *m->slot, "a hash table");
	m->nslots = old.nslots ? 2 * old.nslots : FIRST_SLOTS;
	m->slot = ARRAY_ZERO(owner, struct map_slot, m->nslots);
	for (size_t i = 0; i < old.nslots; i++) {
		if (!old.slot[i].number)
			continue;
		size_t at = old.slot[i].hash & (m->nslots - 1);
		while (m->slot[at].number)
			at = (at + 1) & (m->nslots - 1);
		m->slot[at] = old.slot[i];
	}
	array_free(old.slot);
}

void
map_clear(struct map *m)
{
	if (m->used)
		memset(m->slot, 0, m->nslots * sizeof *m->slot);
	m->used = 0;
}

void
map_free(struct map *m)
{
	array_free(m->slot);
	*m = (struct map){0};
}
