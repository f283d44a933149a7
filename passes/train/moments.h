/* The direction of Adam and of the optimizers based on it. */
#ifndef PASSES_MOMENTS_H
#define PASSES_MOMENTS_H

#include "passes/train/optimizer.h"

/* Starts as zero. */
struct moments {
	struct ir_value *fix1,
		*fix2; /* 1 - beta^t, in the element type of the last param; NULL: not made */
	struct ir_value *m, *v; /* of the last param, after this step */
};

/*
 * Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops:
 *
 *     m := beta1 m + (1 - beta1) g          v := beta2 v + (1 - beta2) g^2
 *     (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * moments_update makes the first line. Each param gets states PASS.m.w and PASS.v.w of its own type
 * and layout; the step count t and the two corrections are made once. moments_direction is the
 * second line, moments_divisor what it divides by. The pass must have MOMENTS_OPTIONS.
 */
void moments_update(struct optimizer_step *s, struct moments *c, struct ir_value *g);
struct ir_value *moments_divisor(struct optimizer_step *s, const struct moments *c);
struct ir_value *moments_direction(struct optimizer_step *s, const struct moments *c);

/*
 * Between the two, with MOMENTS_LARGEST: v is the largest of all steps, a state PASS.vmax.w (Reddi
 * et al., "On the Convergence of Adam and Beyond", algorithm 2).
 */
void moments_largest(struct optimizer_step *s, struct moments *c);

/* 1 - beta^t = -expm1(t log beta), which loses no digits at the first steps, as a scalar of the
 * param's element type, computed at least in f32. */
struct ir_value *moments_correction(struct optimizer_step *s, double beta);

/* optimizer_run with fresh moments as the rule's data. */
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
#define MOMENTS_LARGEST                                                                            \
	{"amsgrad", PASS_BOOL, "false", "divide by the largest second moment of all steps", NULL,  \
		0, 0}
/* clang-format on */

#endif
