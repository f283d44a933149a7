/* Hash tables of names and types behind a context, for ir/context.c and ir/type.c; the hash also
 * for the parser. */
#ifndef IR_INTERN_H
#define IR_INTERN_H

#include "ir/ir.h"

struct intern_slot {
	uint64_t hash;
	const void *item; /* NULL: free */
};

/* Open addressing with linear probing; the size is a power of two, at most half full. */
struct intern_table {
	struct intern_slot *slot; /* talloc child of the context */
	size_t size, used;
};

struct ir_intern {
	struct intern_table names, types;
};

/* Continued from `hash`, eight bytes at a time. */
uint64_t intern_hash(uint64_t hash, const void *bytes, size_t n);

#define INTERN_SEED 1469598103934665603u

typedef bool intern_equal(const void *item, const void *key, size_t n);

/* The slot of the item equal to the key, or the free slot where it belongs. Grows the table first.
 */
struct intern_slot *intern_find(const void *owner, struct intern_table *t, uint64_t hash,
	intern_equal *equal, const void *key, size_t n);

#endif
