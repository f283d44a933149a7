/*
 * concat(%a, %b, ...) {dim}: the form of any number of operands, concatenated along a dim. Operand
 * j is read at the index of the result minus the sizes of the operands before it; the operand that
 * an element is from follows from its index.
 */
#include "ir/ops/form.h"

#include <inttypes.h>
#include <talloc.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

/* Operand j agrees with the first one except in dim `dim`. */
static bool
check_operand(const struct ir_module *m, const struct ir_op *op, int j, int dim)
{
	const struct ir_type *first = ir_operand_type(op, 0), *t = ir_operand_type(op, j);

	if (t->rank != first->rank)
		return FAIL(m, op, "concat: operand %d has rank %d, but the first has rank %d",
			j + 1, t->rank, first->rank);
	for (int d = 0; d < t->rank; d++)
		if (d != dim && t->dim[d] != first->dim[d])
			return FAIL(m, op,
				"concat: dim %d of operand %d has size %" PRId64
				", but in the first it has %" PRId64,
				d, j + 1, t->dim[d], first->dim[d]);
	return true;
}

static bool
check(const struct ir_module *m, const struct ir_op *op, int *dim)
{
	const struct ir_attr *attr = ir_attr_find(op, "dim");

	if (op->noperands < 1 || op->noperands > FORM_MAX_INPUTS)
		return FAIL(m, op,
			"concat: expected 1 to %d operands, found %d; concatenate "
			"the results of several concats",
			FORM_MAX_INPUTS, op->noperands);
	const int rank = ir_operand_type(op, 0)->rank;
	const int64_t d = attr ? attr->i : 0;
	if (d < -rank || d >= rank)
		return FAIL(m, op, "concat: dim %" PRId64 " is not one of the %d dims", d, rank);
	*dim = (int)(d < 0 ? d + rank : d);
	for (int j = 0; j < op->noperands; j++)
		if (!check_operand(m, op, j, *dim))
			return false;
	return true;
}

/* Where the operands are read, and the body, which selects the operand by the result's index. */
static void
read_operands(const struct ir_op *op, struct form *f, int dim, struct arena *a)
{
	const struct expr *here = expr_index(a, dim);
	int64_t before = f->size[dim];

	for (int j = op->noperands; j-- > 0;) {
		const struct ir_type *t = ir_operand_type(op, j);
		const struct expr *load = expr_load(a, (enum ir_dtype)t->dtype, j),
				  *end = expr_const(a, IR_i64, (double)before);
		before -= t->dim[dim];
		f->body = f->body ? expr_call(a, FN_select, expr_call(a, FN_lt, here, end, NULL),
					    load, f->body)
				  : load;
		if (t->dim[dim] == f->size[dim])
			continue; /* the others are empty */
		f->in[j].index[dim] = (int8_t)f->nindices;
		f->size[f->nindices] = t->dim[dim];
		f->at[f->nindices++] =
			expr_call(a, FN_sub, here, expr_const(a, IR_i64, (double)before), NULL);
	}
}

bool
form_concat(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	int dim;

	if (!check(m, op, &dim))
		return false;
	const int rank = ir_operand_type(op, 0)->rank;
	f->ninputs = (uint8_t)op->noperands;
	f->nindices = f->out.rank = (uint8_t)rank;
	for (int d = 0; d < rank; d++) {
		f->out.index[d] = (int8_t)d;
		f->size[d] = ir_operand_type(op, 0)->dim[d];
	}
	for (int j = 0; j < op->noperands; j++) {
		f->in[j] = f->out;
		f->size[dim] += j ? ir_operand_type(op, j)->dim[dim] : 0;
	}
	struct arena *mine = a ? NULL : arena_create(m->ctx);
	read_operands(op, f, dim, a ? a : mine);
	if (!a)
		form_forget(f);
	talloc_free(mine);
	return true;
}
