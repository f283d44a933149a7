/* FLOPs and bytes of an op at one place, from its form. */
#include "ir/ops/form.h"
#include "ir/ops/special.h"
#include "ir/ops/while.h"

#include <talloc.h>

/* Times that the body is evaluated: the product of the local sizes of the loops. */
static double
form_points(const struct form *f)
{
	double n = 1;

	for (int i = 0; i < f->nindices; i++)
		if (form_is_loop(f, i))
			n *= (double)f->size[i];
	return n;
}

/*
 * The work of a form: operations and bytes. An operand that is read at computed positions counts
 * one element for each read at most.
 */
static struct op_work
form_work(const struct ir_module *m, const struct ir_op *op)
{
	struct arena *a = arena_create(NULL);
	struct form_offset offset[FORM_MAX_INDICES];
	struct op_work w = {0, 0};
	struct form f;

	if (form_make(m, a, op, NULL, &f)) {
		form_localize(m, op, &f, offset);
		const bool sums = f.reduce != REDUCE_NONE;
		form_take_scan(a, &f, offset);
		w.flops = form_points(&f) * (expr_flops(f.body) + sums);
		for (int j = 0; j < f.ninputs; j++) {
			const struct ir_type *t = ir_operand_type(op, j);
			const double all = (double)ir_type_local_bytes(m, t),
				     picked = form_points(&f) * ir_dtype_bytes(t->dtype);
			w.bytes += form_is_computed(&f, &f.in[j]) && picked < all ? picked : all;
		}
	}
	talloc_free(a);
	return w;
}

static double
value_bytes(const struct ir_module *m, const struct ir_value *v)
{
	return (double)ir_type_local_bytes(m, v->type);
}

struct op_work
op_work(const struct ir_module *m, const struct ir_op *op)
{
	struct op_work w = {0, 0};

	if (op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED | TRAIT_COPY) ||
		op->code == OP_barrier)
		return w;
	const bool formed =
		!op->body && form_exists((enum op_code)op->code) && !op_is(op, TRAIT_PARALLEL);
	if (formed)
		w = form_work(m, op);
	if (op->body)
		IR_FOR_OPS (inner, op->body)
			w.flops += op_work(m, inner).flops * (double)while_trips(op);
	else if (op_is(op, TRAIT_OWN))
		w.flops = special_op((enum op_code)op->code)->flops(m, op);
	for (int i = 0; i < op->noperands && !formed; i++)
		w.bytes += value_bytes(m, ir_operand(op, i));
	for (int i = 0; i < op->nresults; i++)
		w.bytes += value_bytes(m, &op->result[i]);
	return w;
}
