/* FLOPs and bytes of an op at one place, from its form. */
#include "ir/form.h"

#include <talloc.h>

/* Times that the body is evaluated: the product of the local sizes; a guarded index takes one
 * value. */
static double
form_points(const struct form *f)
{
	int load, guarded = -1;
	double n = 1;

	if (!form_guard(f, &load, &guarded) || !(f->reduced >> guarded & 1))
		guarded = -1;
	for (int i = 0; i < f->nindices; i++)
		if (i != guarded)
			n *= (double)f->size[i];
	return n;
}

static double
form_work(const struct ir_module *m, const struct ir_op *op)
{
	struct arena *a = arena_create(m);
	struct form_offset offset[FORM_MAX_INDICES];
	struct form f;
	double flops = 0;

	if (form_make((struct ir_module *)m, a, op, NULL, &f)) {
		form_localize(m, op, &f, offset);
		flops = form_points(&f) * (expr_flops(f.body) + (f.reduce != REDUCE_NONE));
	}
	talloc_free(a);
	return flops;
}

/* Rows that are picked by number are read, not the whole table. */
static double
read_bytes(const struct ir_module *m, const struct ir_op *op, int operand)
{
	double all = (double)ir_type_local_bytes(m, ir_operand_type(op, operand));

	if (operand != 0 || (op->code != OP_gather && op->code != OP_pick))
		return all;
	double picked = (double)ir_type_local_bytes(m, op->result[0].type);
	return picked < all ? picked : all;
}

struct op_work
op_work(const struct ir_module *m, const struct ir_op *op)
{
	struct op_work w = {0, 0};

	if (op_is(op, EFFECT | TERMINATOR | NAMED))
		return w;
	if (op->body)
		IR_FOR_OPS (inner, op->body)
			w.flops += op_work(m, inner).flops;
	else if (form_exists((enum op_code)op->code) && !op_is(op, PARALLEL))
		w.flops = form_work(m, op);
	for (int i = 0; i < op->noperands; i++)
		w.bytes += read_bytes(m, op, i);
	for (int i = 0; i < op->nresults; i++)
		w.bytes += (double)ir_type_local_bytes(m, op->result[i].type);
	return w;
}
