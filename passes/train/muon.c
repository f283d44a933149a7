/*
 * muon: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", for matrices, as
 * ordinary ops, and AdamW (moments.h) for all other params:
 *
 *     m := momentum m + (1 - momentum) g
 *     x = (1 - momentum) g + momentum m with nesterov, or m;   x := x / max(|x|, eps)
 *     five times   s = x x'    x := 3.4445 x + (-4.775 s + 2.0315 s s) x
 *     w := w - lr (adjust x + weight_decay w)
 *
 * The iteration, named after Newton and Schulz, takes the singular values of x near 1, so that x is
 * about the nearest orthogonal matrix. It is computed on the smaller side, from whole matrices: a
 * split one is gathered before and split again after. `products` are f32, or bf16 as in PyTorch.
 * Names in `others`, and params that are no matrices, are updated by AdamW with the rate adam_lr.
 * Requires the gradients of grad; removes their outputs.
 */
#include "ir/base/alloc.h"
#include "passes/parallel/reshard.h"
#include "passes/train/moments.h"
#include "passes/train/total.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#define PRODUCTS(ROW) ROW(PRODUCTS_F32, "f32") ROW(PRODUCTS_BF16, "bf16")
enum products { PRODUCTS(CHOICE_CODE) };

#define ADJUST(ROW)                                                                                \
	ROW(ADJUST_ORIGINAL, "original")                                                           \
	ROW(ADJUST_ADAMW, "match_rms_adamw") ROW(ADJUST_NONE, "none")
enum adjust { ADJUST(CHOICE_CODE) };

static const double coefficient[] = {
	3.4445, -4.775, 2.0315};       /* of x, s x, s s x: section "coefficients" */
static const double least_norm = 1e-7; /* of x, as in PyTorch */

/* Is the param one of the names in `others`? */
static bool
is_other(struct optimizer_step *s)
{
	char *names = TEXT(s->run->scratch, "%s", pass_string(s->run, "others")), *rest = NULL;

	for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
		if (fnmatch(name, s->param->symbol, 0) == 0)
			return true;
	return false;
}

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

static struct ir_value *
product(struct optimizer_step *s, const char *spec, struct ir_value *x, struct ir_value *y)
{
	const struct ir_attr attr = ir_make_string(s->b.m->ctx, "spec", spec);

	return ir_build(&s->b, OP_contract, (struct ir_value *[]){x, y}, 2, &attr, 1);
}

/* x whose singular values are near 1. */
static struct ir_value *
orthogonal(struct optimizer_step *s, struct ir_value *x)
{
	struct ir_builder *b = &s->b;
	const enum ir_dtype own = (enum ir_dtype)s->w->type->dtype;
	const enum ir_dtype t = pass_enum(s->run, "products") == PRODUCTS_BF16 ? IR_bf16 : own;
	const bool tall = x->type->dim[0] > x->type->dim[1];

	x = reshard(b, x, whole_type(b->m, x->type));
	struct ir_value *squares = x ? total_of_squares(b, x) : NULL;
	if (!squares)
		return NULL;
	struct ir_value *norm = ir_build2(b, OP_maximum, ir_build1(b, OP_sqrt, squares),
		optimizer_constant(s, (enum ir_dtype)squares->type->dtype, least_norm));
	x = ir_build2(b, OP_div, x, total_convert(b, norm, own));
	x = total_convert(b, x, t);
	for (int64_t i = 0; i < pass_int(s->run, "iterations"); i++) {
		struct ir_value *gram = product(s, tall ? "ka,kb->ab" : "ak,bk->ab", x, x);
		struct ir_value *square = product(s, "ak,kb->ab", gram, gram);
		struct ir_value *sum =
			ir_build2(b, OP_add, optimizer_scale(s, gram, coefficient[1]),
				optimizer_scale(s, square, coefficient[2]));
		struct ir_value *step =
			tall ? product(s, "ak,kb->ab", x, sum) : product(s, "ak,kb->ab", sum, x);
		x = ir_build2(b, OP_add, optimizer_scale(s, x, coefficient[0]), step);
	}
	return reshard(b, total_convert(b, x, own), s->w->type);
}

/* The factor that gives updates of all shapes a similar size. */
static double
adjustment(const struct optimizer_step *s)
{
	const double rows = (double)s->w->type->dim[0], columns = (double)s->w->type->dim[1];

	switch ((enum adjust)pass_enum(s->run, "adjust")) {
	case ADJUST_ORIGINAL: return sqrt(fmax(1, rows / columns));
	case ADJUST_ADAMW: return 0.2 * sqrt(fmax(rows, columns));
	case ADJUST_NONE: break;
	}
	return 1;
}

/* AdamW's direction, as a multiple of lr: nothing moves if that is 0. */
static struct ir_value *
adam_direction(struct optimizer_step *s, struct moments *c)
{
	const double lr = pass_float(s->run, "lr");

	moments_update(s, c, s->g);
	struct ir_value *direction = optimizer_decay(s, moments_direction(s, c));
	return optimizer_scale(s, direction, lr > 0 ? pass_float(s->run, "adam_lr") / lr : 0);
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double momentum = pass_float(s->run, "momentum");

	if (s->w->type->rank != 2 || is_other(s))
		return adam_direction(s, data);
	struct ir_value *x = optimizer_average(s, "m", momentum, s->g);
	if (pass_bool(s->run, "nesterov"))
		x = optimizer_mix(s, x, momentum, s->g);
	x = x ? orthogonal(s, x) : NULL;
	return x ? optimizer_decay(s, optimizer_scale(s, x, adjustment(s))) : NULL;
}

static bool
matches_matrix(const struct ir_module *m, const char *name)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_param && op->result[0].type->rank == 2 &&
			fnmatch(name, op->symbol, 0) == 0)
			return true;
	return false;
}

/* A misspelt name would leave its matrix to Muon. */
static void
check_others(struct pass_run *run, const struct ir_module *m)
{
	char *names = TEXT(run->scratch, "%s", pass_string(run, "others")), *rest = NULL;

	for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
		if (!matches_matrix(m, name))
			diag_report(run->ctx->diag, DIAG_WARNING, pass_option_loc(run, "others"),
				"muon: '%s' is not the name of a matrix, nor a pattern of such names",
				name);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	check_others(run, m);
	return moments_run(run, m, rule);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	{"momentum", PASS_FLOAT, "0.95", "decay rate of the mean of gradients of a matrix", NULL, 0,
		MOMENTS_MOST_DECAY},
	{"nesterov", PASS_BOOL, "true", "Nesterov momentum (look-ahead gradient)", NULL, 0, 0},
	{"iterations", PASS_INT, "5", "iterations of Newton-Schulz", NULL, 0, 99},
	{"products", PASS_ENUM, "f32", "element type of the iteration; f32: that of the param",
		CHOICE_LIST(PRODUCTS), 0, 0},
	{"adjust", PASS_ENUM, "original",
		"size of a step: sqrt(max(1, rows / columns)), 0.2 sqrt(max(rows, columns)), or 1",
		CHOICE_LIST(ADJUST), 0, 0},
	OPTIMIZER_DECAY("0.1"),
	{"others", PASS_STRING, "",
		"matrices that AdamW updates, such as embeddings and heads: names or patterns, "
		"separated by commas",
		NULL, 0, 0},
	{"adam_lr", PASS_FLOAT, "0.001", "learning rate of AdamW", NULL, 0, 1e9},
	MOMENTS_OPTIONS("1e-8"),
	{0},
};

const struct pass pass_muon = {
	.name = "muon",
	OPTIMIZER_FACTS,
	.summary =
		"Muon: update matrices by the orthogonal matrix nearest to their momentum, others by AdamW",
	.options = options,
	.run = run,
};
