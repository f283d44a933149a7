/* A barrier in a plan: neither an action nor a buffer; a reader of a result waits for all
 * operands. */
#include "test/lower/plan/fixture.h"

/* The first action of that kind whose op has that code. */
static int
find(const struct lower_plan *p, enum lower_action_kind kind, enum op_code code)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == kind && p->action[i].op &&
			p->action[i].op->code == (int)code)
			return i;
	fail_msg("the plan has no such action");
	return -1;
}

#define HEAD                                                                                       \
	"module @t\nmesh [dp = 2]\nfunc @main() {\n"                                               \
	"%x = input(\"x\") : f32[8/dp,4]\n%e = exp(%x)\n"                                          \
	"%p = sum(%e) {dims = [0]}\n%a = allreduce(%p) {axis = dp}\n"
#define TAIL "%c = cos(%a)\noutput(\"t\", %t)\noutput(\"c\", %c)\n}\n"

static void
a_reader_waits_for_all_operands(void **state)
{
	static const char behind[] = HEAD "%e1, %a1 = barrier(%e, %a)\n%t = tanh(%e1)\n%c = "
					  "cos(%a1)\noutput(\"t\", %t)\noutput(\"c\", %c)\n}\n",
			  without[] = HEAD "%t = tanh(%e)\n" TAIL;

	(void)state;
	struct fixture *x = fixture_of(behind);
	assert_true(find(x->plan, LOWER_WAIT, OP_allreduce) < find(x->plan, LOWER_KERNEL, OP_tanh));
	talloc_free(x);
	x = fixture_of(without);
	assert_true(find(x->plan, LOWER_WAIT, OP_allreduce) > find(x->plan, LOWER_KERNEL, OP_tanh));
	talloc_free(x);
}

/* Through a chain of barriers and views, too. */
static void
so_does_one_behind_several(void **state)
{
	static const char chain[] =
		HEAD "%e1, %a1 = barrier(%e, %a)\n%r = reshape(%e1) {shape = [32]}\n%r1 = "
		     "barrier(%r)\n%t = tanh(%r1)\n%c = cos(%a1)\noutput(\"t\", "
		     "%t)\noutput(\"c\", %c)\n}\n";

	(void)state;
	struct fixture *x = fixture_of(chain);
	assert_true(find(x->plan, LOWER_WAIT, OP_allreduce) < find(x->plan, LOWER_KERNEL, OP_tanh));
	talloc_free(x);
}

static void
it_takes_no_memory_and_no_action(void **state)
{
	static const char with[] = "module @t\nfunc @main() {\n%x = input(\"x\") : f32[64]\n%e = "
				   "exp(%x)\n%x1, %e1 = barrier(%x, %e)\n%t = mul(%x1, "
				   "%e1)\noutput(\"t\", %t)\n}\n",
			  without[] = "module @t\nfunc @main() {\n%x = input(\"x\") : f32[64]\n%e "
				      "= exp(%x)\n%t = mul(%x, %e)\noutput(\"t\", %t)\n}\n";

	(void)state;
	struct fixture *a = fixture_of(with), *b = fixture_of(without);
	assert_int_equal(a->plan->nactions, b->plan->nactions);
	assert_int_equal(a->plan->nbuffers, b->plan->nbuffers);
	assert_int_equal(a->plan->nkernels, 2);
	talloc_free(a);
	talloc_free(b);
}

/*
 * In a loop over micro-batches a param goes through a barrier with a value of the iteration: its
 * readers stay in the loop, and the step has one loop.
 */
static void
a_loop_goes_on_behind_it(void **state)
{
	static const char loop[] =
		"module @t\nsteps [mb = 2]\nfunc @main() {\n%x = input(\"x\") : f32[8/mb,4]\n%w = "
		"param(\"w\") : f32[4,4]\n%g = exp(%x)\n%w1, %g1 = barrier(%w, %g)\n%h = "
		"matmul(%g1, %w1)\n%s = sum(%h)\n%r = reduce(%s) {axis = mb}\noutput(\"r\", "
		"%r)\n}\n";
	int loops = 0;

	(void)state;
	struct fixture *x = fixture_of(loop);
	for (int i = 0; i < x->plan->nactions; i++)
		loops += x->plan->action[i].kind == LOWER_LOOP;
	assert_int_equal(loops, 1);
	talloc_free(x);
}

/* Outside of the loop the param is available once all iterations have made the other operand. */
static void
who_is_outside_comes_after_the_loop(void **state)
{
	static const char loop[] =
		"module @t\nsteps [mb = 2]\nfunc @main() {\n%x = input(\"x\") : f32[8/mb,4]\n%w = "
		"param(\"w\") : f32[4,4]\n%g = exp(%x)\n%w1, %g1 = barrier(%w, %g)\n%c = "
		"cos(%w1)\n%h = matmul(%g1, %w1)\n%s = sum(%h)\n%r = reduce(%s) {axis = "
		"mb}\noutput(\"r\", %r)\noutput(\"c\", %c)\n}\n";

	(void)state;
	struct fixture *x = fixture_of(loop);
	int end = -1;
	for (int i = 0; i < x->plan->nactions; i++)
		end = x->plan->action[i].kind == LOWER_END ? i : end;
	assert_true(find(x->plan, LOWER_KERNEL, OP_cos) > end);
	talloc_free(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_reader_waits_for_all_operands),
		cmocka_unit_test(so_does_one_behind_several),
		cmocka_unit_test(it_takes_no_memory_and_no_action),
		cmocka_unit_test(a_loop_goes_on_behind_it),
		cmocka_unit_test(who_is_outside_comes_after_the_loop)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
