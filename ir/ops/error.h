/* The permitted errors of ops: error.def. */
#ifndef IR_OP_ERROR_H
#define IR_OP_ERROR_H

#include "ir/ir.h"

struct op_error {
	bool stated;     /* false: sums, ops that move elements, ops without floats */
	bool of_operand; /* units of the largest operand */
	double f32, f64; /* units in the last place */
};

struct op_error op_error(enum op_code code);

#endif
