/*
 * Names and types of a context, each there once: ir/context.c and ir/type.c. Names are numbered in
 * the order in which they came, and carry the number:
 *
 *     | number | length | n a m e \0 |
 *                        ^ what ir_name gives
 *
 * so what is known of names is an array by their numbers, and need not be found by a hash. The
 * first names are those of the ops, in the order of their codes.
 */
#ifndef IR_INTERN_H
#define IR_INTERN_H

#include "ir/base/map.h"
#include "ir/base/vec.h"

struct ir_context;

struct ir_intern {
	struct map name_map, type_map;
	struct VEC(const char *) name;
	struct VEC(const struct ir_type *) type;
};

struct name_head {
	uint32_t number, length;
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

/* A name by its number. */
static inline const char *
name_of(const struct ir_intern *t, uint32_t number)
{
	return t->name.at[number];
}

/* As ir_name_n, for who has the hash: mix_text(s, n). Fetches what the look-up will read. */
const char *name_intern(struct ir_context *ctx, const char *s, size_t n, uint64_t hash);

static inline void
name_prefetch(const struct ir_intern *t, uint64_t hash)
{
	__builtin_prefetch(&t->name_map.slot[(uint32_t)hash & (t->name_map.nslots - 1)]);
}

#endif
