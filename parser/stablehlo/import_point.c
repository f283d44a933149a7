/* Element by element, where it takes more than an op of ours. */
#include "parser/stablehlo/import_ops.h"

#include "ir/row.h"

/* Rows of POINT: operands of one type. */
bool
import_point(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	bool logic = in[0].type->dtype == IR_bool;
	enum op_code code = (enum op_code)(logic ? row->bools : row->numbers);

	if (code == OP_NCODES)
		return import_unsupported_form(
			im, op, "on %s", ir_dtype_name((enum ir_dtype)in[0].type->dtype));
	if (op->noperands != (uint32_t)im->module->ctx->row[code].noperands)
		return import_error(im, op, "takes %d operands, not %u",
			im->module->ctx->row[code].noperands, op->noperands);
	for (uint32_t i = 1; i < op->noperands; i++)
		if (!import_same_type(in[0].type, in[i].type))
			return import_error(im, op, "operands 1 and %u differ: %s and %s", i + 1,
				in[0].type->text, in[i].type->text);
	uint32_t varies = 0;
	out[0] = import_result(op, 0,
		import_build_point(im, code, in, (int)op->noperands, NULL, 0, &varies), varies);
	out[0].varies = varies;
	return out[0].value != NULL;
}

bool
import_compare(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_select(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_clamp(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_convert(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_bitcast(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_popcnt(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_clz(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_round_away(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_reduce_precision(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_map(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_mulhi(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_identity(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
