/*
 * The op `literal`: a constant with elements of its own.
 *
 *     %c = literal() {values = [1, 2.5, -inf]} : f32[3]        row-major numbers
 *     %d = literal() {hex = "0x0000803f..."} : f32[64]         the same as little-endian bytes
 *
 * Bytes are those of the element type as files have it: no padding, row-major, little-endian, a
 * bool a byte of 0 or 1. Two literals with the same attributes have the same elements.
 */
#ifndef IR_LITERAL_H
#define IR_LITERAL_H

#include "ir/ir.h"

enum {
	LITERAL_LISTED = 32, /* elements that are written as numbers; longer lists are not read by
				people, and hex is shorter and faster */
};

/* An element: .f of a float type; .i of any other, u64 as its bits, bool 0 or 1. */
union ir_number {
	double f;
	int64_t i;
};

/*
 * A literal of the whole tensor of that type from its bytes, or from its numbers, which are rounded
 * to the element type; one for each element, row-major. If all are equal it is a constant.
 */
struct ir_value *ir_build_bytes(
	struct ir_builder *b, const struct ir_type *type, const void *bytes);
struct ir_value *ir_build_numbers(
	struct ir_builder *b, const struct ir_type *type, const union ir_number *v);

/*
 * The value of a number attribute of element type t (row attribute type `scalar`): floats are
 * rounded once to t, from the double that the text is read as. All code that computes with the
 * value of a constant must use this, so that 0.1 of an f32 is one number everywhere. Kernels and
 * the interpreter round the same way when they load it; only the interpreter in doubles
 * (interp_options.f64) uses the double.
 */
union ir_number literal_number(enum ir_dtype t, const struct ir_attr *a);

/* The number that all elements of a constant are; op is one. */
union ir_number literal_of_constant(const struct ir_op *op);

/* Has the literal the elements of its type, all of them representable? Reports at the literal. */
bool literal_check(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t);

/* The elements of a checked literal as bytes: elements * bytes of one, owned by `owner` (talloc).
 */
unsigned char *literal_bytes(const void *owner, const struct ir_op *op);

/* Element i of an array of bytes, and back: an element as the bytes of its type. */
union ir_number literal_read(enum ir_dtype t, const unsigned char *bytes, int64_t i);
void literal_write(enum ir_dtype t, unsigned char *bytes, int64_t i, union ir_number v);

/*
 * The attribute `value` with which a constant has the elements of the literal; false if they
 * differ, or if a constant cannot represent it exactly.
 */
bool literal_is_constant(const struct ir_module *m, const struct ir_op *op, struct ir_attr *value);

#endif
