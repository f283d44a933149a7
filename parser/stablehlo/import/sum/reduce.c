/*
 * reduce (StableHLO, "reduce"): becomes an IR reduction if there is one, and the initial value is
 * combined with the result unless it changes nothing; any other body, also on several tensors, is
 * applied to pairs of neighbours until one element is left (fold.h).
 */
#include "parser/stablehlo/import/build/build.h"
#include "ir/base/sort.h"
#include "parser/stablehlo/import/build/fold.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"

/* Makes all operands vary over the same axes, and initial values if they vary. */
static bool
check_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct fold *f, struct dims *dims)
{
	return fold_begin_reduction(f, im, op) &&
	       take_dims(im, op, NULL, "dimensions", in[0].type->rank, dims) &&
	       fold_take_inputs(f, in);
}

/* The last dims first, so that neighbours in row-major order stay neighbours. */
static bool
reduce_any_body(const struct fold *f, struct ir_value **v, int lead, struct dims *dims)
{
	sort_int64(dims->dim, (size_t)dims->n);
	for (int i = dims->n - 1; i >= 0; i--)
		if (!fold_dim(f, v, lead + (int)dims->dim[i]))
			return false;
	return true;
}

bool
import_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const int n = (int)op->noperands / 2;
	struct fold f;
	struct dims dims;

	if (!check_reduce(im, op, in, &f, &dims))
		return false;
	if (import_is_empty(in[0].type)) {
		int64_t left[IR_MAX_RANK];
		int rank = 0;
		for (int d = 0; d < in[0].type->rank; d++)
			if (!dims_has(&dims, d))
				left[rank++] = in[0].type->dim[d];
		return fold_nothing(&f, in, left, rank, out);
	}
	const struct import_value *x = fold_align(&f, in);
	struct ir_value **v = fold_array(&f), **init = fold_array(&f);
	for (int i = 0; i < n; i++) {
		v[i] = build_convert(im, x[i].value, fold_type(&f, n + i));
		init[i] = build_convert(im, x[n + i].value, fold_type(&f, i));
		if (!v[i] || !init[i])
			return false;
	}
	const int lead = import_lead(&x[0]);
	const enum op_code code = import_monoid_reduction(f.monoid, build_dtype(v[0]));
	if (code != OP_NCODES) {
		for (int i = 0; i < dims.n; i++)
			dims.dim[i] += lead;
		v[0] = build_reduce(im, code, v[0], dims.dim, dims.n);
	} else if (!reduce_any_body(&f, v, lead, &dims)) {
		return false;
	}
	return fold_finish(&f, init, v, out);
}
