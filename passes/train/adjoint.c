/*
 * The adjoint of index notation. For out[o] = sum over k of body(loads), the gradient of load j is
 *
 *     d[j's indices] = sum over all other indices of g[o] * d body / d load j
 *
 * which is index notation again. It is written with the ops of the table, depending on the
 * derivative:
 *
 *   a product of operands   contract, or sum, transpose, broadcast if one factor is left
 *   computed positions      the row whose notation says the adjoint: gather and scatter_add, pick
 *                           and put; the others have a rule in adjoint_rules.c
 *   max, min                the gradient goes to the elements that attain it, in equal shares
 *   prod                    the product of the others
 *   anything else           pointwise ops on the operands, then a sum over the dims that were
 *                           repeated
 */
#include "passes/train/adjoint_internal.h"

#include "ir/ops/row.h"

#include <assert.h>
#include <string.h>

/* ---- values with named indices: operands of contract, broadcast and transpose ---- */

struct factor {
	struct ir_value *v;
	struct form_access access;
};

static void
append_letters(char *spec, const struct form_access *x)
{
	size_t n = strlen(spec);

	for (int d = 0; d < x->rank; d++)
		spec[n++] = (char)('a' + x->index[d]);
	spec[n] = '\0';
}

/* Drops the dims of size 1 that carry no index, so that every dim has one. */
static struct factor
squeeze(struct adjoint *x, struct factor f)
{
	int64_t shape[IR_MAX_RANK];
	struct form_access access = {0};

	for (int d = 0; d < f.access.rank; d++)
		if (f.access.index[d] >= 0) {
			shape[access.rank] = f.v->type->dim[d];
			access.index[access.rank++] = f.access.index[d];
		}
	if (access.rank == f.access.rank || !f.v)
		return f;
	struct ir_attr attr = ir_make_ints(x->b->m, "shape", shape, access.rank);
	return (struct factor){ir_build(x->b, OP_reshape, &f.v, 1, &attr, 1), access};
}

static struct factor
build_contract(struct adjoint *x, const struct factor *f, int n, struct form_access out)
{
	char spec[FORM_MAX_INPUTS * (IR_MAX_RANK + 1) + IR_MAX_RANK + 4] = "";
	struct ir_value *v[FORM_MAX_INPUTS];

	for (int i = 0; i < n; i++) {
		if (i)
			strcat(spec, ",");
		append_letters(spec, &f[i].access);
		v[i] = f[i].v;
	}
	strcat(spec, "->");
	append_letters(spec, &out);
	struct ir_attr attr = ir_make_string(x->b->m->ctx, "spec", spec);
	return (struct factor){ir_build(x->b, OP_contract, v, n, &attr, 1), out};
}

/* Sums one value over its indices that `out` lacks. */
static struct factor
build_sum(struct adjoint *x, struct factor f, const struct form_access *out)
{
	int64_t dims[IR_MAX_RANK];
	struct form_access rest = {0};
	int n = 0;

	for (int d = 0; d < f.access.rank; d++)
		if (form_access_has(out, f.access.index[d]))
			rest.index[rest.rank++] = f.access.index[d];
		else
			dims[n++] = d;
	if (!n)
		return f;
	struct ir_attr attr = ir_make_ints(x->b->m, "dims", dims, n);
	return (struct factor){ir_build(x->b, OP_sum, &f.v, 1, &attr, 1), rest};
}

static struct factor
build_transpose(struct adjoint *x, struct factor f, const struct form_access *out)
{
	int64_t perm[IR_MAX_RANK];
	struct form_access access = {0};
	bool moves = false;

	for (int d = 0; d < out->rank; d++)
		for (int s = 0; s < f.access.rank; s++)
			if (f.access.index[s] == out->index[d]) {
				perm[access.rank] = s;
				moves = moves || s != access.rank;
				access.index[access.rank++] = out->index[d];
			}
	if (!moves)
		return f;
	struct ir_attr attr = ir_make_ints(x->b->m, "perm", perm, access.rank);
	return (struct factor){ir_build(x->b, OP_transpose, &f.v, 1, &attr, 1), access};
}

/*
 * Repeats f along the dims of the operand that it lacks or has with size 1. A dim that f lacks may
 * be created as slices directly: if f is copied on an axis that splits such a dim of the operand,
 * it also splits the result.
 */
static struct ir_value *
build_broadcast(struct adjoint *x, struct factor f)
{
	const struct form_access *out = &x->f.in[x->operand];
	int64_t dims[IR_MAX_RANK];
	unsigned covered = 0;
	int n = 0;

	if (!f.v || (f.access.rank == out->rank && !memchr(f.access.index, -1, f.access.rank)))
		return f.v;
	for (int d = 0; d < out->rank; d++)
		if (form_access_has(&f.access, out->index[d])) {
			dims[n++] = d;
			covered |= 1u << d;
		} else if (f.access.rank == out->rank) {
			dims[n++] = d;
		}
	struct ir_type t = *x->type;
	t.dtype = f.v->type->dtype;
	for (int i = 0; i < x->b->m->naxes; i++) {
		struct ir_state from = f.v->type->axis[i], to = x->type->axis[i];
		bool slice =
			from.kind == IR_COPIED && to.kind == IR_SPLIT && !(covered >> to.dim & 1);
		t.axis[i] = slice ? to : from;
		if (from.kind == IR_SPLIT)
			t.axis[i].dim = (uint8_t)dims[from.dim];
	}
	ir_type_close_splits(&t); /* an axis outside of a slice may stay as it is in f */
	struct ir_attr attr[2] = {ir_make_ints(x->b->m, "shape", x->type->dim, x->type->rank),
		ir_make_ints(x->b->m, "dims", dims, n)};
	return ir_build_typed(x->b, OP_broadcast, NULL, &f.v, 1, attr,
		f.access.rank == out->rank ? 1 : 2, ir_type_intern(x->b->m->ctx, &t));
}

/* The result's dims are the operand's, some of them reduced to size 1 in place (keep = true). */
static bool
keeps_dims(const struct adjoint *x)
{
	const struct form_access *in = &x->f.in[x->operand], *out = &x->f.out;

	for (int d = 0; d < out->rank; d++)
		if (out->rank != in->rank || (out->index[d] >= 0 && out->index[d] != in->index[d]))
			return false;
	return out->rank == in->rank;
}

/* Splits a derivative into a constant and loads; false if it is anything but a product of these. */
static bool
is_product(const struct expr *e, double *scale, int *load, int *nloads)
{
	switch ((enum expr_kind)e->kind) {
	case EXPR_CONST: *scale *= e->value; return true;
	case EXPR_LOAD:
		if (*nloads == FORM_MAX_INPUTS - 1)
			return false;
		load[(*nloads)++] = e->id;
		return true;
	case EXPR_INDEX: return false;
	case EXPR_CALL: break;
	}
	if (e->id == FN_mul)
		return is_product(e->arg[0], scale, load, nloads) &&
		       is_product(e->arg[1], scale, load, nloads);
	if (e->id == FN_neg) {
		*scale = -*scale;
		return is_product(e->arg[0], scale, load, nloads);
	}
	if (e->id == FN_div && e->arg[1]->kind == EXPR_CONST) {
		*scale /= e->arg[1]->value;
		return is_product(e->arg[0], scale, load, nloads);
	}
	return false;
}

static struct ir_value *
build_scaled(struct adjoint *x, struct ir_value *v, double scale)
{
	if (scale == 1 || !v)
		return v;
	if (v->op && v->op->code == OP_constant) {
		struct ir_attr value = ir_make_float(
			x->b->m->ctx, "value", scale * ir_attr_float(v->op, "value", 0));
		return ir_build_typed(x->b, OP_constant, NULL, NULL, 0, &value, 1, v->type);
	}
	if (scale == -1)
		return ir_build1(x->b, OP_neg, v);
	return ir_build2(
		x->b, OP_mul, v, ir_build_scalar(x->b, (enum ir_dtype)v->type->dtype, scale));
}

static struct ir_value *
product_adjoint(struct adjoint *x, double scale, const int *load, int nloads)
{
	struct factor f[FORM_MAX_INPUTS];
	struct form_access out = {0};
	int n = 0;

	if (!nloads && keeps_dims(x))
		return build_broadcast(x, (struct factor){build_scaled(x, x->g, scale), x->f.out});
	f[n++] = squeeze(x, (struct factor){build_scaled(x, x->g, scale), x->f.out});
	for (int i = 0; i < nloads; i++)
		f[n++] = squeeze(x, (struct factor){ir_operand(x->op, load[i]), x->f.in[load[i]]});
	for (int i = 0; i < n; i++)
		if (!f[i].v)
			return NULL;
	struct form_access want = x->f.in[x->operand];
	for (int d = 0; d < want.rank; d++) {
		bool found = false;
		for (int i = 0; i < n; i++)
			found = found || form_access_has(&f[i].access, want.index[d]);
		if (found)
			out.index[out.rank++] = want.index[d];
	}
	if (n > 1)
		return build_broadcast(x, build_contract(x, f, n, out));
	return build_broadcast(x, build_transpose(x, build_sum(x, f[0], &out), &out));
}

/* ---- computed positions ---- */

static bool
same_items(const struct pattern_side *a, const struct pattern_side *b)
{
	if (a->nitems != b->nitems)
		return false;
	for (int i = 0; i < a->nitems; i++)
		if (a->item[i].name != b->item[i].name || !a->item[i].at != !b->item[i].at)
			return false;
	return true;
}

/* The row that reads like this one with operand 0 and the result exchanged. */
static int
find_adjoint_row(const struct ir_context *ctx, const struct pattern *p)
{
	for (int c = 0; c < OP_NCODES; c++) {
		const struct pattern *q = ctx->row[c].pattern;
		if (q && q->ninputs == 2 && p->ninputs == 2 && q != p &&
			same_items(&q->in[0], &p->out) && same_items(&q->in[1], &p->in[1]) &&
			same_items(&q->out, &p->in[0]) && q->body->kind == TERM_NAME)
			return c;
	}
	return -1;
}

/* gather and scatter_add, pick and put: reading at a position and writing there. */
static struct ir_value *
mirror_adjoint(struct adjoint *x)
{
	struct ir_context *ctx = x->b->m->ctx;
	int code = find_adjoint_row(ctx, op_row(ctx, x->op)->pattern);

	assert(code >= 0); /* the other rows have their own rules: a test checks the table */
	struct ir_attr size = {0};
	for (int d = 0; d < x->f.in[0].rank; d++)
		if (x->f.in[0].index[d] >= 0 && x->f.at[x->f.in[0].index[d]])
			size = ir_make_int(ctx, "size", x->type->dim[d]);
	bool sized = row_attr_find(&ctx->row[code], "size") != NULL;
	return ir_build(x->b, (enum op_code)code, (struct ir_value *[]){x->g, ir_operand(x->op, 1)},
		2, &size, sized);
}

/* ---- max and min ---- */

/* Repeats v along the reduced dims: v has the shape of the result. */
static struct ir_value *
build_repeat(struct adjoint *x, struct ir_value *v)
{
	struct factor f = {v, x->f.out};

	return build_broadcast(x, keeps_dims(x) ? f : squeeze(x, f));
}

static struct ir_value *
extremum_adjoint(struct adjoint *x)
{
	struct ir_builder *b = x->b;
	struct ir_value *in = ir_operand(x->op, 0);
	struct ir_attr dims = {0},
		       keep = ir_make_bool(b->m->ctx, "keep", ir_attr_int(x->op, "keep", 0) != 0);
	const struct ir_attr *d = ir_attr_find(x->op, "dims");
	struct ir_attr to = ir_make_dtype(b->m->ctx, "to", (enum ir_dtype)x->type->dtype);

	if (d)
		dims = *d;
	struct ir_value *hit = ir_build2(b, OP_eq, in, build_repeat(x, &x->op->result[0]));
	struct ir_value *ones = ir_build(b, OP_convert, &hit, 1, &to, 1);
	struct ir_attr attr[2] = {keep, dims};
	struct ir_value *count = ir_build(b, OP_sum, &ones, 1, attr, d ? 2 : 1);
	struct ir_value *share = build_repeat(x, ir_build2(b, OP_div, x->g, count));
	struct ir_value *zero = ir_build_scalar(b, (enum ir_dtype)x->type->dtype, 0);
	return ir_build(b, OP_select, (struct ir_value *[]){hit, share, zero}, 3, NULL, 0);
}

/* ---- products over dims ----
 *
 * The gradient of a factor is g times the product of the others: the product of all nonzero
 * factors, divided by this one unless it is 0; if another factor is 0, the gradient is 0.
 */

static struct ir_value *
prod_adjoint(struct adjoint *x)
{
	struct ir_builder *b = x->b;
	const enum ir_dtype t = (enum ir_dtype)x->type->dtype;
	struct ir_value *in = ir_operand(x->op, 0);
	const struct ir_attr *d = ir_attr_find(x->op, "dims");
	struct ir_attr attr[2] = {ir_make_bool(
		b->m->ctx, "keep", ir_attr_int(x->op, "keep", 0) != 0)},
		       to = ir_make_dtype(b->m->ctx, "to", t);
	struct ir_value *zero = ir_build_scalar(b, t, 0), *one = ir_build_scalar(b, t, 1);

	if (d)
		attr[1] = *d;
	struct ir_value *hit = ir_build2(b, OP_eq, in, zero);
	struct ir_value *factor =
		ir_build(b, OP_select, (struct ir_value *[]){hit, one, in}, 3, NULL, 0);
	struct ir_value *rest = ir_build(b, OP_prod, &factor, 1, attr, d ? 2 : 1);
	struct ir_value *mark = ir_build(b, OP_convert, &hit, 1, &to, 1);
	struct ir_value *zeros = ir_build(b, OP_sum, &mark, 1, attr, d ? 2 : 1);
	struct ir_value *scaled = build_repeat(x, ir_build2(b, OP_mul, x->g, rest));
	struct ir_value *others = ir_build2(b, OP_sub, build_repeat(x, zeros), mark);
	struct ir_value *alone = ir_build2(b, OP_eq, others, zero);
	struct ir_value *share = ir_build2(b, OP_div, scaled, factor);
	return ir_build(b, OP_select, (struct ir_value *[]){alone, share, zero}, 3, NULL, 0);
}

/* ---- pointwise ---- */

static struct ir_value *emit_expr(struct adjoint *x, const struct expr *e);

/* A comparison used as a number: its other factor where it holds, else 0. */
static const struct expr *
as_mask(const struct expr *e)
{
	if (e->dtype == IR_bool && e->kind == EXPR_CALL)
		return e;
	bool converted = e->kind == EXPR_CALL && e->id == FN_convert && e->arg[0]->dtype == IR_bool;
	return converted ? e->arg[0] : NULL;
}

static struct ir_value *
emit_masked(struct adjoint *x, const struct expr *mask, struct ir_value *v)
{
	struct ir_value *m = emit_expr(x, mask);
	struct ir_value *zero = ir_build_scalar(x->b, (enum ir_dtype)v->type->dtype, 0);

	return ir_build(x->b, OP_select, (struct ir_value *[]){m, v, zero}, 3, NULL, 0);
}

static struct ir_value *
emit_call(struct adjoint *x, const struct expr *e)
{
	const char *name = e->id == FN_stop ? "stop_gradient" : fn_name((enum scalar_fn)e->id);
	struct ir_attr to = ir_make_dtype(x->b->m->ctx, "to", (enum ir_dtype)e->dtype);
	struct ir_value *v[3];

	for (int i = 0; e->id == FN_mul && i < 2; i++)
		if (as_mask(e->arg[i])) {
			struct ir_value *other = emit_expr(x, e->arg[1 - i]);
			return other ? emit_masked(x, as_mask(e->arg[i]), other) : NULL;
		}
	for (int i = 0; i < e->nargs; i++)
		v[i] = emit_expr(x, e->arg[i]);
	int code = op_find(name);
	assert(code >= 0); /* every scalar function of a derivative has an op: a test checks the
			      table */
	return ir_build(x->b, (enum op_code)code, v, e->nargs, &to, e->id == FN_convert);
}

/* The expression as ops on the operands; load `ninputs` is the result. */
static struct ir_value *
emit_expr(struct adjoint *x, const struct expr *e)
{
	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD: return e->id == x->f.ninputs ? &x->op->result[0] : ir_operand(x->op, e->id);
	case EXPR_CONST: return ir_build_scalar(x->b, (enum ir_dtype)e->dtype, e->value);
	case EXPR_CALL: return emit_call(x, e);
	case EXPR_INDEX: break;
	}
	return NULL;
}

/* Sums v, of the result's shape, over the dims that the operand lacks or has with size 1. */
static struct ir_value *
build_unbroadcast(struct adjoint *x, struct ir_value *v)
{
	int64_t dims[IR_MAX_RANK];
	int n = 0, extra = v ? v->type->rank - x->type->rank : 0;

	for (int d = 0; v && d < v->type->rank; d++)
		if (d < extra || (x->type->dim[d - extra] == 1 && v->type->dim[d] != 1))
			dims[n++] = d;
	if (!n || !v)
		return v;
	struct ir_attr attr[2] = {
		ir_make_ints(x->b->m, "dims", dims, n), ir_make_bool(x->b->m->ctx, "keep", true)};
	v = ir_build(x->b, OP_sum, &v, 1, attr, extra ? 1 : 2);
	if (!v || v->type->rank == x->type->rank)
		return v;
	struct ir_attr shape = ir_make_ints(x->b->m, "shape", x->type->dim, x->type->rank);
	return ir_build(x->b, OP_reshape, &v, 1, &shape, 1);
}

/* Repeats v along the dims that it lacks of the operand's, or has with size 1: an operand with a
 * batch whose partner has none. */
static struct ir_value *
build_repeated(struct adjoint *x, struct ir_value *v)
{
	int64_t dims[IR_MAX_RANK], size[IR_MAX_RANK];
	const int lacks = v ? x->type->rank - v->type->rank : 0;
	int n = 0;

	for (int d = 0; v && d < v->type->rank; d++)
		if (v->type->dim[d] == x->type->dim[d + lacks]) {
			dims[n] = d + lacks;
			size[n++] = v->type->dim[d];
		}
	if (!v || n == x->type->rank)
		return v;
	struct ir_attr attr[2] = {ir_make_ints(x->b->m, "shape", x->type->dim, x->type->rank),
		ir_make_ints(x->b->m, "dims", dims, n)};
	struct ir_attr kept = ir_make_ints(x->b->m, "shape", size, n);
	if (n < v->type->rank)
		v = ir_build(x->b, OP_reshape, &v, 1, &kept, 1);
	return v ? ir_build(x->b, OP_broadcast, &v, 1, attr, 2) : NULL;
}

static struct ir_value *
pointwise_adjoint(struct adjoint *x, const struct expr *d)
{
	struct ir_value *v;
	const struct expr *mask = as_mask(d);

	if (d->kind == EXPR_CONST)
		v = build_scaled(x, x->g, d->value);
	else if (mask)
		v = emit_masked(x, mask, x->g);
	else if (d->kind == EXPR_CALL && d->id == FN_neg)
		v = ir_build1(x->b, OP_neg, ir_build2(x->b, OP_mul, x->g, emit_expr(x, d->arg[0])));
	else
		v = ir_build2(x->b, OP_mul, x->g, emit_expr(x, d));
	return build_unbroadcast(x, v);
}

/* Does the op read its operands with numpy broadcasting, without a sum? */
static bool
is_pointwise(const struct form *f)
{
	if (f->reduce != REDUCE_NONE)
		return false;
	for (int j = 0; j < f->ninputs; j++) {
		int extra = f->out.rank - f->in[j].rank;
		for (int d = 0; d < f->in[j].rank; d++)
			if (extra < 0 || (f->in[j].index[d] >= 0 &&
						 f->in[j].index[d] != f->out.index[d + extra]))
				return false;
	}
	return true;
}

static struct ir_value *
form_adjoint(struct adjoint *x, bool *none)
{
	int loads[FORM_MAX_INPUTS], nloads = 0;
	double scale = 1;

	if (x->f.reduce == REDUCE_MAX || x->f.reduce == REDUCE_MIN)
		return extremum_adjoint(x);
	if (x->f.reduce == REDUCE_PROD)
		return prod_adjoint(x);
	if (form_has_computed(&x->f))
		return mirror_adjoint(x);
	const struct expr *d = expr_derivative(
		x->a, x->b->m->ctx, x->f.body, x->operand, x->f.reduce ? -1 : x->f.ninputs);
	*none = d->kind == EXPR_CONST && d->value == 0;
	if (*none)
		return NULL;
	/* gradients are computed in the element type of the result */
	if (is_pointwise(&x->f))
		return pointwise_adjoint(x, d);
	bool product = is_product(d, &scale, loads, &nloads);
	assert(product); /* every row that is not pointwise is a sum of products: a test checks
			    the table */
	return product ? product_adjoint(x, scale, loads, nloads) : NULL;
}

static struct ir_value *
reshape_adjoint(struct adjoint *x)
{
	struct ir_attr shape = ir_make_ints(x->b->m, "shape", x->type->dim, x->type->rank);

	return ir_build(x->b, OP_reshape, &x->g, 1, &shape, 1);
}

struct ir_value *
adjoint(struct ir_builder *b, struct arena *a, struct ir_op *op, int operand, struct ir_value *g,
	bool *none)
{
	struct adjoint x = {.b = b,
		.a = a,
		.op = op,
		.operand = operand,
		.g = g,
		.type = ir_operand_type(op, operand)};
	struct ir_value *v = NULL;

	*none = ir_dtype_class((enum ir_dtype)x.type->dtype) != IR_FLOAT;
	if (*none)
		return NULL;
	if (op->code == OP_reshape)
		v = reshape_adjoint(&x);
	else if (adjoint_rule_of((enum op_code)op->code))
		v = build_repeated(&x,
			build_unbroadcast(&x, adjoint_rule_of((enum op_code)op->code)(&x, none)));
	else if (form_make(b->m, a, op, NULL, &x.f))
		v = form_adjoint(&x, none);
	else
		*none = true;
	if (!v || v->type->dtype == x.type->dtype)
		return v;
	struct ir_attr to = ir_make_dtype(b->m->ctx, "to", (enum ir_dtype)x.type->dtype);
	return ir_build(b, OP_convert, &v, 1, &to, 1);
}
