/*
 * See band.h. A walk from a value to what it is made of, op by op, and from the result of a product
 * to what reads it. Both ask the same question of an op: what is its body outside of a band, if the
 * operands are what is known of them there?
 *
 *     a select whose condition is known           its arm
 *     a product with 0                            0
 *     a comparison of positions                   known, if it is the same in all that is outside
 *     anything else                               depends on the dimensions that its operands have
 *
 * Bands come from comparisons of positions, sums of indices and constants, and are passed on to
 * what is made of their values as long as something is known. A walk ends at products, at ops whose
 * positions are computed and at ops between layouts, and after WALK_VALUES ops.
 */
#include "ir/loops/band.h"

#include "ir/base/vec.h"
#include "runtime/kernel/gemm.h"

#include <string.h>

enum {
	WALK_VALUES = 96, /* ops: attention has about 40 between the mask and a gradient */
	WALK_BANDS = 3,   /* of one value */
	WALK_CANDIDATES = 8,
	WALK_FAR = 1 << 24 /* positions and their distances: no sum of two leaves an i32 */
};

/* What a value is outside of a band. */
struct outside {
	bool known; /* it is `number` */
	bool taint; /* it depends on the value whose readers are looked at */
	double number;
	uint32_t dims; /* set: what it depends on; indices of an op, or dimensions of a value */
};

struct band_fact {
	struct band band;
	struct outside out;
};

struct fact {
	bool same; /* all elements are `number` */
	double number;
	bool affine; /* of an integer type: a sum of positions and a number */
	int64_t coef[IR_MAX_RANK], base;
	int nbands;
	struct band_fact band[WALK_BANDS];
};

struct known {
	const struct ir_value *value;
	const struct fact *fact;
};

struct walk {
	const struct ir_module *m;
	struct arena *a;
	struct knowns VEC(struct known) known;
	int visits;
	const struct ir_op *kernel; /* whose operands are taken as 0 where they can be tested; or
				       NULL */
	int ntests;
	struct band_test test[BAND_MAX_TESTS];
	bool hopeful; /* all that could be tested is 0, wherever it is read */
};

/* The op whose body is looked at, and the band of its indices outside of which. */
struct place {
	struct walk *w;
	const struct ir_op *op;
	const struct form *f;
	struct band band;
	const struct ir_value *taint; /* operands that are this value; NULL: none */
};

/* A sum of indices and a number. */
struct affine {
	int64_t coef[FORM_MAX_INDICES], base;
};

static const struct fact *fact_of(struct walk *w, const struct ir_value *v);

/* --- bands --- */

/* The band of two dimensions or indices, in the order in which all bands are kept. */
static struct band
band_make(int row, int col, int64_t low, int64_t high)
{
	if (row < col)
		return (struct band){row, col, low, high};
	return (struct band){col, row, -high, -low};
}

static bool
same_pair(const struct band *a, const struct band *b)
{
	return a->row == b->row && a->col == b->col;
}

/* Is all of a inside of b? */
static bool
band_within(const struct band *a, const struct band *b)
{
	return same_pair(a, b) && a->low >= b->low && a->high <= b->high;
}

/* The indices with which an access reads the dimensions of a band; false where they are no two
 * loops. */
static bool
band_of_indices(
	const struct form *f, const struct form_access *x, const struct band *b, struct band *to)
{
	const int row = x->index[b->row], col = x->index[b->col];

	if (row == col || !form_is_loop(f, row) || !form_is_loop(f, col))
		return false;
	*to = band_make(row, col, b->low, b->high);
	return true;
}

static bool
band_of_dims(const struct form_access *x, const struct band *b, struct band *to)
{
	const int row = form_access_dim(x, b->row), col = form_access_dim(x, b->col);

	if (row < 0 || col < 0)
		return false;
	*to = band_make(row, col, b->low, b->high);
	return true;
}

/* The indices of a set of dimensions, and back. */
static uint32_t
indices_of(const struct form_access *x, uint32_t dims)
{
	uint32_t set = 0;

	for (int d = 0; d < x->rank; d++)
		if (dims >> d & 1 && x->index[d] >= 0)
			set |= 1u << x->index[d];
	return set;
}

static uint32_t
dims_of(const struct form_access *x, uint32_t indices)
{
	uint32_t set = 0;

	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && indices >> x->index[d] & 1)
			set |= 1u << d;
	return set;
}

/* --- positions --- */

static bool
is_position_type(int t)
{
	return t == IR_i32 || t == IR_i64;
}

static bool add_affine(
	const struct place *p, const struct expr *e, int64_t factor, struct affine *sum);

static bool
add_load(const struct place *p, int j, int64_t factor, struct affine *sum)
{
	const struct fact *f = fact_of(p->w, ir_operand(p->op, j));
	const struct form_access *x = &p->f->in[j];

	if (!f->affine)
		return false;
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && f->coef[d]) /* one of size 1 is at 0 */
			sum->coef[x->index[d]] += factor * f->coef[d];
	sum->base += factor * f->base;
	return true;
}

static bool
add_affine(const struct place *p, const struct expr *e, int64_t factor, struct affine *sum)
{
	if (!is_position_type(e->dtype))
		return false;
	switch ((enum expr_kind)e->kind) {
	case EXPR_CONST:
		sum->base += factor * (int64_t)e->value;
		return e->value >= -WALK_FAR && e->value <= WALK_FAR;
	case EXPR_INDEX: sum->coef[e->id] += factor; return true;
	case EXPR_LOAD: return add_load(p, e->id, factor, sum);
	case EXPR_CALL: break;
	}
	switch ((enum scalar_fn)e->id) {
	case FN_add:
		return add_affine(p, e->arg[0], factor, sum) &&
		       add_affine(p, e->arg[1], factor, sum);
	case FN_sub:
		return add_affine(p, e->arg[0], factor, sum) &&
		       add_affine(p, e->arg[1], -factor, sum);
	case FN_neg: return add_affine(p, e->arg[0], -factor, sum);
	case FN_convert:
	case FN_stop: return add_affine(p, e->arg[0], factor, sum);
	default: return false;
	}
}

/* A sum in which nothing wraps: each position counts once, and all are small. */
static bool
is_small(const struct place *p, const struct affine *sum)
{
	for (int i = 0; i < p->f->nindices; i++)
		if (sum->coef[i] < -1 || sum->coef[i] > 1 ||
			(sum->coef[i] && p->f->size[i] > WALK_FAR))
			return false;
	return sum->base >= -WALK_FAR && sum->base <= WALK_FAR;
}

static bool
is_comparison(const struct expr *e)
{
	if (e->kind != EXPR_CALL)
		return false;
	switch ((enum scalar_fn)e->id) {
	case FN_lt:
	case FN_le:
	case FN_gt:
	case FN_ge: return true;
	default: return false;
	}
}

/* The band in which a comparison of positions is true: of two indices, one taken from the other. */
static bool
compare_band(const struct place *p, const struct expr *e, struct band *b)
{
	struct affine x = {.base = 0}, y = {.base = 0};
	int plus = -1, minus = -1;

	if (!is_comparison(e) || !add_affine(p, e->arg[0], 1, &x) ||
		!add_affine(p, e->arg[1], 1, &y) || !is_small(p, &x) || !is_small(p, &y))
		return false;
	for (int i = 0; i < p->f->nindices; i++) {
		const int64_t c = x.coef[i] - y.coef[i];
		if (c == 0)
			continue;
		if (c != 1 && c != -1)
			return false;
		int *one = c == 1 ? &plus : &minus;
		if (*one >= 0)
			return false;
		*one = i;
	}
	if (plus < 0 || minus < 0)
		return false;
	const int64_t at = y.base - x.base; /* plus - minus, compared with at */
	switch ((enum scalar_fn)e->id) {
	case FN_lt: *b = band_make(minus, plus, -BAND_FAR, at - 1); return true;
	case FN_le: *b = band_make(minus, plus, -BAND_FAR, at); return true;
	case FN_gt: *b = band_make(minus, plus, at + 1, BAND_FAR); return true;
	default: *b = band_make(minus, plus, at, BAND_FAR); return true;
	}
}

/* The rest of a band that is open on one side. */
static struct band
band_rest(const struct band *b)
{
	if (b->low <= -BAND_FAR)
		return (struct band){b->row, b->col, b->high + 1, BAND_FAR};
	return (struct band){b->row, b->col, -BAND_FAR, b->low - 1};
}

/* --- the body of an op outside of a band --- */

static struct outside
number(double x)
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

static bool
is_number(struct outside x, double n)
{
	return x.known && x.number == n;
}

static struct outside body(const struct place *p, const struct expr *e);

static bool
is_uniform(const struct band_fact *b)
{
	const uint32_t row = 1u << b->band.row, col = 1u << b->band.col;

	return b->out.known || !(b->out.dims & row) || !(b->out.dims & col);
}

/* Has a program a test of floats whether a value is 0 outside of the band? */
static bool
may_test(const struct ir_type *t, const struct band_fact *b)
{
	return !b->out.known && is_uniform(b) && b->band.row == t->rank - 2 &&
	       b->band.col == t->rank - 1 && (t->dtype == IR_f32 || t->dtype == IR_f64);
}

static struct outside
load(const struct place *p, int j)
{
	const struct ir_value *v = ir_operand(p->op, j);
	const struct form_access *x = &p->f->in[j];
	struct outside best = {.dims = indices_of(x, UINT32_MAX)};

	if (p->taint && ir_value_outside(v) == p->taint) {
		best.taint = true;
		return best;
	}
	const struct fact *f = fact_of(p->w, v);
	if (f->same)
		return number(f->number);
	for (int i = 0; i < f->nbands; i++) {
		struct band b;
		if (best.known || !band_of_indices(p->f, x, &f->band[i].band, &b) ||
			!band_within(&b, &p->band))
			continue;
		best = f->band[i].out;
		best.dims = indices_of(x, best.dims);
		if (p->w->hopeful && may_test(v->type, &f->band[i]))
			best = number(0);
	}
	return best;
}

static struct outside
comparison(const struct place *p, const struct expr *e)
{
	struct band b;

	if (compare_band(p, e, &b)) {
		const struct band rest = band_rest(&b);
		if (band_within(&b, &p->band))
			return number(0);
		if (band_within(&rest, &p->band))
			return number(1);
	}
	return both(body(p, e->arg[0]), body(p, e->arg[1]));
}

static struct outside
choice(const struct place *p, const struct expr *e)
{
	const struct outside c = body(p, e->arg[0]);

	if (c.known)
		return body(p, e->arg[c.number != 0 ? 1 : 2]);
	const struct outside arms = both(body(p, e->arg[1]), body(p, e->arg[2]));
	if (arms.known)
		return arms;
	return (struct outside){.taint = c.taint || arms.taint, .dims = c.dims | arms.dims};
}

/* x and y where 0 is 0 times anything, or false and anything; `one`, of bools: what leaves the
 * other. */
static struct outside
product(const struct place *p, const struct expr *e, double zero)
{
	const struct outside x = body(p, e->arg[0]);
	if (is_number(x, zero))
		return x;
	const struct outside y = body(p, e->arg[1]);
	if (is_number(y, zero))
		return y;
	return both(x, y);
}

static struct outside
conversion(const struct place *p, const struct expr *e)
{
	struct outside x = body(p, e->arg[0]);

	x.known = x.known && (x.number == 0 || x.number == 1); /* exact in every type */
	return x;
}

static struct outside
negation(const struct place *p, const struct expr *e)
{
	struct outside x = body(p, e->arg[0]);

	x.number = e->id == FN_not ? x.number == 0 : -x.number;
	x.known = x.known && (e->id == FN_neg || e->dtype == IR_bool);
	return x;
}

static struct outside
sum(const struct place *p, const struct expr *e)
{
	const struct outside x = body(p, e->arg[0]), y = body(p, e->arg[1]);
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
		x = body(p, e->arg[0]);
		if (is_number(x, 0))
			return x;
		break;
	case FN_add:
	case FN_sub: return sum(p, e);
	case FN_neg:
	case FN_not: return negation(p, e);
	case FN_convert: return conversion(p, e);
	case FN_stop: return body(p, e->arg[0]);
	default: break;
	}
	x = (struct outside){.known = false};
	for (int i = 0; i < e->nargs; i++) {
		const struct outside y = body(p, e->arg[i]);
		x.taint |= y.taint;
		x.dims |= y.dims;
	}
	return x;
}

/* What an expression of an op is outside of the band. What is known depends on nothing. */
static struct outside
body(const struct place *p, const struct expr *e)
{
	struct outside x;

	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD: x = load(p, e->id); break;
	case EXPR_INDEX: x = (struct outside){.dims = 1u << e->id}; break;
	case EXPR_CONST: x = number(e->value); break;
	default: x = call(p, e); break;
	}
	if (x.known)
		x.dims = 0;
	return x;
}

/* --- facts of values --- */

/* Adds a band of the value; two outside of which it is the same are one band. */
static void
add_band(struct fact *f, const struct band_fact *b)
{
	for (int i = 0; i < f->nbands; i++) {
		struct band_fact *x = &f->band[i];
		if (!same_pair(&x->band, &b->band))
			continue;
		if (band_within(&x->band, &b->band) && x->out.known >= b->out.known)
			return;
		if (x->out.known && b->out.known && x->out.number == b->out.number) {
			x->band.low = x->band.low > b->band.low ? x->band.low : b->band.low;
			x->band.high = x->band.high < b->band.high ? x->band.high : b->band.high;
			return;
		}
	}
	if (f->nbands < WALK_BANDS)
		f->band[f->nbands++] = *b;
}

/* What the result is outside of a band of indices, where anything is known of that. */
static void
try_band(const struct place *p, const struct band *b, struct fact *f)
{
	struct place at = *p;
	struct band_fact x;

	at.band = *b;
	if (!band_of_dims(&p->f->out, b, &x.band))
		return;
	x.out = body(&at, p->f->body);
	if (p->f->reduce != REDUCE_NONE && x.out.number != 0)
		x.out.known = false;
	x.out.dims = dims_of(&p->f->out, x.out.dims & ~p->f->reduced);
	if (is_uniform(&x))
		add_band(f, &x);
}

static void
try_comparisons(const struct place *p, const struct expr *e, struct fact *f)
{
	struct band b;

	if (e->kind != EXPR_CALL)
		return;
	if (compare_band(p, e, &b)) {
		const struct band rest = band_rest(&b);
		try_band(p, &b, f);
		try_band(p, &rest, f);
		return;
	}
	for (int i = 0; i < e->nargs; i++)
		try_comparisons(p, e->arg[i], f);
}

/* What bands of the operands make of the result. */
static void
try_operands(const struct place *p, struct fact *f)
{
	struct band b;

	for (int j = 0; j < p->f->ninputs; j++) {
		const struct fact *x = fact_of(p->w, ir_operand(p->op, j));
		for (int i = 0; i < x->nbands; i++)
			if (band_of_indices(p->f, &p->f->in[j], &x->band[i].band, &b))
				try_band(p, &b, f);
	}
}

static void
find_affine(const struct place *p, struct fact *f)
{
	struct affine sum = {.base = 0};

	if (p->f->reduce != REDUCE_NONE || !add_affine(p, p->f->body, 1, &sum) ||
		!is_small(p, &sum))
		return;
	uint32_t left = 0;
	for (int i = 0; i < p->f->nindices; i++)
		left |= sum.coef[i] ? 1u << i : 0;
	for (int d = 0; d < p->f->out.rank; d++)
		if (p->f->out.index[d] >= 0) {
			f->coef[d] = sum.coef[p->f->out.index[d]];
			left &= ~(1u << p->f->out.index[d]);
		}
	f->affine = left == 0;
	f->base = sum.base;
}

/* Has a place other operands than another that holds the result? They are read as 0 there. */
static bool
has_absent(const struct ir_module *m, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		for (int a = 0; a < m->naxes; a++)
			if (ir_operand_type(op, j)->axis[a].kind == IR_SINGLE &&
				op->result[0].type->axis[a].kind != IR_SINGLE)
				return true;
	return false;
}

/* The form of an op that works on elements of one place, of whole sizes. */
static bool
plain_form(struct walk *w, const struct ir_op *op, struct form *f)
{
	return form_exists((enum op_code)op->code) && op->nresults == 1 &&
	       !op_is(op, TRAIT_PARALLEL | TRAIT_NAMED | TRAIT_EFFECT | TRAIT_OWN) &&
	       !has_absent(w->m, op) && form_make(w->m, w->a, op, op->result[0].type, f) &&
	       !form_has_computed(f) && !form_reduce_is_place((enum form_reduce)f->reduce);
}

static void
find_formed(struct walk *w, const struct ir_op *op, struct fact *f)
{
	struct form form;

	w->visits++;
	if (!plain_form(w, op, &form) || (form.reduce != REDUCE_NONE && form.ninputs > 1))
		return;
	const struct place p = {.w = w, .op = op, .f = &form};
	if (form.ninputs == 0 && form.body->kind == EXPR_CONST && form.reduce == REDUCE_NONE) {
		f->same = true;
		f->number = form.body->value;
	}
	find_affine(&p, f);
	if (f->affine || f->same)
		return;
	try_comparisons(&p, form.body, f);
	if (!f->nbands)
		try_operands(&p, f);
}

/* Dimension d of a reshaped value, where it is among the last ones that did not change; -1: none.
 */
static int
reshaped_dim(const struct ir_type *from, const struct ir_type *to, int d)
{
	for (int i = 1; i <= from->rank - d; i++)
		if (i > to->rank || from->dim[from->rank - i] != to->dim[to->rank - i])
			return -1;
	return to->rank - (from->rank - d);
}

static bool
reshaped_band(const struct ir_type *from, const struct ir_type *to, const struct band *b,
	struct band *out)
{
	const int row = reshaped_dim(from, to, b->row), col = reshaped_dim(from, to, b->col);

	*out = (struct band){row, col, b->low, b->high};
	return row >= 0 && col >= 0;
}

static uint32_t
reshaped_dims(const struct ir_type *from, const struct ir_type *to, uint32_t dims)
{
	uint32_t set = 0;

	for (int d = 0; d < from->rank; d++) {
		const int at = reshaped_dim(from, to, d);
		if (dims >> d & 1 && at < 0) /* any of those that are not among the last ones */
			for (int i = 0; i < to->rank; i++)
				set |= reshaped_dim(to, from, i) < 0 ? 1u << i : 0;
		else if (dims >> d & 1)
			set |= 1u << at;
	}
	return set;
}

static void
find_reshaped(struct walk *w, const struct ir_op *op, struct fact *f)
{
	const struct ir_type *from = ir_operand_type(op, 0), *to = op->result[0].type;
	const struct fact *x = fact_of(w, ir_operand(op, 0));

	f->same = x->same;
	f->number = x->number;
	for (int i = 0; i < x->nbands; i++) {
		struct band_fact b = x->band[i];
		if (!reshaped_band(from, to, &x->band[i].band, &b.band))
			continue;
		b.out.dims = reshaped_dims(from, to, b.out.dims);
		add_band(f, &b);
	}
}

/* --- operands that a program can test --- */

/* Lists the test that an operand of the kernel is 0 outside of one of its bands; false where there
 * is none: each place must have all of its rows and columns. */
static bool
add_test(const struct ir_module *m, struct band_test *list, int *n, int operand,
	const struct ir_type *t, const struct band_fact *b)
{
	if (*n == BAND_MAX_TESTS || !may_test(t, b) ||
		ir_type_local_dim(m, t, b->band.row) != t->dim[b->band.row] ||
		ir_type_local_dim(m, t, b->band.col) != t->dim[b->band.col])
		return false;
	list[(*n)++] = (struct band_test){operand, b->band, (b->out.dims & 1u << b->band.col) != 0};
	return true;
}

/* What an argument of the kernel's body is, if those that can be tested are 0. */
static const struct fact *
assumed(struct walk *w, const struct ir_value *v, const struct fact *f)
{
	struct fact *x = ARENA_NEW(w->a, struct fact);

	*x = *f;
	for (int i = 0; i < x->nbands; i++)
		if (add_test(w->m, w->test, &w->ntests, (int)v->index, v->type, &x->band[i]))
			x->band[i].out = number(0);
	return x;
}

static const struct fact *
find_fact(struct walk *w, const struct ir_value *v)
{
	struct fact *f = ARENA_NEW(w->a, struct fact);
	const struct ir_op *op = v->op;

	if (w->kernel && w->kernel->body && !op && ir_value_block(v) == w->kernel->body)
		return assumed(w, v, fact_of(w, ir_operand(w->kernel, (int)v->index)));
	if (!op && ir_value_outside(v) != v)
		return fact_of(w, ir_value_outside(v));
	if (!op)
		return f;
	if (op->code == OP_fuse)
		return fact_of(w, ir_operand(op->body->last, (int)v->index));
	if (op->code == OP_reshape)
		find_reshaped(w, op, f);
	else
		find_formed(w, op, f);
	return f;
}

static const struct fact *
fact_of(struct walk *w, const struct ir_value *v)
{
	static const struct fact nothing;

	for (int64_t i = 0; i < w->known.n; i++)
		if (w->known.at[i].value == v)
			return w->known.at[i].fact;
	if (w->visits >= WALK_VALUES)
		return &nothing;
	const struct fact *f = find_fact(w, v);
	VEC_PUSH_IN(w->a, &w->known, (struct known){v, f});
	return f;
}

/* --- readers --- */

static bool is_unread(struct walk *w, const struct ir_value *v, const struct band *b);

/* Does an op that reads v not depend on what v is outside of the band, nor what reads the op? */
static bool
is_unread_by(struct walk *w, const struct ir_op *op, const struct ir_value *v, const struct band *b)
{
	struct form f;
	struct band next;

	if (w->visits++ >= WALK_VALUES)
		return false;
	if (op->code == OP_reshape)
		return reshaped_band(v->type, op->result[0].type, b, &next) &&
		       is_unread(w, &op->result[0], &next);
	if (!plain_form(w, op, &f))
		return false;
	struct place p = {.w = w, .op = op, .f = &f, .taint = ir_value_outside(v)};
	for (int j = 0, seen = 0; j < f.ninputs; j++) {
		if (ir_operand(op, j) != v)
			continue;
		if (!band_of_indices(&f, &f.in[j], b, &next) ||
			(seen++ && (!same_pair(&next, &p.band) || next.low != p.band.low ||
					   next.high != p.band.high)))
			return false;
		p.band = next;
	}
	if (!body(&p, f.body).taint)
		return true;
	return band_of_dims(&f.out, &p.band, &next) && is_unread(w, &op->result[0], &next);
}

/* Is v not read outside of the band, or only multiplied by 0? */
static bool
is_unread(struct walk *w, const struct ir_value *v, const struct band *b)
{
	IR_FOR_USES (u, v) {
		const struct ir_op *op = u->op;
		const int at = (int)(u - op->operand);
		if (op->code == OP_fuse ? !is_unread(w, &op->body->arg[at], b)
			: op->code == OP_yield && op->block->parent
				? !is_unread(w, &op->block->parent->result[at], b)
				: !is_unread_by(w, op, v, b))
			return false;
	}
	return true;
}

/* --- products --- */

static const struct ir_op *
kernel_of(const struct ir_op *op)
{
	return op->block->parent ? op->block->parent : op;
}

/* The number of an operand of a product among those of its kernel; -1: the kernel makes it. */
static int
kernel_operand(const struct ir_op *product, int j)
{
	const struct ir_value *v = ir_operand(product, j);

	if (!product->block->parent)
		return j;
	return v->op ? -1 : (int)v->index;
}

/* Is load j, by what is known of it or by a test, 0 outside of a band? */
static bool
find_operand(const struct ir_module *m, struct arena *a, const struct ir_op *op,
	const struct form *f, int j, bool hopeful, struct band_product *x)
{
	struct walk w = {.m = m, .a = a, .hopeful = hopeful};
	const struct fact *fact = fact_of(&w, ir_operand(op, j));
	const int operand = kernel_operand(op, j);

	for (int i = 0; i < fact->nbands; i++) {
		const struct band_fact *b = &fact->band[i];
		*x = (struct band_product){.load = j};
		if (!band_of_indices(f, &f->in[j], &b->band, &x->band))
			continue;
		if (is_number(b->out, 0) || (hopeful && may_test(ir_operand_type(op, j), b)) ||
			(!b->out.known && operand >= 0 &&
				add_test(m, x->test, &x->ntests, operand, ir_operand_type(op, j),
					b)))
			return true;
	}
	return false;
}

/* Bands of two dimensions of a value, outside of which it may be unread. */
struct candidates {
	struct band at[WALK_CANDIDATES];
	int n;
};

static void
add_candidate(struct candidates *c, const struct form_access *x, const struct band *indices)
{
	struct band b;

	if (c->n < WALK_CANDIDATES && band_of_dims(x, indices, &b))
		c->at[c->n++] = b;
}

static void collect(struct walk *w, const struct ir_value *v, struct candidates *c);

/* Bands that an op compares positions for. */
static void
collect_comparisons(const struct place *p, const struct expr *e, const struct form_access *x,
	struct candidates *c)
{
	struct band b;

	if (e->kind != EXPR_CALL)
		return;
	if (compare_band(p, e, &b)) {
		const struct band rest = band_rest(&b);
		add_candidate(c, x, &b);
		add_candidate(c, x, &rest);
	}
	for (int i = 0; i < e->nargs; i++)
		collect_comparisons(p, e->arg[i], x, c);
}

/* Bands of the other operands of an op, or of what reads its result. */
static void
collect_reader(struct walk *w, const struct ir_op *op, int at, struct candidates *c)
{
	struct candidates further = {.n = 0};
	struct form f;
	struct band b;

	if (w->visits++ >= WALK_VALUES || !plain_form(w, op, &f))
		return;
	const struct place p = {.w = w, .op = op, .f = &f};
	collect_comparisons(&p, f.body, &f.in[at], c);
	for (int j = 0; j < f.ninputs; j++) {
		const struct fact *x = fact_of(w, ir_operand(op, j));
		for (int i = 0; i < x->nbands; i++)
			if (band_of_indices(&f, &f.in[j], &x->band[i].band, &b))
				add_candidate(c, &f.in[at], &b);
	}
	if (c->n)
		return;
	collect(w, &op->result[0], &further);
	for (int i = 0; i < further.n; i++)
		if (band_of_indices(&f, &f.out, &further.at[i], &b))
			add_candidate(c, &f.in[at], &b);
}

static void
collect_reshaped(struct walk *w, const struct ir_op *op, struct candidates *c)
{
	struct candidates further = {.n = 0};

	collect(w, &op->result[0], &further);
	for (int i = 0; i < further.n && c->n < WALK_CANDIDATES; i++)
		c->n += reshaped_band(
			op->result[0].type, ir_operand_type(op, 0), &further.at[i], &c->at[c->n]);
}

/* What the first reader knows that knows anything: all have to leave the same unread. */
static void
collect(struct walk *w, const struct ir_value *v, struct candidates *c)
{
	IR_FOR_USES (u, v) {
		const struct ir_op *op = u->op;
		const int at = (int)(u - op->operand);
		if (op->code == OP_fuse)
			collect(w, &op->body->arg[at], c);
		else if (op->code == OP_yield && op->block->parent)
			collect(w, &op->block->parent->result[at], c);
		else if (op->code == OP_reshape)
			collect_reshaped(w, op, c);
		else
			collect_reader(w, op, at, c);
		if (c->n)
			return;
	}
}

/* Is the result of a product not read outside of a band, at once or by a test of operands? */
static bool
find_result(const struct ir_module *m, struct arena *a, const struct ir_op *op,
	const struct form *f, bool hopeful, struct band_product *x)
{
	struct walk look = {.m = m, .a = a, .hopeful = hopeful};
	struct candidates c = {.n = 0};

	collect(&look, &op->result[0], &c);
	for (int tests = 0; tests < 2 - hopeful; tests++)
		for (int i = 0; i < c.n; i++) {
			struct walk w = {.m = m,
				.a = a,
				.hopeful = hopeful,
				.kernel = tests ? kernel_of(op) : NULL};
			*x = (struct band_product){.load = -1};
			if (!band_of_indices(f, &f->out, &c.at[i], &x->band) ||
				!is_unread(&w, &op->result[0], &c.at[i]))
				continue;
			x->ntests = w.ntests;
			memcpy(x->test, w.test, sizeof w.test);
			return true;
		}
	return false;
}

/* Does a place have all of both indices of the band? Positions are those in it then. */
static bool
is_whole(const struct ir_module *m, const struct ir_op *op, const struct form *f,
	const struct band *b)
{
	struct form local = *f;
	struct form_offset offset[FORM_MAX_INDICES];

	form_localize(m, op, &local, offset);
	return local.size[b->row] == f->size[b->row] && local.size[b->col] == f->size[b->col];
}

static int
find_all(const struct ir_module *m, struct arena *a, const struct ir_op *product, bool hopeful,
	struct form *f, struct band_product found[3])
{
	struct walk w = {.m = m, .a = a};
	int n = 0;

	if (!plain_form(&w, product, f) || f->ninputs != 2)
		return 0;
	for (int j = 0; j < 2; j++)
		n += find_operand(m, a, product, f, j, hopeful, &found[n]) &&
		     is_whole(m, product, f, &found[n].band);
	n += find_result(m, a, product, f, hopeful, &found[n]) &&
	     is_whole(m, product, f, &found[n].band);
	return n;
}

int
band_find(const struct ir_module *m, struct arena *a, const struct ir_op *product,
	struct band_product found[3])
{
	struct form f;

	return find_all(m, a, product, false, &f, found);
}

/* Has the type two dimensions along which a product is divided? */
static bool
is_large(const struct ir_type *t)
{
	int n = 0;

	for (int d = 0; d < t->rank; d++)
		n += t->dim[d] >= 2 * RT_GEMM_BAND_ROWS;
	return n >= 2;
}

double
band_share(const struct ir_module *m, struct arena *a, const struct ir_op *product)
{
	const int least = 2 * RT_GEMM_BAND_ROWS, t = product->result[0].type->dtype;
	struct band_product found[3];
	struct form f;
	double share = 1;

	bool large = is_large(product->result[0].type);
	for (int j = 0; j < product->noperands; j++)
		large |= is_large(ir_operand_type(product, j));
	if (!large || (t != IR_f32 && t != IR_f64))
		return 1;
	const int n = find_all(m, a, product, true, &f, found);
	for (int i = 0; i < n; i++) {
		const struct band *b = &found[i].band;
		const int64_t rows = f.size[b->row], columns = f.size[b->col];
		const struct rt_gemm_band x = {RT_GEMM_C, b->low, b->high};
		const double points = rt_gemm_band_points(&x, rows, columns, 1) /
				      ((double)rows * (double)columns);
		if (rows >= least && columns >= least && points < share)
			share = points;
	}
	return share;
}
