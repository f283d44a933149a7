/*
 * Ops of floating-point numbers against correctly rounded results, in all floating-point types. A row of
 * ir/ops/ops.def that computes its element by more than one function, and has no case here, fails.
 */
#include "test/lower/exact.h"

#include "ir/ops/row.h"

/* a / (1 + exp(-2u)), with u in r: the half of a (1 + tanh(u)) without cancellation. */
static void
times_half_of_1_and_tanh(mpfr_t r, double a)
{
	mpfr_mul_si(r, r, -2, MPFR_RNDN);
	mpfr_exp(r, r, MPFR_RNDN);
	mpfr_add_ui(r, r, 1, MPFR_RNDN);
	mpfr_d_div(r, a, r, MPFR_RNDN);
}

static void
silu(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i] / 2, MPFR_RNDN);
	times_half_of_1_and_tanh(r, x[i]);
}

static void
gelu(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_sqrt_ui(r, 2, MPFR_RNDN);
	mpfr_d_div(r, -x[i], r, MPFR_RNDN);
	mpfr_erfc(r, r, MPFR_RNDN);
	mpfr_mul_d(r, r, x[i] / 2, MPFR_RNDN);
}

static void
gelu_tanh(mpfr_t r, const double *x, const double *y, int i)
{
	mpfr_t scale;

	(void)y;
	mpfr_init2(scale, EXACT_BITS);
	mpfr_const_pi(scale, MPFR_RNDN);
	mpfr_ui_div(scale, 2, scale, MPFR_RNDN);
	mpfr_sqrt(scale, scale, MPFR_RNDN);
	mpfr_set_d(r, x[i], MPFR_RNDN);
	mpfr_sqr(r, r, MPFR_RNDN);
	mpfr_mul_d(r, r, 0.044715, MPFR_RNDN);
	mpfr_add_ui(r, r, 1, MPFR_RNDN);
	mpfr_mul_d(r, r, x[i], MPFR_RNDN);
	mpfr_mul(r, r, scale, MPFR_RNDN);
	mpfr_clear(scale);
	times_half_of_1_and_tanh(r, x[i]);
}

static void
clamp(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i] < -0.3 ? -0.3 : x[i] > 0.7 ? 0.7 : x[i], MPFR_RNDN);
}

static void
leaky_relu(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i], MPFR_RNDN);
	if (!(x[i] > 0))
		mpfr_mul_d(r, r, 0.3, MPFR_RNDN);
}

static void
elu(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i], MPFR_RNDN);
	if (x[i] > 0)
		return;
	mpfr_expm1(r, r, MPFR_RNDN);
	mpfr_mul_d(r, r, 0.7, MPFR_RNDN);
}

/* The product of x, y and x: three operands of a contract. */
static void
product(mpfr_t r, const double *x, const double *y, int i)
{
	mpfr_set_d(r, x[i], MPFR_RNDN);
	mpfr_sqr(r, r, MPFR_RNDN);
	mpfr_mul_d(r, r, y[i], MPFR_RNDN);
}

/* A third of x: windows of one element that count two zeros. */
static void
third(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i], MPFR_RNDN);
	mpfr_div_ui(r, r, 3, MPFR_RNDN);
}

/* Numbers of an attribute are rounded to f32, which is up to a unit of the result's. */
static const struct exact_case cases[] = {
	{OP_gelu, "%r = gelu(%x)", gelu, 2, 2, true, 0},
	{OP_gelu_tanh, "%r = gelu_tanh(%x)", gelu_tanh, 2, 2, true, 0},
	{OP_silu, "%r = silu(%x)", silu, 5, 5, false, 1024},
	{OP_clamp, "%r = clamp(%x) {low = -0.3, high = 0.7}", clamp, 0.5, 0, false, 0},
	{OP_leaky_relu, "%r = leaky_relu(%x) {slope = 0.3}", leaky_relu, 1.5, 1, false, 0},
	{OP_elu, "%r = elu(%x) {alpha = 0.7}", elu, 5, 5, false, 0},
	{OP_contract, "%r = contract(%x, %y, %x) {spec = \"i,i,i->i\"}", product, 1.5, 1.5, false,
		0},
	{OP_avg_pool,
		"%p = reshape(%x) {shape = [N,1]}\n%r = avg_pool(%p) {window = [1,3], low = [0,1], "
		"high = [0,1]}",
		third, 1.5, 1.5, false, 0},
	{OP_avg_pool_grad,
		"%p = reshape(%x) {shape = [N,1]}\n%r = avg_pool_grad(%p) {window = [1,3], low = "
		"[0,1], height = N, width = 1}",
		third, 1.5, 1.5, false, 0},
};

enum { NCASES = sizeof cases / sizeof *cases };

static void
ops_of_floats_are_exact(void **state)
{
	(void)state;
	exact_check(cases, NCASES);
}

static bool
reads_operand(const struct pattern *p, const struct term *t)
{
	bool reads = false;

	for (int j = 0; j < p->ninputs; j++)
		reads |= t->kind == TERM_NAME && t->name == p->name[j];
	for (int j = 0; j < t->nargs; j++)
		reads |= reads_operand(p, t->arg[j]);
	return reads;
}

/* Functions of operands that give another number. */
static int
functions_of(const struct pattern *p, const struct term *t)
{
	static const char *const kind[] = {
#define SCALAR(name, arity, infix, kind, ...) #kind,
#include "ir/ops/scalar.def"
#undef SCALAR
	};
	int n = t->kind == TERM_CALL && t->fn != FN_select && strcmp(kind[t->fn], "BOOL") != 0 &&
		reads_operand(p, t);

	for (int j = 0; j < t->nargs; j++)
		n += functions_of(p, t->arg[j]);
	return n;
}

static void
rows_of_several_functions_have_a_case(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);

	for (int op = 0; op < OP_NCODES; op++) {
		const struct pattern *p = ctx->row[op].pattern;
		bool known = !p || !p->body || !strpbrk(ctx->row[op].types, "FN") ||
			     functions_of(p, p->body) < 2;
		for (int i = 0; i < NCASES; i++)
			known |= (int)cases[i].op == op;
		if (!known)
			fail_msg("%s has no case", ctx->row[op].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_of_floats_are_exact),
		cmocka_unit_test_setup_teardown(
			rows_of_several_functions_have_a_case, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
