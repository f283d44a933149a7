/*
 * Floating-point ops compared with correctly rounded results, in all floating-point types: they
 * stay within the errors of ir/ops/error.def. The test fails for a row of ir/ops/ops.def that
 * computes its elements by a function and has no error there, or by several functions and has no
 * case here.
 */
#include "test/lower/exact.h"

#include "ir/ops/row.h"

/* Functions of MPFR with one operand and with two. */
#define ONE(name)                                                                                  \
	static void one_##name(mpfr_t r, const double *x, const double *y, int i)                  \
	{                                                                                          \
		(void)y;                                                                           \
		mpfr_set_d(r, x[i], MPFR_RNDN);                                                    \
		mpfr_##name(r, r, MPFR_RNDN);                                                      \
	}
#define TWO(name)                                                                                  \
	static void two_##name(mpfr_t r, const double *x, const double *y, int i)                  \
	{                                                                                          \
		mpfr_t b;                                                                          \
		mpfr_init2(b, EXACT_BITS);                                                         \
		mpfr_set_d(r, x[i], MPFR_RNDN);                                                    \
		mpfr_set_d(b, y[i], MPFR_RNDN);                                                    \
		mpfr_##name(r, r, b, MPFR_RNDN);                                                   \
		mpfr_clear(b);                                                                     \
	}

/* clang-format off */
ONE(exp)
ONE(log)
ONE(tanh)
ONE(erf)
ONE(sqrt)
ONE(sin)
ONE(cos)
ONE(log1p)
ONE(expm1)
ONE(log2)
ONE(exp2)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(cbrt)
ONE(erfc)
ONE(neg)
ONE(abs)
ONE(sqr)
ONE(rint_floor)
ONE(rint_ceil)
ONE(rint_trunc)
ONE(rint_roundeven)
ONE(rint_round)
TWO(add)
TWO(sub)
TWO(mul)
TWO(div)
TWO(atan2)
TWO(fmod)
TWO(pow)
/* clang-format on */

static void
rsqrt(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i], MPFR_RNDN);
	mpfr_rec_sqrt(r, r, MPFR_RNDN);
	if (x[i] == 0 && signbit(x[i]))
		mpfr_neg(r, r, MPFR_RNDN); /* 1 / -0 */
}

static void
sigmoid(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, -x[i], MPFR_RNDN);
	mpfr_exp(r, r, MPFR_RNDN);
	mpfr_add_ui(r, r, 1, MPFR_RNDN);
	mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

static void
softplus(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i], MPFR_RNDN);
	if (x[i] > EXACT_BITS)
		return; /* log(1 + exp(x)) - x is below exp(-x) */
	mpfr_exp(r, r, MPFR_RNDN);
	mpfr_log1p(r, r, MPFR_RNDN);
}

static void
sign(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i] > 0 ? 1 : x[i] < 0 ? -1 : x[i], MPFR_RNDN);
}

static void
relu(mpfr_t r, const double *x, const double *y, int i)
{
	(void)y;
	mpfr_set_d(r, x[i] < 0 ? 0 : x[i], MPFR_RNDN);
}

static void
larger(mpfr_t r, const double *x, const double *y, int i)
{
	mpfr_set_d(r, x[i] != x[i] || x[i] > y[i] ? x[i] : y[i], MPFR_RNDN);
}

static void
smaller(mpfr_t r, const double *x, const double *y, int i)
{
	mpfr_set_d(r, x[i] != x[i] || x[i] < y[i] ? x[i] : y[i], MPFR_RNDN);
}

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

static const struct exact_case cases[] = {
	{OP_exp, "%r = exp(%x)", one_exp, 0, false},
	{OP_log, "%r = log(%x)", one_log, 0, false},
	{OP_tanh, "%r = tanh(%x)", one_tanh, 0, false},
	{OP_erf, "%r = erf(%x)", one_erf, 0, false},
	{OP_sqrt, "%r = sqrt(%x)", one_sqrt, 0, false},
	{OP_sin, "%r = sin(%x)", one_sin, 0, false},
	{OP_cos, "%r = cos(%x)", one_cos, 0, false},
	{OP_log1p, "%r = log1p(%x)", one_log1p, 0, false},
	{OP_expm1, "%r = expm1(%x)", one_expm1, 0, false},
	{OP_log2, "%r = log2(%x)", one_log2, 0, false},
	{OP_exp2, "%r = exp2(%x)", one_exp2, 0, false},
	{OP_tan, "%r = tan(%x)", one_tan, 0, false},
	{OP_asin, "%r = asin(%x)", one_asin, 0, false},
	{OP_acos, "%r = acos(%x)", one_acos, 0, false},
	{OP_atan, "%r = atan(%x)", one_atan, 0, false},
	{OP_sinh, "%r = sinh(%x)", one_sinh, 0, false},
	{OP_cosh, "%r = cosh(%x)", one_cosh, 0, false},
	{OP_asinh, "%r = asinh(%x)", one_asinh, 0, false},
	{OP_acosh, "%r = acosh(%x)", one_acosh, 0, false},
	{OP_atanh, "%r = atanh(%x)", one_atanh, 0, false},
	{OP_cbrt, "%r = cbrt(%x)", one_cbrt, 0, false},
	{OP_erfc, "%r = erfc(%x)", one_erfc, 0, false},
	{OP_neg, "%r = neg(%x)", one_neg, 0, true},
	{OP_abs, "%r = abs(%x)", one_abs, 0, true},
	{OP_floor, "%r = floor(%x)", one_rint_floor, 0, false},
	{OP_ceil, "%r = ceil(%x)", one_rint_ceil, 0, false},
	{OP_trunc, "%r = trunc(%x)", one_rint_trunc, 0, false},
	{OP_round, "%r = round(%x)", one_rint_roundeven, 0, false},
	{OP_round_away, "%r = round_away(%x)", one_rint_round, 0, false},
	{OP_square, "%r = square(%x)", one_sqr, 0, false},
	{OP_rsqrt, "%r = rsqrt(%x)", rsqrt, 0, false},
	{OP_sigmoid, "%r = sigmoid(%x)", sigmoid, 0, false},
	{OP_softplus, "%r = softplus(%x)", softplus, 0, false},
	{OP_sign, "%r = sign(%x)", sign, 0, false},
	{OP_relu, "%r = relu(%x)", relu, 0, false},
	{OP_maximum, "%r = maximum(%x, %y)", larger, 0, false},
	{OP_minimum, "%r = minimum(%x, %y)", smaller, 0, false},
	{OP_add, "%r = add(%x, %y)", two_add, 0, false},
	{OP_sub, "%r = sub(%x, %y)", two_sub, 0, false},
	{OP_mul, "%r = mul(%x, %y)", two_mul, 0, false},
	{OP_div, "%r = div(%x, %y)", two_div, 0, false},
	{OP_atan2, "%r = atan2(%x, %y)", two_atan2, 0, false},
	{OP_rem, "%r = rem(%x, %y)", two_fmod, 0, false},
	{OP_pow, "%r = pow(%x, %y)", two_pow, 0, false},
	{OP_gelu, "%r = gelu(%x)", gelu, 64, false},
	{OP_gelu_tanh, "%r = gelu_tanh(%x)", gelu_tanh, 64, false},
	{OP_silu, "%r = silu(%x)", silu, 1024, false},
	{OP_clamp, "%r = clamp(%x) {low = -0.3, high = 0.7}", clamp, 0, false},
	{OP_leaky_relu, "%r = leaky_relu(%x) {slope = 0.3}", leaky_relu, 0, false},
	{OP_elu, "%r = elu(%x) {alpha = 0.7}", elu, 0, false},
	{OP_contract, "%r = contract(%x, %y, %x) {spec = \"i,i,i->i\"}", product, 0, false},
	{OP_avg_pool,
		"%p = reshape(%x) {shape = [N,1]}\n%r = avg_pool(%p) {window = [1,3], low = [0,1], "
		"high = [0,1]}",
		third, 0, false},
	{OP_avg_pool_grad,
		"%p = reshape(%x) {shape = [N,1]}\n%r = avg_pool_grad(%p) {window = [1,3], low = "
		"[0,1], height = N, width = 1}",
		third, 0, false},
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

/* Functions whose result is a number of another type. */
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

/* Does the row compute, element by element, a number of its operands' type? */
static bool
computes_elements(const struct ir_row *row)
{
	const struct pattern *p = row->pattern;

	return p && p->body && p->reduce == REDUCE_NONE && strpbrk(row->types, "FN") &&
	       strchr("FN", row->result_type[0]) && functions_of(p, p->body) &&
	       p->body->fn != FN_reduce_precision;
}

static void
every_row_has_a_case_and_an_error(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);

	for (int op = 0; op < OP_NCODES; op++) {
		const struct ir_row *row = &ctx->row[op];
		const struct pattern *p = row->pattern;
		const bool stated = op_error((enum op_code)op).stated;
		bool known = !stated && (!p || !p->body || !strpbrk(row->types, "FN") ||
						functions_of(p, p->body) < 2);
		for (int i = 0; i < NCASES; i++)
			known |= (int)cases[i].op == op;
		if (!known)
			fail_msg("%s has no case", row->name);
		if (computes_elements(row) && !stated)
			fail_msg("%s has no row in ir/ops/error.def", row->name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_of_floats_are_exact),
		cmocka_unit_test_setup_teardown(
			every_row_has_a_case_and_an_error, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
