/* Numbers of ops by what they compute: what is the same, and what makes a difference. */
#include "ir/ops/alike.h"
#include "parser/dir/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

struct fixture {
	struct ir_module *m;
	struct alike *alike;
};

/* The ops of a @main that has inputs %x, %y : f32[8,4], %w : f32[4]. */
static struct fixture *
number(const char *ops)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	struct ir_context *ctx = ir_context_create(f);
	char *text = talloc_asprintf(f,
		"module @t\nmesh [dp = 2]\nfunc @main() {\n"
		"%%x = input(\"x\") : f32[8,4]\n%%y = input(\"y\") : f32[8,4]\n"
		"%%w = input(\"w\") : f32[4]\n%s}\n",
		ops);

	f->m = parse_module(f, ctx, "t.dir", text, strlen(text), NULL);
	assert_non_null(f->m);
	f->alike = alike_create(f, f->m, &ir_func_find(f->m, "main")->body);
	return f;
}

/* The op of that name, of @main or of a body in it. */
static const struct ir_op *
op_named(const struct ir_block *b, const char *name)
{
	IR_FOR_OPS (op, b) {
		const struct ir_op *inner = op->body ? op_named(op->body, name) : NULL;
		if (inner)
			return inner;
		for (int r = 0; r < op->nresults; r++)
			if (op->result[r].name && strcmp(op->result[r].name, name) == 0)
				return op;
	}
	return NULL;
}

static uint32_t
number_of(const struct fixture *f, const char *name)
{
	const struct ir_op *op = op_named(&ir_func_find(f->m, "main")->body, name);

	assert_non_null(op);
	return alike_number(f->alike, op);
}

static void
expect(const char *ops, bool same)
{
	struct fixture *f = number(ops);
	const bool is = number_of(f, "a") == number_of(f, "b");

	if (is != same)
		fail_msg("%s:\n%s", same ? "not alike" : "alike", ops);
	talloc_free(f);
}

static void
layers_have_the_numbers_of_one(void **state)
{
	(void)state;
	struct fixture *f = number("%h = add(%x, %w) %r = relu(%h) %i = add(%r, %w) %s = relu(%i)\n"
				   "%j = add(%s, %w) %t = relu(%j)\noutput(\"t\", %t)\n");

	/* Three inputs of two types, an add, a relu, the output. */
	assert_int_equal(f->alike->n, 5);
	assert_int_equal(number_of(f, "h"), number_of(f, "j"));
	assert_ptr_equal(f->alike->first[number_of(f, "t")],
		op_named(&ir_func_find(f->m, "main")->body, "r"));
	talloc_free(f);
}

static void
code_types_and_attributes_count(void **state)
{
	(void)state;
	expect("%a = add(%x, %w) %b = add(%y, %w)\n", true);
	expect("%a = add(%x, %w) %b = sub(%x, %w)\n", false);
	expect("%a = add(%x, %w) %b = add(%w, %x)\n", false);
	expect("%a = sum(%x) {dims = [1]} %b = sum(%y) {dims = [1]}\n", true);
	expect("%a = sum(%x) {dims = [1]} %b = sum(%y) {dims = [0, 1]}\n", false);
	expect("%a = sum(%x) {dims = [1]} %b = sum(%y) {dims = [0]}\n", false);
	expect("%p = partition(%x) {axis = dp, dim = 0} %a = relu(%p) %b = relu(%x)\n", false);
}

static void
constants_count_that_are_read(void **state)
{
	(void)state;
	const char *const two = "%c = constant() {value = 2.0} : f32[]\n"
				"%d = constant() {value = 2.0} : f32[]\n",
			  *const three = "%c = constant() {value = 2.0} : f32[]\n"
					 "%d = constant() {value = 3.0} : f32[]\n",
			  *const ops[] = {"%a = mul(%x, %c) %b = mul(%y, %d)\n",
				  "%a = fuse(%x, %c) { %e = mul(%x, %c) yield(%e) }\n"
				  "%b = fuse(%x, %d) { %e = mul(%x, %d) yield(%e) }\n",
				  "%g = fuse(%x, %c) { %a = mul(%x, %c) yield(%a) }\n"
				  "%h = fuse(%x, %d) { %b = mul(%x, %d) yield(%b) }\n"};
	char text[512];

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		snprintf(text, sizeof text, "%s%s", two, ops[i]);
		expect(text, true);
		snprintf(text, sizeof text, "%s%s", three, ops[i]);
		expect(text, false);
	}
}

static void
bodies_count(void **state)
{
	(void)state;
	const char *const first = "%a = fuse(%x, %y) { %p = exp(%x) %q = sub(%p, %y) yield(%q) }\n";
	const struct {
		const char *second;
		bool same;
	} cases[] = {
		{"%b = fuse(%y, %x) { %s = exp(%y) %t = sub(%s, %x) yield(%t) }\n", true},
		{"%b = fuse(%x, %y) { %s = exp(%y) %t = sub(%s, %x) yield(%t) }\n", false},
		{"%b = fuse(%x, %y) { %s = exp(%x) %t = sub(%y, %s) yield(%t) }\n", false},
		{"%b = fuse(%x, %y) { %s = exp(%x) %t = sub(%s, %s) yield(%t) }\n", false},
		{"%b = fuse(%x, %y) { %s = exp(%x) %t = sub(%s, %y) yield(%s) }\n", false},
		{"%b = fuse(%x, %y) { %s = log(%x) %t = sub(%s, %y) yield(%t) }\n", false},
		{"%b, %c = fuse(%x, %y) { %s = exp(%x) %t = sub(%s, %y) yield(%t, %s) }\n", false},
	};
	char text[512];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, "%s%s", first, cases[i].second);
		expect(text, cases[i].same);
	}
}

/* The elements of a large literal are not compared. */
static void
a_long_list_is_like_no_other(void **state)
{
	(void)state;
	char text[2048] = "";

	for (int k = 0; k < 2; k++) {
		snprintf(text + strlen(text), sizeof text - strlen(text),
			"%%%c = literal() {values = [0", 'a' + k);
		for (int i = 1; i < 100; i++)
			snprintf(text + strlen(text), sizeof text - strlen(text), ", %d", i % 10);
		snprintf(text + strlen(text), sizeof text - strlen(text), "]} : i32[100]\n");
	}
	expect(text, false);
}

/* Ops of a copy have the numbers of those that they are copies of, wherever they are; others have new ones. */
static void
a_changed_copy(void **state)
{
	struct fixture *f =
		number("%a = exp(%x)\n%b = add(%a, %y)\n%c = exp(%y)\n"
		       "%d, %e = fuse(%x, %y) { %s = exp(%x) %t = sub(%s, %y) yield(%t, %s) }\n");
	(void)state;

	ir_module_renumber(f->m);
	struct alike *of = alike_create(f, f->m, &ir_func_find(f->m, "main")->body);
	struct ir_module *m = ir_module_clone(f, f->m);
	struct ir_block *main = &ir_func_find(m, "main")->body;
	struct ir_op *a = (struct ir_op *)op_named(main, "a"),
		     *b = (struct ir_op *)op_named(main, "b");
	struct ir_value *x = ir_operand(a, 0);
	struct ir_op *made[3];
	for (int i = 0; i < 3; i++) {
		made[i] = ir_op_clone(
			m, i < 2 ? a : op_named(main, "d"), (struct ir_value *[]){x, x});
		made[i]->result[0].name = NULL;
		ir_insert_before(b, made[i]);
	}
	ir_op_unlink(b);
	ir_block_append(main, b);
	const struct alike *copy = alike_create_like(f, m, main, of);
	assert_int_equal(copy->n, of->n + 4); /* exp, the fuse, and sub and yield in it */
	const struct ir_op *old = ir_func_find(f->m, "main")->body.first;
	for (; old; old = old->next) {
		const struct ir_op *now = op_named(main, old->result[0].name);
		assert_int_equal(now->id, old->id);
		assert_int_equal(alike_number(copy, now), alike_number(of, old));
	}
	assert_int_equal(alike_number(copy, made[0]), alike_number(copy, made[1]));
	assert_true(alike_number(copy, made[0]) >= of->n);
	assert_true(alike_number(copy, made[2]) >= of->n);
	assert_int_not_equal(alike_number(copy, made[2]), alike_number(copy, made[0]));
	talloc_free(f);
}

/* The number in the memo of %a in a module with that mesh. */
static uint32_t
common_of(struct ir_context *ctx, struct alike_memo *memo, const char *mesh, const char *ops)
{
	char text[4096];
	snprintf(text, sizeof text,
		"module @t\nmesh [%s]\nfunc @main() {\n%%x = input(\"x\") : "
		"f32[8/dp,4]\n%s}\n",
		mesh, ops);
	struct ir_module *m = parse_module(NULL, ctx, "t.dir", text, strlen(text), NULL);
	assert_non_null(m);
	const struct ir_block *main = &ir_func_find(m, "main")->body;
	const struct alike *a = alike_create_common(m, m, main, NULL, memo);
	const uint32_t number = a->common[alike_number(a, op_named(main, "a"))];
	talloc_free(m);
	return number;
}

static void
modules_with_equal_axes_have_numbers_in_common(void **state)
{
	static const char exp[] = "%a = exp(%x)\n",
			  later[] = "%c = log(%x)\n%d = mul(%c, %x)\n%a = exp(%d)\n",
			  two[] = "%c = constant() {value = 2.0} : f32[]\n%a = mul(%x, %c)\n",
			  three[] = "%c = constant() {value = 3.0} : f32[]\n%a = mul(%x, %c)\n";
	struct ir_context *ctx = ir_context_create(NULL);
	struct alike_memo *memo = alike_memo_create(ctx);
	(void)state;
	const uint32_t of_exp = common_of(ctx, memo, "dp = 2", exp),
		       of_two = common_of(ctx, memo, "dp = 2", two);

	assert_int_equal(common_of(ctx, memo, "dp = 2", later), of_exp);
	assert_int_not_equal(common_of(ctx, memo, "dp = 4", exp), of_exp);
	assert_int_equal(common_of(ctx, memo, "dp = 2", exp), of_exp);
	assert_int_not_equal(common_of(ctx, memo, "dp = 2", three), of_two);
	assert_int_equal(common_of(ctx, memo, "dp = 2", two), of_two);
	char list[2048] = "%a = literal() {values = [0";
	for (int i = 1; i < 100; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), ", %d", i % 10);
	snprintf(list + strlen(list), sizeof list - strlen(list), "]} : i32[100]\n");
	assert_int_not_equal(
		common_of(ctx, memo, "dp = 2", list), common_of(ctx, memo, "dp = 2", list));
	talloc_free(ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_have_the_numbers_of_one),
		cmocka_unit_test(code_types_and_attributes_count),
		cmocka_unit_test(constants_count_that_are_read),
		cmocka_unit_test(bodies_count),
		cmocka_unit_test(a_long_list_is_like_no_other),
		cmocka_unit_test(a_changed_copy),
		cmocka_unit_test(modules_with_equal_axes_have_numbers_in_common),
	};
	return cmocka_run_group_tests_name("alike", tests, NULL, NULL);
}
