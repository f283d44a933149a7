/*
 * The parser against damaged texts: the .dir files of the tests and the prelude, mutated some
 * 20,000 times in a fixed sequence. Each must give errors and no module, or no error and a module
 * that verifies and whose text is a fixed point of printing and parsing. Sanitized builds see the
 * rest.
 *
 * With an argument N it makes N mutations; with N and S from seed S.
 */
#include "parser/parse.h"
#include "test/fuzz/mutate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

#include <cmocka.h>

enum { FUZZ_MUTATIONS = 20000 }; /* half a minute with sanitizers */

extern const char dopt_prelude[];

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "%x", "%", "@f", "@", "=", ":",
	",", "+", "-", "*", "/", "\n", " ", "//", "\"", "\\", "\0", "\xff", "func @g(%a) {", "func",
	"let N = 3", "mesh [q = 2]", "steps [r = 2]", "module @m", "call @softmax(%x)",
	"call @f(%x) {repeat = 3}", "fuse(%x) {", "yield(%x)", "return(%x)", "input(\"i\")",
	"f32[2]", ": f32[B/dp,4]+dp@tp=1", "dim(%x, 0)", "9223372036854775807",
	"99999999999999999999", "-1", "0", "1e999", "nan", "inf", "25MB", "{axis = dp}",
	"{dims = [0, -1], keep = true}", "{spec = \"ab,bc->ac\"}",
	"{as = \"h\", repeat = 2, N = 3}", "matmul(%x, %x)", "reshape(%x) {shape = [-1]}",
	"slice(%x) {start = [1], limit = [3], step = [2]}",
	"pad(%x) {low = [-1], high = [9], interior = [1], value = 2}",
	"conv2d(%x, %x) {stride = [2,1], low = [1,1], groups = 3}", "max_pool(%x) {window = [3,3]}",
	"concat(%x, %x) {dim = -1}", "topk(%x) {k = 2}", "random_uniform(\"k\", %n, %x)",
	"dynamic_slice(%x, %n) {size = 4}", "{stride = [0,-1]}", "{value = inf}",
	"output(\"o\", %x)", "update(%x, %x)", "param(\"w\") : f32[2]"};

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
print_text(const struct ir_module *m, size_t *n)
{
	char *s = NULL;
	FILE *f = open_memstream(&s, n);

	ir_print(f, m);
	fclose(f);
	return s;
}

/* A chain of blocks may be long: putting it in place would take the test's time, not the parser's.
 */
static bool
has_long_chain(const char *text)
{
	for (const char *s = text; (s = strstr(s, "repeat = ")); s++)
		if (strtoll(s + strlen("repeat = "), NULL, 10) > 50)
			return true;
	return false;
}

/* Is it a right module? */
static bool
check(struct ir_context *ctx, struct counter *c, const struct text *t)
{
	struct parse_options in_place = {.inline_calls = true};
	size_t n, n2;

	c->errors = 0;
	struct ir_module *m = parse_module(ctx, ctx, "mutated", t->s, t->n, NULL);
	assert_true(m ? c->errors == 0 : c->errors > 0);
	if (!m)
		return false;
	assert_true(ir_verify(m));
	char *text = print_text(m, &n);
	struct ir_module *again = parse_module(ctx, ctx, "printed", text, n, NULL);
	assert_non_null(again);
	char *text2 = print_text(again, &n2);
	assert_string_equal(text, text2);
	if (!has_long_chain(text)) {
		c->errors = 0;
		struct ir_module *flat = parse_module(ctx, ctx, "inlined", text, n, &in_place);
		assert_true(flat ? ir_verify(flat) : c->errors > 0);
		talloc_free(flat);
	}
	talloc_free(again);
	talloc_free(m);
	free(text);
	free(text2);
	return true;
}

static int mutations = FUZZ_MUTATIONS;
static uint64_t first_seed = 1;

static void
mutated_texts(void **state)
{
	static struct fuzz fuzz = {
		.suffix = ".dir", .token = token, .ntokens = sizeof token / sizeof *token};
	struct fuzz *f = &fuzz;
	struct ir_context *ctx = NULL;
	struct counter counter = {0};
	char *folder = fuzz_test_folder();
	int right = 0;

	(void)state;
	fuzz_add_folder(f, folder);
	free(folder);
	fuzz_add_seed(f, dopt_prelude, strlen(dopt_prelude));
	assert_true(f->nseeds > 5);
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
