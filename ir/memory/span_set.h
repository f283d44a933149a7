/*
 * Sets of bytes as sorted spans that neither overlap nor touch, and a tree of such sets over time:
 * which bytes are taken at any moment of a life? What lies side by side is one span, so the sets of
 * a well packed arena are short.
 */
#ifndef IR_SPAN_SET_H
#define IR_SPAN_SET_H

#include <stdint.h>

struct span {
	uint64_t begin, end;
};

struct span_tree;

/* Over moments 0 ... moments - 1, without a taken byte; a talloc child of `owner`. */
struct span_tree *span_tree_create(const void *owner, uint32_t moments);

/* No byte is taken any more. */
void span_tree_clear(struct span_tree *t);

/* Bytes [begin, end) are taken from moment `first` to `last`, both included. */
void span_tree_take(
	struct span_tree *t, uint32_t first, uint32_t last, uint64_t begin, uint64_t end);

/*
 * The bytes that are taken at any moment from `first` to `last`, as spans in order; *n receives how
 * many. They are the tree's, until it is used again.
 */
const struct span *span_tree_taken(struct span_tree *t, uint32_t first, uint32_t last, uint32_t *n);

#endif
