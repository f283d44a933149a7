/* The direction of Adam and of the optimizers based on it: adam, adamw, adamax, lamb. */
#ifndef PASSES_MOMENTS_H
#define PASSES_MOMENTS_H

#include "passes/train/optimizer.h"

/* State that does not depend on the param; starts as zero. */
struct moments {
	struct ir_value *fix1,
		*fix2; /* 1 - beta^t, in the element type of the last param; NULL: not made */
};

/*
 * Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops:
 *
 *     m := beta1 m + (1 - beta1) g          v := beta2 v + (1 - beta2) g^2
 *     (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * Each param gets states PASS.m.w and PASS.v.w of its own type and layout; the step count t and the
 * two corrections are made once. The pass must have MOMENTS_OPTIONS.
 */
struct ir_value *moments_direction(struct optimizer_step *s, struct moments *m);

/* 1 - beta^t = -expm1(t log beta), which loses no digits at the first steps, as a scalar of the
 * param's element type, computed at least in f32. */
struct ir_value *moments_correction(struct optimizer_step *s, double beta);

/* optimizer_run with fresh moments as the rule's data; rule NULL: plain moments_direction. */
bool moments_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule);

/* A mean with decay 1 stays 0, and its correction 1 - 1^t is 0: the largest decay is a bit less. */
#define MOMENTS_MOST_DECAY 0.9999999

/* clang-format off */
/* Defaults: the paper's; `eps` as text. */
#define MOMENTS_OPTIONS(eps)                                                                       \
	{"beta1", PASS_FLOAT, "0.9", "decay rate of the first moment, the mean of gradients", NULL, 0,\
		MOMENTS_MOST_DECAY},                                                               \
	{"beta2", PASS_FLOAT, "0.999",                                                             \
		"decay rate of the second moment, the mean of squared gradients", NULL, 0,         \
		MOMENTS_MOST_DECAY},                                                               \
	{"eps", PASS_FLOAT, eps, "added to the denominator, against division by zero", NULL, 0, 1}
/* clang-format on */

#endif
