/* Attributes of an op as numbers, checked; and its counts and shapes. */
#include "ir/base/number.h"
#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct mlir_attr *
find(const struct mlir_op *op, const struct mlir_attr *dict, const char *name)
{
	return dict ? mlir_item_find(dict, name) : mlir_attr_find(op, name);
}

bool
take_int(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int64_t otherwise, int64_t *out)
{
	const struct mlir_attr *a = find(op, dict, name);

	*out = otherwise;
	if (!a)
		return true;
	if (a->kind == MLIR_UNIT)
		*out = 1;
	else if (a->kind == MLIR_INT || a->kind == MLIR_BOOL)
		*out = a->i;
	else
		return import_error(im, op, "%s is not an integer", name);
	return true;
}

bool
take_list(struct import *im, const struct mlir_op *op, const char *name, int n, int64_t least,
	int64_t otherwise, int64_t *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);
	int64_t got[2 * IR_MAX_RANK];

	for (int i = 0; i < n; i++)
		out[i] = otherwise;
	if (!a)
		return true;
	const int count = mlir_attr_ints(a, got, 2 * IR_MAX_RANK);
	if (count != n)
		return import_error(
			im, op, "%s must be a list of %d integer%s", name, n, number_plural(n));
	for (int i = 0; i < n; i++) {
		if (got[i] < least)
			return import_error(im, op,
				"entry %d of %s is %" PRId64 "; it must be at least %" PRId64, i,
				name, got[i], least);
		if (got[i] > INT32_MAX)
			return import_error(im, op, "entry %d of %s is %" PRId64 ", too large", i,
				name, got[i]);
		out[i] = got[i];
	}
	return true;
}

bool
take_padding(struct import *im, const struct mlir_op *op, int n, int64_t *low, int64_t *high)
{
	int64_t both[2 * IR_MAX_RANK];

	if (!take_list(im, op, "padding", 2 * n, -INT32_MAX, 0, both))
		return false;
	for (int i = 0; i < n; i++) {
		low[i] = both[2 * i];
		high[i] = both[2 * i + 1];
	}
	return true;
}

bool
take_distinct(struct import *im, const struct mlir_op *op, const char *name, const int64_t *dims,
	int n, int rank)
{
	uint64_t seen = 0;

	for (int i = 0; i < n; i++) {
		if (dims[i] < 0 || dims[i] >= rank)
			return import_error(im, op, "%s: %" PRId64 " is not one of the %d dims",
				name, dims[i], rank);
		if (seen >> dims[i] & 1)
			return import_error(
				im, op, "%s: dim %" PRId64 " appears twice", name, dims[i]);
		seen |= UINT64_C(1) << dims[i];
	}
	return true;
}

bool
take_dims(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int rank, struct dims *out)
{
	const struct mlir_attr *a = find(op, dict, name);

	out->n = 0;
	if (!a)
		return true;
	const int n = mlir_attr_ints(a, out->dim, IR_MAX_RANK);
	if (n < 0)
		return import_error(im, op, "%s must be a list of at most %d dims", name, rank);
	out->n = n;
	return take_distinct(im, op, name, out->dim, n, rank);
}

bool
take_ascending(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int rank, struct dims *out)
{
	if (!take_dims(im, op, dict, name, rank, out))
		return false;
	for (int i = 1; i < out->n; i++)
		if (out->dim[i] < out->dim[i - 1])
			return import_error(im, op, "%s are not ascending", name);
	return true;
}

bool
take_disjoint(struct import *im, const struct mlir_op *op, const struct dims *a,
	const struct dims *b, const char *what)
{
	for (int i = 0; i < a->n; i++)
		if (dims_has(b, a->dim[i]))
			return import_error(
				im, op, "dim %" PRId64 " is in both %s", a->dim[i], what);
	return true;
}

static void
shape_text(char *out, size_t n, const int64_t *dim, int rank)
{
	size_t at = 0;

	snprintf(out, n, "a scalar");
	for (int d = 0; d < rank && at < n; d++)
		at += (size_t)snprintf(out + at, n - at, "%s%" PRId64, d ? "x" : "", dim[d]);
}

enum { SHAPE_TEXT = 24 * (IR_MAX_RANK + 1) }; /* eight numbers of 64 bits */

bool
take_same_shape(
	struct import *im, const struct mlir_op *op, const struct import_value *in, int i, int j)
{
	const struct mlir_type *a = in[i].type, *b = in[j].type;
	char first[SHAPE_TEXT], second[SHAPE_TEXT];

	if (a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim))
		return true;
	shape_text(first, sizeof first, a->dim, a->rank);
	shape_text(second, sizeof second, b->dim, b->rank);
	return import_error(
		im, op, "operand %d is %s, but operand %d is %s", i + 1, first, j + 1, second);
}

bool
take_scalar(struct import *im, const struct mlir_op *op, const struct import_value *in, int i)
{
	return in[i].type->rank == 0 ||
	       import_error(im, op, "operand %d must be a scalar, but has rank %d", i + 1,
		       in[i].type->rank);
}

bool
take_known(struct import *im, const struct import_value *v, int n, int64_t *out)
{
	return import_known_ints(im, v, out, n) == n;
}
