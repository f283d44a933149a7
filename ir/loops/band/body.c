/*
 * The value of the body of an op outside a band, from what is known of its operands there:
 *
 *     a select whose condition is known           its arm
 *     a product with 0                            0
 *     a comparison of positions                   known, if it is the same everywhere outside
 *     anything else                               depends on the dimensions that its operands have
 */
#include "ir/loops/band/internal.h"

struct outside
outside_number(double x)
{
	return (struct outside){.known = true, .number = x};
}

static struct outside
both(struct outside x, struct outside y)
{
	if (x.known && y.known && x.number == y.number && !x.taint && !y.taint)
		return x;
	return (struct outside){.taint = x.taint || y.taint, .dims = x.dims | y.dims};
}

bool
outside_is(struct outside x, double n)
{
	return x.known && x.number == n;
}

bool
band_is_uniform(const struct fact_band *b)
{
	const uint32_t row = 1u << b->band.row, col = 1u << b->band.col;

	return b->out.known || !(b->out.dims & row) || !(b->out.dims & col);
}

/* Can a program test whether a value of type t is 0 outside the band? */
bool
band_may_test(const struct ir_type *t, const struct fact_band *b)
{
	return !b->out.known && band_is_uniform(b) && b->band.row == t->rank - 2 &&
	       b->band.col == t->rank - 1 && ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT;
}

static struct outside
load(const struct place *p, int j)
{
	const struct ir_value *v = ir_operand(p->op, j);
	const struct form_access *x = &p->f->in[j];
	struct outside best = {.dims = band_indices(x, UINT32_MAX)};

	if (p->taint && ir_value_outside(v) == p->taint) {
		best.taint = true;
		return best;
	}
	const struct fact *f = band_fact(p->w, v);
	if (f->same)
		return outside_number(f->number);
	for (int i = 0; i < f->nbands; i++) {
		struct band b;
		if (best.known || !band_of_indices(p->f, x, &f->band[i].band, &b) ||
			!band_within(&b, &p->band))
			continue;
		best = f->band[i].out;
		best.dims = band_indices(x, best.dims);
		if (p->w->hopeful && band_may_test(v->type, &f->band[i]))
			best = outside_number(0);
	}
	return best;
}

static struct outside
comparison(const struct place *p, const struct expr *e)
{
	struct band b;

	if (band_compared(p, e, &b)) {
		const struct band rest = band_rest(&b);
		if (band_within(&b, &p->band))
			return outside_number(0);
		if (band_within(&rest, &p->band))
			return outside_number(1);
	}
	return both(band_body(p, e->arg[0]), band_body(p, e->arg[1]));
}

static struct outside
choice(const struct place *p, const struct expr *e)
{
	const struct outside c = band_body(p, e->arg[0]);

	if (c.known)
		return band_body(p, e->arg[c.number != 0 ? 1 : 2]);
	const struct outside arms = both(band_body(p, e->arg[1]), band_body(p, e->arg[2]));
	if (arms.known)
		return arms;
	return (struct outside){.taint = c.taint || arms.taint, .dims = c.dims | arms.dims};
}

/* mul or `and` (zero = 0), or `or` (zero = 1): an operand that is `zero` decides the result. */
static struct outside
product(const struct place *p, const struct expr *e, double zero)
{
	const struct outside x = band_body(p, e->arg[0]);
	if (outside_is(x, zero))
		return x;
	const struct outside y = band_body(p, e->arg[1]);
	if (outside_is(y, zero))
		return y;
	return both(x, y);
}

static struct outside
conversion(const struct place *p, const struct expr *e)
{
	struct outside x = band_body(p, e->arg[0]);

	x.known = x.known && (x.number == 0 || x.number == 1); /* exact in every type */
	return x;
}

static struct outside
negation(const struct place *p, const struct expr *e)
{
	struct outside x = band_body(p, e->arg[0]);

	x.number = e->id == FN_not ? x.number == 0 : -x.number;
	x.known = x.known && (e->id == FN_neg || e->dtype == IR_bool);
	return x;
}

static struct outside
sum(const struct place *p, const struct expr *e)
{
	const struct outside x = band_body(p, e->arg[0]), y = band_body(p, e->arg[1]);
	const struct outside z = both(x, y);

	if (z.known && z.number != 0)
		return (struct outside){.known = false};
	return z;
}

static struct outside
call(const struct place *p, const struct expr *e)
{
	struct outside x = {.known = false};

	switch ((enum scalar_fn)e->id) {
	case FN_select: return choice(p, e);
	case FN_lt:
	case FN_le:
	case FN_gt:
	case FN_ge: return comparison(p, e);
	case FN_mul:
	case FN_and: return product(p, e, 0);
	case FN_or:
		if (e->dtype == IR_bool)
			return product(p, e, 1);
		break;
	case FN_div:
		x = band_body(p, e->arg[0]);
		if (outside_is(x, 0))
			return x;
		break;
	case FN_add:
	case FN_sub: return sum(p, e);
	case FN_neg:
	case FN_not: return negation(p, e);
	case FN_convert: return conversion(p, e);
	case FN_stop: return band_body(p, e->arg[0]);
	default: break;
	}
	x = (struct outside){.known = false};
	for (int i = 0; i < e->nargs; i++) {
		const struct outside y = band_body(p, e->arg[i]);
		x.taint |= y.taint;
		x.dims |= y.dims;
	}
	return x;
}

/* The value of an expression of an op outside the band. A known value depends on no dimension. */
struct outside
band_body(const struct place *p, const struct expr *e)
{
	struct outside x;

	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD: x = load(p, e->id); break;
	case EXPR_INDEX: x = (struct outside){.dims = 1u << e->id}; break;
	case EXPR_CONST: x = outside_number(e->value); break;
	default: x = call(p, e); break;
	}
	if (x.known)
		x.dims = 0;
	return x;
}
