/* What the optimizer passes share. */
#include "passes/train/optimizer.h"

#include "ir/base/vec.h"
#include "passes/train/amp.h"
#include "passes/train/rule.h"
#include "passes/train/total.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "grad.", rate_name[] = "learning_rate";

static bool
is_gradient(const struct ir_op *op)
{
	return op->code == OP_output && strncmp(op->symbol, prefix, sizeof prefix - 1) == 0;
}

/* --- all gradients together ------------------------------------------------------------------- */

static struct ir_value **
find_gradients(struct optimizer_step *s, int *n)
{
	struct ir_value **g = NULL;

	*n = 0;
	IR_FOR_OPS (op, s->b.block) {
		if (is_gradient(op))
			ARRAY_PUSH(s->run->scratch, g, *n, ir_operand(op, 0));
	}
	return g;
}

/*
 * Sets s->finite, if the module has that state. x - x is 0 for a finite number and NaN otherwise,
 * and one NaN makes the sum over all gradients NaN.
 */
static bool
test_gradients(struct optimizer_step *s, struct ir_value *const *g, int n)
{
	struct ir_value *state = amp_finite(s->b.m);
	struct ir_value **nothing = ARRAY_NEW(s->run->scratch, struct ir_value *, (size_t)n);

	if (!state)
		return true;
	for (int i = 0; i < n; i++)
		nothing[i] = total_convert(&s->b, ir_build2(&s->b, OP_sub, g[i], g[i]), IR_f32);
	struct ir_value *sum = s->b.failed ? NULL : total_of_all(&s->b, nothing, n);
	s->finite = ir_build2(&s->b, OP_eq, sum, optimizer_constant(s, IR_f32, 0));
	ir_build(&s->b, OP_update, (struct ir_value *[]){state, s->finite}, 2, NULL, 0);
	return !s->b.failed;
}

/*
 * clip / max(norm, clip), by which gradients with a large norm are scaled down (Pascanu et al., "On the difficulty of training
 * recurrent neural networks", algorithm 1). The norm is that of all of them together, in any layout, in f64 if one of them is
 * f64, else in f32. If a gradient is not finite, neither are some of the scaled ones: mixed precision then skips the step.
 */
static struct ir_value *
clip_factor(struct optimizer_step *s, struct ir_value *const *gradient, int n)
{
	struct ir_builder *b = &s->b;
	enum ir_dtype wide = IR_f32;
	struct ir_value **square = ARRAY_NEW(s->run->scratch, struct ir_value *, (size_t)n);

	for (int i = 0; i < n; i++)
		if (gradient[i]->type->dtype == IR_f64)
			wide = IR_f64;
	for (int i = 0; i < n; i++) {
		struct ir_value *g = total_convert(b, gradient[i], wide);
		square[i] = ir_build2(b, OP_mul, g, g);
	}
	if (b->failed)
		return NULL;
	struct ir_value *most = optimizer_constant(s, wide, pass_float(s->run, "clip"));
	struct ir_value *norm = ir_build1(b, OP_sqrt, total_of_all(b, square, n));
	struct ir_value *longer = ir_build2(b, OP_maximum, norm, most);
	return ir_build2(b, OP_div, most, longer);
}

/* Computes properties of all gradients before the first is used. */
static bool
look_at_gradients(struct optimizer_step *s)
{
	int n;
	struct ir_value **g = find_gradients(s, &n);

	if (!n)
		return true;
	if (!test_gradients(s, g, n))
		return false;
	if (pass_float(s->run, "clip") > 0)
		s->factor = clip_factor(s, g, n);
	return !s->b.failed;
}

/* --- states ----------------------------------------------------------------------------------- */

void
optimizer_update(struct optimizer_step *s, struct ir_value *old, struct ir_value *fresh)
{
	if (s->finite)
		fresh = ir_build(
			&s->b, OP_select, (struct ir_value *[]){s->finite, fresh, old}, 3, NULL, 0);
	ir_build(&s->b, OP_update, (struct ir_value *[]){old, fresh}, 2, NULL, 0);
}

/* Has v, which has the dims of a param that is a row of elements, the param's shape? Means over the other dim of [1,n] or [n,1],
 * and what is computed from them, have as many elements, but are vectors. */
static bool
is_row(const struct optimizer_step *s, const struct ir_value *v)
{
	while (v != s->w && v != s->g) {
		const struct ir_op *op = v->op;
		int j = 0;
		if (op->code == OP_sum || op_is(op, TRAIT_PERSISTENT))
			return ir_attr_find(op, "shape") != NULL;
		while (j < op->noperands && !ir_type_same_dims(ir_operand_type(op, j), v->type))
			j++;
		if (j == op->noperands)
			break;
		v = ir_operand(op, j);
	}
	return true;
}

int
optimizer_shape(const struct optimizer_step *s, const struct ir_value *v, int64_t dim[IR_MAX_RANK])
{
	const bool row = ir_attr_find(s->param, "shape") &&
			 ir_type_same_dims(v->type, s->w->type) && is_row(s, v);

	memcpy(dim, v->type->dim, sizeof v->type->dim);
	return row ? ir_file_shape(s->param, v->type, dim) : v->type->rank;
}

static struct ir_value *
new_state(struct optimizer_step *s, const char *name, const struct ir_type *type)
{
	struct ir_builder b = s->b;

	b.before = s->last_state->next;
	struct ir_value *v = ir_build_typed(&b, OP_state, name, NULL, 0, NULL, 0, type);
	s->b.failed = s->b.failed || b.failed;
	if (v) {
		v->name = ir_name(b.m->ctx, name);
		s->last_state = v->op;
	}
	return v;
}

struct ir_value *
optimizer_state(struct optimizer_step *s, const char *what, const struct ir_value *like)
{
	/* A sum of gradients over micro-batches has one value, made in the last iteration. */
	struct ir_type kept = *like->type;
	int64_t dim[IR_MAX_RANK];

	for (int a = 0; a < s->b.m->naxes; a++)
		if (s->b.m->axis[a].time)
			kept.axis[a] = s->w->type->axis[a];
	struct ir_value *v = new_state(s,
		TEXT(s->run->scratch, "%s.%s.%s", s->run->pass->name, what, s->param->symbol),
		ir_type_intern(s->b.m->ctx, &kept));
	if (v && optimizer_shape(s, like, dim) != kept.rank)
		ir_attr_set(s->b.m, v->op, ir_attr_find(s->param, "shape"));
	return v;
}

static struct ir_value *
scalar_state(struct optimizer_step *s, const char *name, enum ir_dtype t)
{
	const struct ir_type type = {.dtype = t};

	return new_state(s, TEXT(s->run->scratch, "%s.%s", s->run->pass->name, name),
		ir_type_intern(s->b.m->ctx, &type));
}

struct ir_value *
optimizer_shared_state(struct optimizer_step *s, const char *name)
{
	return scalar_state(s, name, dtype_of(s->w) == IR_f64 ? IR_f64 : IR_f32);
}

/* One count for all params, in single precision: exact up to 2^24 steps; made for the first param.
 */
static void
start_count(struct optimizer_step *s)
{
	struct ir_value *old = scalar_state(s, "t", IR_f32);

	s->count = optimizer_shift(s, old, 1);
	optimizer_update(s, old, s->count);
}

struct ir_value *
optimizer_count(struct optimizer_step *s)
{
	if (!s->count)
		start_count(s);
	return total_convert(&s->b, s->count, dtype_of(s->w) == IR_f64 ? IR_f64 : IR_f32);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

struct ir_value *
optimizer_constant(struct optimizer_step *s, enum ir_dtype t, double value)
{
	for (unsigned i = 0; i < s->nconstants && i < OPTIMIZER_CONSTANTS; i++)
		if (dtype_of(s->constant[i]) == t &&
			ir_attr_float(s->constant[i]->op, "value", 0) == value)
			return s->constant[i];
	struct ir_value *v = ir_build_scalar(&s->b, t, value);
	if (v)
		s->constant[s->nconstants++ % OPTIMIZER_CONSTANTS] = v;
	return v;
}

struct ir_value *
optimizer_scale(struct optimizer_step *s, struct ir_value *x, double factor)
{
	return x ? ir_build2(&s->b, OP_mul, x, optimizer_constant(s, dtype_of(x), factor)) : NULL;
}

struct ir_value *
optimizer_shift(struct optimizer_step *s, struct ir_value *x, double summand)
{
	return x ? ir_build2(&s->b, OP_add, x, optimizer_constant(s, dtype_of(x), summand)) : NULL;
}

/* --- the learning rate ------------------------------------------------------------------------ */

/*
 * lr * min(1, t / warmup) * (end + (1 - end) * f(p)), p = (t - 1 - warmup) / (steps - warmup), between 0 and 1; f is 1 (constant),
 * 1 - p (linear) or (1 + cos(pi p)) / 2 (cosine; Loshchilov and Hutter, "SGDR"); exponential is lr * end^p. So the rate of the first step is not 0, step
 * `warmup` and the next one have the full rate, and from step `steps` + 1 on the rate is lr * end.
 */
static const char schedule_rule[] =
	"rise = warmup > 0 ? minimum(now / warmup, 1) : 1;"
	"fall = schedule == 0 ? 1 : {"
	"  p = (now + (-1 - warmup)) / (steps - warmup);"
	"  p = minimum(maximum(p, 0), 1);"
	"  schedule == 1 ? p * (end - 1) + 1"
	"  : schedule == 2 ? cos(p * 3.14159265358979323846) * ((1 - end) / 2) + (1 + end) / 2"
	"  : exp(p * log(end)) };"
	"(warmup == 0 ? fall : schedule == 0 ? rise : rise * fall) * lr";

/* The option `factor` is a rule of the step, by which that rate is multiplied. */
static const char *
factor_rule(const struct pass_run *run)
{
	const char *text = pass_string(run, "factor");

	return *text ? text : NULL;
}

static bool
schedule_check(const struct pass_run *run)
{
	const int64_t warmup = pass_int(run, "warmup"), steps = pass_int(run, "steps");

	if (pass_enum(run, "schedule") == SCHEDULE_EXPONENTIAL && !(pass_float(run, "end") > 0)) {
		diag_error(run->ctx->diag, pass_option_loc(run, "schedule"),
			"%s: an exponential schedule needs its end as a factor above 0: end=0.01",
			run->pass->name);
		return false;
	}
	if (pass_enum(run, "schedule") == SCHEDULE_CONSTANT || steps > warmup)
		return true;
	diag_error(run->ctx->diag,
		pass_option_loc(run, pass_given(run, "steps") ? "steps" : "schedule"),
		"%s: the learning rate decays from the end of the warmup, step %lld, so "
		"its end must be later: steps=%lld",
		run->pass->name, (long long)warmup, (long long)steps);
	return false;
}

bool
optimizer_scheduled(const struct pass_run *run)
{
	return pass_enum(run, "schedule") != SCHEDULE_CONSTANT || pass_int(run, "warmup") > 0 ||
	       factor_rule(run);
}

static struct ir_value *
rate_at(struct optimizer_step *s, const char *now)
{
	void *scratch = s->run->scratch;
	const char *factor = factor_rule(s->run);
	struct rule schedule = {.s = s, .text = TEXT(scratch, "now = %s; %s", now, schedule_rule)};
	struct ir_value *rate = rule_direction(&schedule);

	if (factor) {
		struct rule given = {.s = s,
			.text = TEXT(scratch, "t = %s; %s", now, factor),
			.option = "factor"};
		struct ir_value *by = rule_direction(&given);
		rate = by ? ir_build2(&s->b, OP_mul, rate, total_convert(&s->b, by, dtype_of(rate)))
			  : NULL;
	}
	return total_convert(&s->b, rate, dtype_of(s->w));
}

struct ir_value *
optimizer_rate(struct optimizer_step *s)
{
	if (!optimizer_scheduled(s->run))
		return optimizer_constant(s, dtype_of(s->w), pass_float(s->run, "lr"));
	if (!s->rate || dtype_of(s->rate) != dtype_of(s->w))
		s->rate = rate_at(s, "t");
	return s->rate;
}

struct ir_value *
optimizer_rate_before(struct optimizer_step *s)
{
	if (!s->rate_before || dtype_of(s->rate_before) != dtype_of(s->w))
		s->rate_before = rate_at(s, "maximum(t - 1, 1)");
	return s->rate_before;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* The params by name, so that they are not searched linearly for each gradient. */
struct params {
	struct ir_op **op; /* ascending by the address of the name, of which there is one copy */
	size_t n;
};

static int
compare_params(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)(*(struct ir_op *const *)a)->symbol,
		  y = (uintptr_t)(*(struct ir_op *const *)b)->symbol;

	return (x > y) - (x < y);
}

static struct params
collect_params(const void *owner, struct ir_block *block)
{
	struct params p = {ARRAY_NEW(owner, struct ir_op *, block->func->module->op_ids), 0};

	IR_FOR_OPS (op, block)
		if (op->code == OP_param)
			p.op[p.n++] = op;
	qsort(p.op, p.n, sizeof *p.op, compare_params);
	return p;
}

static struct ir_op *
find_param(const struct params *p, const char *name)
{
	const struct ir_op wanted = {.symbol = name}, *key = &wanted;
	struct ir_op **found = bsearch(&key, p->op, p->n, sizeof *p->op, compare_params);

	return found ? *found : NULL;
}

static bool
run_one(struct optimizer_step *s, const struct params *params, struct ir_op *gradient,
	struct rule *rule)
{
	struct ir_builder *b = &s->b;
	const char *name = ir_name(b->m->ctx, gradient->symbol + sizeof prefix - 1);

	s->param = find_param(params, name);
	if (!s->param) {
		diag_error(b->m->ctx->diag, gradient->loc, "%s: there is no param named \"%s\"",
			s->run->pass->name, name);
		return false;
	}
	s->last_state = s->param;
	s->w = &s->param->result[0];
	s->g = ir_operand(gradient, 0);
	b->loc = gradient->loc;
	if (s->factor)
		s->g = ir_build2(b, OP_mul, s->g, total_convert(b, s->factor, dtype_of(s->g)));
	if (pass_bool(s->run, "maximize"))
		s->g = ir_build1(b, OP_neg, s->g);
	s->unscaled = false;
	struct ir_value *step = rule_direction(rule);
	if (!s->unscaled)
		step = ir_build2(b, OP_mul, step, optimizer_rate(s));
	optimizer_update(s, s->w, ir_build2(b, OP_sub, s->w, step));
	ir_op_erase(gradient);
	pass_count(s->run, "param(s) updated", 1);
	return !b->failed;
}

/* The rate of this step by the rule `told`, in the type of the count whatever the params have. */
static bool
report_rate(struct optimizer_step *s, const char *told)
{
	struct rule rule = {.s = s, .text = told};
	const enum ir_dtype wide = dtype_of(s->w) == IR_f64 ? IR_f64 : IR_f32;

	s->w = optimizer_constant(s, wide, pass_float(s->run, "lr"));
	struct ir_value *rate = s->b.failed ? NULL : rule_direction(&rule);
	ir_build_typed(&s->b, OP_output, rate_name, &rate, 1, NULL, 0, NULL);
	return !s->b.failed;
}

/* Reports why the option `report` is not possible. */
static bool
check_report(const struct pass_run *run, const struct ir_block *step, const char *told)
{
	if (!pass_bool(run, "report"))
		return true;
	if (!told) {
		diag_error(run->ctx->diag, pass_option_loc(run, "report"),
			"%s: every element has a step size of its own, and there is no learning rate that "
			"'report' could output: leave it out",
			run->pass->name);
		return false;
	}
	IR_FOR_OPS (op, step)
		if (op->code == OP_output && !strcmp(op->symbol, rate_name)) {
			diag_error(run->ctx->diag, op->loc,
				"%s: 'report' adds an output of this name, \"%s\": rename this one, or leave "
				"'report' out",
				run->pass->name, rate_name);
			return false;
		}
	return true;
}

bool
optimizer_run(struct pass_run *run, struct ir_module *m, const char *text, const char *told)
{
	struct ir_func *f = ir_func_find(m, "main");
	struct ir_op *last = f->body.last;
	struct optimizer_step s = {.run = run, .b = {.m = m, .block = &f->body, .loc = last->loc}};
	struct rule rule = {.s = &s, .text = text};
	const struct params params = collect_params(run->scratch, &f->body);

	if (!schedule_check(run) || !check_report(run, &f->body, told) || !look_at_gradients(&s))
		return false;
	IR_FOR_OPS_SAFE (op, &f->body) {
		bool done = op == last;
		if (is_gradient(op) && !run_one(&s, &params, op, &rule))
			return false;
		if (done)
			break;
	}
	return pass_bool(run, "report") && s.param ? report_rate(&s, told) : !s.b.failed;
}
