/*
 * A message of several tensors is one range of the arena. What can be made there is; what cannot is
 * copied, and nothing else is.
 */
#include "test/file.h"
#include "test/lower/plan/fixture.h"

/* The sound plan of a step. %x is a slice of rows, so that every product of columns is a partial
 * sum over dp; mesh and ops are the text's. */
static struct fixture *
plan_of(const char *mesh, const char *ops)
{
	char *text = talloc_asprintf(NULL,
		"module @t\nmesh [%s]\nfunc @main() {\n"
		"%%x = input(\"x\") : f32[8/dp,4]\n%%y = input(\"y\") : f32[8/dp,10]\n"
		"%%a = contract(%%x, %%x) {spec = \"bi,bj->ij\"}\n"
		"%%b = sum(%%y) {dims = [0]}\n"
		"%%c = contract(%%x, %%y) {spec = \"bi,bj->ij\"}\n%s}\n",
		mesh, ops);
	struct fixture *x = fixture_of(text);
	talloc_free(text);
	return x;
}

/* Bytes that are copied into messages. */
static uint64_t
packed(const struct lower_plan *p)
{
	uint64_t bytes = 0;
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_PACK)
			bytes += p->action[i].copy.bytes * (uint64_t)p->action[i].copy.outer;
	return bytes;
}

/* The n-th message is one range of so many bytes: its buffers in the order in which they are made,
 * each rounded up to a multiple of 64 bytes but for the last. */
static void
expect_row(const struct lower_plan *p, int n, uint64_t bytes)
{
	assert_true(n < p->ncolls && p->coll[n].in_row);
	assert_int_equal(lower_row_of(p, &p->coll[n]).bytes, bytes);
}

/* %a has 64 bytes, %b 40, %c 160: rows have 64 + 64 + 160. */
static void
what_only_the_message_reads_is_made_there(void **state)
{
	(void)state;
	struct fixture *x =
		plan_of("dp = 2", "%A, %B, %C = allreduce(%a, %b, %c) {axis = dp}\n"
				  "output(\"A\", %A)\noutput(\"B\", %B)\noutput(\"C\", %C)\n");
	assert_int_equal(packed(x->plan), 0);
	expect_row(x->plan, 0, 64 + 64 + 160);
	talloc_free(x);
}

static void
a_view_is_made_where_what_it_shows_is(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2",
		"%v = reshape(%a) {shape = [16]}\n%w = reshape(%c) {shape = [40]}\n"
		"%V, %W = allreduce(%v, %w) {axis = dp}\n%B = allreduce(%b) {axis = dp}\n"
		"%z = reshape(%W) {shape = [4,10]}\n"
		"output(\"V\", %V)\noutput(\"z\", %z)\noutput(\"B\", %B)\n");
	assert_int_equal(packed(x->plan), 0);
	expect_row(x->plan, 0, 64 + 160);
	talloc_free(x);
}

/* A message of one tensor is none that has to be packed. */
static void
one_tensor_is_no_row(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2",
		"%n = neg(%a)\n%A = allreduce(%a) {axis = dp}\n%N = allreduce(%n) {axis = dp}\n"
		"output(\"A\", %A)\noutput(\"N\", %N)\n");
	assert_int_equal(packed(x->plan), 0);
	assert_false(x->plan->coll[0].in_row);
	talloc_free(x);
}

static void
what_another_op_reads_is_copied(void **state)
{
	(void)state;
	struct fixture *x =
		plan_of("dp = 2", "%n = neg(%b)\n%A, %B, %N = allreduce(%a, %b, %n) {axis = dp}\n"
				  "output(\"A\", %A)\noutput(\"B\", %B)\noutput(\"N\", %N)\n");
	assert_int_equal(packed(x->plan), 40);
	expect_row(x->plan, 0, 64 + 64 + 40);
	talloc_free(x);
}

static void
another_reader_of_a_view_is_one(void **state)
{
	(void)state;
	struct fixture *x =
		plan_of("dp = 2", "%v = reshape(%a) {shape = [16]}\n%n = neg(%v)\n"
				  "%A, %B, %N = allreduce(%a, %b, %n) {axis = dp}\n"
				  "output(\"A\", %A)\noutput(\"B\", %B)\noutput(\"N\", %N)\n");
	assert_int_equal(packed(x->plan), 64);
	talloc_free(x);
}

/* Both times: each result is a tensor of its own. The copies are made last, behind %c. */
static void
what_is_there_twice_is_copied(void **state)
{
	(void)state;
	struct fixture *x =
		plan_of("dp = 2", "%A, %D, %C = allreduce(%a, %a, %c) {axis = dp}\n"
				  "output(\"A\", %A)\noutput(\"D\", %D)\noutput(\"C\", %C)\n");
	assert_int_equal(packed(x->plan), 64 + 64);
	expect_row(x->plan, 0, 192 + 64 + 64);
	talloc_free(x);
}

#define TWO "dp = 2, sp = 2"
#define PARTIAL                                                                                    \
	"%q = input(\"q\") : f32[8/dp/sp,6]\n%d = sum(%q) {dims = [0]}\n"                          \
	"%e = contract(%q, %q) {spec = \"bi,bj->ij\"}\n"

/* Over one axis, then over the other: the second message is the same range. */
static void
a_message_behind_another_finds_its_row(void **state)
{
	(void)state;
	struct fixture *x = plan_of(TWO, PARTIAL "%D, %E = allreduce(%d, %e) {axis = sp}\n"
						 "%F, %G = allreduce(%D, %E) {axis = dp}\n"
						 "output(\"F\", %F)\noutput(\"G\", %G)\n");
	assert_int_equal(packed(x->plan), 0);
	expect_row(x->plan, 0, 64 + 144);
	expect_row(x->plan, 1, 64 + 144);
	assert_int_equal(lower_row_of(x->plan, &x->plan->coll[0]).offset,
		lower_row_of(x->plan, &x->plan->coll[1]).offset);
	talloc_free(x);
}

/* One of the first row and one from elsewhere: what lies in a row cannot lie in another. */
static void
a_message_of_other_tensors_does_not(void **state)
{
	(void)state;
	struct fixture *x =
		plan_of(TWO, PARTIAL "%D, %E = allreduce(%d, %e) {axis = sp}\n"
				     "%F, %A = allreduce(%D, %a) {axis = dp}\n"
				     "%G = allreduce(%E) {axis = dp}\noutput(\"F\", %F)\n"
				     "output(\"G\", %G)\noutput(\"A\", %A)\n");
	assert_int_equal(packed(x->plan), 24);
	talloc_free(x);
}

/* A sum over micro-batches is made in the row, turn by turn. */
static void
what_is_summed_over_time_is_made_there(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2]\nsteps [mb = 2",
		"%q = input(\"q\") : f32[8/dp/mb,6]\n%d = sum(%q) {dims = [0]}\n"
		"%D = reduce(%d) {axis = mb}\n%E, %A = allreduce(%D, %a) {axis = dp}\n"
		"output(\"E\", %E)\noutput(\"A\", %A)\n");
	assert_int_equal(packed(x->plan), 0);
	expect_row(x->plan, 0, 64 + 24);
	talloc_free(x);
}

static int
find(const struct lower_plan *p, enum lower_action_kind kind)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == kind)
			return i;
	fail_msg("the plan has no such action");
	return -1;
}

#define COPIES                                                                                     \
	"%n = neg(%b)\n%A, %B, %N = allreduce(%a, %b, %n) {axis = dp}\n"                           \
	"output(\"A\", %A)\noutput(\"B\", %B)\noutput(\"N\", %N)\n"

static void
a_missing_copy_is_found(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2", COPIES);
	const int at = find(x->plan, LOWER_PACK);
	memmove(&x->plan->action[at], &x->plan->action[at + 1],
		sizeof *x->plan->action * (size_t)(x->plan->nactions - at - 1));
	x->plan->nactions--;
	assert_false(lower_check(x->plan));
	assert_non_null(strstr(x->messages, "which was never written"));
	talloc_free(x);
}

static void
a_gap_in_the_row_is_found(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2", COPIES);
	const struct lower_coll *c = &x->plan->coll[0];
	uint64_t end = lower_row_of(x->plan, c).offset;
	struct storage_buffer *last = NULL;
	for (int i = 0; i < c->nbufs; i++) {
		struct storage_buffer *b = &x->plan->buffer[x->plan->value[c->buf[i].dst].buffer];
		if (b->offset >= end) {
			end = b->offset;
			last = b;
		}
	}
	last->offset += 64;
	x->plan->arena_bytes += 64;
	assert_false(lower_check(x->plan));
	assert_non_null(strstr(x->messages, "but its buffers need"));
	talloc_free(x);
}

/* The program has one buffer, which begins where the row does. */
static void
the_program_sends_one_range(void **state)
{
	(void)state;
	struct fixture *x = plan_of("dp = 2", COPIES);
	const struct lower_row row = lower_row_of(x->plan, &x->plan->coll[0]);
	char folder[] = "row-test-XXXXXX";
	assert_non_null(mkdtemp(folder));
	char *output = talloc_asprintf(x, "%s/p", folder);
	const struct lower_options o = {.target = LOWER_HOST, .output = output, .entry = "p"};
	assert_true(lower_emit_program(x->plan->module, &o));
	char *path = talloc_asprintf(x, "%s.src/step.c", output);
	const char *text = read_file(x, path, NULL);
	assert_non_null(text);
	char *expected = talloc_asprintf(x,
		"bufs_0[] = {\n\t{.src = %zu, .dst = %zu, .outer = 1, .n = %zu, .inner = 1},\n};",
		(size_t)row.offset, (size_t)row.offset, (size_t)row.bytes / 4);
	if (!strstr(text, expected))
		fail_msg("expected %s in\n%s", expected, text);
	char *remove_all = talloc_asprintf(x, "rm -r %s", folder);
	assert_int_equal(system(remove_all), 0);
	talloc_free(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_only_the_message_reads_is_made_there),
		cmocka_unit_test(a_view_is_made_where_what_it_shows_is),
		cmocka_unit_test(one_tensor_is_no_row),
		cmocka_unit_test(what_another_op_reads_is_copied),
		cmocka_unit_test(another_reader_of_a_view_is_one),
		cmocka_unit_test(what_is_there_twice_is_copied),
		cmocka_unit_test(a_message_behind_another_finds_its_row),
		cmocka_unit_test(a_message_of_other_tensors_does_not),
		cmocka_unit_test(what_is_summed_over_time_is_made_there),
		cmocka_unit_test(a_missing_copy_is_found),
		cmocka_unit_test(a_gap_in_the_row_is_found),
		cmocka_unit_test(the_program_sends_one_range),
	};
	return cmocka_run_group_tests_name("row", tests, NULL, NULL);
}
