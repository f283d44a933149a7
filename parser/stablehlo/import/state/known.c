/*
 * Values that depend only on constants: computed by the reference interpreter, in a separate module
 * with the ops that lead to the value. Results are kept, so that each op is computed once, however
 * far a loop is unrolled.
 *
 * A table says whether an op depends only on constants; MARK_NONE: not determined yet.
 */
#include "parser/stablehlo/import/state/state.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/ops/literal.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

enum { MARK_NONE, MARK_OPEN, MARK_VARIABLE, MARK_CONSTANT };

struct import_known {
	struct ptr_map *tensor;   /* ir_value -> struct tensor, owned by this */
	struct VEC(uint8_t) mark; /* by op->id */
};

struct import_known *
import_known_create(const void *owner)
{
	struct import_known *k = NEW(owner, struct import_known);

	k->tensor = ptr_map_create(k);
	return k;
}

struct op_list VEC(struct ir_op *);

/* The mark of an op; MARK_NONE if it was made after the last one that was marked. */
static uint8_t *
mark_of(struct import_known *k, const struct ir_op *op)
{
	while (k->mark.n <= op->id)
		VEC_PUSH(k, &k->mark, MARK_NONE);
	return &k->mark.at[op->id];
}

static bool
may_be_known(const struct ir_op *op)
{
	if (!op_is(op, TRAIT_PURE) || op->body)
		return false;
	for (int i = 0; i < op->nresults; i++)
		if (ir_type_elements(op->result[i].type) > IMPORT_MAX_KNOWN)
			return false;
	return true;
}

/* The mark that follows from the operands; MARK_OPEN: one has no mark yet, it is pushed. */
static uint8_t
ask_operands(struct import_known *known, const void *scratch, struct op_list *stack,
	const struct ir_op *op)
{

	for (int i = 0; i < op->noperands; i++) {
		struct ir_op *from = ir_operand(op, i)->op;
		if (!from || *mark_of(known, from) == MARK_VARIABLE)
			return MARK_VARIABLE;
		if (*mark_of(known, from) != MARK_CONSTANT) {
			VEC_PUSH(scratch, stack, from);
			return MARK_OPEN;
		}
	}
	return MARK_CONSTANT;
}

static bool
is_constant(struct import_known *known, const void *scratch, struct ir_op *op)
{
	struct op_list stack = {0};

	VEC_PUSH(scratch, &stack, op);
	while (stack.n) {
		struct ir_op *top = VEC_LAST(&stack);
		uint8_t mark = *mark_of(known, top);
		if (mark == MARK_NONE || mark == MARK_OPEN) {
			mark = may_be_known(top) ? ask_operands(known, scratch, &stack, top)
						 : MARK_VARIABLE;
			*mark_of(known, top) = mark;
		}
		if (mark != MARK_OPEN)
			stack.n--;
	}
	return *mark_of(known, op) == MARK_CONSTANT;
}

/* The ops still to compute for `op`, each after its operands. */
static void
collect(const struct import_known *k, const void *scratch, struct ir_op *op, struct op_list *order)
{
	struct ptr_map *seen = ptr_map_create(scratch);
	struct op_list stack = {0};

	VEC_PUSH(scratch, &stack, op);
	while (stack.n) {
		struct ir_op *top = VEC_LAST(&stack);
		bool ready = true;
		for (int i = 0; i < top->noperands && ready; i++) {
			struct ir_value *v = ir_operand(top, i);
			if (ptr_map_get(k->tensor, v) || ptr_map_get(seen, v->op))
				continue;
			VEC_PUSH(scratch, &stack, v->op);
			ready = false;
		}
		if (!ready)
			continue;
		stack.n--;
		if (ptr_map_get(seen, top))
			continue;
		ptr_map_set(seen, top, top);
		VEC_PUSH(scratch, order, top);
	}
}

struct run {
	struct ir_module *m;
	struct ir_block *block;
	struct ptr_map *copy; /* value -> its copy */
	struct VEC(const struct ir_value *) input;
};

static const char *
number_name(struct ir_context *ctx, char kind, size_t i)
{
	char text[32];

	snprintf(text, sizeof text, "%c%zu", kind, i);
	return ir_name(ctx, text);
}

/* The copy of an operand: an input if it is known. */
static struct ir_value *
copy_operand(struct run *r, const void *scratch, const struct ir_value *v)
{
	struct ir_value *c = (struct ir_value *)(uintptr_t)ptr_map_get(r->copy, v);

	if (c)
		return c;
	struct ir_op *op = ir_op_create(r->m, OP_input, LOC_NONE, NULL, 0, NULL, 0, 1);
	op->symbol = number_name(r->m->ctx, 'i', (size_t)r->input.n);
	op->result[0].type = ir_type_meaning(r->m->ctx, v->type);
	ir_block_append(r->block, op);
	VEC_PUSH(scratch, &r->input, v);
	ptr_map_set(r->copy, v, &op->result[0]);
	return &op->result[0];
}

static void
copy_op(struct run *r, const void *scratch, const struct ir_op *op, size_t number)
{
	struct ir_value **operand =
		NEW_ARRAY(scratch, struct ir_value *, (size_t)op->noperands + 1);

	for (int i = 0; i < op->noperands; i++)
		operand[i] = copy_operand(r, scratch, ir_operand(op, i));
	struct ir_op *c = ir_op_clone(r->m, op, operand);
	ir_block_append(r->block, c);
	for (int i = 0; i < op->nresults; i++) {
		ptr_map_set(r->copy, &op->result[i], &c->result[i]);
		struct ir_value *v = &c->result[i];
		struct ir_op *out = ir_op_create(r->m, OP_output, LOC_NONE, &v, 1, NULL, 0, 0);
		out->symbol = number_name(r->m->ctx, (char)('a' + i), number);
		ir_block_append(r->block, out);
	}
}

/* Runs the ops and keeps their results. */
static bool
run_ops(struct import *im, const void *scratch, const struct op_list *order)
{
	struct import_known *k = im->known;
	struct run r = {.m = ir_module_create(scratch, im->module->ctx, "known"),
		.copy = ptr_map_create(scratch)};
	const struct interp_options options = {.mode = INTERP_MEANING};

	memcpy(r.m->axis, im->module->axis, sizeof r.m->axis);
	r.m->naxes = im->module->naxes;
	r.block = &ir_func_create(r.m, "main", LOC_NONE)->body;
	for (int64_t i = 0; i < order->n; i++)
		copy_op(&r, scratch, order->at[i], (size_t)i);
	struct interp *it = interp_create(scratch, r.m, &options);
	if (!it)
		return false;
	for (int64_t i = 0; i < r.input.n; i++)
		interp_set_input(it, number_name(r.m->ctx, 'i', (size_t)i),
			ptr_map_get(k->tensor, r.input.at[i]));
	if (!interp_step(it, 0))
		return false;
	for (int64_t i = 0; i < order->n; i++)
		for (int j = 0; j < order->at[i]->nresults; j++) {
			const struct tensor *t =
				interp_output(it, number_name(r.m->ctx, (char)('a' + j), i));
			if (!t)
				return false;
			ptr_map_set(k->tensor, &order->at[i]->result[j], tensor_copy(k, t));
		}
	return true;
}

/* A scalar constant, the most frequent case, needs no interpreter. */
static struct tensor *
of_scalar(const void *owner, const struct ir_op *op)
{
	const struct ir_attr *a = op->code == OP_constant ? ir_attr_find(op, "value") : NULL;
	const struct ir_type *t = op->result[0].type;

	if (!a || t->rank || (a->kind != ATTR_INT && a->kind != ATTR_BOOL))
		return NULL;
	struct tensor *x = tensor_create(owner, (enum ir_dtype)t->dtype, 0, NULL);
	if (ir_dtype_class(x->dtype) == IR_FLOAT)
		x->data[0].f = literal_of_constant(op).f;
	else
		x->data[0].i = a->i;
	return x;
}

struct tensor *
import_known(const void *owner, struct import *im, const struct import_value *v)
{
	if (!v->value || v->varies || !v->value->op)
		return NULL;
	struct tensor *scalar = of_scalar(owner, v->value->op);
	if (scalar)
		return scalar;
	const struct tensor *t = ptr_map_get(im->known->tensor, v->value);
	if (t)
		return tensor_copy(owner, t);
	void *scratch = alloc_scratch(NULL);
	struct op_list order = {0};
	if (is_constant(im->known, scratch, v->value->op)) {
		bool muted = diag_mute(im->diag, true);
		collect(im->known, scratch, v->value->op, &order);
		if (run_ops(im, scratch, &order))
			t = ptr_map_get(im->known->tensor, v->value);
		diag_mute(im->diag, muted);
	}
	struct tensor *copy = t ? tensor_copy(owner, t) : NULL;
	talloc_free(scratch);
	return copy;
}

int
import_known_ints(struct import *im, const struct import_value *v, int64_t *out, int max)
{
	if (import_is_empty(v->type))
		return 0;
	struct tensor *t = import_known(NULL, im, v);
	int n = -1;

	if (t && ir_dtype_class(t->dtype) != IR_FLOAT && tensor_elements(t) <= max) {
		n = (int)tensor_elements(t);
		for (int i = 0; i < n; i++)
			out[i] = t->data[i].i;
	}
	talloc_free(t);
	return n;
}
