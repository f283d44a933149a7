/*
 * Memory: the peak of intervals against counting, of steps against values worked out by hand and
 * against the buffers of the lowered program, which another part makes by rules of its own.
 */
#include "lower/plan.h"
#include "parser/parse.h"
#include "passes/analysis/memory.h"
#include "passes/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <cmocka.h>

enum { KB = 1024 };

struct fixture {
	struct ir_context *ctx;
};

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	return talloc_free(*state);
}

static struct ir_module *
module(struct fixture *f, const char *text)
{
	const struct parse_options o = {.inline_calls = true};
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", text, strlen(text), &o);
	assert_non_null(m);
	return m;
}

static struct memory_report
evaluate(struct ir_module *m)
{
	struct memory_report r;
	memory_evaluate(m, ir_func_find(m, "main"), &r);
	return r;
}

static unsigned
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

static void
the_peak_is_that_of_counting(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (int trial = 0; trial < 3000; trial++) {
		struct memory_buffer b[20];
		uint32_t n = next(&seed) % 20, positions = 1 + next(&seed) % 15;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t x = next(&seed) % positions, y = next(&seed) % positions;
			b[i] = (struct memory_buffer){
				next(&seed) % 100, x < y ? x : y, x < y ? y : x};
		}
		uint64_t peak = 0;
		uint32_t where = 0, at;
		for (uint32_t p = 0; p < positions; p++) {
			uint64_t sum = 0;
			for (uint32_t i = 0; i < n; i++)
				sum += b[i].first <= p && p <= b[i].last ? b[i].bytes : 0;
			where = sum > peak ? p : where;
			peak = sum > peak ? sum : peak;
		}
		assert_int_equal(memory_peak(b, n, positions, &at), peak);
		assert_int_equal(at, where);
	}
}

/* What is alive at each op of a step, in KB: every value here is 1 KB. */
static void
values_live_to_their_last_use(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %w = param(\"w\") : f32[256]\n"
					     "  %a = exp(%x)\n"     /* a */
					     "  %b = exp(%a)\n"     /* a b */
					     "  %c = add(%a, %b)\n" /* a b c: the peak */
					     "  %d = mul(%c, %c)\n" /* c d */
					     "  %e = add(%d, %w)\n" /* d e */
					     "  output(\"e\", %e)\n"
					     "}\n");
	struct memory_report r = evaluate(m);
	assert_int_equal(r.persistent, 2 * KB);
	assert_int_equal(r.peak, 5 * KB);
	assert_string_equal(r.at->result[0].name, "c");
}

static void
a_release_ends_nothing_early_and_a_late_one_extends(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %a = exp(%x)\n"
					     "  %b = exp(%a)\n"
					     "  %c = exp(%b)\n"
					     "  %d = exp(%c)\n"
					     "  release(%a)\n"
					     "  output(\"d\", %d)\n"
					     "}\n");
	/* x, a until its release, and two of b c d. */
	assert_int_equal(evaluate(m).peak, 4 * KB);
}

static void
a_collective_keeps_its_operands_until_its_result_is_used(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "mesh [dp = 2]\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %a = exp(%x)\n"
					     "  %p = partition(%a) {dim = 0, axis = dp}\n"
					     "  %g = allgather(%p) {axis = dp}\n"
					     "  %b = exp(%x)\n"
					     "  %c = exp(%b)\n"
					     "  %d = add(%c, %g)\n"
					     "  output(\"d\", %d)\n"
					     "}\n");
	struct memory_report r = evaluate(m);
	/* At %d: x, p (512), g, c, d; p's end is waited for here. */
	assert_int_equal(r.peak, 4 * KB + 512);
}

static void
views_and_params_made_in_place_take_nothing(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %w = param(\"w\") : f32[256]\n"
					     "  %r = reshape(%x) {shape = [16,16]}\n"
					     "  %s = reshape(%r) {shape = [256]}\n"
					     "  %n = sub(%w, %s)\n"
					     "  update(%w, %n)\n"
					     "}\n");
	assert_int_equal(evaluate(m).peak, 2 * KB);
	/* Whoever reads the old value later keeps both apart, to the end of the step. */
	m = module(*state, "module @m\n"
			   "func @main() {\n"
			   "  %x = input(\"x\") : f32[256]\n"
			   "  %w = param(\"w\") : f32[256]\n"
			   "  %n = sub(%w, %x)\n"
			   "  %o = exp(%w)\n"
			   "  update(%w, %n)\n"
			   "  output(\"o\", %o)\n"
			   "}\n");
	assert_int_equal(evaluate(m).peak, 4 * KB);
}

static void
slices_of_a_loop_are_kept_for_the_next_loop(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "steps [mb = 4]\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[1024/mb]\n"
					     "  %a = exp(%x)\n"
					     "  %b = exp(%a)\n"
					     "  %s = sum(%b) {dims = [0]}\n"
					     "  %t = reduce(%s) {axis = mb}\n"
					     "  %c = replicate(%t) {axis = mb}\n"
					     "  %d = mul(%a, %c)\n"
					     "  %e = combine(%d) {axis = mb}\n"
					     "  output(\"e\", %e)\n"
					     "}\n");
	/* x 4 KB; a, read by the second loop, 4 KB; e 4 KB; d 1 KB; t 64 bytes. */
	assert_int_equal(evaluate(m).peak, 13 * KB + 64);
}

/* Most bytes of the plan's buffers that live at one time, and of those that stay. */
static uint64_t
peak_of_plan(const struct lower_plan *p)
{
	uint64_t peak = 0;
	for (int at = 0; at <= p->nactions; at++) {
		uint64_t sum = 0;
		for (int i = 0; i < p->nbuffers; i++) {
			const struct lower_buffer *b = &p->buffer[i];
			uint64_t bytes = b->bytes * (uint64_t)b->slots;
			if (b->first >= 0 && b->first <= at && at <= b->last)
				sum += (bytes + LOWER_ALIGN - 1) / LOWER_ALIGN * LOWER_ALIGN;
		}
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

/* A random step over dp = 2: pointwise ops, products, collectives, views, updates, outputs. */
static char *
random_text(void *owner, uint64_t *seed)
{
	char *t = talloc_strdup(owner, "module @r\n"
				       "mesh [dp = 2]\n"
				       "func @main() {\n"
				       "  %v0 = input(\"x\") : f32[64/dp,64]\n"
				       "  %v1 = input(\"y\") : f32[64/dp,64]\n"
				       "  %w0 = param(\"a\") : f32[64,64]\n"
				       "  %w1 = param(\"b\") : f32[64,64]\n");
	unsigned n = 2, nw = 2;
	for (int i = 0; i < 20; i++) {
		unsigned a = next(seed) % n, b = next(seed) % n, w = next(seed) % nw;
		switch (next(seed) % 6) {
		case 0:
			t = talloc_asprintf_append(t, "  %%v%u = add(%%v%u, %%v%u)\n", n++, a, b);
			break;
		case 1:
			t = talloc_asprintf_append(
				t, "  %%v%u = matmul(%%v%u, %%w%u)\n", n++, a, w);
			break;
		case 2:
			t = talloc_asprintf_append(t,
				"  %%g%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%w%u = allreduce(%%g%u) {axis = dp}\n",
				nw, a, b, nw, nw);
			nw++;
			break;
		case 3: t = talloc_asprintf_append(t, "  %%w%u = exp(%%w%u)\n", nw++, w); break;
		case 4:
			t = talloc_asprintf_append(t,
				"  %%h%u = allgather(%%v%u) {axis = dp}\n"
				"  %%v%u = partition(%%h%u) {dim = 0, axis = dp}\n",
				n, a, n, n);
			n++;
			break;
		default:
			t = talloc_asprintf_append(t,
				"  %%r%u = reshape(%%v%u) {shape = [64,8,8]}\n"
				"  %%v%u = reshape(%%r%u) {shape = [64,64]}\n",
				n, a, n, n);
			n++;
		}
	}
	t = talloc_asprintf_append(t, "  %%n = sub(%%w0, %%w%u)\n  update(%%w0, %%n)\n", nw - 1);
	return talloc_asprintf_append(t, "  output(\"o\", %%v%u)\n}\n", n - 1);
}

/* Ops that nobody uses are no part of a program: what dce takes out. */
static void
remove_dead(struct ir_module *m)
{
	struct ir_block *b = &ir_func_find(m, "main")->body;
	for (struct ir_op *op = b->last, *before; op; op = before) {
		before = op->prev;
		bool used = op->nresults == 0 || op->code == OP_input || op->code == OP_param;
		for (int r = 0; r < op->nresults; r++)
			used |= op->result[r].uses != NULL;
		if (!used)
			ir_op_erase(op);
	}
}

/* Slices over four micro-batches and two devices: sums over time, loops that read one another's
 * slices. */
static char *
random_loops(void *owner, uint64_t *seed)
{
	char *t = talloc_strdup(owner, "module @r\n"
				       "mesh [dp = 2]\n"
				       "steps [mb = 4]\n"
				       "func @main() {\n"
				       "  %v0 = input(\"x\") : f32[64/dp/mb,64]\n"
				       "  %v1 = input(\"y\") : f32[64/dp/mb,64]\n"
				       "  %w0 = param(\"a\") : f32[64,64]\n");
	unsigned n = 2, nw = 1;
	for (int i = 0; i < 14; i++) {
		unsigned a = next(seed) % n, b = next(seed) % n, w = next(seed) % nw;
		switch (next(seed) % 5) {
		case 0:
			t = talloc_asprintf_append(t, "  %%v%u = add(%%v%u, %%v%u)\n", n++, a, b);
			break;
		case 1:
			t = talloc_asprintf_append(
				t, "  %%v%u = matmul(%%v%u, %%w%u)\n", n++, a, w);
			break;
		case 2:
			t = talloc_asprintf_append(t,
				"  %%g%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%s%u = reduce(%%g%u) {axis = mb}\n"
				"  %%p%u = allreduce(%%s%u) {axis = dp}\n"
				"  %%w%u = replicate(%%p%u) {axis = mb}\n",
				nw, a, b, nw, nw, nw, nw, nw, nw);
			nw++;
			break;
		case 3: t = talloc_asprintf_append(t, "  %%w%u = exp(%%w%u)\n", nw++, w); break;
		default: t = talloc_asprintf_append(t, "  %%v%u = exp(%%v%u)\n", n++, a);
		}
	}
	return talloc_asprintf_append(t,
		"  %%o = combine(%%v%u) {axis = mb}\n  output(\"o\", %%o)\n"
		"  output(\"w\", %%w%u)\n}\n",
		n - 1, nw - 1);
}

typedef char *make_text(void *owner, uint64_t *seed);

/* The peak is that of the plan, the arena not smaller; returns by how much it is larger,
 * relatively. */
static double
compare_with_plan(struct fixture *f, struct ir_module *m, const char *text)
{
	struct lower_plan *p = lower_plan_create(f, m);
	assert_non_null(p);
	uint64_t want = peak_of_plan(p), arena = p->arena_bytes;
	struct memory_report r = evaluate(m);
	if (r.peak != want)
		fail_msg("peak %llu, the lowered program %llu\n%s", (unsigned long long)r.peak,
			(unsigned long long)want, text);
	assert_true(arena >= r.peak);
	talloc_free(p);
	return (double)(arena - r.peak) / (double)r.peak;
}

static void
compare_many(struct fixture *f, make_text *make, const char *what)
{
	enum { TRIALS = 400 };
	uint64_t seed = 5;
	double fragments = 0;
	for (int trial = 0; trial < TRIALS; trial++) {
		char *text = make(f, &seed);
		struct ir_module *m = module(f, text);
		remove_dead(m);
		fragments += compare_with_plan(f, m, text);
	}
	print_message("%s: arena over predicted peak %.2f %% on average, by gaps between buffers\n",
		what, 100 * fragments / TRIALS);
}

static void
the_lowered_program_needs_the_same(void **state)
{
	compare_many(*state, random_text, "without loops");
}

static void
the_lowered_program_with_loops_needs_the_same(void **state)
{
	compare_many(*state, random_loops, "with loops");
}

/* The digits model as it is trained, on one and two devices. */
static void
training_steps_need_the_same(void **state)
{
	struct fixture *f = *state;
	static const char *const pipelines[] = {"grad,sgd", "grad,adam", "grad,sgd,dp{axis=dp}",
		"grad,adam,dp{axis=dp},opfuse,tensorfuse"};
	char *text = talloc_zero_size(f, 1 << 16);
	FILE *file = fopen(DIGITS, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
		struct ir_module *m = module(f, text);
		struct pass_manager *manager = pass_manager_create(f, f->ctx);
		struct pass_pipeline *p = pass_pipeline_create(f);
		assert_true(pass_pipeline_parse(p, manager, "pipeline", pipelines[i]));
		assert_true(pass_pipeline_check(p, manager, m));
		assert_int_equal(pass_pipeline_run(p, manager, &m, NULL), PASS_DONE);
		double more = compare_with_plan(f, m, pipelines[i]);
		print_message("%s: arena over predicted peak %.2f %%\n", pipelines[i], 100 * more);
	}
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_that_of_counting),
		TEST(values_live_to_their_last_use),
		TEST(a_release_ends_nothing_early_and_a_late_one_extends),
		TEST(a_collective_keeps_its_operands_until_its_result_is_used),
		TEST(views_and_params_made_in_place_take_nothing),
		TEST(slices_of_a_loop_are_kept_for_the_next_loop),
		TEST(the_lowered_program_needs_the_same),
		TEST(the_lowered_program_with_loops_needs_the_same),
		TEST(training_steps_need_the_same),
	};
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
