/* Types of results from operands and attributes; the checks that every op gets. */
#include "ir/base/number.h"
#include "ir/ops/form.h"
#include "ir/infer_memo.h"
#include "ir/ops/literal.h"
#include "ir/ops/row.h"
#include "ir/ops/special.h"
#include "ir/template.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

static bool
check_count(struct ir_module *m, const struct ir_op *op, const struct ir_row *row)
{
	if (row->noperands == ROW_ANY) {
		if (op->noperands || !(row->traits & TRAIT_VARIADIC))
			return true;
		return FAIL(m, op, "%s: needs at least one operand", row->name);
	}
	if (op->noperands == row->noperands)
		return true;
	return FAIL(m, op, "%s: expected %d operand%s, found %d", row->name, row->noperands,
		number_plural(row->noperands), op->noperands);
}

static bool
list_of_ints(const struct ir_attr *a)
{
	if (a->kind != ATTR_LIST || a->n > IR_MAX_RANK)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->list[i].kind != ATTR_INT)
			return false;
	return true;
}

static bool
list_of_numbers(const struct ir_attr *a)
{
	if (a->kind != ATTR_LIST)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->list[i].kind != ATTR_INT && a->list[i].kind != ATTR_FLOAT &&
			a->list[i].kind != ATTR_BOOL)
			return false;
	return true;
}

static bool
attr_fits(const struct ir_attr *a, enum row_attr_type type)
{
	bool number = a->kind == ATTR_INT || a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY;

	switch (type) {
	case ROW_INT: return a->kind == ATTR_INT;
	case ROW_FLOAT: return number;
	case ROW_STRING: return a->kind == ATTR_STRING;
	case ROW_BOOL: return a->kind == ATTR_BOOL;
	case ROW_AXIS: return a->kind == ATTR_AXIS;
	case ROW_DTYPE: return a->kind == ATTR_DTYPE;
	case ROW_SCALAR: return number || a->kind == ATTR_BOOL;
	case ROW_INTS:
	case ROW_SIZES: return list_of_ints(a);
	case ROW_NUMBERS: return list_of_numbers(a);
	}
	return false;
}

/* An attribute that the row does not have. The message lists those it has. */
static bool
complain_unknown(struct ir_module *m, const struct ir_op *op, const struct ir_row *row,
	const struct ir_attr *a)
{
	char list[160] = "";

	for (int i = 0; i < row->nattrs; i++) {
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s%s",
			i ? ", " : "; expected one of: ", row->attr[i].key);
	}
	diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc, "%s: unknown attribute '%s'%s",
		row->name, a->key, row->nattrs ? list : "; it has no attributes");
	return false;
}

static bool
check_attrs(struct ir_module *m, const struct ir_op *op, const struct ir_row *row)
{
	int found = 0, needed = 0;
	bool ok = true;

	for (int i = 0; i < op->nattrs; i++) {
		const struct ir_attr *a = &op->attr[i];
		const struct row_attr *r = row_attr_find(row, a->key);
		if (!r && row->more_attrs && (a->kind == ATTR_INT || a->kind == ATTR_FLOAT))
			continue;
		if (!r) {
			ok = complain_unknown(m, op, row, a);
			continue;
		}
		found += !r->optional;
		if (!attr_fits(a, r->type)) {
			diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
				"%s: %s must be %s", row->name, a->key,
				row_attr_type_name(r->type));
			ok = false;
		}
	}
	for (int i = 0; i < row->nattrs; i++)
		needed += !row->attr[i].optional;
	if (found == needed)
		return ok;
	for (int i = 0; i < row->nattrs; i++)
		if (!row->attr[i].optional && !ir_attr_find(op, row->attr[i].key))
			ok = FAIL(m, op, "%s: attribute '%s' is missing; expected %s", row->name,
				row->attr[i].key, row_attr_type_name(row->attr[i].type));
	return ok;
}

static const char *
letter_words(char letter)
{
	switch (letter) {
	case 'N': return "a number";
	case 'F': return "a floating-point type";
	case 'I': return "an integer type";
	case 'Z': return "an integer type";
	case 'L': return "an integer type or bool";
	case 'b': return "bool";
	default: return "any type";
	}
}

bool
row_letter_fits(char letter, enum ir_dtype t)
{
	enum ir_dclass c = ir_dtype_class(t);

	switch (letter) {
	case 'N': return c != IR_BOOL;
	case 'F': return c == IR_FLOAT;
	case 'I':
	case 'Z': return c == IR_INT || c == IR_UINT;
	case 'L': return c != IR_FLOAT;
	case 'b': return c == IR_BOOL;
	default: return true;
	}
}

/* Operand types against the row's letters; a letter stands for one type throughout (I and b aside).
 */
static bool
check_dtypes(struct ir_module *m, const struct ir_op *op, const struct ir_row *row)
{
	int bound = -1;
	const char *letters = row->operand_types;

	for (int i = 0; i < op->noperands && *letters; i++) {
		char letter = *letters;
		enum ir_dtype t = (enum ir_dtype)ir_operand_type(op, i)->dtype;
		if (letters[1])
			letters++;
		if (letter == '*')
			return true;
		if (!row_letter_fits(letter, t))
			return FAIL(m, op, "%s: operand %d must be %s, but it is %s", row->name,
				i + 1, letter_words(letter), ir_dtype_name(t));
		if (letter == 'I' || letter == 'b')
			continue;
		if (bound >= 0 && bound != (int)t)
			return FAIL(m, op,
				"%s: operand %d is %s, but an earlier operand is "
				"%s; convert one of them",
				row->name, i + 1, ir_dtype_name(t),
				ir_dtype_name((enum ir_dtype)bound));
		bound = (int)t;
	}
	return true;
}

static enum ir_dtype
result_dtype(const struct ir_op *op, const struct ir_row *row, const struct ir_type *written)
{
	if (strcmp(row->result_type, "b") == 0)
		return IR_bool;
	if (strcmp(row->result_type, "to") == 0) {
		const struct ir_attr *to = ir_attr_find(op, "to");
		return (enum ir_dtype)(to ? to : &row_attr_find(row, "to")->otherwise)->i;
	}
	if (strcmp(row->result_type, "written") == 0)
		return (enum ir_dtype)written->dtype;
	if (strcmp(row->result_type, "i32") == 0)
		return IR_i32;
	const char *same = strchr(row->operand_types, *row->result_type);
	int operand = (int)(same - row->operand_types);
	return (enum ir_dtype)ir_operand_type(op, operand)->dtype;
}

/* Kernels and collectives read the memory of the device. */
static bool
check_memory(struct ir_module *m, const struct ir_op *op)
{
	if (op_is(op, TRAIT_ANY_MEMORY))
		return true;
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *v = ir_operand(op, i);
		if (v->type->memory != IR_HOST)
			continue;
		return FAIL(m, op, "%s: operand %d%s%s is in host memory; reload it first",
			op_name(op->code), i + 1, v->name ? " %" : "", v->name ? v->name : "");
	}
	return true;
}

/* Is the value representable in the element type? Floats are rounded; integers must be exact. */
static bool
check_constant(struct ir_module *m, const struct ir_op *op, enum ir_dtype t)
{
	const struct ir_attr *a = ir_attr_find(op, "value");
	if (!a)
		return true;
	const double v = a->kind == ATTR_INT || a->kind == ATTR_BOOL ? (double)a->i : a->f;
	const int bits = ir_dtype_class(t) == IR_BOOL ? 1 : (int)(8 * ir_dtype_bytes(t));
	const bool is_signed = ir_dtype_class(t) == IR_INT;
	const double top = is_signed ? ldexp(1, bits - 1) : ldexp(1, bits),
		     bottom = is_signed ? -top : 0;

	if (ir_dtype_class(t) == IR_FLOAT || (v >= bottom && v < top && v == floor(v)))
		return true;
	if (t == IR_i64 && a->kind == ATTR_INT)
		return true; /* as a double, the largest is rounded up */
	diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
		"%s: %.17g is not representable as %s", op_name(op->code), v, ir_dtype_name(t));
	return false;
}

/* A bitcast needs types of the same width; a bool has one bit. */
static bool
check_bits(struct ir_module *m, const struct ir_op *op, enum ir_dtype to)
{
	const enum ir_dtype from = (enum ir_dtype)ir_operand_type(op, 0)->dtype;

	if (ir_dtype_bits(from) == ir_dtype_bits(to))
		return true;
	return FAIL(m, op, "bitcast: %s has %u bits, but %s has %u", ir_dtype_name(from),
		ir_dtype_bits(from), ir_dtype_name(to), ir_dtype_bits(to));
}

static bool
infer_form(struct ir_module *m, struct ir_op *op, const struct ir_row *row,
	const struct ir_type *written, struct ir_type *t)
{
	struct form f;

	if (!form_shape(m, op, written, &f, NULL))
		return false;
	t->dtype = (uint8_t)result_dtype(op, row, written);
	if ((op->code == OP_constant || op->code == OP_pad) &&
		!check_constant(m, op, (enum ir_dtype)t->dtype))
		return false;
	if (op->code == OP_bitcast && !check_bits(m, op, (enum ir_dtype)t->dtype))
		return false;
	if (op->code == OP_literal && !literal_check(m, op, written))
		return false;
	t->rank = f.out.rank;
	for (int d = 0; d < f.out.rank; d++)
		t->dim[d] = f.out.index[d] < 0 ? 1 : f.size[f.out.index[d]];
	return form_layout(m, op, &f, written, t);
}

/* Sets the type of result i; reports if it differs from the written one. */
static bool
set_result(struct ir_module *m, struct ir_op *op, int i, const struct ir_type *t,
	const struct ir_type *written)
{
	const struct ir_type *type =
		written && ir_type_equal(t, written) ? written : ir_type_intern(m->ctx, t);

	if (written && written != type) {
		char *a = ir_type_text(NULL, m, type), *b = ir_type_text(NULL, m, written);
		diag_error(m->ctx->diag, op->loc, "%s: the result type is %s, not %s as written",
			op_name(op->code), a, b);
		talloc_free(a);
		talloc_free(b);
		return false;
	}
	if (!ir_type_check(m, type, op->loc, op_name(op->code)))
		return false;
	op->result[i].type = type;
	return true;
}

static bool
infer_fuse(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	const struct ir_op *yield = op->body ? op->body->last : NULL;

	if (!yield || yield->code != OP_yield)
		return FAIL(m, op, "fuse: the body must end in yield");
	if (yield->noperands != op->nresults)
		return FAIL(m, op, "fuse: yields %d values for %d results", yield->noperands,
			op->nresults);
	for (int i = 0; i < op->nresults; i++)
		if (!set_result(m, op, i, ir_operand_type(yield, i), written ? written[i] : NULL))
			return false;
	return true;
}

/* Is the value whole where it is, and is it where `like` is? */
static bool
is_whole(const struct ir_module *m, const struct ir_type *t, const struct ir_type *like)
{
	for (int i = 0; i < m->naxes; i++)
		if ((t->axis[i].kind != IR_COPIED && t->axis[i].kind != IR_SINGLE) ||
			t->axis[i].kind != like->axis[i].kind ||
			t->axis[i].order != like->axis[i].order)
			return false;
	return true;
}

static bool
same_carried(struct ir_module *m, const struct ir_op *op, int i, const struct ir_type *t,
	const char *what)
{
	const struct ir_type *carried = ir_type_meaning(m->ctx, ir_operand_type(op, i));

	if (t == carried || ir_type_equal(t, carried))
		return true;
	char *a = ir_type_text(NULL, m, t), *b = ir_type_text(NULL, m, carried);
	diag_error(m->ctx->diag, op->loc, "while: %s %d is %s, but operand %d is %s", what, i + 1,
		a, i + 1, b);
	talloc_free(a);
	talloc_free(b);
	return false;
}

static bool
check_carried(struct ir_module *m, const struct ir_op *op, int i)
{
	const struct ir_type *t = ir_operand_type(op, i);

	if (is_whole(m, t, ir_operand_type(op, 0)))
		return true;
	char *text = ir_type_text(NULL, m, t);
	diag_error(m->ctx->diag, op->loc,
		"while: operand %d is %s; what a while carries must be whole, all of it on the "
		"same devices: use allgather or allreduce first",
		i + 1, text);
	talloc_free(text);
	return false;
}

/* The results, the arguments of the body and what it yields have the types of the operands. */
static bool
infer_while(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	const struct ir_op *yield = op->body ? op->body->last : NULL;
	const struct ir_type *first = op->noperands ? ir_operand_type(op, 0) : NULL;

	if (!yield || yield->code != OP_yield)
		return FAIL(m, op, "while: the body must end in yield");
	if (!first || first->dtype != IR_bool || first->rank)
		return FAIL(m, op, "while: operand 1 is the condition and must be bool[]");
	if (yield->noperands != op->noperands || op->nresults != op->noperands)
		return FAIL(m, op, "while: carries %d values, yields %d and has %d results",
			op->noperands, yield->noperands, op->nresults);
	if (ir_attr_int(op, "trips", 1) < 0)
		return FAIL(m, op, "while: trips must not be negative");
	for (int i = 0; i < op->noperands; i++)
		if (!check_carried(m, op, i) ||
			!same_carried(m, op, i, op->body->arg[i].type, "argument") ||
			!same_carried(m, op, i, ir_operand_type(yield, i), "the yielded value") ||
			!set_result(m, op, i, ir_operand_type(op, i), written ? written[i] : NULL))
			return false;
	return true;
}

/* Checks the `parts` of a collective, if given. */
static bool
check_parts(struct ir_module *m, const struct ir_op *op)
{
	const struct ir_attr *a = op_is(op, TRAIT_VARIADIC) ? ir_attr_find(op, "parts") : NULL;

	if (!a || a->i == 1)
		return true;
	const struct ir_axis *axis = &m->axis[ir_attr_int(op, "axis", 0)];
	if (a->i < 1 || a->i > IR_MAX_PARTS)
		diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
			"%s: parts must be 1 to %d, not %" PRId64, op_name(op->code), IR_MAX_PARTS,
			a->i);
	else if (axis->time)
		diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
			"%s: 'parts' is not allowed on time axis %s: nothing is communicated",
			op_name(op->code), axis->name);
	else
		return true;
	return false;
}

/* The time axis in whose iterations the op is repeated, if the op has one (`each`). */
static bool
check_each(struct ir_module *m, const struct ir_op *op)
{
	const struct ir_attr *a = ir_attr_find(op, "each");

	if (!a)
		return true;
	if (!m->axis[a->i].time)
		diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
			"%s: 'each' names %s, which is not a time axis", op_name(op->code),
			m->axis[a->i].name);
	else if (a->i == ir_attr_int(op, "axis", -1))
		diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
			"%s: 'each' names the axis of the op itself", op_name(op->code));
	else
		return true;
	return false;
}

/* Some changes of layout need all devices at once; over time two ops do them, with the end of a loop between. */
static bool
check_time(struct ir_module *m, const struct ir_op *op)
{
	const struct ir_attr *a = ir_attr_find(op, "axis");
	const bool sums = op_is(op, TRAIT_SUMS);

	if (!m->axis[a->i].time || !op_is(op, TRAIT_DEVICES))
		return true;
	diag_error(m->ctx->diag, a->loc.begin ? a->loc : op->loc,
		"%s: %s is a time axis; use %s over it, then partition the result",
		op_name(op->code), m->axis[a->i].name, op_name(sums ? OP_reduce : OP_combine));
	return false;
}

static bool
infer_parallel(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	if (op->nresults != op->noperands)
		return FAIL(m, op, "%s: %d operands need as many results, found %d",
			op_name(op->code), op->noperands, op->nresults);
	if (!check_time(m, op) || !check_parts(m, op) || !check_each(m, op))
		return false;
	for (int i = 0; i < op->nresults; i++) {
		struct ir_type t;
		if (!layout_transition(m, op, i, &t) ||
			!set_result(m, op, i, &t, written ? written[i] : NULL))
			return false;
	}
	return true;
}

/* Any number of values with any layouts; each result has the type of its operand. */
static bool
infer_barrier(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	if (!op->noperands || op->nresults != op->noperands)
		return FAIL(m, op,
			"barrier: %d operand%s need as many results and at least one, found %d",
			op->noperands, number_plural(op->noperands), op->nresults);
	for (int i = 0; i < op->nresults; i++)
		if (!set_result(m, op, i, ir_operand_type(op, i), written ? written[i] : NULL))
			return false;
	return true;
}

/* Each result is its operand in the other memory. */
static bool
infer_copy(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	const enum ir_memory to = op->code == OP_offload ? IR_HOST : IR_DEVICE;

	if (!op->noperands || op->nresults != op->noperands)
		return FAIL(m, op,
			"%s: %d operand%s need as many results and at least one, found %d",
			op_name(op->code), op->noperands, number_plural(op->noperands),
			op->nresults);
	for (int i = 0; i < op->nresults; i++) {
		const struct ir_value *v = ir_operand(op, i);
		if (v->type->memory == to)
			return FAIL(m, op, "%s: operand %d%s%s is already in %s memory",
				op_name(op->code), i + 1, v->name ? " %" : "",
				v->name ? v->name : "", to == IR_HOST ? "host" : "device");
		const struct ir_type *t = ir_type_in(m->ctx, v->type, to);
		if (!set_result(m, op, i, t, written ? written[i] : NULL))
			return false;
	}
	return true;
}

static bool
infer_own(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	struct ir_type t[OWN_MAX_RESULTS];

	assert(op->nresults <= OWN_MAX_RESULTS);
	if (!special_op((enum op_code)op->code)->infer(m, op, t))
		return false;
	for (int i = 0; i < op->nresults; i++)
		if (!set_result(m, op, i, &t[i], written ? written[i] : NULL))
			return false;
	return true;
}

static bool
infer_special(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	struct ir_type t;

	if (op_is(op, TRAIT_OWN) && op->code != OP_while)
		return infer_own(m, op, written);
	switch ((enum op_code)op->code) {
	case OP_reshape:
		return special_reshape(m, op, &t) &&
		       set_result(m, op, 0, &t, written ? written[0] : NULL);
	case OP_update: return special_update(m, op);
	case OP_output: return special_output(m, op);
	case OP_barrier: return infer_barrier(m, op, written);
	case OP_offload:
	case OP_reload: return infer_copy(m, op, written);
	case OP_fuse: return infer_fuse(m, op, written);
	case OP_while: return infer_while(m, op, written);
	case OP_call: return ir_infer_call(m, op, written);
	default: break;
	}
	if (!op_is(op, TRAIT_WRITTEN))
		return true; /* release, yield, return: no results */
	return special_written(m, op, written[0]) && set_result(m, op, 0, written[0], NULL);
}

static bool
infer_op(struct ir_module *m, struct ir_op *op, const struct ir_row *row,
	const struct ir_type *const *written)
{
	struct ir_type t = {0};

	if (!check_count(m, op, row) || !check_attrs(m, op, row) || !check_dtypes(m, op, row) ||
		!check_memory(m, op))
		return false;
	if ((row->traits & TRAIT_WRITTEN) && !(written && written[0]))
		return FAIL(m, op, "%s: the result type must be written after the op", row->name);
	if (row->nresults != ROW_ANY && op->nresults != row->nresults)
		return FAIL(m, op, "%s: has %d result%s, not %d", row->name, row->nresults,
			number_plural(row->nresults), op->nresults);
	if (row->traits & TRAIT_PARALLEL)
		return infer_parallel(m, op, written);
	if (!form_exists((enum op_code)op->code))
		return infer_special(m, op, written);
	return infer_form(m, op, row, written ? written[0] : NULL, &t) &&
	       set_result(m, op, 0, &t, written ? written[0] : NULL);
}

bool
ir_infer(struct ir_module *m, struct ir_op *op, const struct ir_type *const *written)
{
	const struct ir_row *row = op_row(m->ctx, op);
	struct infer_key key;

	/* Not for ops whose type depends on a body, a name or other ops. */
	if (op->nresults != 1 || !(row->traits & TRAIT_PURE))
		return infer_op(m, op, row, written);
	infer_key_make(&key, op, written ? written[0] : NULL);
	const struct ir_type *known = infer_recall(m, &key);
	if (known) {
		op->result[0].type = known;
		return true;
	}
	if (!infer_op(m, op, row, written))
		return false;
	infer_remember(m, &key, op->result[0].type);
	return true;
}
