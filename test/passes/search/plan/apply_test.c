/* What plan_apply proves of the block that it puts together. */
#include "passes/search/plan/impl.h"
#include "test/passes/search/engine_step.h"

static void
test_an_op_before_its_operand_is_found(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[8,100]\n  %a = neg(%x)\n  %b = exp(%a)\n"
		"  output(\"b\", %b)\n");
	struct plan *p = s->plan;
	struct ir_module *right = ir_module_clone(s, s->m), *broken = ir_module_clone(s, s->m);
	const struct ir_op *wrong;

	assert_true(plan_apply(p, right, &wrong));
	assert_null(wrong);
	assert_true(ir_verify(right));
	/* As no move leaves it: %b is issued before %a. */
	const uint32_t a = p->order[0];
	p->order[0] = p->order[1];
	p->order[1] = a;
	assert_false(plan_apply(p, broken, &wrong));
	assert_non_null(wrong);
	assert_string_equal(wrong->result[0].name, "b");
	/* Nothing in the block reads %b then, so that the verifier would not see it. */
	assert_true(ir_verify(broken));
	talloc_free(s);
}

/* The second sum waits for the first one through a barrier alone. */
static void
test_messages_with_a_barrier_between_are_not_packed(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS, "");
	static const char text[] =
		"module @m\nmesh [dp = 2]\nfunc @main() {\n"
		"  %x = input(\"x\") : f32[8/dp,100]\n  %a = sum(%x) {dims = [0]}\n"
		"  %A = allreduce(%a) {axis = dp}\n  %B, %b = barrier(%A, %a)\n"
		"  %C = allreduce(%b) {axis = dp}\n"
		"  output(\"B\", %B)\n  output(\"C\", %C)\n}\n";
	struct ir_module *m = parse_module(s, s->ctx, "two.dir", text, strlen(text), NULL);
	assert_non_null(m);
	struct plan *p = plan_create(s, s->model, m);
	uint32_t message[2], n = 0;

	assert_non_null(p);
	for (uint32_t i = 0; i < plan_ops(p); i++)
		if (plan_op(p, i)->code == OP_allreduce && n < 2)
			message[n++] = plan_home(p, i);
	assert_int_equal(n, 2);
	assert_true(plan_packs(p, message[0], message[1]));
	assert_false(plan_pack(p, message[0], message[1]));
	assert_false(plan_pack(p, message[1], message[0]));
	talloc_free(s);
}

/* Each result is a view of its own operand, so a kernel need not wait for the others. */
static void
test_collectives_over_one_device_are_split(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS, "");
	static const char text[] =
		"module @m\nmesh [dp = 1]\nfunc @main() {\n"
		"  %x = input(\"x\") : f32[8/dp,100]\n  %a = sum(%x) {dims = [0]}\n"
		"  %b = sum(%x) {dims = [1]}\n  %c = sum(%b)\n"
		"  %A, %C = allreduce(%a, %c) {axis = dp}\n"
		"  %d = exp(%A)\n  %e = exp(%C)\n"
		"  output(\"d\", %d)\n  output(\"e\", %e)\n}\n";
	struct ir_module *m = parse_module(s, s->ctx, "one.dir", text, strlen(text), NULL);
	assert_non_null(m);
	struct ir_module *after = ir_module_clone(s, m);
	struct plan *p = plan_create(s, s->model, m);
	uint32_t seen = 0;

	assert_non_null(p);
	for (uint32_t i = 0; i < plan_ops(p); i++) {
		const struct ir_op *op = plan_op(p, i);
		if (op->code != OP_exp)
			continue;
		const struct plan_node n = plan_node(p, plan_home(p, i));
		assert_int_equal(n.npreds, 1);
		const struct ir_op *reads = plan_op(p, PLAN_OP_OF(plan_node(p, n.pred[0]).op[0]));
		assert_string_equal(
			reads->result[0].name, strcmp(op->result[0].name, "d") == 0 ? "a" : "c");
		seen++;
	}
	assert_int_equal(seen, 2);
	/* A clone of what the plan was made of is split the same way. */
	assert_true(plan_apply(p, after, NULL));
	assert_true(ir_verify(after));
	talloc_free(s);
}

/*
 * A loop over mb ends before a view of what is complete only behind it: %v, as the allgather's first
 * tensor is one of the whole step. What the plan has not changed keeps its loops: %c is done in
 * the loop of the allgather, beside it.
 */
static void
test_views_in_loops_stay(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS, "");
	static const char text[] =
		"module @m\nmesh [dp = 2]\nsteps [mb = 2]\nfunc @main() {\n"
		"  %x = input(\"x\") : f32[12/mb,8]\n"
		"  %s = partition(%x) {dim = 0, axis = dp} : f32[12/mb/dp,8]\n"
		"  %w = combine(%x) {axis = mb, to = 1} : f32[12,8]@mb=1\n"
		"  %p = partition(%w) {dim = 0, axis = dp} : f32[12/dp,8]@mb=1\n"
		"  %W, %S = allgather(%p, %s) {axis = dp} : f32[12,8]@mb=1, f32[12/mb,8]\n"
		"  %c = combine(%x) {axis = mb, to = 0} : f32[12,8]@mb=0\n"
		"  %v = reshape(%S) {shape = [48, 2]} : f32[48/mb,2]\n"
		"  %V = combine(%v) {axis = mb} : f32[48,2]@mb=1\n"
		"  output(\"c\", %c)\n  output(\"V\", %V)\n}\n";
	struct ir_module *m = parse_module(s, s->ctx, "loops.dir", text, strlen(text), NULL);
	assert_non_null(m);
	struct ir_module *after = ir_module_clone(s, m);
	const struct plan *p = plan_create(s, s->model, m);

	assert_non_null(p);
	assert_true(plan_apply(p, after, NULL));
	assert_true(ir_verify(after));
	const struct cost_step *step = cost_step_create(s, s->model, after);
	assert_non_null(step);
	assert_int_equal(step->r.makespan, p->base->step->r.makespan);
	talloc_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_op_before_its_operand_is_found),
		cmocka_unit_test(test_messages_with_a_barrier_between_are_not_packed),
		cmocka_unit_test(test_collectives_over_one_device_are_split),
		cmocka_unit_test(test_views_in_loops_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
