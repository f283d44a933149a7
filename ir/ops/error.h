/* The permitted errors of ops: error.def. */
#ifndef IR_OP_ERROR_H
#define IR_OP_ERROR_H

#include "ir/ir.h"

struct op_error {
	bool stated; /* false: sums, ops that move elements, ops without floats */
	enum { ERROR_OF_RESULT, ERROR_OF_EXPONENT } of;
	double f32, f64; /* units in the last place */
};

struct op_error op_error(enum op_code code);

#endif
