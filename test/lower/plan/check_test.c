/* The checker finds faults that a planner could make: sound plans are broken in one place each. */
#include "test/lower/plan/fixture.h"

/* The checker must refuse the plan and say `why`. */
static void
refused(struct fixture *x, const char *why)
{
	if (lower_check(x->plan))
		fail_msg("the broken plan passed; it should fail with: %s", why);
	if (!strstr(x->messages, why))
		fail_msg("expected '%s' in:\n%s", why, x->messages);
	talloc_free(x);
}

static const char step[] =
	"module @t\nmesh [dp = 2]\nsteps [mb = 2]\nfunc @main() {\n"
	"%x = input(\"x\") : f32[8/dp,4]\n%w = param(\"w\") {init = \"ones\"} : f32[4,4]\n"
	"%h = matmul(%x, %w)\n%g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n%a = allreduce(%g) "
	"{axis = dp}\n"
	"%e = exp(%h)\n%s = sum(%e)\n%l = allreduce(%s) {axis = dp}\n%n = sub(%w, %a)\nupdate(%w, "
	"%n)\noutput(\"l\", %l)\n}\n";

static const char slices[] = "module @t\nsteps [mb = 2]\nfunc @main() {\n%x = input(\"x\") : "
			     "f32[8/mb,4]\n%e = exp(%x)\n%f = neg(%e)\n%s = sum(%f) {dims = [0]}\n"
			     "%r = reduce(%s) {axis = mb}\noutput(\"r\", %r)\n}\n";

/* The n-th action of a kind (from 0). */
static int
find(const struct lower_plan *p, enum lower_action_kind kind, int n)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == kind && n-- == 0)
			return i;
	fail_msg("the plan has no such action");
	return -1;
}

static int
find_op(const struct lower_plan *p, enum lower_action_kind kind, enum op_code code)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == kind && p->action[i].op->code == code)
			return i;
	fail_msg("the plan has no such action");
	return -1;
}

static void
swap(struct lower_plan *p, int i, int k)
{
	const struct lower_action a = p->action[i];
	p->action[i] = p->action[k];
	p->action[k] = a;
}

/* Removes action i; live ranges stay as they are. */
static void
drop(struct lower_plan *p, int i)
{
	memmove(&p->action[i], &p->action[i + 1],
		sizeof *p->action * (size_t)(p->nactions - i - 1));
	p->nactions--;
}

static int
buffer_of(const struct lower_plan *p, const char *name)
{
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffer[i].value && p->buffer[i].value->name &&
			strcmp(p->buffer[i].value->name, name) == 0)
			return i;
	fail_msg("no buffer %s", name);
	return -1;
}

static void
a_missing_wait(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	drop(x->plan, find_op(x->plan, LOWER_WAIT, OP_allreduce));
	refused(x, "while a posted allreduce uses");
}

static void
no_wait_at_the_end(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	drop(x->plan, find(x->plan, LOWER_WAIT, 1));
	refused(x, "without a wait for a posted allreduce");
}

static void
a_read_before_the_write(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	swap(x->plan, find_op(x->plan, LOWER_KERNEL, OP_matmul),
		find_op(x->plan, LOWER_KERNEL, OP_contract));
	refused(x, "which was never written");
}

static void
two_lives_in_one_place(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	x->plan->buffer[buffer_of(x->plan, "e")].offset =
		x->plan->buffer[buffer_of(x->plan, "h")].offset;
	refused(x, "share bytes while both are live");
}

/* The live ranges say that all is well, but they are wrong. */
static void
a_life_that_ends_too_early(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct storage_buffer *h = &x->plan->buffer[buffer_of(x->plan, "h")];
	h->last = h->first;
	refused(x, "outside its live range");
}

/* The collective still reads %g when %e is written over it. */
static void
an_operand_freed_under_a_collective(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct storage_buffer *g = &x->plan->buffer[buffer_of(x->plan, "g")],
			      *e = &x->plan->buffer[buffer_of(x->plan, "e")];
	g->last = x->plan->action[find(x->plan, LOWER_POST, 0)].at;
	e->offset = g->offset;
	e->first = g->last + 1;
	refused(x, "while a posted allreduce uses %g");
}

static void
a_post_at_some_places_only(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct lower_guard *g = &x->plan->action[find(x->plan, LOWER_POST, 0)].guard;
	g->axis[g->n++] = 0;
	refused(x, "only some ranks post this allreduce");
}

static void
a_param_overwritten(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct lower_plan *p = x->plan;
	p->buffer[buffer_of(p, "e")].offset = p->buffer[buffer_of(p, "w")].offset;
	refused(x, "(%w), which was never written, or was overwritten");
}

static void
an_output_overwritten(void **state)
{
	(void)state;
	struct fixture *x =
		fixture_of("module @t\nfunc @main() {\n%x = input(\"x\") : f32[4]\n%e = "
			   "exp(%x)\noutput(\"e\", %e)\n%f = neg(%e)\n"
			   "output(\"f\", %f)\n}\n");
	struct lower_plan *p = x->plan;
	p->buffer[buffer_of(p, "f")].offset = p->buffer[buffer_of(p, "e")].offset;
	refused(x, "which outlives the step, is overwritten");
}

static void
out_of_the_arena(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	x->plan->arena_bytes = 64;
	refused(x, "outside the arena or not aligned");
}

/* A matrix product reads all of its operand for every element that it writes. */
static void
in_place_where_it_must_not_be(void **state)
{
	(void)state;
	struct fixture *x =
		fixture_of("module @t\nfunc @main() {\n%w = param(\"w\") : f32[4,4]\n%n = "
			   "matmul(%w, %w)\nupdate(%w, %n)\n}\n");
	struct lower_plan *p = x->plan;
	struct lower_action *a = &p->action[find_op(p, LOWER_KERNEL, OP_matmul)];
	lower_value_of(p, &a->op->result[0])->buffer = buffer_of(p, "w");
	a->in_place = true;
	refused(x, "is written over operand 1");
}

/* %e would survive the first iteration only. */
static void
a_loop_meets_its_next_iteration(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(slices);
	struct lower_plan *p = x->plan;
	struct storage_buffer *r = &p->buffer[buffer_of(p, "r")];
	r->first = p->action[find(p, LOWER_ADD, 0)].at;
	p->buffer[buffer_of(p, "f")].offset = r->offset;
	refused(x, "the sum of earlier iterations in %r is overwritten");
}

static void
a_loop_without_end(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(slices);
	drop(x->plan, find(x->plan, LOWER_END, 0));
	refused(x, "a loop without its end");
}

/* %3 is in flight, and its operand is free when it is waited for: the row of the message that
 * carries %3 lies there, so that %h may be copied into it only after that. */
static void
a_row_in_bytes_that_a_message_frees(void **state)
{
	(void)state;
	talloc_free(
		fixture_of("module @t\nmesh [dp = 2, tp = 2]\nfunc @main() {\n"
			   "%0 = input(\"x\") : f32[8/dp/tp]\n"
			   "%1 = input(\"i\") {range = 6} : i64[8/dp/tp]\n"
			   "%2 = scatter_add(%0, %1) {size = 4} : f32[4]+dp+tp\n"
			   "%3 = allreduce(%2) {axis = tp}\n"
			   "%s = sum(%2) {dims = [0], keep = true}\n%h = reshape(%s) {shape = []}\n"
			   "%r, %4, %5 = allreduce(%h, %h, %3) {axis = dp}\noutput(\"a\", %5)\n"
			   "%6 = allreduce(%r) {axis = tp}\noutput(\"b\", %6)\n"
			   "%7 = allreduce(%4) {axis = tp}\noutput(\"c\", %7)\n}\n"));
}

/* --- fields that live ranges and writes do not show
 * -------------------------------------------- */

static void
a_buffer_smaller_than_its_value(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	x->plan->buffer[buffer_of(x->plan, "h")].bytes = 16;
	refused(x, "(%h) has 16 bytes, but a value in it has 64");
}

static void
half_a_buffer_of_a_collective(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	x->plan->buffer[buffer_of(x->plan, "g")].bytes /= 2;
	refused(x, "(%g) has 32 bytes, but a value in it has 64");
}

static void
a_kernel_on_one_rank_only(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	struct lower_guard *g = &x->plan->action[find(x->plan, LOWER_KERNEL, 0)].guard;
	g->axis[g->n++] = 0;
	refused(x, "is only executed at dp=0, but other ranks also hold the result");
}

static void
a_kernel_on_ranks_without_its_operands(void **state)
{
	(void)state;
	struct fixture *x = fixture_of("module @t\nmesh [dp = 2]\nfunc @main() {\n"
				       "%x = input(\"x\") : f32[4]@dp=1\n%e = exp(%x)\n"
				       "%r = replicate(%e) {axis = dp}\noutput(\"r\", %r)\n}\n");
	x->plan->action[find_op(x->plan, LOWER_KERNEL, OP_exp)].guard.n = 0;
	refused(x, "exp is executed on ranks that do not hold its result");
}

/* Changes one field of the first collective. */
#define A_COLLECTIVE(name, change, why)                                                            \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		struct fixture *x = fixture_of(step);                                              \
		struct lower_coll *c = &x->plan->coll[0];                                          \
		change;                                                                            \
		refused(x, why);                                                                   \
	}

A_COLLECTIVE(a_collective_on_a_time_axis, c->axis = 1, "which is not one on that axis")
A_COLLECTIVE(a_collective_of_more_elements, c->buf[0].inner *= 100,
	"and its tensor have different extents")
A_COLLECTIVE(a_collective_of_another_element_type, c->dtype = IR_f64,
	"and the collective have different element types")
A_COLLECTIVE(a_collective_of_another_kind, c->kind++, "changes its layout in a different way")
A_COLLECTIVE(a_collective_to_another_rank, c->to = 1, "changes its layout in a different way")
A_COLLECTIVE(a_collective_of_another_tensor, c->buf[0].src = c->buf[0].dst + 1,
	"belongs to another tensor")

/* All ranks post both in one order, so there is no deadlock; but %l has not been computed yet. */
static void
two_posts_in_the_other_order(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(step);
	swap(x->plan, find(x->plan, LOWER_POST, 0), find(x->plan, LOWER_POST, 1));
	refused(x, "which was never written");
}

/* By then the buffer of %w holds its next value, which is a whole one. */
static void
a_read_of_the_next_value(void **state)
{
	(void)state;
	struct fixture *x = fixture_of("module @t\nfunc @main() {\n%w = param(\"w\") : f32[4]\n"
				       "%e = exp(%w)\n%n = neg(%w)\nupdate(%w, %n)\n"
				       "output(\"e\", %e)\n}\n");
	swap(x->plan, find_op(x->plan, LOWER_KERNEL, OP_exp),
		find_op(x->plan, LOWER_KERNEL, OP_neg));
	refused(x, "reads %w in buffer 0, which holds %n at that time");
}

static void
a_copy_of_more_bytes(void **state)
{
	(void)state;
	struct fixture *x = fixture_of("module @t\nmesh [dp = 2]\nfunc @main() {\n"
				       "%w = param(\"w\") : f32[4]\n"
				       "%p = partition(%w) {axis = dp, dim = 0}\n%e = exp(%p)\n"
				       "%r = allgather(%e) {axis = dp}\noutput(\"r\", %r)\n}\n");
	x->plan->action[find(x->plan, LOWER_COPY, 0)].copy.bytes *= 1000;
	refused(x, "a copy that is not of a rank's slice along dp");
}

static void
a_sum_over_no_axis(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(slices);
	x->plan->action[find(x->plan, LOWER_ADD, 0)].over = 0;
	refused(x, "a sum over time that is not over the axis of its reduce");
}

static void
a_sum_that_is_read_too_early(void **state)
{
	(void)state;
	struct fixture *x =
		fixture_of("module @t\nsteps [mb = 2]\nfunc @main() {\n"
			   "%x = input(\"x\") : f32[8/mb,4]\n%s = sum(%x) {dims = [0]}\n"
			   "%r = reduce(%s) {axis = mb}\n%n = neg(%r)\n"
			   "output(\"n\", %n)\n}\n");
	swap(x->plan, find(x->plan, LOWER_END, 0), find_op(x->plan, LOWER_KERNEL, OP_neg));
	refused(x, "before the loop that completes it has ended");
}

static void
a_loop_over_no_axis(void **state)
{
	(void)state;
	struct fixture *x = fixture_of(slices);
	x->plan->action[find(x->plan, LOWER_LOOP, 0)].over = 0;
	refused(x, "a loop must be over time axes and end over the same axes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_wait),
		cmocka_unit_test(no_wait_at_the_end),
		cmocka_unit_test(a_read_before_the_write),
		cmocka_unit_test(two_lives_in_one_place),
		cmocka_unit_test(a_life_that_ends_too_early),
		cmocka_unit_test(an_operand_freed_under_a_collective),
		cmocka_unit_test(a_post_at_some_places_only),
		cmocka_unit_test(a_param_overwritten),
		cmocka_unit_test(an_output_overwritten),
		cmocka_unit_test(out_of_the_arena),
		cmocka_unit_test(in_place_where_it_must_not_be),
		cmocka_unit_test(a_loop_meets_its_next_iteration),
		cmocka_unit_test(a_loop_without_end),
		cmocka_unit_test(a_row_in_bytes_that_a_message_frees),
		cmocka_unit_test(a_buffer_smaller_than_its_value),
		cmocka_unit_test(half_a_buffer_of_a_collective),
		cmocka_unit_test(a_kernel_on_one_rank_only),
		cmocka_unit_test(a_kernel_on_ranks_without_its_operands),
		cmocka_unit_test(a_collective_on_a_time_axis),
		cmocka_unit_test(a_collective_of_more_elements),
		cmocka_unit_test(a_collective_of_another_element_type),
		cmocka_unit_test(a_collective_of_another_kind),
		cmocka_unit_test(a_collective_to_another_rank),
		cmocka_unit_test(a_collective_of_another_tensor),
		cmocka_unit_test(two_posts_in_the_other_order),
		cmocka_unit_test(a_read_of_the_next_value),
		cmocka_unit_test(a_copy_of_more_bytes),
		cmocka_unit_test(a_sum_over_no_axis),
		cmocka_unit_test(a_sum_that_is_read_too_early),
		cmocka_unit_test(a_loop_over_no_axis),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
