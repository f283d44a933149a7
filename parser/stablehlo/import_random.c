/* Random numbers: rng, whose numbers come from a state that no value has, and rng_bit_generator. */
#include "parser/stablehlo/import_ops.h"

bool
import_rng(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op,
		"its numbers come from a state that the program does not have; rng_bit_generator's "
		"are a function of its operand");
}

bool
import_rng_bits(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
