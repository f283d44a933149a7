/*
 * adafactor: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost",
 * algorithms 4 and 5, as ordinary ops. In place of the second moment of a matrix it keeps that of its
 * rows and of its columns (of its last two dims, if there are more):
 *
 *     a = 1 - t^beta2_decay
 *     r := a r + (1 - a) mean of g^2 in each row     c := a c + (1 - a) mean of g^2 in each column
 *     v = r c / max(mean of r, eps)                  v := a v + (1 - a) g^2 for biases and scalars
 *     u = g / sqrt(max(v, eps^2))
 *     w := w - min(lr, 1 / sqrt(t)) max(eps_scale, rms(w)) u / max(1, rms(u) / d) - lr weight_decay w
 *
 * where rms is the root of the mean of squares. The states are adafactor.r.w and adafactor.c.w, or
 * adafactor.v.w. Means are those of whole tensors, whatever their layouts. Requires the gradients of
 * grad; removes their outputs.
 */
#include "ir/base/alloc.h"
#include "passes/parallel/reshard.h"
#include "passes/train/optimizer.h"
#include "passes/train/total.h"

#include <float.h>
#include <math.h>

/* Of the step, in the element type of the last param. */
struct adafactor {
	struct ir_value *keep, *take; /* a, 1 - a; NULL: not made */
	struct ir_value *relative;    /* min(1, 1 / (lr sqrt(t))) */
};

static enum ir_dtype
dtype_of(const struct optimizer_step *s)
{
	return (enum ir_dtype)s->w->type->dtype;
}

static struct ir_value *
at_least(struct optimizer_step *s, struct ir_value *x, double bound)
{
	return x ? ir_build2(&s->b, OP_maximum, x,
			   optimizer_constant(s, (enum ir_dtype)x->type->dtype, bound))
		 : NULL;
}

static void
start(struct optimizer_step *s, struct adafactor *c)
{
	struct ir_builder *b = &s->b;
	struct ir_value *t = optimizer_count(s);
	const enum ir_dtype wide = (enum ir_dtype)t->type->dtype;
	struct ir_value *power = optimizer_constant(s, wide, pass_float(s->run, "beta2_decay"));
	struct ir_value *take = ir_build2(b, OP_pow, t, power);
	struct ir_value *keep = optimizer_shift(s, optimizer_scale(s, take, -1), 1);
	struct ir_value *rate = total_convert(b, optimizer_rate(s), wide);
	/* infinite, and then 1, for a rate of 0 */
	struct ir_value *ratio = ir_build2(b, OP_div, ir_build1(b, OP_rsqrt, t), rate);
	ratio = ir_build2(b, OP_minimum, ratio, optimizer_constant(s, wide, 1));

	c->take = total_convert(b, take, dtype_of(s));
	c->keep = total_convert(b, keep, dtype_of(s));
	c->relative = total_convert(b, ratio, dtype_of(s));
}

/* The state of that name, which follows x. */
static struct ir_value *
follow(struct optimizer_step *s, const struct adafactor *c, const char *what, struct ir_value *x)
{
	if (!x)
		return NULL;
	struct ir_value *old = optimizer_state_of(s, what, x->type);
	struct ir_value *new = ir_build2(&s->b, OP_add, ir_build2(&s->b, OP_mul, old, c->keep),
		ir_build2(&s->b, OP_mul, x, c->take));
	optimizer_update(s, old, new);
	return new;
}

/* The mean over one dim, known where it is needed whatever the layout; `keep`: as a dim of 1. */
static struct ir_value *
mean_of(struct optimizer_step *s, struct ir_value *x, int dim, bool keep)
{
	const int64_t dims[] = {dim};
	const struct ir_attr attr[] = {
		ir_make_ints(s->b.m, "dims", dims, 1), ir_make_bool(s->b.m->ctx, "keep", keep)};
	struct ir_value *sum = x ? ir_build(&s->b, OP_sum, &x, 1, attr, 2) : NULL;

	sum = sum ? reshard(&s->b, sum, gradient_type(s->b.m, sum->type)) : NULL;
	return sum ? optimizer_scale(s, sum, 1 / (double)x->type->dim[dim]) : NULL;
}

/* r c, the outer product over the last dim of each. */
static struct ir_value *
outer(struct optimizer_step *s, struct ir_value *r, struct ir_value *c)
{
	const int batch = s->w->type->rank - 2;
	char *spec = TEXT(s->run->scratch, "%.*sy,%.*sz->%.*syz", batch, "abcdefgh", batch,
		"abcdefgh", batch, "abcdefgh");
	const struct ir_attr attr = ir_make_string(s->b.m->ctx, "spec", spec);

	return ir_build(&s->b, OP_contract, (struct ir_value *[]){r, c}, 2, &attr, 1);
}

static struct ir_value *
second_moment(struct optimizer_step *s, const struct adafactor *c, double eps)
{
	struct ir_builder *b = &s->b;
	struct ir_value *square = ir_build2(b, OP_mul, s->g, s->g);
	const int rank = s->w->type->rank;

	if (rank < 2)
		return follow(s, c, "v", square);
	struct ir_value *row = follow(s, c, "r", mean_of(s, square, rank - 1, false));
	struct ir_value *column = follow(s, c, "c", mean_of(s, square, rank - 2, false));
	struct ir_value *mean = at_least(s, mean_of(s, row, rank - 2, true), eps);
	return outer(s, ir_build2(b, OP_div, row, mean), column);
}

/* The root of the mean of squares of all elements. */
static struct ir_value *
rms(struct optimizer_step *s, struct ir_value *x)
{
	double n = 1;

	for (int d = 0; x && d < x->type->rank; d++)
		n *= (double)x->type->dim[d];
	struct ir_value *squares = x ? total_of_squares(&s->b, x) : NULL;
	return ir_build1(&s->b, OP_sqrt, optimizer_scale(s, squares, 1 / n));
}

/* PyTorch's default of eps: the distance of 1 to the next number. */
static double
eps_of(const struct optimizer_step *s)
{
	if (pass_given(s->run, "eps"))
		return pass_float(s->run, "eps");
	switch (dtype_of(s)) {
	case IR_f64: return DBL_EPSILON;
	case IR_f16: return 0x1p-10;
	case IR_bf16: return 0x1p-7;
	default: return FLT_EPSILON;
	}
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	struct adafactor *c = data;
	struct ir_builder *b = &s->b;
	const double eps = eps_of(s);

	if (!c->keep || c->keep->type->dtype != s->w->type->dtype)
		start(s, c);
	struct ir_value *v = at_least(s, second_moment(s, c, eps), eps * eps);
	struct ir_value *u = ir_build2(b, OP_mul, s->g, ir_build1(b, OP_rsqrt, v));
	struct ir_value *size = at_least(s, rms(s, s->w), pass_float(s->run, "eps_scale"));
	struct ir_value *limit =
		at_least(s, optimizer_scale(s, rms(s, u), 1 / pass_float(s->run, "d")), 1);
	struct ir_value *factor = total_convert(b, ir_build2(b, OP_div, size, limit), dtype_of(s));
	factor = ir_build2(b, OP_mul, factor, c->relative);
	return optimizer_decay(s, ir_build2(b, OP_mul, u, factor));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct adafactor c = {0};

	return optimizer_run(run, m, rule, &c);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.01"),
	{"beta2_decay", PASS_FLOAT, "-0.8", "exponent of the step in what a new square counts",
		NULL, -1e9, 0},
	{"eps", PASS_FLOAT, "0",
		"root of the least second moment; not given: the distance of 1 to the next number",
		NULL, 0, 1},
	{"eps_scale", PASS_FLOAT, "0.001", "least size of a param, to which its step is relative",
		NULL, 0, 1e9},
	{"d", PASS_FLOAT, "1", "largest root of the mean square of an update direction", NULL, 1e-9,
		1e9},
	OPTIMIZER_DECAY("0"),
	{0},
};

const struct pass pass_adafactor = {
	.name = "adafactor",
	OPTIMIZER_FACTS,
	.summary = "Adafactor: second moments of rows and columns in place of those of elements",
	.options = options,
	.run = run,
};
