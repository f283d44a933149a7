/*
 * Sets of bytes as sorted spans that neither overlap nor touch, and a tree of such sets over time:
 * which bytes are taken at any time of a live range? Adjacent bytes are one span, so the sets of a
 * well packed arena are short.
 */
#ifndef IR_SPAN_SET_H
#define IR_SPAN_SET_H

#include <stdint.h>

struct span {
	uint64_t begin, end;
};

struct span_tree;

/* Over times 0 ... moments - 1, with no byte taken; a talloc child of `owner`. */
struct span_tree *span_tree_create(const void *owner, uint32_t moments);

/* Frees all bytes. */
void span_tree_clear(struct span_tree *t);

/* Takes bytes [begin, end) from time `first` to `last`, both included. */
void span_tree_take(
	struct span_tree *t, uint32_t first, uint32_t last, uint64_t begin, uint64_t end);

/*
 * The bytes that are taken at any time from `first` to `last`, as *n spans in ascending order. They
 * belong to the tree and are valid until it is used again.
 */
const struct span *span_tree_taken(struct span_tree *t, uint32_t first, uint32_t last, uint32_t *n);

#endif
