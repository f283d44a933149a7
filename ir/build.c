/* Building typed ops at an insertion point, for passes. */
#include "ir/ops/form.h"
#include "ir/ops/row.h"

static void
builder_insert(struct ir_builder *b, struct ir_op *op)
{
	if (b->before)
		ir_insert_before(b->before, op);
	else
		ir_block_append(b->block, op);
}

struct ir_value *
ir_build_typed(struct ir_builder *b, enum op_code code, const char *symbol,
	struct ir_value *const *operands, int noperands, const struct ir_attr *attr, int nattrs,
	const struct ir_type *type)
{
	for (int i = 0; i < noperands; i++)
		if (!operands[i])
			return NULL; /* an operand failed: that was reported */
	int nresults = b->m->ctx->row[code].nresults;
	if (nresults == ROW_ANY)
		nresults = op_traits(code) & TRAIT_TERMINATOR ? 0 : 1;
	struct ir_op *op =
		ir_op_create(b->m, code, b->loc, operands, noperands, attr, nattrs, nresults);
	if (symbol)
		op->symbol = ir_name(b->m->ctx, symbol);
	if (!ir_infer(b->m, op, type ? &type : NULL)) {
		b->failed = true;
		ir_op_erase(op);
		return NULL;
	}
	builder_insert(b, op);
	return nresults ? &op->result[0] : NULL;
}

struct ir_value *
ir_build(struct ir_builder *b, enum op_code code, struct ir_value *const *operands, int noperands,
	const struct ir_attr *attr, int nattrs)
{
	return ir_build_typed(b, code, NULL, operands, noperands, attr, nattrs, NULL);
}

struct ir_value *
ir_build1(struct ir_builder *b, enum op_code code, struct ir_value *x)
{
	return ir_build(b, code, &x, 1, NULL, 0);
}

struct ir_value *
ir_build2(struct ir_builder *b, enum op_code code, struct ir_value *x, struct ir_value *y)
{
	return ir_build(b, code, (struct ir_value *[]){x, y}, 2, NULL, 0);
}

struct ir_value *
ir_build_barrier(struct ir_builder *b, struct ir_value *const *operands, int n)
{
	struct ir_op *op = ir_op_create(b->m, OP_barrier, b->loc, operands, n, NULL, 0, n);

	for (int i = 0; i < n; i++) {
		op->result[i].type = operands[i]->type;
		op->result[i].name = operands[i]->name;
	}
	builder_insert(b, op);
	return op->result;
}

struct ir_value *
ir_build_concat(struct ir_builder *b, struct ir_value **part, int64_t n, int dim)
{
	const struct ir_attr attr = ir_make_int(b->m->ctx, "dim", dim);

	for (int64_t made; n > 1; n = made) {
		made = 0;
		for (int64_t i = 0; i < n; i += FORM_MAX_INPUTS, made++) {
			const int k = n - i < FORM_MAX_INPUTS ? (int)(n - i) : FORM_MAX_INPUTS;
			part[made] =
				k == 1 ? part[i] : ir_build(b, OP_concat, part + i, k, &attr, 1);
			if (!part[made])
				return NULL;
		}
	}
	return part[0];
}

struct ir_value *
ir_build_scalar(struct ir_builder *b, enum ir_dtype t, double value)
{
	struct ir_type type = {.dtype = (uint8_t)t};
	struct ir_attr attr = ir_make_float(b->m->ctx, "value", value);

	if (ir_dtype_class(t) != IR_FLOAT)
		attr = ir_make_int(b->m->ctx, "value", (int64_t)value);
	return ir_build_typed(
		b, OP_constant, NULL, NULL, 0, &attr, 1, ir_type_intern(b->m->ctx, &type));
}
