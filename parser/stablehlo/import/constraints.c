/*
 * What the StableHLO specification requires of the element types of an op ("Constraints" of each
 * op), and of its required attributes, as a table. It is checked on the tree as written, before
 * complex numbers become pairs: afterwards f8 and f32, or c64 and two f32, look alike. Shapes are
 * checked by the function that imports an op.
 *
 * ELEMENTS: a letter for each operand, then "->", then one for each result.
 *
 *     a        one element type for all that have the letter
 *     .        anything
 *     k        integers if those of a are, and else none: XLA's rule for what products are summed in
 *     i w u    integers; i32; ui32
 *     s        a shape: a vector of integers, one for each dim of the result
 *     +        after a letter: any number more of them
 *
 * A reduction computes in the element types E of its region, whose arguments and results agree:
 * operands may be narrower than E, or floats of another precision; results are of E.
 */
#include "ir/base/number.h"
#include "parser/stablehlo/import/import.h"

#include "parser/stablehlo/mlir/number.h"

#include <string.h>

enum reducer {
	REDUCER_NONE,
	REDUCER_INPUTS,  /* n inputs, n initial values */
	REDUCER_SCATTER, /* n inputs, indices, n updates */
	REDUCER_EACH,    /* each operand by itself */
	REDUCER_SELECT,  /* operand, source, initial value; a region of two operands selects */
	REDUCER_ORDER,   /* of a pair of elements of each operand, the comparator of sort */
};

struct constraint {
	const char *name;
	const char *elements; /* NULL: nothing is required */
	enum reducer reducer;
	const char *required[5]; /* attributes; up to the first NULL */
};

static const struct constraint table[] = {
	{"stablehlo.all_gather", NULL, REDUCER_NONE, {"replica_groups"}},
	{"stablehlo.all_reduce", NULL, REDUCER_EACH, {"replica_groups"}},
	{"stablehlo.all_to_all", NULL, REDUCER_NONE, {"replica_groups"}},
	{"stablehlo.broadcast_in_dim", "a->a", REDUCER_NONE, {NULL}},
	{"stablehlo.collective_broadcast", NULL, REDUCER_NONE, {"replica_groups"}},
	{"stablehlo.collective_permute", NULL, REDUCER_NONE, {"source_target_pairs"}},
	{"stablehlo.concatenate", "a+->a", REDUCER_NONE, {NULL}},
	{"stablehlo.convolution", "aa->k", REDUCER_NONE,
		{"batch_group_count", "feature_group_count"}},
	{"stablehlo.dynamic_broadcast_in_dim", "as->a", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_conv", "aai->k", REDUCER_NONE,
		{"batch_group_count", "feature_group_count"}},
	{"stablehlo.dynamic_gather", "aii->a", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_iota", "s->.", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_pad", "aaiii->a", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_reshape", "as->a", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_slice", "ai+->a", REDUCER_NONE, {NULL}},
	{"stablehlo.dynamic_update_slice", "aai+->a", REDUCER_NONE, {NULL}},
	{"stablehlo.gather", "ai->a", REDUCER_NONE, {NULL}},
	{"stablehlo.map", NULL, REDUCER_NONE, {"dimensions"}},
	{"stablehlo.pad", "aa->a", REDUCER_NONE, {NULL}},
	{"stablehlo.partition_id", "->u", REDUCER_NONE, {NULL}},
	{"stablehlo.reduce", NULL, REDUCER_INPUTS, {"dimensions"}},
	{"stablehlo.reduce_scatter", NULL, REDUCER_EACH, {"replica_groups"}},
	{"stablehlo.reduce_window", NULL, REDUCER_INPUTS, {NULL}},
	{"stablehlo.replica_id", "->u", REDUCER_NONE, {NULL}},
	{"stablehlo.reshape", "a->a", REDUCER_NONE, {NULL}},
	{"stablehlo.reverse", "a->a", REDUCER_NONE, {NULL}},
	{"stablehlo.scatter", NULL, REDUCER_SCATTER, {NULL}},
	{"stablehlo.select", ".aa->a", REDUCER_NONE, {NULL}},
	{"stablehlo.select_and_scatter", NULL, REDUCER_SELECT, {NULL}},
	{"stablehlo.slice", "a->a", REDUCER_NONE, {NULL}},
	{"stablehlo.sort", "a", REDUCER_ORDER, {NULL}},
	{"stablehlo.torch_index_select", NULL, REDUCER_NONE, {"dim", "batch_dims"}},
	{"stablehlo.transpose", "a->a", REDUCER_NONE, {NULL}},
	{"stablehlo.triangular_solve", "aa->a", REDUCER_NONE,
		{"left_side", "lower", "unit_diagonal", "transpose_a"}},
	{"chlo.ragged_dot", "..i->.", REDUCER_NONE, {NULL}},
	{"chlo.scan", NULL, REDUCER_NONE, {"dimension"}},
	{"chlo.top_k", "a->aw", REDUCER_NONE, {NULL}},
};

/* --- element types ---------------------------------------------------------------------------- */

static bool
is_integer(const struct mlir_type *t)
{
	const struct mlir_element e = mlir_element_of(t->element);

	return e.kind == ELEMENT_INT || e.kind == ELEMENT_UINT || !strcmp(t->element, "index");
}

/* Operand or result `i` against a letter other than a, k and `.`. */
static bool
check_letter(struct import *im, const struct mlir_op *op, char letter, const char *what, uint32_t i,
	const struct mlir_type *t)
{
	const struct mlir_type *result = op->nresults ? op->result[0].type : NULL;

	if (strchr("is", letter) && !is_integer(t))
		return import_error(
			im, op, "%s %u is %s; its elements must be integers", what, i + 1, t->text);
	if (letter == 's' &&
		(t->rank != 1 || (result && result->kind == MLIR_TENSOR &&
					 t->dim[0] != MLIR_DYNAMIC && t->dim[0] != result->rank)))
		return import_error(im, op,
			"%s %u is %s; a shape is a vector of a size for each of the %d dims of the "
			"result",
			what, i + 1, t->text, result ? result->rank : 0);
	const char *exact = letter == 'w' ? "i32" : letter == 'u' ? "ui32" : t->element;
	return !strcmp(t->element, exact) ||
	       import_error(
		       im, op, "%s %u is %s; its elements must be %s", what, i + 1, t->text, exact);
}

/* The first operand or result with the letter a. */
struct named {
	const char *what;
	uint32_t i;
	const char *element;
	bool integer;
};

static bool
check_value(struct import *im, const struct mlir_op *op, char letter, const char *what, uint32_t i,
	const struct mlir_type *t, struct named *first)
{
	if (t->kind != MLIR_TENSOR || letter == '.')
		return true;
	if (letter == 'k')
		return first->integer == is_integer(t) ||
		       import_error(im, op,
			       "%s %u has elements of %s, but %s %u of %s; both must be integers or neither",
			       first->what, first->i + 1, first->element, what, i + 1, t->element);
	if (letter != 'a')
		return check_letter(im, op, letter, what, i, t);
	if (!first->element)
		*first = (struct named){what, i, t->element, is_integer(t)};
	return first->element == t->element ||
	       import_error(im, op, "%s %u has elements of %s, but %s %u of %s; they must be equal",
		       first->what, first->i + 1, first->element, what, i + 1, t->element);
}

/* The letter of value i, and where its list ends. */
static char
letter_of(const char *letters, uint32_t i)
{
	for (; *letters && *letters != '-'; letters++) {
		if (letters[1] == '+')
			return *letters;
		if (!i--)
			return *letters;
	}
	return '.';
}

static bool
check_elements(struct import *im, const struct mlir_op *op, const char *letters)
{
	const char *arrow = strstr(letters, "->");
	struct named first = {0};

	for (uint32_t i = 0; i < op->noperands; i++)
		if (!check_value(im, op, letter_of(letters, i), "operand", i, op->operand[i]->type,
			    &first))
			return false;
	for (uint32_t i = 0; arrow && i < op->nresults; i++)
		if (!check_value(im, op, letter_of(arrow + 2, i), "result", i, op->result[i].type,
			    &first))
			return false;
	return true;
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The kinds of elements that a reduction may convert within; i1 is an integer. */
static char
kind_of(const char *element)
{
	const struct mlir_element e = mlir_element_of(element);

	return e.kind == ELEMENT_FLOAT ? 'f' : e.kind == ELEMENT_OTHER ? 0 : 'i';
}

/* May a reduction in elements of `to` read such of `from`? Floats of any precision; integers that
 * are not wider. */
static bool
is_promotable(const char *from, const char *to)
{
	const char kind = kind_of(from);

	return from == to ||
	       (kind && kind == kind_of(to) &&
		       (kind != 'i' || mlir_element_of(from).bits <= mlir_element_of(to).bits));
}

/* The same type, up to the precision of floats. */
static bool
is_alike(const char *a, const char *b)
{
	return a == b || (kind_of(a) != 'i' && is_promotable(a, b));
}

/* One value that a reducing region computes: its place among the arguments, and the operands and
 * the result that it is for; -1: none. */
struct reduced {
	uint32_t region, k, n;
	int64_t operand[3], result;
};

static bool
check_reduced(struct import *im, const struct mlir_op *op, const struct reduced *r)
{
	const struct mlir_block *b = &op->region[r->region];
	const struct mlir_type *e = b->arg[r->k].type;
	const struct mlir_type *same[] = {b->arg[r->n + r->k].type, b->last->operand[r->k]->type};

	if (e->kind != MLIR_TENSOR || e->rank)
		return true; /* fold_begin reports it */
	for (int i = 0; i < 2; i++)
		if (!import_same_type(e, same[i]) || e->element != same[i]->element)
			return import_error(im, i ? b->last : op,
				"%s %u of region %u is %s, but argument %u is %s",
				i ? "result" : "argument", i ? r->k + 1 : r->n + r->k + 1,
				r->region + 1, same[i]->text, r->k + 1, e->text);
	for (int i = 0; i < 3; i++) {
		const struct mlir_type *t =
			r->operand[i] < 0 ? NULL : op->operand[r->operand[i]]->type;
		if (t && t->kind == MLIR_TENSOR && !is_promotable(t->element, e->element))
			return import_error(im, op,
				"operand %d has elements of %s, which argument %u of region %u, "
				"%s, cannot hold",
				(int)r->operand[i] + 1, t->element, r->k + 1, r->region + 1,
				e->text);
	}
	const struct mlir_type *t = op->result[r->result].type;
	return t->kind != MLIR_TENSOR || t->element == e->element ||
	       import_error(im, op, "result %d has elements of %s, but region %u computes %s",
		       (int)r->result + 1, t->element, r->region + 1, e->text);
}

/* Two elements of each operand: the arguments of sort, and of a selection. */
static bool
check_pairs(struct import *im, const struct mlir_op *op, uint32_t n, bool exact)
{
	const struct mlir_block *b = &op->region[0];

	for (uint32_t i = 0; i < 2 * n && i < b->nargs; i++) {
		const struct mlir_type *t = op->operand[i / 2]->type, *arg = b->arg[i].type;
		if (t->kind == MLIR_TENSOR && arg->kind == MLIR_TENSOR &&
			!(exact ? arg->element == t->element : is_alike(arg->element, t->element)))
			return import_error(im, op,
				"argument %u of region 1 is %s, but operand %u has elements of %s",
				i + 1, arg->text, i / 2 + 1, t->element);
	}
	return true;
}

/* Wrong numbers of arguments and results are reported by the function that imports the op. */
static bool
has_signature(const struct mlir_op *op, uint32_t region, uint32_t nargs, uint32_t nresults)
{
	const struct mlir_block *b = op->nregions > region ? &op->region[region] : NULL;

	return b && b->last && b->nargs == nargs && b->last->noperands == nresults;
}

static bool
check_selects(struct import *im, const struct mlir_op *op)
{
	const struct reduced r = {1, 0, 1, {0, 1, 2}, 0};

	if (op->noperands != 3 || op->nresults != 1 || !check_pairs(im, op, 1, false))
		return op->noperands != 3 || op->nresults != 1;
	const struct mlir_type *x = op->operand[0]->type, *source = op->operand[1]->type;
	if (x->kind == MLIR_TENSOR && source->kind == MLIR_TENSOR &&
		!is_alike(x->element, source->element))
		return import_error(im, op, "the operand has elements of %s, but the source of %s",
			x->element, source->element);
	if (has_signature(op, 0, 2, 1)) {
		const struct mlir_type *t = op->region[0].last->operand[0]->type;
		if (t->kind != MLIR_TENSOR || t->rank || t->dtype != IR_bool)
			return import_error(im, op->region[0].last,
				"region 1 returns %s; it must return tensor<i1>", t->text);
	}
	return !has_signature(op, 1, 2, 1) || check_reduced(im, op, &r);
}

static bool
check_reducer(struct import *im, const struct mlir_op *op, enum reducer kind)
{
	const bool each = kind == REDUCER_EACH;
	const uint32_t n = op->nresults, gap = kind == REDUCER_SCATTER;

	if (kind == REDUCER_ORDER)
		return !op->nregions || check_pairs(im, op, op->noperands, true);
	if (kind == REDUCER_SELECT)
		return op->nregions != 2 || check_selects(im, op);
	if (op->noperands != (each ? n : 2 * n + gap) ||
		!has_signature(op, 0, each ? 2 : 2 * n, each ? 1 : n))
		return true;
	for (uint32_t i = 0; i < n; i++) {
		const struct reduced r = {0, each ? 0 : i, each ? 1 : n,
			{i, each ? -1 : (int64_t)n + gap + i, -1}, i};
		if (!check_reduced(im, op, &r))
			return false;
	}
	return true;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Attributes that are matrices of i64: a dense one has that type. */
static bool
check_matrices(struct import *im, const struct mlir_op *op)
{
	static const char *const names[] = {"padding", "replica_groups", "source_target_pairs"};

	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const struct mlir_attr *a = mlir_attr_find(op, names[k]);
		if (!a || a->kind != MLIR_DENSE)
			continue;
		const struct mlir_type *t = a->dense->type;
		if (t->rank != 2 || strcmp(t->element, "i64") != 0)
			return import_error(
				im, op, "%s is %s; it must be a matrix of i64", names[k], t->text);
	}
	return true;
}

/* A function returns the results of its type. */
static bool
check_returned(struct import *im, const struct mlir_op *func)
{
	const struct mlir_attr *a = mlir_attr_find(func, "function_type");
	const struct mlir_op *last =
		a && a->kind == MLIR_TYPE && func->nregions ? func->region[0].last : NULL;

	if (!last || a->type->kind != MLIR_FUNCTION)
		return true;
	const struct mlir_type *const *result = a->type->item + a->type->ninputs;
	const uint32_t n = (uint32_t)a->type->nitems - a->type->ninputs;
	if (last->noperands != n)
		return import_error(im, last, "returns %u value%s, but @%s has %u result%s",
			last->noperands, number_plural(last->noperands), import_function_name(func),
			n, number_plural(n));
	for (uint32_t i = 0; i < n; i++)
		if (!import_same_type(last->operand[i]->type, result[i]))
			return import_error(im, last, "returns %s as result %u of @%s, which is %s",
				last->operand[i]->type->text, i + 1, import_function_name(func),
				result[i]->text);
	return true;
}

static bool
check_op(struct import *im, const struct ptr_map *rows, const struct mlir_op *op)
{
	const struct constraint *c = ptr_map_get(rows, op->name);

	if (!c)
		return true;
	for (size_t i = 0; i < sizeof c->required / sizeof *c->required && c->required[i]; i++)
		if (!mlir_attr_find(op, c->required[i]))
			return import_error(im, op, "the attribute %s is missing", c->required[i]);
	return check_matrices(im, op) && (!c->elements || check_elements(im, op, c->elements)) &&
	       (!c->reducer || check_reducer(im, op, c->reducer));
}

static bool
check_block(struct import *im, const struct ptr_map *rows, const struct mlir_block *b)
{
	bool ok = true;

	for (const struct mlir_op *op = b->first; op; op = op->next) {
		ok = check_op(im, rows, op) && check_returned(im, op) && ok;
		for (uint32_t r = 0; r < op->nregions; r++)
			ok = check_block(im, rows, &op->region[r]) && ok;
	}
	return ok;
}

bool
import_constraints(struct import *im)
{
	struct ptr_map *rows = ptr_map_create(im->missing);

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		ptr_map_set(rows, ir_name(im->module->ctx, table[i].name), &table[i]);
	return check_block(im, rows, &im->file->module->region[0]);
}
