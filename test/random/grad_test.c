/*
 * grad of random programs compared with central finite differences, in double precision: along a
 * random direction of all params at once the loss changes by the sum of gradient times direction.
 * Programs are smooth in everything that depends on a param: shared_rows.c does not apply ops with
 * kinks there.
 */
#include "ir/interp/interp.h"
#include "runtime/kernel/rng.h"
#include "test/random/check.h"
#include "test/unit.h"

#include <math.h>
#include <string.h>

enum {
	COUNT = 1000, /* programs: seconds, also under sanitizers */
	STEPS = 25,
};

/* The step of the difference quotient: its truncation error is of order h^2, its rounding error of
 * 1e-16 / h. */
static const double difference_step = 1e-4;
/* Allowed error relative to the loss and its slope. If two quotients differ by a tenth of it, the
 * loss bends too much for either to be the slope. */
static const double tolerance = 1e-6;

static void
options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 4 == 0;
	o->wide = true;
	o->loss = true;
}

/* A param: its value and its direction. */
struct direction {
	const char *name;
	struct tensor *at, *way;
};

static double
signed_random(uint64_t *random)
{
	return (double)(rt_mix64(++*random) >> 11) * 0x1p-52 - 1;
}

/* Directions of all params that are floats; returns their number. */
static int
directions(const void *owner, struct interp *it, uint64_t seed, struct direction **out)
{
	const struct ir_op *op;
	const char *name;
	int n = 0;
	*out = NULL;
	for (int k = 0; (name = interp_persistent_name(it, k, &op)); k++) {
		const struct tensor *at = interp_persistent(it, name);
		if (op->code != OP_param || ir_dtype_class(at->dtype) != IR_FLOAT)
			continue;
		*out = talloc_realloc(owner, *out, struct direction, (size_t)n + 1);
		struct direction *d = &(*out)[n++];
		*d = (struct direction){name, tensor_copy(owner, at), tensor_copy(owner, at)};
		for (int64_t i = 0; i < tensor_elements(at); i++)
			d->way->data[i].f = signed_random(&seed);
	}
	return n;
}

/* The loss at a distance along the directions; NAN if it cannot be computed. */
static double
loss_at(struct interp *it, const struct direction *d, int n, double far)
{
	for (int k = 0; k < n; k++) {
		struct tensor *w = tensor_copy(d, d[k].at);
		for (int64_t i = 0; i < tensor_elements(w); i++)
			w->data[i].f += far * d[k].way->data[i].f;
		const bool set = interp_set_persistent(it, d[k].name, w);
		talloc_free(w);
		if (!set)
			return NAN;
	}
	return interp_step(it, 0) ? interp_output(it, "loss")->data[0].f : NAN;
}

static double
quotient(struct interp *it, const struct direction *d, int n, double h)
{
	return (loss_at(it, d, n, h) - loss_at(it, d, n, -h)) / (2 * h);
}

/* The sum of gradient times direction over params with a gradient; NAN if a gradient has another
 * shape than its param. */
static double
slope(const void *owner, const struct interp *grad, const struct direction *d, int n)
{
	double sum = 0;
	for (int k = 0; k < n; k++) {
		const struct tensor *g =
			interp_output(grad, talloc_asprintf(owner, "grad.%s", d[k].name));
		if (g && tensor_elements(g) != tensor_elements(d[k].at))
			return NAN;
		for (int64_t i = 0; g && i < tensor_elements(g); i++)
			sum += g->data[i].f * d[k].way->data[i].f;
	}
	return sum;
}

/* Without the ops whose gradient differs from the slope on purpose. */
static struct ir_module *
without_stops(struct trial *t, const struct ir_module *m)
{
	struct ir_module *r = ir_module_clone(t, m);
	IR_FOR_OPS_SAFE (op, &ir_func_find(r, "main")->body)
		if (op->code == OP_stop_gradient) {
			ir_replace_uses(&op->result[0], ir_operand(op, 0));
			ir_op_erase(op);
		}
	return r;
}

/* Does the program have ops like cbrt, whose slope is infinite at some point? */
static bool
has_poles(const struct trial *t, const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (t->table->domain[op->code].steep)
			return true;
	return false;
}

static bool
check_gradient(struct trial *t, const struct ir_module *made, uint64_t seed)
{
	const struct interp_options o = {.mode = INTERP_MEANING, .f64 = true, .perturb = true};
	struct ir_module *m = without_stops(t, made), *after = ir_module_clone(t, m);
	if (!trial_run_passes(t, &after, "grad"))
		return false;
	if (!after)
		return true; /* nothing to train */
	struct interp *it = interp_create(t, m, &o), *grad = interp_create(t, after, &o);
	struct direction *d;
	if (!it || !grad || !interp_step(grad, 0))
		return false;
	const int n = directions(t, it, seed, &d);
	const double is = slope(t, grad, d, n), h = difference_step, want = quotient(it, d, n, h),
		     finer = quotient(it, d, n, h / 4),
		     scale = 1 + fabs(want) + fabs(loss_at(it, d, n, 0));
	if (!isfinite(want) || !isfinite(finer) || fabs(want - finer) > tolerance * scale / 10 ||
		fabs(is - finer) <= tolerance * scale)
		return true;
	if (!isfinite(is) && has_poles(t, m))
		return true; /* and a program can hit one: acos(cos(0)) */
	t->text = talloc_asprintf_append(
		t->text, "the slope is %.12g, the quotient %.12g\n", is, finer);
	return false;
}

static void
gradients_are_finite_differences(void **state)
{
	(void)state;
	static const struct trial_test test = {
		.count = COUNT, .steps = STEPS, .options = options, .check = check_gradient};
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_finite_differences)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
