/* Element by element. */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/ops/row.h"
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/ops/shape.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

static enum ir_dtype
dtype_of(const struct import_value *v)
{
	return (enum ir_dtype)v->type->dtype;
}

static bool
is_float(const struct import_value *v)
{
	return ir_dtype_class(dtype_of(v)) == IR_FLOAT;
}

static bool
is_integer(const struct import_value *v)
{
	return !is_float(v) && dtype_of(v) != IR_bool;
}

static const char *
type_words(const struct import_value *v)
{
	return v->type->text ? v->type->text : ir_dtype_name(dtype_of(v));
}

/* Operands first ... n - 1 have the type of operand `as`. */
static bool
check_same(struct import *im, const struct mlir_op *op, const struct import_value *in, uint32_t as,
	uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < n; i++)
		if (!import_same_type(in[as].type, in[i].type))
			return import_error(im, op, "operands %u and %u differ: %s and %s", as + 1,
				i + 1, type_words(&in[as]), type_words(&in[i]));
	return true;
}

static bool
build(struct import *im, const struct mlir_op *op, enum op_code code, const struct import_value *in,
	int n, const struct ir_attr *attr, int nattrs, struct import_value *out)
{
	uint32_t varies = 0;
	struct ir_value *v = import_build_point(im, code, in, n, attr, nattrs, &varies);

	return import_give(op, 0, v, varies, out);
}

/* A value with a new IR value of the same leading dims. */
static struct import_value
with(const struct import_value *v, struct ir_value *value)
{
	struct import_value r = *v;

	r.value = value;
	return r;
}

/* Is it a constant without zeros? */
static bool
has_no_zero(struct import *im, const struct import_value *v)
{
	struct tensor *t = import_known(NULL, im, v);
	bool none = t != NULL;

	for (int64_t i = 0; none && i < tensor_elements(t); i++)
		none = t->data[i].i != 0;
	talloc_free(t);
	return none;
}

/* x / 0 has all bits set (specification: implementation-defined; its interpreter says -1). */
static bool
divide_integers(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (!build(im, op, OP_div, in, 2, NULL, 0, out) || has_no_zero(im, &in[1]))
		return out->value != NULL;
	enum ir_dtype t = dtype_of(&in[0]);
	bool is_signed = ir_dtype_class(t) == IR_INT;
	unsigned bits = 8 * ir_dtype_bytes(t);
	int64_t ones = is_signed || bits == 64 ? -1 : (int64_t)((UINT64_C(1) << bits) - 1);
	struct ir_value *zero = import_integer(im, t, 0), *all = import_integer(im, t, ones);
	struct import_value pick[] = {
		with(&in[1], build2(im, OP_eq, in[1].value, zero)), {.value = all}, *out};
	return pick[0].value && all && build(im, op, OP_select, pick, 3, NULL, 0, out);
}

/* Rows of POINT: operands of one type. */
bool
import_point(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	bool logic = in[0].type->dtype == IR_bool;
	enum op_code code = (enum op_code)(logic ? row->bools : row->numbers);

	if (code == OP_NCODES)
		return import_unsupported_form(im, op, "on %s", ir_dtype_name(dtype_of(&in[0])));
	int takes = im->module->ctx->row[code].noperands;
	if (op->noperands != (uint32_t)takes)
		return import_error(im, op, "expected %d operand%s, found %u", takes,
			number_plural(takes), op->noperands);
	if (!check_same(im, op, in, 0, 1, op->noperands))
		return false;
	char letter = im->module->ctx->row[code].operand_types[0];
	bool whole = is_integer(&in[0]);
	if (code == OP_div && whole)
		return divide_integers(im, op, in, out);
	if ((letter == 'F' && !is_float(&in[0])) || (strchr("ZL", letter) && is_float(&in[0])))
		return import_unsupported_form(im, op, "on %s", ir_dtype_name(dtype_of(&in[0])));
	return build(im, op, code, in, takes, NULL, 0, out);
}

/* --- compare --- */

/*
 * An integer of the same width whose order is the total order of floats (IEEE 754, 5.10): the bits,
 * with all except the sign inverted if the sign is set.
 */
struct ir_value *
import_total_key(struct import *im, struct ir_value *v)
{
	static const struct {
		unsigned bytes;
		enum ir_dtype type;
		int64_t most;
	} table[] = {{2, IR_i16, INT16_MAX}, {4, IR_i32, INT32_MAX}, {8, IR_i64, INT64_MAX}};
	unsigned bytes = v ? ir_dtype_bytes((enum ir_dtype)v->type->dtype) : 0;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (table[i].bytes != bytes)
			continue;
		struct ir_attr to = ir_make_dtype(im->module->ctx, "to", table[i].type);
		struct ir_value *bits = ir_build(&im->builder, OP_bitcast, &v, 1, &to, 1);
		struct ir_value *zero = import_integer(im, table[i].type, 0);
		struct ir_value *most = import_integer(im, table[i].type, table[i].most);
		return ir_build(&im->builder, OP_select,
			(struct ir_value *[]){build2(im, OP_lt, bits, zero),
				build2(im, OP_xor, bits, most), bits},
			3, NULL, 0);
	}
	return NULL;
}

/* The attribute's word, or NULL. */
static const char *
word(const struct mlir_op *op, const char *name)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	return a && (a->kind == MLIR_WORD || a->kind == MLIR_STRING) ? a->s : NULL;
}

/* Does compare_type fit the element type? */
static bool
check_compare_type(struct import *im, const struct mlir_op *op, const struct import_value *v)
{
	const char *type = word(op, "compare_type");
	enum ir_dclass c = ir_dtype_class(dtype_of(v));

	if (!type || !strcmp(type, "NOTYPE"))
		return true;
	bool fits = c == IR_FLOAT  ? !strcmp(type, "FLOAT") || !strcmp(type, "TOTALORDER")
		    : c == IR_BOOL ? !strcmp(type, "UNSIGNED") || !strcmp(type, "SIGNED")
				   : !strcmp(type, c == IR_INT ? "SIGNED" : "UNSIGNED");
	return fits || import_error(im, op, "compare_type %s does not fit %s", type, type_words(v));
}

bool
import_compare(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	static const struct {
		const char *name;
		enum op_code code;
	} table[] = {{"EQ", OP_eq}, {"NE", OP_ne}, {"GE", OP_ge}, {"GT", OP_gt}, {"LE", OP_le},
		{"LT", OP_lt}};
	const char *direction = word(op, "comparison_direction"), *type = word(op, "compare_type");
	enum op_code code = OP_NCODES;

	for (size_t i = 0; direction && i < sizeof table / sizeof *table; i++)
		if (!strcmp(direction, table[i].name))
			code = table[i].code;
	if (code == OP_NCODES)
		return import_error(im, op,
			"comparison_direction must be EQ, NE, GE, GT, LE or LT, not %s",
			direction ? direction : "missing");
	if (!check_same(im, op, in, 0, 1, 2) || !check_compare_type(im, op, &in[0]))
		return false;
	struct import_value x[2] = {in[0], in[1]};
	bool total = type && !strcmp(type, "TOTALORDER"), order = code != OP_eq && code != OP_ne;
	for (int i = 0; i < 2; i++) {
		if (total)
			x[i].value = import_total_key(im, x[i].value);
		else if (order && dtype_of(&in[0]) == IR_bool)
			x[i].value = import_build_convert(im, x[i].value, IR_u8);
		if (!x[i].value)
			return false;
	}
	return build(im, op, code, x, 2, NULL, 0, out);
}

/* --- select, clamp, convert --- */

bool
import_select(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (dtype_of(&in[0]) != IR_bool)
		return import_error(
			im, op, "the predicate must be of i1, not %s", type_words(&in[0]));
	if (in[0].type->rank && !import_same_shape(in[0].type, in[1].type))
		return import_error(im, op,
			"the predicate is %s; it must be a scalar or have the shape of %s",
			type_words(&in[0]), type_words(&in[1]));
	return check_same(im, op, in, 1, 2, 3) && build(im, op, OP_select, in, 3, NULL, 0, out);
}

bool
import_clamp(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	bool logic = dtype_of(&in[1]) == IR_bool;

	for (int i = 0; i < 3; i += 2) {
		if (in[i].type->dtype != in[1].type->dtype)
			return import_error(im, op, "a bound is %s, but the operand is %s",
				type_words(&in[i]), type_words(&in[1]));
		if (in[i].type->rank && !import_same_shape(in[i].type, in[1].type))
			return import_error(im, op,
				"a bound is %s; it must be a scalar or have the shape of %s",
				type_words(&in[i]), type_words(&in[1]));
	}
	struct import_value low[2] = {in[1], in[0]}, high[2] = {{.type = in[1].type}, in[2]};
	return build(im, op, logic ? OP_or : OP_maximum, low, 2, NULL, 0, &high[0]) &&
	       build(im, op, logic ? OP_and : OP_minimum, high, 2, NULL, 0, out);
}

bool
import_convert(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct ir_value *v =
		import_build_convert(im, in[0].value, (enum ir_dtype)op->result[0].type->dtype);

	return import_give(op, 0, v, in[0].varies, out);
}

bool
import_identity(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (op->nresults != op->noperands)
		return import_error(
			im, op, "has %u results for %u operands", op->nresults, op->noperands);
	for (uint32_t i = 0; i < op->nresults; i++) {
		if (!import_same_type(in[i].type, op->result[i].type))
			return import_error(im, op, "operand %u is %s, but result %u is %s", i + 1,
				type_words(&in[i]), i + 1, op->result[i].type->text);
		out[i] = in[i];
	}
	return true;
}

/* Should the value go through the barrier? Constants bypass it, so that the import still knows
 * them; tokens, tuples and empty tensors have no ir_value. */
static bool
passes_barrier(const struct import_value *in)
{
	const struct ir_op *op = in->value ? in->value->op : NULL;

	return in->value && !(op && op_is(op, TRAIT_WRITTEN) && op_is(op, TRAIT_PURE));
}

bool
import_barrier(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct ir_value **v = NEW_ARRAY(NULL, struct ir_value *, op->noperands + 1u);
	int n = 0;

	if (!import_identity(im, op, in, out)) {
		talloc_free(v);
		return false;
	}
	for (uint32_t i = 0; i < op->noperands; i++)
		if (passes_barrier(&in[i]))
			v[n++] = in[i].value;
	struct ir_value *made = n ? ir_build_barrier(&im->builder, v, n) : NULL;
	for (uint32_t i = 0; made && i < op->noperands; i++)
		if (passes_barrier(&in[i]))
			out[i].value = made++;
	talloc_free(v);
	return true;
}

/* --- bits --- */

static bool
one_integer(struct import *im, const struct mlir_op *op, enum op_code code,
	const struct import_value *in, struct import_value *out)
{
	if (!is_integer(&in[0]))
		return import_error(
			im, op, "the operand must be of integers, not %s", type_words(&in[0]));
	return build(im, op, code, in, 1, NULL, 0, out);
}

bool
import_popcnt(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return one_integer(im, op, OP_popcnt, in, out);
}

bool
import_clz(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return one_integer(im, op, OP_count_leading_zeros, in, out);
}

bool
import_round_away(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (!is_float(&in[0]))
		return import_error(
			im, op, "the operand must be floating-point, not %s", type_words(&in[0]));
	return build(im, op, OP_round_away, in, 1, NULL, 0, out);
}

bool
import_reduce_precision(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *e = mlir_attr_find(op, "exponent_bits"),
			       *m = mlir_attr_find(op, "mantissa_bits");

	if (!e || !m || e->kind != MLIR_INT || m->kind != MLIR_INT)
		return import_error(im, op, "exponent_bits and mantissa_bits must be integers");
	if (e->i < 1)
		return import_error(im, op, "exponent_bits must be at least 1, not %" PRId64, e->i);
	if (m->i < 0)
		return import_error(im, op, "mantissa_bits must be at least 0, not %" PRId64, m->i);
	if (!is_float(&in[0]))
		return import_error(
			im, op, "the operand must be floating-point, not %s", type_words(&in[0]));
	struct ir_attr attr[] = {ir_make_int(im->module->ctx, "exponent", e->i < 11 ? e->i : 11),
		ir_make_int(im->module->ctx, "mantissa", m->i < 52 ? m->i : 52)};
	return build(im, op, OP_reduce_precision, in, 1, attr, 2, out);
}

bool
import_mulhi(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (!check_same(im, op, in, 0, 1, 2))
		return false;
	if (!is_integer(&in[0]))
		return import_error(
			im, op, "the operands must be of integers, not %s", type_words(&in[0]));
	return build(im, op, OP_mulhi, in, 2, NULL, 0, out);
}

/* --- map --- */

bool
import_map(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *dims = mlir_attr_find(op, "dimensions");
	int64_t list[IR_MAX_RANK];
	int n = dims ? mlir_attr_ints(dims, list, IR_MAX_RANK) : in[0].type->rank;

	for (uint32_t i = 1; i < op->noperands; i++)
		if (!import_same_shape(in[0].type, in[i].type))
			return import_error(im, op,
				"operands 1 and %u have different shapes: %s and %s", i + 1,
				type_words(&in[0]), type_words(&in[i]));
	if (n != in[0].type->rank)
		return import_error(im, op, "dimensions must be all %u in order", in[0].type->rank);
	for (int i = 0; dims && i < n; i++)
		if (list[i] != i)
			return import_error(
				im, op, "dimensions must be all %u in order", in[0].type->rank);
	struct import_value *arg = NEW_ARRAY(NULL, struct import_value, op->noperands);
	for (uint32_t i = 0; i < op->noperands; i++)
		arg[i].type = import_local_type(im, dtype_of(&in[i]), 0, NULL);
	struct import_value result[2]; /* both parts of a complex number */
	const int nresults = (int)op->nresults;
	for (int i = 0; i < nresults && i < 2; i++)
		result[i].type =
			import_local_type(im, (enum ir_dtype)op->result[i].type->dtype, 0, NULL);
	bool ok = (nresults == 1 || nresults == 2) &&
		  import_check_region(im, op, 0, arg, (int)op->noperands, result, nresults) &&
		  import_region(im, op, 0, in, (int)op->noperands, out, nresults);
	talloc_free(arg);
	for (int i = 0; i < nresults && ok; i++) {
		/* A region that reads no argument gives a scalar. */
		out[i].type = op->result[i].type;
		if (out[i].value &&
			out[i].value->type->rank - import_lead(&out[i]) != in[0].type->rank)
			out[i].value = import_build_broadcast(
				im, &out[i], in[0].type->rank, in[0].type->dim, NULL);
		ok = out[i].value != NULL;
	}
	return ok;
}
