#include "ir/block_names.h"

#include <ctype.h>

/* The block in a name; length 0: none. */
static struct block_name
block_of_name(const char *name)
{
	struct block_name b = {.name = name, .length = name ? strcspn(name, ".") : 0};

	if (!b.length || !name[b.length])
		return (struct block_name){0};
	for (b.stem = b.length; b.stem && isdigit((unsigned char)name[b.stem - 1]);)
		b.stem--;
	return b.stem < b.length ? b : (struct block_name){0};
}

int32_t
block_names_add(const void *owner, struct block_names *list, const char *name)
{
	const struct block_name b = block_of_name(name);

	if (!b.length)
		return -1;
	for (int64_t i = list->n; i-- > 0;)
		if (list->at[i].length == b.length && !memcmp(list->at[i].name, name, b.length))
			return (int32_t)i;
	VEC_PUSH(owner, list, b);
	return (int32_t)list->n - 1;
}

void
block_names_find_repeats(struct block_names *list)
{
	for (int64_t i = 0; i < list->n; i++)
		for (int64_t k = 0; k < i; k++) {
			struct block_name *a = &list->at[i], *b = &list->at[k];
			if (a->stem == b->stem && !memcmp(a->name, b->name, a->stem))
				a->repeats = b->repeats = true;
		}
}
