/*
 * Calls in place; loops unrolled while constants decide their condition (loop.c has the rest); branches: the one that a
 * constant picks, else all of them and a select; tuples and tokens.
 */
#include "ir/base/number.h"
#include "parser/stablehlo/import/loop.h"
#include "parser/stablehlo/import/ops.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- calls --- */

const char *
import_function_name(const struct mlir_op *func)
{
	const struct mlir_attr *a = mlir_attr_find(func, "sym_name");

	return a && (a->kind == MLIR_STRING || a->kind == MLIR_SYMBOL) ? a->s : "";
}

static bool
check_call(struct import *im, const struct mlir_op *op, const struct mlir_op *func,
	const struct import_value *in, int nin, int nout)
{
	const struct mlir_block *b = &func->region[0];
	const char *name = import_function_name(func);

	if (!b->last)
		return import_unsupported_form(im, op, "@%s has no body", name);
	if (b->nargs != (uint32_t)nin)
		return import_error(im, op, "@%s takes %u argument%s, not %d", name, b->nargs,
			number_plural(b->nargs), nin);
	if (b->last->noperands != (uint32_t)nout)
		return import_error(im, op, "@%s returns %u value%s, not %d", name,
			b->last->noperands, number_plural(b->last->noperands), nout);
	for (int i = 0; i < nin; i++)
		if (!import_same_type(in[i].type, b->arg[i].type))
			return import_error(im, op, "argument %d of @%s is %s, not %s", i + 1, name,
				b->arg[i].type->text, in[i].type->text ? in[i].type->text : "this");
	if (im->depth >= IMPORT_MAX_CALLS)
		return import_error(im, op,
			"@%s: calls are nested more than %d deep, or a function calls itself", name,
			IMPORT_MAX_CALLS);
	return true;
}

bool
import_call_function(struct import *im, const struct mlir_op *op, const struct mlir_op *func,
	const struct import_value *in, int nin, struct import_value *out, int nout)
{
	const struct mlir_block *b = &func->region[0];

	if (!check_call(im, op, func, in, nin, nout))
		return false;
	for (int i = 0; i < nin; i++)
		import_bind(im, &b->arg[i], &in[i]);
	const char *outside = im->caller;
	im->caller = op->place ? op->place : outside;
	im->depth++;
	bool ok = import_block(im, op, b, out, nout);
	im->depth--;
	im->caller = outside;
	return ok;
}

static bool
call_by(struct import *im, const struct mlir_op *op, const char *attr,
	const struct import_value *in, struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, attr);

	if (!a || (a->kind != MLIR_SYMBOL && a->kind != MLIR_STRING))
		return import_error(im, op, "%s must name a function", attr);
	const struct mlir_op *func = import_func(im, a->s);
	if (!func)
		return import_error(im, op, "there is no function @%s", a->s);
	return import_call_function(im, op, func, in, (int)op->noperands, out, (int)op->nresults);
}

bool
import_call(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return call_by(im, op, "callee", in, out);
}

bool
import_composite(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return call_by(im, op, "decomposition", in, out);
}

/* --- loops --- */

void
import_sweep(struct ir_block *b, const struct ir_op *after)
{
	for (struct ir_op *op = b->last, *prev; op && op != after; op = prev) {
		bool used =
			!op_is(op, TRAIT_PURE) && op->code != OP_barrier && op->code != OP_while;
		prev = op->prev;
		for (int i = 0; i < op->nresults; i++)
			used = used || op->result[i].uses;
		if (!used)
			ir_op_erase(op);
	}
}

/* A condition of what is carried, and its next values. */
static bool
check_carried(struct import *im, const struct mlir_op *op, const struct import_value *in)
{
	const struct import_value go = {.type = import_local_type(im, IR_bool, 0, NULL)};
	const int n = (int)op->noperands;

	if (op->nresults != op->noperands)
		return import_error(
			im, op, "has %u results for %u operands", op->nresults, op->noperands);
	return import_check_region(im, op, 0, in, n, &go, 1) &&
	       import_check_region(im, op, 1, in, n, in, n);
}

void
import_bind_all(struct import *im, struct mlir_block *b, const struct import_value *v)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		import_bind(im, &b->arg[i], &v[i]);
}

enum import_condition
import_condition(struct import *im, const struct mlir_op *op, const struct import_value *carried,
	struct import_value *c)
{
	int64_t go;

	import_bind_all(im, &op->region[0], carried);
	if (!import_block(im, op, &op->region[0], c, 1))
		return CONDITION_FAILED;
	if (import_known_ints(im, c, &go, 1) != 1)
		return CONDITION_OPEN;
	return go ? CONDITION_TRUE : CONDITION_FALSE;
}

/* A scalar that constants decide becomes one, so that what is computed from it stays short. */
static void
settle(struct import *im, struct import_value *v)
{
	if (!v->value || v->type->kind != MLIR_TENSOR || v->type->rank || v->varies ||
		!v->value->op || v->value->op->code == OP_constant ||
		ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_FLOAT)
		return;
	struct tensor *t = import_known(NULL, im, v);
	if (t)
		v->value = import_tensor_value(im, t);
	talloc_free(t);
}

bool
import_while(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	uint32_t n = op->noperands, before = im->nops;
	struct ir_block *block = im->builder.block;
	const struct ir_op *start = block->last;

	if (!check_carried(im, op, in))
		return false;
	memcpy(out, in, n * sizeof *in);
	for (int trips = 0;; trips++) {
		struct ir_op *last = block->last;
		struct import_value c;
		enum import_condition go = import_condition(im, op, out, &c);
		if (go == CONDITION_FAILED)
			return false;
		import_sweep(block, last); /* the ops of the condition */
		if (go == CONDITION_FALSE)
			return true;
		if (go == CONDITION_OPEN || trips == IMPORT_MAX_TRIPS ||
			im->nops - before > IMPORT_MAX_UNROLLED)
			break;
		import_bind_all(im, &op->region[1], out);
		if (!import_block(im, op, &op->region[1], out, (int)n))
			return false;
		for (uint32_t i = 0; i < n; i++)
			settle(im, &out[i]);
	}
	memset(out, 0, n * sizeof *out); /* iterations that were unrolled are not used */
	import_sweep(block, start);
	im->nops = before;
	return import_loop(im, op, in, out);
}

/* --- branches --- */

/* The results of a region without arguments. */
static bool
branch(struct import *im, const struct mlir_op *op, uint32_t r, struct import_value *out)
{
	struct import_value *type = NEW_ARRAY(NULL, struct import_value, op->nresults + 1);

	for (uint32_t i = 0; i < op->nresults; i++)
		type[i].type = op->result[i].type;
	const bool ok = import_check_region(im, op, r, NULL, 0, type, (int)op->nresults);
	talloc_free(type);
	return ok && import_block(im, op, &op->region[r], out, (int)op->nresults);
}

/* Selects yes[i] or out[i] for each element; a scalar `take` applies to all elements. */
static bool
choose(struct import *im, const struct mlir_op *op, const struct import_value *take,
	const struct import_value *yes, struct import_value *out)
{
	for (uint32_t i = 0; i < op->nresults; i++) {
		struct import_value pick[3] = {*take, yes[i], out[i]};
		if (yes[i].nitems)
			return import_unsupported(
				im, op, "tuples from a branch that is selected by an input");
		if (!yes[i].value || !out[i].value || yes[i].value == out[i].value)
			continue; /* a token, nothing, or the same */
		out[i].value = import_build_point(im, OP_select, pick, 3, NULL, 0, &out[i].varies);
		if (!out[i].value)
			return false;
	}
	return true;
}

/* Region 0 ... n - 1 by an index; the last one if it is out of range. */
static bool
branches(struct import *im, const struct mlir_op *op, const struct import_value *index,
	struct import_value *out)
{
	uint32_t n = op->nregions;
	int64_t known;

	if (import_known_ints(im, index, &known, 1) == 1)
		return branch(im, op, known < 0 || known >= n ? n - 1 : (uint32_t)known, out);
	if (!branch(im, op, n - 1, out))
		return false;
	struct import_value *yes = ARENA_ARRAY(im->arena, struct import_value, op->nresults + 1);
	for (uint32_t r = 0; r + 1 < n; r++) {
		struct import_value take = *index;
		if (!branch(im, op, r, yes))
			return false;
		take.value = ir_build2(&im->builder, OP_eq, index->value,
			import_integer(im, (enum ir_dtype)index->value->type->dtype, r));
		if (!take.value || !choose(im, op, &take, yes, out))
			return false;
	}
	return true;
}

bool
import_if(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct import_value index = in[0];

	if (in[0].type->dtype != IR_bool || in[0].type->rank)
		return import_error(
			im, op, "the predicate must be tensor<i1>, not %s", in[0].type->text);
	/* If the condition holds, region 0: index 0. */
	index.value =
		import_build_convert(im, ir_build1(&im->builder, OP_not, in[0].value), IR_i32);
	return index.value && branches(im, op, &index, out);
}

bool
import_case(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	if (in[0].type->dtype != IR_i32 || in[0].type->rank)
		return import_error(
			im, op, "the index must be tensor<i32>, not %s", in[0].type->text);
	if (!op->nregions)
		return import_error(im, op, "has no branches");
	return branches(im, op, &in[0], out);
}

/* --- tuples, tokens --- */

bool
import_tuple(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = op->result[0].type;
	struct import_value *item = ARENA_ARRAY(im->arena, struct import_value, op->noperands + 1);

	if (t->kind != MLIR_TUPLE || t->nitems != op->noperands)
		return import_error(im, op, "makes a tuple of %u, not %s", op->noperands, t->text);
	for (uint32_t i = 0; i < op->noperands; i++) {
		if (!import_same_type(in[i].type, t->item[i]))
			return import_error(im, op, "operand %u is %s, but item %u is %s", i + 1,
				in[i].type->text, i, t->item[i]->text);
		item[i] = in[i];
	}
	out[0] = (struct import_value){.type = t, .nitems = op->noperands, .item = item};
	return true;
}

bool
import_tuple_element(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "index");

	if (in[0].type->kind != MLIR_TUPLE)
		return import_error(
			im, op, "the operand must be a tuple, not %s", in[0].type->text);
	if (!a || a->kind != MLIR_INT || a->i < 0 || a->i >= in[0].nitems)
		return import_error(im, op, "index must be one of the %u items", in[0].nitems);
	if (!import_same_type(in[0].item[a->i].type, op->result[0].type))
		return import_error(im, op,
			"item %" PRId64 " is %s, but the written type of the result is %s", a->i,
			in[0].item[a->i].type->text, op->result[0].type->text);
	out[0] = in[0].item[a->i];
	return true;
}

bool
import_token(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	if (op->result[0].type->kind != MLIR_OTHER)
		return import_error(
			im, op, "the result must be a token, not %s", op->result[0].type->text);
	out[0] = (struct import_value){.type = op->result[0].type};
	return true;
}
