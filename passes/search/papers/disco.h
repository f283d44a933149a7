/* Shared by the files of the engine `disco`: disco.c, disco_apply.c. */
#ifndef PASSES_SEARCH_SEARCH_DISCO_H
#define PASSES_SEARCH_SEARCH_DISCO_H

#include "passes/search/search.h"

/* The three optimization methods of section 4.5, in the order in which it lists them. */
enum disco_method { DISCO_FUSE, DISCO_COPY, DISCO_PACK, DISCO_NMETHODS };

/* A move that was applied: node a into node b. */
struct disco_move {
	enum disco_method method;
	uint32_t a, b;
};

/* Draws moves for a plan that is changed by this engine only and never has more nodes than now. */
struct disco_draw;

/* Owned by `owner`. */
struct disco_draw *disco_draw_create(const void *owner, struct plan *p, uint64_t seed);

/* 0 ... n, with equal probability. */
uint32_t disco_draw_up_to(struct disco_draw *d, uint32_t n);

/* Draws a move of the method and applies it; false: the move drawn is not possible, and the plan is
 * unchanged. */
bool disco_apply(struct disco_draw *d, enum disco_method method, struct disco_move *done);

/* Applies a move again to the plan that it was applied to; false if the plan is another one. */
bool disco_apply_again(struct plan *p, const struct disco_move *m);

#endif
