/*
 * Instances of templates after `inline`: the names of their values and params begin with the name
 * of the instance, h3.up.u and h3.up.w. A block is an instance whose name ends in a number; it
 * repeats if other instances differ only in that number.
 */
#ifndef IR_BLOCK_NAMES_H
#define IR_BLOCK_NAMES_H

#include "ir/base/vec.h"

#include <stdbool.h>

struct block_name {
	const char *name;    /* of something in it */
	size_t length, stem; /* of "h3" and of "h" */
	bool repeats;        /* another block has the same stem: block_names_find_repeats */
};

struct block_names VEC(struct block_name);

/* The number of the block that a name is in, which is added if it is new; -1: none. */
int32_t block_names_add(const void *owner, struct block_names *list, const char *name);

/* Sets `repeats` of all. */
void block_names_find_repeats(struct block_names *list);

#endif
