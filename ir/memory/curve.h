/*
 * Live bytes over time, and their peak, under changes: bytes are added to a range of times or taken
 * away, and the peak is known after each change. A segment tree: O(log n) for each change.
 */
#ifndef IR_MEMORY_CURVE_H
#define IR_MEMORY_CURVE_H

#include <stdint.h>

struct live_curve {
	uint32_t leaves; /* a power of two */
	/* Of node i, over 2 i and 2 i + 1; leaf t is leaves + t: */
	int64_t *most; /* live in its range, without `more` of the nodes above */
	int64_t *more; /* [leaves] added to all of its range */
};

/* A curve of live[n], the bytes live at each of n times; owned by `owner`. */
struct live_curve *live_curve_create(const void *owner, const uint64_t *live, uint32_t n);

/* Adds `bytes` at times `first` to `last`, both included; none if `last` is before `first`. */
void live_curve_add(struct live_curve *c, uint32_t first, uint32_t last, int64_t bytes);

static inline uint64_t
live_curve_most(const struct live_curve *c)
{
	return (uint64_t)c->most[1];
}

#endif
