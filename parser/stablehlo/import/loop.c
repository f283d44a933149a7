/*
 * Loops that are not unrolled: a while of the IR (ir/ops/ops.def). It tests its first carried value,
 * so the condition is imported twice: before the loop, and at the end of the body for the next
 * iteration.
 *
 * While the body is imported, inputs stand in for its arguments, so that every value has an op. Then
 * what the body reads from outside is carried, too, as it is; constants are copied into the body.
 */
#include "parser/stablehlo/import/loop.h"

#include "ir/base/alloc.h"
#include "parser/stablehlo/import/ops.h"

#include <string.h>
#include <talloc.h>

struct loop {
	struct import *im;
	const struct mlir_op *op;
	void *scratch;
	struct ir_block *body;
	/* What is carried, the condition first: before the loop; in the body; what it yields. */
	struct VEC(struct ir_value *) before, inside, next;
	struct ptr_map *copied; /* values from outside -> those of the body */
};

/* A value that stands in for an argument of the body until the loop is complete. */
static struct ir_value *
carry(struct loop *l, struct ir_value *v)
{
	struct ir_op *op =
		ir_op_create(l->im->module, OP_input, l->im->builder.loc, NULL, 0, NULL, 0, 1);
	op->symbol = ir_name(l->im->module->ctx, "carried");
	op->result[0].type = v->type;
	if (l->body->first)
		ir_insert_before(l->body->first, op);
	else
		ir_block_append(l->body, op);
	VEC_PUSH(l->scratch, &l->before, v);
	VEC_PUSH(l->scratch, &l->inside, &op->result[0]);
	return &op->result[0];
}

/* The value of the body for one from outside. */
static struct ir_value *
brought_in(struct loop *l, struct ir_value *v)
{
	struct ir_value *in = (struct ir_value *)(uintptr_t)ptr_map_get(l->copied, v);

	if (in)
		return in;
	if (v->op && !v->op->noperands && op_is(v->op, TRAIT_PURE) &&
		!ir_type_has(l->im->module, v->type, IR_NOT_COPIED)) {
		struct ir_op *op = ir_op_clone(l->im->module, v->op, NULL);
		ir_insert_before(l->body->first, op);
		in = &op->result[0];
	} else {
		in = carry(l, v);
		VEC_PUSH(l->scratch, &l->next, in);
	}
	ptr_map_set(l->copied, v, in);
	return in;
}

/* Imports the body and the next condition, with l->next as results. */
static bool
import_iteration(struct loop *l, const struct import_value *in, struct import_value *out)
{
	struct import *im = l->im;
	const uint32_t n = l->op->noperands;
	struct import_value *v = ARRAY_ZERO(l->scratch, struct import_value, n + 1), go;

	memcpy(v, in, n * sizeof *v);
	for (uint32_t i = 0; i < n; i++)
		if (v[i].value)
			v[i].value = carry(l, v[i].value);
	import_bind_all(im, &l->op->region[1], v);
	if (!import_block(im, l->op, &l->op->region[1], out, (int)n))
		return false;
	if (import_condition(im, l->op, out, &go) == CONDITION_FAILED)
		return false;
	VEC_PUSH(l->scratch, &l->next, go.value);
	for (uint32_t i = 0; i < n; i++) {
		if (!v[i].value != !out[i].value || out[i].nitems)
			return import_unsupported(
				im, l->op, "tuples in a loop that is not unrolled");
		if (!v[i].value)
			continue;
		if (out[i].varies || !ir_type_equal(out[i].value->type, v[i].value->type))
			return import_unsupported(im, l->op,
				"values that differ between processes in a loop that is not unrolled");
		VEC_PUSH(l->scratch, &l->next, out[i].value);
	}
	return true;
}

/* Ops of the body that a while may not have. A barrier there only orders; it is dropped. */
static bool
check_body(struct loop *l)
{
	IR_FOR_OPS_SAFE (op, l->body) {
		if (op->code == OP_barrier) {
			for (int i = 0; i < op->nresults; i++)
				ir_replace_uses(&op->result[i], ir_operand(op, i));
			ir_op_erase(op);
		} else if (op->code != OP_input &&
			   !ir_body_allows(OP_while, (enum op_code)op->code)) {
			return import_unsupported_form(l->im, l->op,
				"with %s in a loop that is not unrolled",
				op_name((enum op_code)op->code));
		}
	}
	return true;
}

/* Carries, or copies into the body, what it reads from outside. */
static bool
isolate(struct loop *l)
{
	for (struct ir_op *op = l->body->last; op; op = op->prev)
		for (int i = 0; i < op->noperands; i++) {
			struct ir_value *v = ir_operand(op, i);
			if (ir_value_block(v) != l->body)
				ir_set_operand(op, i, brought_in(l, v));
		}
	for (int64_t i = 0; i < l->before.n; i++)
		if (ir_type_has(l->im->module, l->before.at[i]->type, IR_NOT_COPIED))
			return import_unsupported(l->im, l->op,
				"values that differ between processes in a loop that is not unrolled");
	return true;
}

/* The iterations if the loop counts from a constant to another: x < limit with x = x + step, as
 * scans and loops with bounds are written; -1: not known. */
static int64_t
trips_of(struct loop *l)
{
	const struct ir_op *test = l->next.at[0]->op;
	const struct ir_value *x = test && test->code == OP_lt ? ir_operand(test, 0) : NULL;
	int64_t from, step, limit;

	for (int64_t i = 1; x && i < l->inside.n; i++) {
		const struct ir_op *add = l->next.at[i] == x ? x->op : NULL;
		if (!add || add->code != OP_add || ir_operand(add, 0) != l->inside.at[i] ||
			x->type->rank)
			continue;
		const struct mlir_type *t =
			import_local_type(l->im, (enum ir_dtype)x->type->dtype, 0, NULL);
		struct import_value v[] = {{.value = l->before.at[i], .type = t},
			{.value = ir_operand(add, 1), .type = t},
			{.value = ir_operand(test, 1), .type = t}};
		if (import_known_ints(l->im, &v[0], &from, 1) == 1 &&
			import_known_ints(l->im, &v[1], &step, 1) == 1 &&
			import_known_ints(l->im, &v[2], &limit, 1) == 1 && step > 0)
			return limit > from ? (limit - from + step - 1) / step : 0;
	}
	return -1;
}

/* The while with the body, whose arguments take the place of the inputs. */
static struct ir_op *
finish(struct loop *l)
{
	struct ir_module *m = l->im->module;
	const int n = (int)l->before.n;
	const int64_t trips = trips_of(l);
	struct ir_attr attr = ir_make_int(m->ctx, "trips", trips);
	struct ir_op *op = ir_op_create(
		m, OP_while, l->im->builder.loc, l->before.at, n, &attr, trips >= 0, n);

	l->body->parent = op;
	l->body->nargs = (uint32_t)n;
	l->body->arg = ir_block_args(m, l->body, (uint32_t)n);
	op->body = l->body;
	for (int i = 0; i < n; i++) {
		struct ir_value *arg = &l->body->arg[i], *in = l->inside.at[i];
		arg->type = in->type;
		arg->id = m->value_ids++;
		ir_replace_uses(in, arg);
		ir_op_erase(in->op);
	}
	ir_block_append(l->im->builder.block, op);
	return ir_infer(m, op, NULL) ? op : NULL;
}

bool
import_loop(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct loop l = {.im = im, .op = op, .scratch = alloc_scratch(NULL)};
	struct ir_block *outer = im->builder.block;
	struct import_value go;
	bool ok = import_condition(im, op, in, &go) != CONDITION_FAILED;

	if (ok && go.varies)
		ok = import_unsupported(im, op, "with a condition that differs between processes");
	l.body = ARENA_NEW(im->module->arena, struct ir_block);
	l.body->func = outer->func;
	l.copied = ptr_map_create(l.scratch);
	if (ok) {
		im->builder.block = l.body;
		carry(&l, go.value);
		ok = import_iteration(&l, in, out) && check_body(&l);
		if (ok) {
			ir_block_append(l.body, ir_op_create(im->module, OP_yield, im->builder.loc,
							l.next.at, (int)l.next.n, NULL, 0, 0));
			ok = isolate(&l);
			/* isolate has added what it carries to l.next. */
			struct ir_op *yield = l.body->last;
			for (int i = 0; i < yield->noperands; i++)
				l.next.at[i] = ir_operand(yield, i);
			ir_set_operands(im->module, yield, l.next.at, (int)l.next.n);
		}
		im->builder.block = outer;
	}
	const struct ir_op *loop = ok ? finish(&l) : NULL;
	for (uint32_t i = 0, k = 1; loop && i < op->noperands; i++) {
		out[i] = in[i];
		if (in[i].value)
			out[i].value = (struct ir_value *)&loop->result[k++];
	}
	talloc_free(l.scratch);
	return loop != NULL;
}
