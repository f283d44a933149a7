/*
 * What passes/fuse/fuse.h lets be one kernel, a case a rule: ops are named, the verdict does not depend
 * on where they stand or on whether they are connected.
 */
#include "ir/ops/alike.h"
#include "passes/fuse/fuse.h"
#include "parser/dir/parse.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#define X "%x = input(\"x\") : f32[8,4]\n"
#define W "%w = param(\"w\") : f32[4,6]\n"

static const struct {
	const char *what, *text, *ops; /* ops: names of results */
	enum fuse_verdict verdict;
} cases[] = {
	{"one op", X "%a = exp(%x)", "a", FUSE_POSSIBLE},
	{"one input alone", X, "x", FUSE_POSSIBLE},
	{"a chain", X "%a = exp(%x) %b = neg(%a)", "a b", FUSE_POSSIBLE},
	{"two that share nothing", X "%y = input(\"y\") : f32[8,4] %a = exp(%x) %b = neg(%y)",
		"a b", FUSE_POSSIBLE},
	{"an input is no work", X "%a = exp(%x)", "x a", FUSE_NO_KERNEL},
	{"a scalar constant is everybody's own",
		X "%c = constant() {value = 2} : f32[] %a = mul(%x, %c)", "c a", FUSE_NO_KERNEL},
	{"a sort has loops of its own", X "%s, %p = sort(%x) %a = exp(%s)", "s a", FUSE_NO_KERNEL},
	{"a barrier of what is no param", X "%a = exp(%x) %d = barrier(%x) %b = neg(%a)", "a b",
		FUSE_BARRIER},
	{"a barrier of params alone, which delays nothing",
		X W
		"%v = param(\"v\") : f32[4,6] %a = exp(%x) %c, %d = barrier(%w, %v) %b = neg(%a)",
		"a b", FUSE_POSSIBLE},
	{"a barrier of what is computed of a param alone",
		X W "%a = exp(%x) %c = convert(%w) {to = bf16} %d = barrier(%c) %b = neg(%a)",
		"a b", FUSE_POSSIBLE},
	{"a barrier of a param and what is computed",
		X W "%a = exp(%x) %c, %d = barrier(%w, %a) %b = neg(%a)", "a b", FUSE_BARRIER},
	{"other shapes", X "%y = input(\"y\") : f32[4,8] %a = exp(%x) %b = neg(%y)", "a b",
		FUSE_SPACES},
	{"a row and what it is of", X "%a = exp(%x) %s = sum(%a) {dims = [1]} %l = log(%s)",
		"a s l", FUSE_POSSIBLE},
	{"a row with a dim kept, and what is spread from it",
		X "%s = max(%x) {dims = [1], keep = true} %d = sub(%x, %s)", "s d", FUSE_POSSIBLE},
	{"prefixes of one space that are none of each other's",
		X "%y = input(\"y\") : f32[8,5] %a = sum(%x) {dims = [1]} %b = sum(%y) {dims = "
		  "[1]}",
		"a b", FUSE_SPACES},
	{"sums that only leave", X "%a = exp(%x) %s = sum(%a) {dims = [0]}", "a s", FUSE_POSSIBLE},
	{"one that reads such a sum", X "%s = sum(%x) {dims = [0]} %a = mul(%x, %s)", "s a",
		FUSE_AFTER_SUM},
	{"one that reads a scalar sum", X "%s = sum(%x) %a = mul(%x, %s)", "s a", FUSE_AFTER_SUM},
	{"a sum and one that reads something else",
		X "%s = sum(%x) {dims = [0]} %n = neg(%s) %a = exp(%x)", "s a", FUSE_POSSIBLE},
	{"a product and its epilogue",
		X W "%b = param(\"b\") : f32[6] %p = matmul(%x, %w) %q = add(%p, %b) %r = "
		    "relu(%q) %s = sum(%r) {dims = [1]} %t = sum(%r) {dims = [0]}",
		"p q r s t", FUSE_POSSIBLE},
	{"an epilogue that does not read it",
		X W "%y = input(\"y\") : f32[8,6] %p = matmul(%x, %w) %q = neg(%y)", "p q",
		FUSE_POSSIBLE},
	{"what a product reads", X W "%a = exp(%x) %p = matmul(%a, %w)", "a p", FUSE_SPACES},
	{"what a square product reads",
		"%x = input(\"x\") : f32[4,4] %w = param(\"w\") : f32[4,4] %a = exp(%x) %p = "
		"matmul(%a, %w)",
		"a p", FUSE_PRODUCT},
	{"two products", X W "%p = matmul(%x, %w) %q = matmul(%x, %w)", "p q", FUSE_PRODUCT},
	{"a product of scalars and what is larger",
		"%x = input(\"x\") : f32[8] %y = input(\"y\") : f32[8] %p = contract(%x, %y) "
		"{spec = \"i,i->\"} %a = mul(%x, %p)",
		"p a", FUSE_PRODUCT},
	{"a convolution and its epilogue",
		"%x = input(\"x\") : f32[2,3,8,8] %f = param(\"f\") : f32[4,3,3,3] %p = "
		"conv2d(%x, %f) %r = relu(%p)",
		"p r", FUSE_POSSIBLE},
	{"a slice and what is done with it",
		X "%a = slice(%x) {start = [1], limit = [3], dims = [1]} %b = exp(%a)", "a b",
		FUSE_POSSIBLE},
	{"a slice of what is made there",
		"%x = input(\"x\") : f32[8,4] %a = exp(%x) %b = reverse(%a)", "a b",
		FUSE_POSITIONS},
	{"rows by a number that is made there, and of a table that is",
		"%t = param(\"t\") : f32[5,8] %i = input(\"i\") {range = 5} : i32[5] %j = "
		"maximum(%i, %i) %r = gather(%t, %j)",
		"j r", FUSE_POSSIBLE},
	{"rows by number of a table that is made there",
		"%t = param(\"t\") : f32[5,8] %i = input(\"i\") {range = 5} : i32[5] %u = "
		"exp(%t) %r = gather(%u, %i)",
		"u r", FUSE_POSITIONS},
	{"a transpose", X "%t = transpose(%x) %a = exp(%t)", "t a", FUSE_NO_KERNEL},
	{"a collective",
		"%y = input(\"y\") : f32[8/dp,4] %a = exp(%y) %b = allgather(%a) {axis = dp}",
		"a b", FUSE_NO_KERNEL},
	{"across a collective: no matter for one kernel, the graph forbids it",
		"%y = input(\"y\") : f32[8/dp,4] %a = exp(%y) %b = allgather(%a) {axis = dp} %c = "
		"partition(%b) {dim = 0, axis = dp} %d = add(%a, %c)",
		"a d", FUSE_POSSIBLE},
};

static struct ir_module *
module_of(void *owner, const char *text)
{
	struct ir_context *ctx = ir_context_create(owner);
	const struct parse_options o = {.inline_calls = true};
	char *whole =
		talloc_asprintf(owner, "module @m\nmesh [dp = 2]\nfunc @main() {\n%s\n}\n", text);
	struct ir_module *m = parse_module(owner, ctx, "case", whole, strlen(whole), &o);
	assert_non_null(m);
	return m;
}

static uint32_t
op_of(const struct ir_block *b, const char *name, size_t n)
{
	uint32_t number = 0;

	IR_FOR_OPS (op, b) {
		if (op->nresults && op->result[0].name && strlen(op->result[0].name) == n &&
			!strncmp(op->result[0].name, name, n))
			return number;
		number++;
	}
	fail_msg("no %s", name);
	return 0;
}

static void
verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		void *scratch = talloc_new(NULL);
		struct ir_module *m = module_of(scratch, cases[i].text);
		struct ir_block *b = &ir_func_find(m, "main")->body;
		uint32_t op[8], n = 0;
		for (const char *p = cases[i].ops; *p; p += strspn(p, " ")) {
			const size_t length = strcspn(p, " ");
			op[n++] = op_of(b, p, length);
			p += length;
		}
		const struct fuse_table *t =
			fuse_table_create(scratch, m, b, alike_create(scratch, m, b));
		const enum fuse_verdict v = fuse_check(t, op, n, false);
		if (v != cases[i].verdict)
			fail_msg("%s: %s, not: %s", cases[i].what, fuse_verdict_text(v),
				fuse_verdict_text(cases[i].verdict));
		talloc_free(scratch);
	}
}

/* Is each of n ops, of that text with their numbers in it, possible together with all others? */
static enum fuse_verdict
many(int n, const char *before, const char *own)
{
	void *scratch = talloc_new(NULL);
	char *text = talloc_strdup(scratch, X);
	for (int i = 0; i < n; i++)
		text = talloc_asprintf_append(text,
			"%%y%d = input(\"y%d\") : f32[8,4] %%o%d = %s%d%s\n", i, i, i, before,
			*own ? i : 0, ")");
	struct ir_module *m = module_of(scratch, text);
	struct ir_block *b = &ir_func_find(m, "main")->body;
	uint32_t op[100], nops = 0, number = 0;
	const struct fuse_table *t = fuse_table_create(scratch, m, b, alike_create(scratch, m, b));
	IR_FOR_OPS (o, b) {
		if (fuse_may(t, number))
			op[nops++] = number;
		number++;
	}
	assert_int_equal(nops, n);
	const enum fuse_verdict v = fuse_check(t, op, nops, false);
	talloc_free(scratch);
	return v;
}

static void
limits(void **state)
{
	(void)state;
	assert_int_equal(many(64, "exp(%y", ""), FUSE_POSSIBLE);
	assert_int_equal(many(65, "exp(%y", ""), FUSE_OPS);
	assert_int_equal(many(24, "exp(%y", "own"), FUSE_POSSIBLE);
	assert_int_equal(many(25, "exp(%y", "own"), FUSE_OPERANDS);
	assert_int_equal(many(8, "sum(%y", ""), FUSE_POSSIBLE);
	assert_int_equal(many(9, "sum(%y", ""), FUSE_SUMS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts), cmocka_unit_test(limits)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
