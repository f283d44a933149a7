/* What the files of the engine `disco` share: disco.c, disco_apply.c. */
#ifndef PASSES_SEARCH_SEARCH_DISCO_H
#define PASSES_SEARCH_SEARCH_DISCO_H

#include "passes/search/search.h"

/* The three optimization methods of section 4.5, in the order in which it lists them. */
enum disco_method { DISCO_FUSE, DISCO_COPY, DISCO_PACK, DISCO_NMETHODS };

/* One that was applied: node a into node b. */
struct disco_move {
	enum disco_method method;
	uint32_t a, b;
};

/* Draws moves for a plan that only this engine changes, and that has no more nodes than now. */
struct disco_draw;

/* Owned by `owner`. */
struct disco_draw *disco_draw_create(const void *owner, struct plan *p, uint64_t seed);

/* 0 ... n, each as likely. */
uint32_t disco_draw_up_to(struct disco_draw *d, uint32_t n);

/* Applies a method once at random; false, and the plan is as it was: what was drawn is not
 * possible. */
bool disco_apply(struct disco_draw *d, enum disco_method method, struct disco_move *done);

/* Applies it again to the plan that it was applied to; false where that is another plan. */
bool disco_apply_again(struct plan *p, const struct disco_move *m);

#endif
