/* Where numbers that are not finite come from: for a step that a program kept (-keep-step). */
#include "ir/interp/internal.h"

#include <inttypes.h>
#include <math.h>

/* The numbers of a value that are not finite. */
struct found {
	bool infinite, nan;
	double first;
	int64_t at; /* element of `first` */
};

static struct found
look(const struct interp *it, const struct ir_value *v)
{
	struct found f = {.at = -1};
	if (ir_dtype_class((enum ir_dtype)v->type->dtype) != IR_FLOAT)
		return f;
	for (int64_t p = 0; p < it->nplaces; p++) {
		const struct tensor *t = interp_places(it, v)[p];
		const int64_t n = t ? tensor_elements(t) : 0;
		for (int64_t i = 0; i < n; i++) {
			const double x = t->data[i].f;
			if (isfinite(x))
				continue;
			/* A NaN says more than the infinities before it. */
			if (f.at < 0 || (isnan(x) && !f.nan)) {
				f.first = x;
				f.at = i;
			}
			f.infinite = f.infinite || isinf(x);
			f.nan = f.nan || isnan(x);
		}
	}
	return f;
}

void
interp_look(struct interp *it, const struct ir_op *op)
{
	struct found in = {0};
	for (int i = 0; i < op->noperands; i++) {
		const struct found f = look(it, ir_operand(op, i));
		in.infinite = in.infinite || f.infinite;
		in.nan = in.nan || f.nan;
	}
	/* What the step begins with is not a result. */
	const bool given = op_is(op, TRAIT_PERSISTENT) || op->code == OP_input;
	for (int i = 0; i < op->nresults; i++) {
		const struct found f = look(it, &op->result[i]);
		const bool nan = f.nan && !in.nan && !it->found_nan;
		/* A constant may be infinite on purpose: a mask. */
		const bool infinite = f.infinite && !in.infinite && !in.nan &&
				      !it->found_infinite && (op->noperands || given);
		if (!nan && !infinite)
			continue;
		const double first = isnan(f.first) ? (double)NAN : f.first;
		if (given) {
			if (!it->found_given)
				diag_note(it->m->ctx->diag, op->loc,
					"%s \"%s\" is not finite before the step: element %" PRId64
					" is %g",
					op_name(op->code), op->symbol, f.at, first);
			it->found_given = true;
			continue;
		}
		diag_note(it->m->ctx->diag, op->loc,
			"%s: the first op whose result is not finite%s: element %" PRId64 " is %g",
			op_name(op->code), in.infinite ? ", with infinite operands" : "", f.at,
			first);
		it->found_nan = it->found_nan || f.nan;
		it->found_infinite = it->found_infinite || f.infinite;
	}
}
