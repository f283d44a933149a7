/* Imports ops one by one, by their rows: the checks that apply to all of them. */
#include "parser/stablehlo/import/block.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/suggest.h"
#include "parser/stablehlo/import/ops.h"

#include <string.h>
#include <talloc.h>

const struct import_row *
import_find(const struct import *im, const char *name)
{
	return ptr_map_get(im->rows, name);
}

void
import_bind(struct import *im, struct mlir_value *v, const struct import_value *value)
{
	if (!v->data)
		v->data = ARENA_NEW(im->arena, struct import_value);
	*(struct import_value *)v->data = *value;
}

struct import_value
import_get(const struct mlir_value *v)
{
	if (v->data)
		return *(const struct import_value *)v->data;
	return (struct import_value){.type = v->type, .failed = true};
}

/* In such a region these have no effect: operands and results are scalars. */
static bool
only_shapes(const struct import_row *row, const struct mlir_op *op)
{
	return row->pointwise == POINTWISE_SHAPE && op->noperands > 0 &&
	       op->operand[0]->type->rank == 0 && op->nresults == 1 &&
	       op->result[0].type->rank == 0;
}

static bool
check_operand(struct import *im, const struct mlir_op *op, char kind, uint32_t i,
	const struct import_value *v)
{
	if (kind == 'x')
		return true;
	if (!v->type || v->type->kind != MLIR_TENSOR)
		return import_error(im, op, "operand %u must be a tensor, not %s", i + 1,
			v->type ? v->type->text : "a token");
	if (v->type->dtype < 0)
		return import_unsupported_form(im, op, "tensors of %s", v->type->element);
	if (!v->value && !import_is_empty(v->type))
		return import_error(im, op, "operand %u has no value", i + 1);
	if (kind == 't' && import_is_empty(v->type))
		return import_unsupported(im, op, "an operand without elements");
	return true;
}

/* Operands against the row's letters. */
static bool
check_operands(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in)
{
	const char *letters = row->operands;
	size_t n = strlen(letters);
	char last = n ? letters[n - 1] : 0;
	uint32_t fixed = (uint32_t)n - (last == '*' ? 2 : last == '+' ? 1 : 0);
	bool open = last == '*' || last == '+';

	if (op->noperands < fixed || (!open && op->noperands > fixed))
		return import_error(im, op, "expected %s%u operand%s, found %u",
			open ? "at least " : "", fixed, number_plural(fixed), op->noperands);
	for (uint32_t i = 0; i < op->noperands; i++) {
		char kind = i < fixed ? letters[i] : letters[n - 2];
		if (!check_operand(im, op, kind, i, &in[i]))
			return false;
	}
	return true;
}

/* Checks the numbers of results and regions, and that element types are supported. */
static bool
check_op(struct import *im, const struct import_row *row, const struct mlir_op *op)
{
	if (row->results >= 0 && op->nresults != (uint32_t)row->results)
		return import_error(im, op, "expected %d result%s, found %u", row->results,
			number_plural(row->results), op->nresults);
	if (row->regions >= 0 && op->nregions != (uint32_t)row->regions)
		return import_error(im, op, "expected %d region%s, found %u", row->regions,
			number_plural(row->regions), op->nregions);
	for (uint32_t i = 0; i < op->nresults; i++) {
		const struct mlir_type *t = op->result[i].type;
		if (t->kind == MLIR_TENSOR && t->dtype < 0)
			return import_unsupported_form(im, op, "tensors of %s", t->element);
		if (t->kind == MLIR_TENSOR && t->rank > IR_MAX_RANK)
			return import_unsupported_form(im, op,
				"a tensor of rank %d; the largest rank is %d", t->rank,
				IR_MAX_RANK);
	}
	return true;
}

/* Has the IR value the local sizes and the element type of t, as far as t gives them? */
static bool
is_of_type(const struct import_value *v, const struct mlir_type *t)
{
	const struct ir_type *have = v->value->type;
	int lead = import_lead(v);

	if (t->kind != MLIR_TENSOR || have->dtype != t->dtype || have->rank - lead != t->rank)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] >= 0 && t->dim[i] != have->dim[lead + i])
			return false;
	return true;
}

/* Checks that the resulting type is the written one, and sets it. */
static bool
check_result(struct import *im, const struct import_row *row, const struct mlir_op *op, uint32_t i,
	struct import_value *v)
{
	const struct mlir_type *written = op->result[i].type;

	if (!v->type)
		v->type = written;
	if (!v->value || im->pointwise)
		return true;
	const struct ir_type *have = v->value->type;
	int lead = import_lead(v);
	bool fits = is_of_type(v, written);
	if (fits && import_is_narrow(written) && row->values != VALUES_MOVED) {
		v->value = import_narrow(im, v->value, written);
		if (!v->value)
			return false;
	}
	if (fits && import_is_static(written)) {
		v->type = written;
		return true;
	}
	v->type = import_local_type(
		im, (enum ir_dtype)have->dtype, have->rank - lead, have->dim + lead);
	return fits ||
	       import_error(im, op, "result %u has the written type %s, but the op produces %s",
		       i + 1, written->text, v->type->text);
}

/* Nothing is computed where all results are empty. */
static bool
makes_nothing(const struct import_row *row, const struct mlir_op *op)
{
	bool empty = op->nresults > 0 && !row->regions && row->function != import_identity &&
		     row->function != import_barrier && row->function != import_tuple;

	for (uint32_t i = 0; i < op->nresults; i++)
		empty = empty && import_is_empty(op->result[i].type);
	return empty;
}

/* An elementwise op whose result is empty: so are its operands. */
static bool
check_empty(struct import *im, const struct mlir_op *op)
{
	for (uint32_t i = 0; i < op->noperands; i++) {
		const struct mlir_type *t = op->operand[i]->type;
		if (t->kind == MLIR_TENSOR && !import_check_shape(im, op, 0, t->dim, t->rank))
			return false;
	}
	return true;
}

bool
import_by_row(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	return row->function   ? row->function(im, op, in, out)
	       : row->template ? import_template(im, row, op, in, out)
			       : import_point(im, row, op, in, out);
}

/* A narrow type of the first operand or result; NULL: none. */
static const struct mlir_type *
narrow_type(const struct mlir_op *op)
{
	return op->noperands && import_is_narrow(op->operand[0]->type) ? op->operand[0]->type
	       : op->nresults && import_is_narrow(op->result[0].type)  ? op->result[0].type
								       : NULL;
}

static bool
dispatch(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	if (row->refused)
		return import_unsupported(im, op, row->refused);
	if (!check_op(im, row, op))
		return false;
	if (makes_nothing(row, op))
		return row->function || check_empty(im, op);
	if (!check_operands(im, row, op, in))
		return false;
	if (row->values == VALUES_BITS && narrow_type(op))
		return import_unsupported_form(im, op, "tensors of %s", narrow_type(op)->element);
	if (im->pointwise && only_shapes(row, op)) {
		out[0] = in[0];
		out[0].type = op->result[0].type;
		return true;
	}
	if (im->pointwise && row->pointwise != POINTWISE_YES)
		return import_unsupported(im, op, "in a region that is applied to each element");
	return import_by_row(im, row, op, in, out);
}

static bool
unknown_op(struct import *im, const struct mlir_op *op)
{
	struct suggestion near = suggestion_for(op->name);

	for (int i = 0; i < im->nrows; i++)
		if (!im->row[i].refused)
			suggestion_add(&near, im->row[i].name);
	char *text = suggestion_text(NULL, &near);
	import_unsupported_form(im, op, "unknown op%s", text);
	talloc_free(text);
	return false;
}

static bool
import_values(struct import *im, const struct mlir_op *op, struct import_value *in,
	struct import_value *out)
{
	const struct import_row *row = import_find(im, op->name);
	bool failed = false;

	for (uint32_t i = 0; i < op->noperands; i++) {
		in[i] = import_get(op->operand[i]);
		failed = failed || in[i].failed;
	}
	if (!row && !op->refused)
		return unknown_op(im, op);
	if (failed)
		return false; /* that was reported */
	if (op->refused)
		return import_unsupported(im, op, op->refused);
	im->builder.loc = op->loc;
	im->builder.failed = false;
	if (!dispatch(im, row, op, in, out) || im->builder.failed)
		return false;
	for (uint32_t i = 0; i < op->nresults; i++)
		if (!check_result(im, row, op, i, &out[i]))
			return false;
	return true;
}

/* Imports one op; if it fails, its values are marked failed and the import continues. */
static bool
import_op(struct import *im, const struct mlir_op *op)
{
	enum { SMALL = 8 };
	struct import_value small[2 * SMALL], *in = small, *out = small + SMALL;
	void *scratch = NULL;

	if (++im->nops > IMPORT_MAX_OPS)
		return import_error(im, op,
			"the program has more than %d ops, calls and loops counted each time",
			IMPORT_MAX_OPS);
	if (op->noperands > SMALL || op->nresults > SMALL) {
		scratch = alloc_scratch(NULL);
		in = NEW_ARRAY(scratch, struct import_value, (size_t)op->noperands + op->nresults);
		out = in + op->noperands;
	}
	memset(out, 0, op->nresults * sizeof *out);
	bool ok = import_values(im, op, in, out);
	im->failed = im->failed || !ok;
	for (uint32_t i = 0; i < op->nresults; i++) {
		if (!out[i].type)
			out[i].type = op->result[i].type;
		out[i].failed = !ok;
		import_bind(im, &op->result[i], &out[i]);
		if (ok && out[i].value)
			import_name_value(im, &op->result[i], out[i].value);
	}
	talloc_free(scratch);
	return true;
}

static bool
is_return(const struct mlir_op *op)
{
	size_t n = strlen(op->name);

	return n >= 7 && !strcmp(op->name + n - 7, ".return");
}

bool
import_block(struct import *im, const struct mlir_op *op, const struct mlir_block *b,
	struct import_value *out, int nout)
{
	const struct mlir_op *last = b->last;

	if (!last || !is_return(last))
		return import_error(im, last ? last : op, "a region must end in return");
	if (last->noperands != (uint32_t)nout)
		return import_error(im, last, "returns %u value%s, expected %d", last->noperands,
			number_plural(last->noperands), nout);
	for (const struct mlir_op *o = b->first; o != last; o = o->next) {
		if (is_return(o))
			return import_error(im, o, "must be the last op of its region");
		if (!import_op(im, o))
			return false;
	}
	bool ok = true;
	for (int i = 0; i < nout; i++) {
		out[i] = import_get(last->operand[i]);
		ok = ok && !out[i].failed;
	}
	im->builder.loc = op->loc;
	return ok;
}
