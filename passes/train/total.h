/* Sums over whole tensors, in any layout: needed for norms and tests of all gradients. */
#ifndef PASSES_TOTAL_H
#define PASSES_TOTAL_H

#include "ir/ir.h"

/* The sum of squares of v, in f64 if v is f64, else in f32. */
struct ir_value *total_of_squares(struct ir_builder *b, struct ir_value *v);

/*
 * The sum over n tensors of all their elements, known on all devices. Sums with equal layouts are
 * added before they are communicated, so there is one message per kind of layout. The tensors have
 * one element type; n > 0.
 */
struct ir_value *total_of_all(struct ir_builder *b, struct ir_value *const *v, int n);

/* x as element type t; x itself if it has that type. */
struct ir_value *total_convert(struct ir_builder *b, struct ir_value *x, enum ir_dtype t);

#endif
