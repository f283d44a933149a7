/*
 * Checks in tests of StableHLO: a check becomes a bool output, `check.0`, `check.1` ..., in the
 * order of the text, true if all elements agree. The rules are those of StableHLO's reference
 * interpreter:
 *
 *     expect_eq          equal; floats as numbers, so that NaN is never
 *     expect_almost_eq   |a - b| <= tolerance (0.0001), in f64; NaN agrees with NaN
 *     expect_close       at most max_ulp_difference (3) floats apart, and at least
 *                        min_ulp_difference (0); NaN agrees with NaN; integers: equal
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/ops/shape.h"

static bool
is_float(const struct ir_value *v)
{
	return ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_FLOAT;
}

/* Equal, or both NaN. */
static struct ir_value *
same(struct import *im, struct ir_value *a, struct ir_value *b)
{
	struct ir_value *equal = build2(im, OP_eq, a, b);

	if (!is_float(a))
		return equal;
	struct ir_value *nan = build2(im, OP_and, ir_build1(&im->builder, OP_is_nan, a),
		ir_build1(&im->builder, OP_is_nan, b));
	return build2(im, OP_or, equal, nan);
}

static double
number(const struct mlir_op *op, const char *name, double otherwise)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	return !a                      ? otherwise
	       : a->kind == MLIR_FLOAT ? a->f
	       : a->kind == MLIR_INT   ? (double)a->i
				       : otherwise;
}

static struct ir_value *
almost(struct import *im, const struct mlir_op *op, struct ir_value *a, struct ir_value *b)
{
	struct ir_value *equal = same(im, a, b);

	if (!is_float(a))
		return equal;
	struct ir_value *d = build2(im, OP_sub, import_build_convert(im, a, IR_f64),
		import_build_convert(im, b, IR_f64));
	d = d ? ir_build1(&im->builder, OP_abs, d) : NULL;
	struct ir_value *near =
		build2(im, OP_le, d, import_scalar(im, IR_f64, number(op, "tolerance", 1e-4)));
	return build2(im, OP_or, equal, near);
}

/*
 * Counts the floats from a to b, from their bits as integers. A NaN or an infinity is close only to
 * a value that it equals.
 */
static struct ir_value *
close_by(struct import *im, const struct mlir_op *op, struct ir_value *a, struct ir_value *b)
{
	double low = number(op, "min_ulp_difference", 0),
	       high = number(op, "max_ulp_difference", 3);
	struct ir_value *equal = same(im, a, b);

	if (!is_float(a))
		return equal;
	struct ir_value *key[2] = {import_build_convert(im, import_total_key(im, a), IR_i64),
		import_build_convert(im, import_total_key(im, b), IR_i64)};
	/* -0 is one below 0 in the total order and no step away: negative keys go one up. */
	struct ir_value *zero = import_integer(im, IR_i64, 0), *one = import_integer(im, IR_i64, 1);
	for (int i = 0; i < 2; i++)
		key[i] = ir_build(&im->builder, OP_select,
			(struct ir_value *[]){build2(im, OP_lt, key[i], zero),
				build2(im, OP_add, key[i], one), key[i]},
			3, NULL, 0);
	/* As u64: the difference of two f64 of different signs is more than an i64 holds. */
	struct ir_value *most = build2(im, OP_maximum, key[0], key[1]),
			*least = build2(im, OP_minimum, key[0], key[1]);
	struct ir_value *apart = build2(im, OP_sub, import_build_convert(im, most, IR_u64),
		import_build_convert(im, least, IR_u64));
	struct ir_value *in =
		build2(im, OP_and, build2(im, OP_le, apart, import_scalar(im, IR_u64, high)),
			build2(im, OP_ge, apart, import_scalar(im, IR_u64, low)));
	struct ir_value *finite = build2(im, OP_and, ir_build1(&im->builder, OP_is_finite, a),
		ir_build1(&im->builder, OP_is_finite, b));
	in = build2(im, OP_and, in, finite);
	if (low > 0)
		return in;
	return build2(im, OP_or, equal, in);
}

/* Do all elements over the local dims hold? Each process has its own result. */
static struct ir_value *
all(struct import *im, const struct import_value *v)
{
	int lead = import_lead(v), rank = v->value->type->rank - lead;
	int64_t dims[IR_MAX_RANK];

	for (int i = 0; i < rank; i++)
		dims[i] = lead + i;
	struct ir_attr attr = ir_make_ints(im->module, "dims", dims, rank);
	return rank ? ir_build(&im->builder, OP_all, (struct ir_value *[]){v->value}, 1, &attr, 1)
		    : v->value;
}

static bool
report(struct import *im, const char *what, const struct import_value *v)
{
	char name[48];

	snprintf(name, sizeof name, "check.%u%s", im->nchecks, what);
	return import_output(im, name, v, NULL, 0);
}

typedef struct ir_value *check_rule(
	struct import *im, const struct mlir_op *op, struct ir_value *a, struct ir_value *b);

/* The second value is an operand, or the attribute `value`. */
static bool
operands(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value x[2])
{
	x[0] = in[0];
	if (op->noperands > 1) {
		x[1] = in[1];
	} else {
		const struct mlir_attr *a = mlir_attr_find(op, "value");
		if (!a || a->kind != MLIR_DENSE)
			return import_error(im, op, "value must be a dense<...> of elements");
		x[1] = (struct import_value){.type = a->dense->type};
		if (!import_is_empty(x[1].type) && !(x[1].value = import_dense(im, op, a->dense)))
			return false;
	}
	if (op->noperands > 2)
		return import_error(im, op, "compares two values, not %u", op->noperands);
	if (!import_same_type(x[0].type, x[1].type))
		return import_error(
			im, op, "%s is compared with %s", x[0].type->text, x[1].type->text);
	return true;
}

static bool
compare(struct import *im, const struct mlir_op *op, struct import_value x[2], check_rule *rule)
{
	struct import_value agrees = {0};

	if (import_is_empty(x[0].type)) {
		agrees.value = import_integer(im, IR_bool, 1);
	} else {
		import_align(im, x, 2, false);
		if (!x[0].value || !x[1].value)
			return false;
		agrees.varies = x[0].varies;
		agrees.value = rule(im, op, x[0].value, x[1].value);
	}
	if (!agrees.value)
		return false;
	struct import_value result = {.value = all(im, &agrees), .varies = agrees.varies};
	bool ok = report(im, "", &result);
	if (im->options->expect && x[0].value)
		ok = ok && report(im, ".agrees", &agrees) && report(im, ".found", &x[0]) &&
		     report(im, ".expected", &x[1]);
	im->nchecks++;
	return ok;
}

static bool
check(struct import *im, const struct mlir_op *op, const struct import_value *in, check_rule *rule)
{
	struct import_value x[2];

	return operands(im, op, in, x) && compare(im, op, x, rule);
}

static struct ir_value *
equal(struct import *im, const struct mlir_op *op, struct ir_value *a, struct ir_value *b)
{
	(void)op;
	return build2(im, OP_eq, a, b);
}

bool
import_expect_eq(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)out;
	return check(im, op, in, equal);
}

bool
import_expect_almost(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)out;
	return check(im, op, in, almost);
}

bool
import_expect_close(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)out;
	return check(im, op, in, close_by);
}

/* --- probes: values kept by name, one more each time; a check compares the one of a number --- */

struct import_probe {
	const char *id; /* interned */
	uint32_t iter;
	struct import_value value;
	struct import_probe *next;
};

static const char *
probe_id(struct import *im, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "probe_id");

	if (a && a->kind == MLIR_STRING)
		return ir_name(im->module->ctx, a->s);
	import_error(im, op, "probe_id must be a string");
	return NULL;
}

bool
import_probe(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct import_probe *p = ARENA_NEW(im->arena, struct import_probe);

	*p = (struct import_probe){.id = probe_id(im, op), .value = in[0], .next = im->probes};
	for (const struct import_probe *q = im->probes; q && !p->iter; q = q->next)
		if (q->id == p->id)
			p->iter = q->iter + 1;
	im->probes = p;
	return p->id && import_identity(im, op, in, out);
}

bool
import_expect_probed(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const char *id = probe_id(im, op);
	double iter = number(op, "iter", 0);

	(void)out;
	for (const struct import_probe *p = im->probes; id && p; p = p->next)
		if (p->id == id && p->iter == iter) {
			struct import_value x[2] = {in[0], p->value};
			if (!import_same_type(x[0].type, x[1].type))
				return import_error(im, op, "%s is compared with %s",
					x[0].type->text, x[1].type->text);
			return compare(im, op, x, equal);
		}
	return id && import_error(im, op, "there is no probe \"%s\" number %.0f", id, iter);
}

/* Checks without a statement about values. */
bool
import_nothing(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)im;
	(void)op;
	(void)in;
	(void)out;
	return true;
}
