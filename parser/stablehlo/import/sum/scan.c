/*
 * scan (CHLO, "scan"): applies the body to the slices of the inputs in order, with carried values.
 *
 *     (output slices.., carries..) = body(input slices.., carries..)
 *
 * If the body adds and its output is its carry, the scan is a prefix sum; else it is unrolled.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct scan {
	struct import *im;
	const struct mlir_op *op;
	int inputs, outputs, carries;
	int64_t dim, n;
	bool reverse;
};

/* The numbers of operands and results that are inputs and outputs; the others are carries. */
static bool
take_segments(struct scan *s)
{
	int64_t operands[2], results[2];
	const struct mlir_attr *a = mlir_attr_find(s->op, "operandSegmentSizes"),
			       *b = mlir_attr_find(s->op, "resultSegmentSizes");

	if (!a || mlir_attr_ints(a, operands, 2) != 2 || !b || mlir_attr_ints(b, results, 2) != 2)
		return import_error(s->im, s->op,
			"operandSegmentSizes and resultSegmentSizes must be two numbers each");
	for (int i = 0; i < 2; i++)
		if (operands[i] < 0 || results[i] < 0)
			return import_error(s->im, s->op, "the number of operands is negative");
	if (operands[0] + operands[1] != s->op->noperands ||
		results[0] + results[1] != s->op->nresults || operands[1] != results[1])
		return import_error(s->im, s->op,
			"%" PRIu32 " operands and %" PRIu32
			" results, but the segments are %" PRId64 " + %" PRId64 " and %" PRId64
			" + %" PRId64,
			s->op->noperands, s->op->nresults, operands[0], operands[1], results[0],
			results[1]);
	s->inputs = (int)operands[0];
	s->carries = (int)operands[1];
	s->outputs = (int)results[0];
	return s->inputs > 0 || import_error(s->im, s->op, "has no inputs");
}

/* The region's arguments are a slice of each input and the carries. */
static bool
check_arguments(const struct scan *s, const struct import_value *in)
{
	const int n = s->inputs + s->carries;
	struct import_value *arg = NEW_ARRAY(NULL, struct import_value, n);

	for (int i = 0; i < n; i++) {
		const struct mlir_type *t = in[i].type;
		int64_t dim[IR_MAX_RANK];
		int rank = 0;
		for (int d = 0; d < t->rank; d++)
			if (i >= s->inputs || d != s->dim)
				dim[rank++] = t->dim[d];
		arg[i].type = import_local_type(s->im, (enum ir_dtype)t->dtype, rank, dim);
	}
	const bool ok = import_check_region(s->im, s->op, 0, arg, n, NULL, (int)s->op->nresults);
	talloc_free(arg);
	return ok;
}

static bool
check_scan(struct scan *s, const struct import_value *in)
{
	int64_t reverse;

	if (!take_segments(s) || !take_int(s->im, s->op, NULL, "dimension", 0, &s->dim) ||
		!take_int(s->im, s->op, NULL, "is_reverse", 0, &reverse))
		return false;
	s->reverse = reverse != 0;
	for (int i = 0; i < s->inputs; i++) {
		const struct mlir_type *t = in[i].type;
		if (!t || t->kind != MLIR_TENSOR || s->dim < 0 || s->dim >= t->rank)
			return import_error(s->im, s->op,
				"operand %d has no dim %" PRId64 " to scan", i + 1, s->dim);
		if (!in[i].value)
			return import_unsupported(s->im, s->op, "an operand without elements");
		if (i && t->dim[s->dim] != s->n)
			return import_error(s->im, s->op,
				"operand %d has size %" PRId64 " along dim %" PRId64
				", but operand 1 has %" PRId64,
				i + 1, t->dim[s->dim], s->dim, s->n);
		s->n = t->dim[s->dim];
	}
	if (!check_arguments(s, in))
		return false;
	if (s->n > IMPORT_MAX_UNROLLED)
		return import_unsupported_form(
			s->im, s->op, "more than %d elements to scan", IMPORT_MAX_UNROLLED);
	return true;
}

/* One input, one carry, and both results are their sum. */
static bool
is_sum(const struct scan *s)
{
	const struct mlir_block *b = &s->op->region[0];
	const struct mlir_op *last = b->last, *first = b->first;

	if (s->inputs != 1 || s->carries != 1 || s->outputs != 1 || first->next != last ||
		strcmp(first->name, "stablehlo.add") || first->noperands != 2 ||
		first->nresults != 1)
		return false;
	if (last->operand[0] != &first->result[0] || last->operand[1] != &first->result[0])
		return false;
	return (first->operand[0] == &b->arg[0] && first->operand[1] == &b->arg[1]) ||
	       (first->operand[0] == &b->arg[1] && first->operand[1] == &b->arg[0]);
}

static bool
scan_sum(const struct scan *s, const struct import_value *in, struct import_value *out)
{
	struct import_value v[2] = {in[0], in[1]};

	import_align(s->im, v, 2, true);
	const int dim = import_lead(&v[0]) + (int)s->dim;
	const struct ir_attr attr[] = {ir_make_int(s->im->module->ctx, "dim", dim),
		ir_make_bool(s->im->module->ctx, "reverse", s->reverse)};
	struct ir_value *sum = ir_build(&s->im->builder, OP_cumsum, &v[0].value, 1, attr, 2);
	if (!build_constant_value(v[1].value) || !build_is_identity(v[1].value, MONOID_ADD))
		sum = ir_build2(
			&s->im->builder, OP_add, sum, build_unsqueeze(s->im, v[1].value, dim));
	out[0] = import_result(s->op, 0, sum, v[0].varies);
	out[1] = import_result(
		s->op, 1, build_element(s->im, sum, dim, s->reverse ? 0 : s->n - 1), v[0].varies);
	return out[1].value != NULL;
}

/* One slice: the arguments are its inputs and the carries; the results become parts and carries. */
static bool
scan_step(const struct scan *s, const struct import_value *in, int64_t at,
	struct import_value *carry, struct import_value *result)
{
	const struct mlir_block *b = &s->op->region[0];
	const int nargs = s->inputs + s->carries, nout = s->outputs + s->carries;
	struct import_value *arg = ARENA_ARRAY(s->im->arena, struct import_value, nargs);

	for (int i = 0; i < s->inputs; i++) {
		arg[i] = in[i];
		arg[i].value =
			build_element(s->im, in[i].value, import_lead(&in[i]) + (int)s->dim, at);
		arg[i].type = b->arg[i].type;
		if (!arg[i].value)
			return false;
	}
	memcpy(arg + s->inputs, carry, (size_t)s->carries * sizeof *arg);
	if (!import_region(s->im, s->op, 0, arg, nargs, result, nout))
		return false;
	memcpy(carry, result + s->outputs, (size_t)s->carries * sizeof *carry);
	return true;
}

/* The parts of an output, concatenated along the dim. */
static struct import_value
build_output(const struct scan *s, int i, struct import_value *const *parts)
{
	struct import_value *all = ARENA_ARRAY(s->im->arena, struct import_value, s->n);
	struct ir_value **v = ARENA_ARRAY(s->im->arena, struct ir_value *, s->n);

	for (int64_t k = 0; k < s->n; k++)
		all[k] = parts[k][i];
	import_align(s->im, all, (int)s->n, true);
	const int dim = import_lead(&all[0]) + (int)s->dim;
	for (int64_t k = 0; k < s->n; k++) {
		v[k] = all[k].value && dim <= all[k].value->type->rank
			       ? build_unsqueeze(s->im, all[k].value, dim)
			       : NULL;
		if (!v[k])
			return (struct import_value){.failed = true};
	}
	return import_result(s->op, i, build_concat(s->im, v, (int)s->n, dim), all[0].varies);
}

bool
import_scan(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct scan s = {.im = im, .op = op};

	if (!check_scan(&s, in))
		return false;
	if (is_sum(&s) && in[0].type->dtype != IR_bool)
		return scan_sum(&s, in, out);
	struct import_value *carry = ARENA_ARRAY(im->arena, struct import_value, s.carries + 1);
	struct import_value **parts = ARENA_ARRAY(im->arena, struct import_value *, s.n);
	memcpy(carry, in + s.inputs, (size_t)s.carries * sizeof *carry);
	for (int64_t k = 0; k < s.n; k++) {
		const int64_t at = s.reverse ? s.n - 1 - k : k;
		parts[at] = ARENA_ARRAY(im->arena, struct import_value, op->nresults + 1);
		if (!scan_step(&s, in, at, carry, parts[at]))
			return false;
	}
	for (int i = 0; i < s.outputs; i++) {
		out[i] = build_output(&s, i, parts);
		if (!out[i].value)
			return false;
	}
	for (int i = 0; i < s.carries; i++) {
		out[s.outputs + i] = carry[i];
		out[s.outputs + i].type = NULL;
	}
	return true;
}
