/* Shared by the collectives: their attributes, checks and results. */
#include "parser/stablehlo/import/collective/collective.h"

#include <inttypes.h>
#include <talloc.h>

bool
collective_int(struct import *im, const struct mlir_op *op, const char *name, int64_t *v)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	if (!a || a->kind != MLIR_INT)
		return import_error(im, op, "%s is missing", name);
	*v = a->i;
	return true;
}

/* A dim of the operands: their rank at one process. */
bool
collective_dim(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const char *name, int *dim)
{
	const int rank = op->noperands ? in[0].type->rank : 0;
	int64_t d = 0;

	if (!collective_int(im, op, name, &d))
		return false;
	if (d < 0 || d >= rank)
		return import_error(
			im, op, "%s is %" PRId64 ", but the operand has rank %d", name, d, rank);
	for (uint32_t i = 1; i < op->noperands; i++)
		if (in[i].type->rank <= d)
			return import_error(im, op, "%s is %" PRId64 ", but operand %u has rank %d",
				name, d, i + 1, in[i].type->rank);
	*dim = (int)d;
	return true;
}

/* Has every operand a value and a result? */
bool
collective_counts(struct import *im, const struct mlir_op *op, const struct import_value *in)
{
	if (!op->noperands || op->nresults != op->noperands)
		return import_error(
			im, op, "%u results for %u operands", op->nresults, op->noperands);
	for (uint32_t i = 0; i < op->noperands; i++)
		if (!in[i].value)
			return false;
	return true;
}

bool
collective_give(struct import *im, const struct mlir_op *op, uint32_t i, struct ir_value *value,
	uint32_t varies, struct import_value *out)
{
	(void)im;
	return import_give(op, i, value, varies, out);
}

bool
collective_give_rows(struct import *im, const struct mlir_op *op, uint32_t i, struct ir_value **row,
	struct import_value *out)
{
	struct ir_value *whole = spmd_stack(im, row, spmd_processes(im));

	if (!whole)
		return false;
	out[i] = spmd_spread(im, op, whole);
	return out[i].value != NULL;
}

int64_t
collective_size(const struct import *im, uint32_t axes)
{
	int64_t n = 1;

	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			n *= im->module->axis[a].size;
	return n;
}

/* All processes must have a row where every one takes part. */
bool
collective_complete(struct import *im, const struct mlir_op *op, struct ir_value *const *row)
{
	for (int64_t p = 0; p < spmd_processes(im); p++)
		if (!row[p])
			return import_error(im, op, "process %" PRId64 " is not in any group", p);
	return true;
}

bool
collective_finish(struct import *im, const struct mlir_op *op, uint32_t i, struct ir_value **row,
	struct import_value *out)
{
	const bool ok = row && collective_complete(im, op, row) &&
			collective_give_rows(im, op, i, row, out);

	talloc_free(row);
	return ok;
}

/* Splits dim `at` of x into one part for each place of the axes: a new dim for each axis. */
struct ir_value *
collective_parts(struct import *im, struct ir_value *x, int at, uint32_t axes)
{
	int64_t size[2 * IR_MAX_RANK + IR_MAX_AXES];
	int n = 0;

	if (!x)
		return NULL;
	for (int d = 0; d < at; d++)
		size[n++] = x->type->dim[d];
	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			size[n++] = im->module->axis[a].size;
	size[n++] = x->type->dim[at] / collective_size(im, axes);
	for (int d = at + 1; d < x->type->rank; d++)
		size[n++] = x->type->dim[d];
	if (n <= IR_MAX_RANK)
		return build_reshape(im, x, size, n);
	diag_error(im->diag, im->builder.loc,
		"a value over the mesh has rank %d; the largest rank is %d", n, IR_MAX_RANK);
	return NULL;
}
