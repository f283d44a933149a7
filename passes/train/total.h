/* Sums over whole tensors, whatever their layouts: what norms and tests of all gradients need. */
#ifndef PASSES_TOTAL_H
#define PASSES_TOTAL_H

#include "ir/ir.h"

/*
 * The sum of all elements of v, a scalar that is known wherever v is: the sums over slices are
 * partial and are added up over the devices (allreduce); a copied tensor is counted once. NULL
 * after an error.
 */
struct ir_value *total_of(struct ir_builder *b, struct ir_value *v);

/* The sum of squares of v, in f64 where v is, else in f32. */
struct ir_value *total_of_squares(struct ir_builder *b, struct ir_value *v);

/*
 * The sum over n tensors of all their elements, known on all devices. Sums that lie alike are added
 * before they are communicated, so the messages are as few as there are kinds of layout. The
 * tensors are of one element type; n > 0.
 */
struct ir_value *total_of_all(struct ir_builder *b, struct ir_value *const *v, int n);

/* x as element type t; x itself where it is. */
struct ir_value *total_convert(struct ir_builder *b, struct ir_value *x, enum ir_dtype t);

#endif
