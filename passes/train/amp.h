/*
 * How mixed precision and later passes communicate: by names in the module.
 *
 *     amp         output("amp.scale", %scale): grad starts from %scale instead of 1 and divides the
 *                 gradients that it reports by it, so they are those of the loss
 *                 state("amp.finite"): were all gradients of the last step finite?
 *     optimizer   tests the gradients, updates amp.finite, and leaves out a step that is not finite
 */
#ifndef PASSES_AMP_H
#define PASSES_AMP_H

#include "ir/ir.h"

#define AMP_SCALE "amp.scale"
#define AMP_FINITE "amp.finite"

/* The scale of the loss; NULL: 1. */
struct ir_value *amp_scale(const struct ir_module *m);

/* The state amp.finite, bool[]; NULL: the scale does not change. */
struct ir_value *amp_finite(const struct ir_module *m);

#endif
