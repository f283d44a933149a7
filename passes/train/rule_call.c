/*
 * Functions of rules: those that need more than an op. Means, products and norms are those of whole tensors, whatever their
 * layouts.
 */
#include "ir/base/alloc.h"
#include "passes/parallel/reshard.h"
#include "passes/train/rule.h"
#include "passes/train/total.h"

#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* The layout of t without splits over devices. */
static const struct ir_type *
whole_type(struct ir_module *m, const struct ir_type *t)
{
	struct ir_type whole = *t;

	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time && whole.axis[i].kind == IR_SPLIT)
			whole.axis[i] = (struct ir_state){.kind = IR_COPIED};
	return ir_type_intern(m->ctx, &whole);
}

/* The rows of what has the type of a param that is split as a row of its elements, whole; else v. */
static struct ir_value *
rows_of(struct optimizer_step *s, struct ir_value *v)
{
	int64_t dim[IR_MAX_RANK];
	const int rank = v ? optimizer_shape(s, v, dim) : 0;

	if (!v || rank == v->type->rank)
		return v;
	const struct ir_attr shape = ir_make_ints(s->b.m, "shape", dim, rank);
	v = reshard(&s->b, v, whole_type(s->b.m, v->type));
	return v ? ir_build(&s->b, OP_reshape, &v, 1, &shape, 1) : NULL;
}

/* The reverse, for a tensor with the elements of the param in one layout on all devices. */
static struct ir_value *
param_of(struct optimizer_step *s, struct ir_value *v)
{
	const struct ir_type *w = s->w->type;
	const struct ir_attr shape = ir_make_ints(s->b.m, "shape", w->dim, w->rank);

	if (v && v->type->rank != w->rank)
		v = ir_build(&s->b, OP_reshape, &v, 1, &shape, 1);
	if (!v)
		return NULL;
	struct ir_type want = *v->type;
	for (int a = 0; a < s->b.m->naxes; a++)
		if (!s->b.m->axis[a].time)
			want.axis[a] = w->axis[a];
	return reshard(&s->b, v, ir_type_intern(s->b.m->ctx, &want));
}

/* x + weight_decay * w, or x for params without weight decay. */
static struct rule_term
call_decay(struct rule *r, const struct rule_term *x)
{
	struct optimizer_step *s = r->s;
	const double decay = pass_float(s->run, "weight_decay");
	int64_t dim[IR_MAX_RANK];

	if (decay == 0 || optimizer_shape(s, s->w, dim) < pass_int(s->run, "decay_rank"))
		return x[0];
	return rule_is(ir_build2(&s->b, OP_add, x[0].v, optimizer_scale(s, s->w, decay)));
}

/* beta x + (1 - beta) y. */
static struct rule_term
call_mix(struct rule *r, const struct rule_term *x)
{
	struct ir_value *old = optimizer_scale(r->s, x[0].v, x[1].c);
	struct ir_value *fresh = optimizer_scale(r->s, x[2].v, 1 - x[1].c);

	return rule_is(ir_build2(&r->s->b, OP_add, old, fresh));
}

/* The second in the element type of the first. */
static struct rule_term
call_as(struct rule *r, const struct rule_term *x)
{
	return rule_is(
		total_convert(&r->s->b, rule_value(r, x[1], dtype_of(x[0].v)), dtype_of(x[0].v)));
}

static struct rule_term
call_cast(struct rule *r, const struct rule_term *x)
{
	return rule_is(total_convert(&r->s->b, x[0].v, dtype_of(r->s->w)));
}

static struct rule_term
call_f64(struct rule *r, const struct rule_term *x)
{
	return rule_is(total_convert(&r->s->b, x[0].v, IR_f64));
}

/* The sum of squares, in f64 if x is f64, else in f32. */
static struct rule_term
call_squares(struct rule *r, const struct rule_term *x)
{
	return rule_is(total_of_squares(&r->s->b, x[0].v));
}

/* The mean over dim x[1]; it stays as a dim of 1 if x[2] is not 0. */
static struct rule_term
call_mean(struct rule *r, const struct rule_term *x)
{
	struct ir_builder *b = &r->s->b;
	const int64_t dims[] = {(int64_t)x[1].c};
	const struct ir_attr attr[] = {
		ir_make_ints(b->m, "dims", dims, 1), ir_make_bool(b->m->ctx, "keep", x[2].c != 0)};
	struct ir_value *rows = rows_of(r->s, x[0].v);
	struct ir_value *sum = rows ? ir_build(b, OP_sum, &rows, 1, attr, 2) : NULL;

	sum = sum ? reshard(b, sum, gradient_type(b->m, sum->type)) : NULL;
	return rule_is(
		sum ? optimizer_scale(r->s, sum, 1 / (double)rows->type->dim[dims[0]]) : NULL);
}

static struct ir_value *
contract(struct optimizer_step *s, const char *spec, struct ir_value *x, struct ir_value *y)
{
	const struct ir_attr attr = ir_make_string(s->b.m->ctx, "spec", spec);

	return ir_build(&s->b, OP_contract, (struct ir_value *[]){x, y}, 2, &attr, 1);
}

/* The outer product over the last dim of each, as large as the param. */
static struct rule_term
call_outer(struct rule *r, const struct rule_term *x)
{
	const int batch = x[0].v->type->rank - 1;
	const char *spec = TEXT(r->s->run->scratch, "%.*sy,%.*sz->%.*syz", batch, "abcdefgh", batch,
		"abcdefgh", batch, "abcdefgh");

	struct ir_value *product = contract(r->s, spec, x[0].v, x[1].v);
	return rule_is(product && r->s->w->type->rank == 1 ? param_of(r->s, product) : product);
}

/* x as the direction of the param: the step itself, which no learning rate scales. */
static struct rule_term
call_unscaled(struct rule *r, const struct rule_term *x)
{
	r->s->unscaled = true;
	return x[0];
}

static struct rule_term
call_rank(struct rule *r, const struct rule_term *x)
{
	int64_t dim[IR_MAX_RANK];

	return rule_number(optimizer_shape(r->s, x[0].v, dim));
}

static struct rule_term
call_dim(struct rule *r, const struct rule_term *x)
{
	int64_t dim[IR_MAX_RANK];

	optimizer_shape(r->s, x[0].v, dim);
	return rule_number((double)dim[(int)x[1].c]);
}

/* The number of elements. */
static struct rule_term
call_size(struct rule *r, const struct rule_term *x)
{
	double n = 1;

	(void)r;
	for (int d = 0; d < x[0].v->type->rank; d++)
		n *= (double)x[0].v->type->dim[d];
	return rule_number(n);
}

/* The distance of 1 to the next number of x's element type. */
static struct rule_term
call_epsilon(struct rule *r, const struct rule_term *x)
{
	(void)r;
	switch (dtype_of(x[0].v)) {
	case IR_f64: return rule_number(DBL_EPSILON);
	case IR_f16: return rule_number(0x1p-10);
	case IR_bf16: return rule_number(0x1p-7);
	default: return rule_number(FLT_EPSILON);
	}
}

static bool
is_matrix(const struct ir_module *m, const char *pattern)
{
	int64_t dim[IR_MAX_RANK];

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_param && ir_file_shape(op, op->result[0].type, dim) == 2 &&
			fnmatch(pattern, op->symbol, 0) == 0)
			return true;
	return false;
}

bool
rule_listed(struct pass_run *run, const char *param, const struct ir_module *m)
{
	char *names = TEXT(run->scratch, "%s", pass_string(run, "others")), *rest = NULL;
	bool listed = false;

	for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
		listed = listed || (param && fnmatch(name, param, 0) == 0);
		if (m && !is_matrix(m, name))
			diag_report(run->ctx->diag, DIAG_WARNING, pass_option_loc(run, "others"),
				"%s: '%s' is not the name of a matrix, nor a pattern of such names",
				run->pass->name, name);
	}
	return listed;
}

static struct rule_term
call_listed(struct rule *r, const struct rule_term *x)
{
	(void)x;
	return rule_number(rule_listed(r->s->run, r->s->param->symbol, NULL));
}

/*
 * Muon's iteration, named after Newton and Schulz: x over its norm, whose singular values x[1] iterations take near 1, in
 * bf16 if x[2] is not 0. Computed on the smaller side, from whole matrices: a split one is gathered before and split again after.
 */
static struct rule_term
call_orthogonal(struct rule *r, const struct rule_term *x)
{
	static const double of_x = 3.4445, of_sx = -4.775,
			    of_ssx = 2.0315;   /* s = x x': section "coefficients" */
	static const double least_norm = 1e-7; /* as in PyTorch */
	struct optimizer_step *s = r->s;
	struct ir_builder *b = &s->b;
	struct ir_value *y = rows_of(s, x[0].v);
	const enum ir_dtype own = dtype_of(s->w);
	const bool tall = y && y->type->dim[0] > y->type->dim[1];

	y = y ? reshard(b, y, whole_type(b->m, y->type)) : NULL;
	struct ir_value *squares = y ? total_of_squares(b, y) : NULL;
	if (!squares)
		return rule_is(NULL);
	struct ir_value *least = optimizer_constant(s, dtype_of(squares), least_norm);
	struct ir_value *norm = ir_build2(b, OP_maximum, ir_build1(b, OP_sqrt, squares), least);
	y = ir_build2(b, OP_div, y, total_convert(b, norm, own));
	y = total_convert(b, y, x[2].c != 0 ? IR_bf16 : own);
	for (int i = 0; i < (int)x[1].c; i++) {
		struct ir_value *gram = contract(s, tall ? "ka,kb->ab" : "ak,bk->ab", y, y);
		struct ir_value *square = contract(s, "ak,kb->ab", gram, gram);
		square = optimizer_scale(s, square, of_ssx);
		struct ir_value *sum =
			ir_build2(b, OP_add, optimizer_scale(s, gram, of_sx), square);
		struct ir_value *step =
			tall ? contract(s, "ak,kb->ab", y, sum) : contract(s, "ak,kb->ab", sum, y);
		y = ir_build2(b, OP_add, optimizer_scale(s, y, of_x), step);
	}
	return rule_is(param_of(s, total_convert(b, y, own)));
}

/* `kinds`: a letter an argument, v: a value, c: a number, x: either. */
static const struct {
	const char *name, *kinds;
	struct rule_term (*call)(struct rule *r, const struct rule_term *x);
} functions[] = {
	{"as", "vx", call_as},
	{"cast", "v", call_cast},
	{"decay", "v", call_decay},
	{"dim", "vc", call_dim},
	{"epsilon", "v", call_epsilon},
	{"f64", "v", call_f64},
	{"listed", "", call_listed},
	{"mean", "vcc", call_mean},
	{"mix", "vcv", call_mix},
	{"orthogonal", "vcc", call_orthogonal},
	{"outer", "vv", call_outer},
	{"rank", "v", call_rank},
	{"size", "v", call_size},
	{"squares", "v", call_squares},
	{"unscaled", "v", call_unscaled},
};

static bool
fits(const char *kinds, const struct rule_term *x, int n)
{
	if (strlen(kinds) != (size_t)n)
		return false;
	for (int i = 0; i < n; i++)
		if (kinds[i] != 'x' && (kinds[i] == 'v') != (x[i].v != NULL))
			return false;
	return true;
}

bool
rule_call(struct rule *r, const char *name, const struct rule_term *x, int n,
	struct rule_term *result)
{
	struct ir_value *operand[RULE_ARGUMENTS] = {NULL}, *like = NULL;
	const int code = op_find(name);

	if (r->s->b.failed)
		return true;
	for (size_t i = 0; i < sizeof functions / sizeof *functions && !r->option; i++)
		if (strcmp(functions[i].name, name) == 0) {
			if (!fits(functions[i].kinds, x, n))
				return false;
			*result = functions[i].call(r, x);
			return true;
		}
	for (int i = 0; i < n; i++)
		like = like ? like : x[i].v;
	if (n == 1 && !like && (code == OP_sqrt || code == OP_log)) {
		*result = rule_number(code == OP_log ? log(x[0].c) : sqrt(x[0].c));
		return true;
	}
	if (code < 0 || !like)
		return false;
	for (int i = 0; i < n; i++)
		operand[i] = rule_value(r, x[i], dtype_of(like));
	*result = rule_is(ir_build(&r->s->b, (enum op_code)code, operand, n, NULL, 0));
	return true;
}
