/*
 * The reader of MLIR against damaged texts: StableHLO programs of the tests, mutated some 20,000
 * times in a fixed sequence. Each must give errors and no tree, or no error and a tree whose
 * generic text reads as the same again. Sanitized builds see the rest.
 *
 * With an argument N it makes N mutations; with N and S from seed S.
 */
#include "parser/stablehlo/mlir_print.h"
#include "test/fuzz/mutate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

#include <cmocka.h>

enum { FUZZ_MUTATIONS = 20000 }; /* a quarter of a minute with sanitizers */

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "<", ">", "<{", "}>", "({", "})",
	"%a", "%0#1", "%0:2", "%", "@f", "@\"f\"::@g", "@", "=", ":", ",", "->", "x", "?", "#", "!",
	"^bb0(%x: tensor<f32>):", "^bb1:", "\n", " ", "//", "\"", "\\", "\0", "\xff", "module {",
	"module @m attributes {a = 1 : i32} {",
	"func.func @g(%a: tensor<2xf32>) -> tensor<2xf32> {", "func.func private @h(i1)", "return",
	"stablehlo.return %a : tensor<2xf32>", "%0 = stablehlo.add %a, %a : tensor<2xf32>",
	"\"a.b\"() : () -> ()", "\"a.b\"(%a) ({\n}) {x} : (tensor<2xf32>) -> ()", "dense<",
	"dense<1> : tensor<2xi32>", "dense<[[1, 2], [3]]> : tensor<2x2xi8>",
	"dense<\"0x0000803F\"> : tensor<f32>", "dense<>", "array<i64: 1, 2>", "array<i1: true>",
	"tensor<2x?xf32>", "tensor<", "tensor<4xcomplex<f32>>", "tuple<tensor<2xf32>, i1>",
	"!quant.uniform<i8:f32, 0.5:-2>", "!t = i1\n", "#a = 3\n", "loc(\"x\")", "loc(#loc1)",
	"#loc1 = loc(#loc1)\n", "loc(callsite(\"a\" at \"b\"))", "9223372036854775808",
	"-9223372036854775809", "99999999999999999999", "0x7F800000", "1e999", "-1", "1.5",
	"[0:1:2]", "[1] x [0]", "[b, 0, f]x[0, i, o]->[b, 0, f]", "{a = {b = [1, {}]}}",
	"#stablehlo<precision HIGH>", "#stablehlo.dot<a = [1]>", "#other.thing<[1>", "{\"x\", ?}p1",
	"#sdy.sharding<@m, [{\"x\":(1)2}]>", "<@m, [{}]>", "dims = [0]", "attributes {n}",
	"stablehlo.while(%i = %a) : tensor<2xf32>\n cond {\n} do {\n}",
	"stablehlo.reduce(%a init: %a) applies stablehlo.add across dimensions = [0]",
	"reducer(%p: i1, %q: i1) {\n}", "applies", "across", "sdy.mesh @m = <[\"x\"=2]>", "{-#"};

struct counter {
	unsigned errors;
};

static void
count_errors(void *data, const struct diag_message *m)
{
	struct counter *c = data;

	assert_non_null(m->text);
	c->errors += m->level == DIAG_ERROR;
}

static char *
print_text(const struct mlir_file *f, size_t *n)
{
	char *s = NULL;
	FILE *out = open_memstream(&s, n);

	mlir_print(out, f);
	fclose(out);
	return s;
}

/* Is it a right text? */
static bool
check(struct ir_context *ctx, struct counter *c, const struct text *t)
{
	size_t n, n2;

	c->errors = 0;
	mlir_is_text(t->s, t->n);
	struct mlir_file *f = mlir_read(ctx, ctx, "mutated", t->s, t->n);
	assert_true(f ? c->errors == 0 : c->errors > 0);
	if (!f)
		return false;
	char *once = print_text(f, &n);
	struct mlir_file *again = mlir_read(ctx, ctx, "printed", once, n);
	assert_non_null(again);
	char *twice = print_text(again, &n2);
	assert_true(n == n2 && !memcmp(once, twice, n));
	talloc_free(again);
	talloc_free(f);
	free(once);
	free(twice);
	return true;
}

static int mutations = FUZZ_MUTATIONS;
static uint64_t first_seed = 1;

static void
mutated_texts(void **state)
{
	static struct fuzz fuzz = {
		.suffix = ".mlir", .token = token, .ntokens = sizeof token / sizeof *token};
	struct fuzz *f = &fuzz;
	struct ir_context *ctx = NULL;
	struct counter counter = {0};
	char *folder = fuzz_test_folder();
	int right = 0;

	(void)state;
	fuzz_add_folder(f, folder);
	free(folder);
	assert_true(f->nseeds > 100);
	f->random = first_seed * UINT64_C(0x9E3779B97F4A7C15);
	for (int i = 0; i < mutations; i++) {
		if (i % FUZZ_CONTEXT_LIFE == 0) {
			talloc_free(ctx);
			ctx = ir_context_create(NULL);
			diag_set_handler(ctx->diag, count_errors, &counter);
		}
		struct text t = fuzz_text(f);
		right += check(ctx, &counter, &t);
		talloc_free(t.s);
	}
	talloc_free(ctx);
	print_message("%d of %d texts are right\n", right, mutations);
	assert_in_range(right, mutations / 50, mutations / 2); /* both kinds are met */
	fuzz_end(f);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_texts)};

	if (argc > 1)
		mutations = atoi(argv[1]);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
