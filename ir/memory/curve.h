/*
 * What is live at each moment while decisions change it: bytes are added to a range of moments, or taken away, and the
 * most that is live at one moment is known after each. A segment tree: a change takes the logarithm of the moments.
 */
#ifndef IR_MEMORY_CURVE_H
#define IR_MEMORY_CURVE_H

#include <stdint.h>

struct live_curve {
	uint32_t leaves; /* a power of two */
	/* Of node i, over 2 i and 2 i + 1; leaf t is leaves + t: */
	int64_t *most; /* that is live in its range, less what is added to the ranges around */
	int64_t *more; /* [leaves] added to all of its range */
};

/* Of bytes live at n moments; owned by `owner`. */
struct live_curve *live_curve_create(const void *owner, const uint64_t *live, uint32_t n);

/* Adds bytes at the moments from `first` to `last`, both included; none if `last` is before `first`. */
void live_curve_add(struct live_curve *c, uint32_t first, uint32_t last, int64_t bytes);

static inline uint64_t
live_curve_most(const struct live_curve *c)
{
	return (uint64_t)c->most[1];
}

#endif
