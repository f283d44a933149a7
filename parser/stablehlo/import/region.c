/* Inlined bodies, and the recognition of known operations in them. */
#include "ir/base/number.h"
#include "parser/stablehlo/import/ops.h"

#include <string.h>

static bool
is_larger(const struct import_value *v)
{
	return v->value && v->type->kind == MLIR_TENSOR &&
	       v->value->type->rank - import_lead(v) > v->type->rank;
}

bool
import_region(struct import *im, const struct mlir_op *op, int region,
	const struct import_value *in, int nin, struct import_value *out, int nout)
{
	const struct mlir_block *b = &op->region[region];
	bool larger = false;

	for (int i = 0; i < nin; i++) {
		struct import_value v = in[i];
		v.type = b->arg[i].type;
		larger = larger || is_larger(&v);
		import_bind(im, &b->arg[i], &v);
	}
	im->pointwise += larger;
	bool ok = import_block(im, op, b, out, nout);
	im->pointwise -= larger;
	return ok;
}

static const char *
words(const struct mlir_type *t)
{
	return t->text ? t->text : "a tensor of another type";
}

bool
import_check_region(struct import *im, const struct mlir_op *op, uint32_t r,
	const struct import_value *arg, int n, const struct import_value *result, int nout)
{
	const struct mlir_block *b = &op->region[r];

	if (b->nargs != (uint32_t)n)
		return import_error(im, op, "region %u has %u argument%s, expected %d", r + 1,
			b->nargs, number_plural(b->nargs), n);
	for (int i = 0; i < n; i++) {
		const struct mlir_type *t = b->arg[i].type;
		if (!arg && (t->kind != MLIR_TENSOR || t->rank))
			return import_error(
				im, op, "argument %d of region %u must be a scalar", i + 1, r + 1);
		if (arg && !import_same_type(t, arg[i].type))
			return import_error(im, op, "argument %d of region %u is %s, expected %s",
				i + 1, r + 1, words(t), words(arg[i].type));
	}
	if (!b->last)
		return import_error(im, op, "region %u is empty; it must end in return", r + 1);
	if (b->last->noperands != (uint32_t)nout)
		return import_error(im, b->last, "region %u returns %u value%s, expected %d", r + 1,
			b->last->noperands, number_plural(b->last->noperands), nout);
	for (int i = 0; result && i < nout; i++)
		if (!import_same_type(b->last->operand[i]->type, result[i].type))
			return import_error(im, b->last,
				"result %d of region %u is %s, expected %s", i + 1, r + 1,
				words(b->last->operand[i]->type), words(result[i].type));
	return true;
}

static bool
is_argument(const struct mlir_block *b, const struct mlir_value *v, uint32_t i)
{
	return v == &b->arg[i];
}

/* The monoid of a single op on both arguments. */
static enum import_monoid
of_op(const char *name)
{
	static const struct {
		const char *name;
		enum import_monoid monoid;
	} table[] = {{"stablehlo.add", MONOID_ADD}, {"stablehlo.multiply", MONOID_MUL},
		{"stablehlo.maximum", MONOID_MAX}, {"stablehlo.minimum", MONOID_MIN},
		{"stablehlo.and", MONOID_AND}, {"stablehlo.or", MONOID_OR},
		{"stablehlo.xor", MONOID_XOR}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name))
			return table[i].monoid;
	return MONOID_OTHER;
}

/*
 * select(compare(GE, a, b), a, b) and similar. Only for integers: comparing drops a NaN, but
 * maximum keeps it.
 */
static enum import_monoid
of_select(const struct mlir_block *b, const struct mlir_op *compare, const struct mlir_op *select)
{
	const struct mlir_attr *direction = mlir_attr_find(compare, "comparison_direction");

	if (strcmp(compare->name, "stablehlo.compare") ||
		strcmp(select->name, "stablehlo.select") || compare->noperands != 2 ||
		select->noperands != 3 || !direction || direction->kind != MLIR_WORD ||
		select->operand[0] != &compare->result[0])
		return MONOID_OTHER;
	const struct mlir_type *t = b->arg[0].type;
	if (t->kind != MLIR_TENSOR || t->dtype < 0 ||
		ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT)
		return MONOID_OTHER;
	bool ordered =
		is_argument(b, compare->operand[0], 0) && is_argument(b, compare->operand[1], 1);
	bool swapped =
		is_argument(b, compare->operand[0], 1) && is_argument(b, compare->operand[1], 0);
	bool same = select->operand[1] == compare->operand[0] &&
		    select->operand[2] == compare->operand[1];
	bool crossed = select->operand[1] == compare->operand[1] &&
		       select->operand[2] == compare->operand[0];
	if ((!ordered && !swapped) || (!same && !crossed))
		return MONOID_OTHER;
	bool greater = direction->s[0] == 'G', less = direction->s[0] == 'L';
	if (!greater && !less)
		return MONOID_OTHER;
	return greater == same ? MONOID_MAX : MONOID_MIN;
}

enum import_monoid
import_region_monoid(const struct mlir_block *b)
{
	const struct mlir_op *last = b->last, *first = b->first;

	if (b->nargs != 2 || !last || last->noperands != 1)
		return MONOID_OTHER;
	if (first == last)
		return is_argument(b, last->operand[0], 1) ? MONOID_SECOND : MONOID_OTHER;
	const struct mlir_op *second = first->next;
	if (second != last)
		return second->next == last && second->nresults == 1 && first->nresults == 1 &&
				       last->operand[0] == &second->result[0]
			       ? of_select(b, first, second)
			       : MONOID_OTHER;
	if (first->noperands != 2 || first->nresults != 1 || last->operand[0] != &first->result[0])
		return MONOID_OTHER;
	if (!(is_argument(b, first->operand[0], 0) && is_argument(b, first->operand[1], 1)) &&
		!(is_argument(b, first->operand[0], 1) && is_argument(b, first->operand[1], 0)))
		return MONOID_OTHER;
	return of_op(first->name);
}

enum op_code
import_monoid_op(enum import_monoid m, enum ir_dtype t)
{
	bool logic = t == IR_bool;

	switch (m) {
	case MONOID_ADD: return logic ? OP_or : OP_add;
	case MONOID_MUL: return logic ? OP_and : OP_mul;
	case MONOID_MAX: return logic ? OP_or : OP_maximum;
	case MONOID_MIN: return logic ? OP_and : OP_minimum;
	case MONOID_AND: return OP_and;
	case MONOID_OR: return OP_or;
	case MONOID_XOR: return OP_xor;
	case MONOID_OTHER:
	case MONOID_SECOND: break;
	}
	return OP_NCODES;
}

enum op_code
import_monoid_reduction(enum import_monoid m, enum ir_dtype t)
{
	const bool logic = t == IR_bool;

	switch (m) {
	case MONOID_ADD: return logic ? OP_any : OP_sum;
	case MONOID_MUL: return logic ? OP_all : OP_prod;
	case MONOID_MAX: return logic ? OP_any : OP_max;
	case MONOID_MIN: return logic ? OP_all : OP_min;
	case MONOID_AND: return logic ? OP_all : OP_NCODES;
	case MONOID_OR: return logic ? OP_any : OP_NCODES;
	default: return OP_NCODES;
	}
}
