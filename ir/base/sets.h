/*
 * Disjoint sets of the numbers 0 .. n-1 in an array up[n], where each number begins as its own parent
 * and a root is its own; the paths to it are halved (R. Tarjan and J. van Leeuwen, "Worst-case
 * Analysis of Set Union Algorithms", 1984).
 */
#ifndef IR_BASE_SETS_H
#define IR_BASE_SETS_H

#include <stdint.h>

static inline uint32_t
sets_root(uint32_t *up, uint32_t i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

/* Makes one set of those of a and b. */
static inline void
sets_join(uint32_t *up, uint32_t a, uint32_t b)
{
	up[sets_root(up, a)] = sets_root(up, b);
}

#endif
