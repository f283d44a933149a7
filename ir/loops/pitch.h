/*
 * Padded rows (pitch): on devices, rows of a matrix that a product reads or writes begin at
 * multiples of 16 bytes, also where their length is not such a multiple. Of 50257 logits in bf16 a
 * row has 50264 elements, of which the last 7 are never read.
 *
 *     %z = contract(%x, %table) {spec = "btd,vd->btv"} : bf16[8,1024,50257]    8 x 1024 x 50264 in memory
 *
 * It is a property of a value's buffer and follows from the ops around it alone: all of them are
 * kernels of loops and products. What else knows the memory of a tensor (params, states, inputs and
 * outputs, messages, copies to the host and time axes, convolutions, kernels of their own) has rows
 * without gaps, so files and messages have none either. Decided here for kernels, storage, their
 * checker and predictions, for targets with storage_target.pitch.
 */
#ifndef IR_PITCH_H
#define IR_PITCH_H

#include "ir/ir.h"

/* Elements from one row of the value, along its last dim, to the next, where that is padded; 0: rows
 * follow each other. v: of @main or of the body of a fuse. */
int64_t pitch_row(const struct ir_module *m, const struct ir_value *v);

/* Bytes of the value on a device, padding included. */
int64_t pitch_bytes(const struct ir_module *m, const struct ir_value *v);

/* Which operands and results of the op have padded rows; 0: none. It depends on other ops, so it is an
 * alike_context. */
uint64_t pitch_word(const struct ir_module *m, const struct ir_op *op);

#endif
