/* Kernels with copies of ops, and who still reads these from their homes. */
#include "test/passes/search/engine_step.h"

static uint32_t
home_of(const struct plan *p, const char *name)
{
	for (uint32_t i = 0; i < plan_ops(p); i++) {
		const struct ir_op *op = plan_op(p, i);
		if (op && op->nresults && op->result[0].name && !strcmp(op->result[0].name, name))
			return plan_home(p, i);
	}
	fail_msg("no %%%s", name);
	return PLAN_NONE;
}

/* A view is of what stands in memory: the kernel that wrote it stays, whoever has a copy. */
static void
test_who_reads_a_view_reads_memory(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[8,100]\n  %a = neg(%x)\n"
		"  %v = reshape(%a) {shape = [8,100]}\n  %b = exp(%v)\n  %c = tanh(%a)\n"
		"  output(\"b\", %b)\n  output(\"c\", %c)\n");
	uint32_t a = home_of(s->plan, "a"), b = home_of(s->plan, "b"), c = home_of(s->plan, "c");

	assert_int_equal(plan_count(s->plan), 3);
	assert_true(plan_fuse(s->plan, a, c, PLAN_FUSE_COPY));
	assert_int_equal(home_of(s->plan, "a"), a);
	assert_true(plan_fuse(s->plan, c, b, PLAN_FUSE));
	assert_int_equal(home_of(s->plan, "a"), a);
	assert_int_equal(plan_count(s->plan), 2);
	assert_int_equal(plan_node(s->plan, b).npreds, 1);
	assert_int_equal(plan_node(s->plan, b).pred[0], a);
	talloc_free(s);
}

/*
 * %c and %d compute %a themselves, until %d is apart and reads it: then the kernel of %a and %b
 * writes it, which is 4 MB more through 100 GB/s.
 */
static void
test_what_is_read_again_is_written_again(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[2000000/dp]\n  %a = neg(%x)\n  %b = exp(%a)\n"
		"  %c = tanh(%a)\n  %d = abs(%a)\n"
		"  output(\"b\", %b)\n  output(\"c\", %c)\n  output(\"d\", %d)\n");
	struct plan *p = s->plan;
	uint32_t a = home_of(p, "a"), b = home_of(p, "b"), c = home_of(p, "c"), d = home_of(p, "d");
	const uint32_t op = PLAN_OP_OF(plan_node(p, d).op[0]);

	assert_true(plan_fuse(p, c, d, PLAN_FUSE));
	assert_true(plan_fuse(p, a, d, PLAN_FUSE_COPY));
	assert_true(plan_fuse(p, a, b, PLAN_FUSE));
	assert_int_equal(plan_node(p, b).duration, 81 * 1000000LL);
	assert_int_not_equal(plan_unfuse(p, d, &op, 1), PLAN_NONE);
	assert_int_equal(plan_node(p, b).duration, 121 * 1000000LL);
	talloc_free(s);
}

/*
 * Each kernel gets its own copy of an op, and the last one takes the op itself. Where the list of
 * copies is walked for each reader, this takes 4.5e9 steps and the test's time shows it.
 */
static void
test_an_op_may_have_thousands_of_copies(void **state)
{
	enum { N = 3000 };
	(void)state;
	char *text = talloc_strdup(NULL, "  %x = input(\"x\") : f32[8]\n  %a = neg(%x)\n");
	for (int i = 0; i < N; i++)
		text = talloc_asprintf_append_buffer(
			text, "  %%b%d = exp(%%a)\n  output(\"b%d\", %%b%d)\n", i, i, i);
	struct engine_step *s = engine_step(ENGINE_LINKS, text);
	struct plan *p = s->plan;
	const uint32_t a = plan_at(p, 0);

	for (uint32_t i = 1; i < N; i++)
		assert_true(plan_fuse(p, a, plan_at(p, i), PLAN_FUSE_COPY));
	assert_int_equal(plan_count(p), N + 1);
	assert_true(plan_fuse(p, a, plan_at(p, N), PLAN_FUSE_COPY));
	assert_int_equal(plan_count(p), N);
	talloc_free(s);
	talloc_free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_reads_a_view_reads_memory),
		cmocka_unit_test(test_what_is_read_again_is_written_again),
		cmocka_unit_test(test_an_op_may_have_thousands_of_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
