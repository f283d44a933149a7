/*
 * Names and types of a context, each stored once: ir/context.c and ir/type.c. Names are numbered in
 * the order in which they were added, and carry the number:
 *
 *     | number | length | n a m e \0 |
 *                        ^ result of ir_name
 *
 * so data of names is in arrays by their numbers, and needs no hash. The first names are those of
 * the ops, in the order of their codes. Names are stored consecutively in pages of the same size (a
 * long one takes several), so that 32 bits are enough for a position. Most names in a text have
 * occurred shortly before: a small table has these.
 */
#ifndef IR_INTERN_H
#define IR_INTERN_H

#include "ir/base/map.h"
#include "ir/base/vec.h"

struct ir_context;

enum {
	NAME_RECENT = 512,   /* a power of two */
	NAME_UNIT = 8,       /* bytes; a name begins at a multiple */
	NAME_PAGE = 4 << 10, /* units */
};

struct name_head {
	uint32_t number, length;
};

struct name_recent {
	uint32_t hash;
	const char *name; /* NULL: none yet */
};

struct ir_intern {
	struct map name_map, type_map; /* of a name: the units before it */
	struct VEC(struct name_head *) page;
	uint32_t names, units; /* so far */
	struct name_recent recent[NAME_RECENT];
	struct VEC(const struct ir_type *) type;
};

static inline const struct name_head *
name_head(const char *name)
{
	return (const struct name_head *)(const void *)name - 1;
}

static inline uint32_t
name_number(const char *name)
{
	return name_head(name)->number;
}

static inline uint32_t
name_length(const char *name)
{
	return name_head(name)->length;
}

/* As ir_name_n, for callers with the hash, mix_text(s, n). Prefetches what the look-up reads. */
const char *name_intern(struct ir_context *ctx, const char *s, size_t n, uint64_t hash);

static inline void
name_prefetch(const struct ir_intern *t, uint64_t hash)
{
	__builtin_prefetch(&t->name_map.slot[(uint32_t)hash & (t->name_map.nslots - 1)]);
}

#endif
