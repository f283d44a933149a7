/*
 * What a kernel of several ops is estimated at: a device of 1 TFLOP/s, 100 GB/s, 1 us a kernel, by
 * hand; and the same to the bit whether its ops are asked for or the fuse that is made of them.
 */
#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/estimate.h"
#include "passes/analysis/profile/key_read.h"
#include "passes/analysis/estimate/network.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A product and what follows; a row reduction; a constant that is a tensor and one that is a
 * scalar.
 */
static const char apart[] = "module @m\n"
			    "func @main() {\n"
			    "  %x = input(\"x\") : f32[1000,1000]\n"
			    "  %w = param(\"w\") : f32[1000,1000]\n"
			    "  %b = param(\"b\") : f32[1000]\n"
			    "  %one = constant() {value = 1} : f32[1000]\n"
			    "  %half = constant() {value = 0.5} : f32[]\n"
			    "  %y = matmul(%x, %w)\n"
			    "  %z = add(%y, %b)\n"
			    "  %h = mul(%z, %half)\n"
			    "  %k = add(%h, %one)\n"
			    "  %t = tanh(%k)\n"
			    "  %s = sum(%t) {dims = [1]}\n"
			    "  output(\"t\", %t)\n"
			    "  output(\"s\", %s)\n"
			    "}\n";

static const char together[] = "module @m\n"
			       "func @main() {\n"
			       "  %x = input(\"x\") : f32[1000,1000]\n"
			       "  %w = param(\"w\") : f32[1000,1000]\n"
			       "  %b = param(\"b\") : f32[1000]\n"
			       "  %one = constant() {value = 1} : f32[1000]\n"
			       "  %y = matmul(%x, %w)\n"
			       "  %t, %s = fuse(%y, %b, %one) {\n"
			       "    %z = add(%y, %b)\n"
			       "    %half = constant() {value = 0.5} : f32[]\n"
			       "    %h = mul(%z, %half)\n"
			       "    %k = add(%h, %one)\n"
			       "    %t = tanh(%k)\n"
			       "    %s = sum(%t) {dims = [1]}\n"
			       "    yield(%t, %s)\n"
			       "  }\n"
			       "  output(\"t\", %t)\n"
			       "  output(\"s\", %s)\n"
			       "}\n";

/* Those of the fuse. */
static const char *const names[] = {"z", "h", "k", "t", "s"};
enum { N = sizeof names / sizeof *names };

struct fixture {
	struct ir_context *ctx;
	struct ir_module *apart, *together;
	struct cost_model *described;
};

static struct ir_module *
module(struct fixture *f, const char *text)
{
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(m);
	return m;
}

static int
setup(void **state)
{
	static const char text[] = "cluster @t {\n device test {launch = 1us}\n}\n";
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	f->apart = module(f, apart);
	f->together = module(f, together);
	struct cluster *c = cluster_parse(f, f->ctx, "t.cluster", text, sizeof text - 1);
	assert_non_null(c);
	f->described = cost_model_create(f, f->ctx->diag, &(struct cost_options){.cluster = c});
	*state = f;
	return 0;
}

static const struct ir_op *
op_named(const struct ir_module *m, const char *result)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->nresults && op->result[0].name && !strcmp(op->result[0].name, result))
			return op;
	fail_msg("no %%%s", result);
	return NULL;
}

static void
assert_us(double seconds, double us)
{
	if (fabs(seconds * 1e6 - us) > 1e-5)
		fail_msg("%.6f us, expected %.6f us", seconds * 1e6, us);
}

/* The number of an op in @main. */
static uint32_t
number_of(const struct ir_module *m, const char *name)
{
	uint32_t n = 0;

	for (const struct ir_op *op = op_named(m, name)->prev; op; op = op->prev)
		n++;
	return n;
}

/* The ops of the fuse before they are one; the last two are read outside. */
static double
of_ops(struct fixture *f, struct estimator *e)
{
	uint32_t op[N];
	const bool out[N] = {false, false, false, true, true};

	for (int i = 0; i < N; i++)
		op[i] = number_of(f->apart, names[i]);
	return estimator_seconds(e, op, N, out);
}

static double
of_fuse(struct fixture *f, const struct cost_model *model)
{
	bool measured;
	double t = cost_plain_seconds(
		model, 0, f->together, op_named(f->together, "t"), NULL, &measured);
	assert_false(measured);
	return t;
}

static struct estimator *
estimator(struct fixture *f, const struct cost_model *model)
{
	const struct ir_block *b = &ir_func_find(f->apart, "main")->body;
	return estimator_create(f, model, 0, f->apart, b, alike_create(f, f->apart, b));
}

/* 4 MB each of y and t, 4 kB each of b, one and s: 80.12 us at 100 GB/s. */
static void
values_that_stay_inside_cost_no_memory(void **state)
{
	struct fixture *f = *state;
	struct estimator *e = estimator(f, f->described);

	assert_us(of_ops(f, e), 1 + 80.12);
	assert_true(of_ops(f, e) == of_fuse(f, f->described));
	assert_int_equal(estimator_counts(e).analytic, 2);
	assert_int_equal(estimator_counts(e).measured, 0);
}

/* z alone, whose result all others read: 4 MB in, 4 kB, 4 MB out. */
static void
one_op_takes_what_the_cost_model_says(void **state)
{
	struct fixture *f = *state;
	struct estimator *e = estimator(f, f->described);
	const uint32_t op = number_of(f->apart, "z");

	assert_us(estimator_seconds(e, &op, 1, &(bool){true}), 1 + 80.04);
}

/* z and h: the same operands, and the result of h. With z read outside, that too is written. */
static void
a_result_that_is_read_outside_is_written(void **state)
{
	struct fixture *f = *state;
	struct estimator *e = estimator(f, f->described);
	const uint32_t op[] = {number_of(f->apart, "z"), number_of(f->apart, "h")};

	assert_us(estimator_seconds(e, op, 2, (bool[]){false, true}), 1 + 80.04);
	assert_us(estimator_seconds(e, op, 2, (bool[]){true, true}), 1 + 120.04);
	struct estimator *other = estimator_clone(f, e);
	assert_us(estimator_seconds(other, op, 2, (bool[]){true, true}), 1 + 120.04);
	assert_int_equal(estimator_counts(other).analytic, 1);
}

static const char *
write_profile(struct fixture *f, const char *entries)
{
	const char *path = talloc_asprintf(f, "/tmp/estimate%d.profile", (int)getpid());
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fprintf(out, "dopt-profile 2\n\ndevice \"cpu\" backend \"test\"\n%s", entries);
	fclose(out);
	return path;
}

#define OP(us, key)                                                                                \
	"op ranks=1 buffers=step median=" us " spread=0 runs=1 flops=0 bytes=0 "                   \
	"time=2026-01-01T00:00:00Z key=" key "\n"
#define FIELD(name, value) "field name=" name " value=" value " time=2026-01-01T00:00:00Z\n"

static struct cost_model *
measured_model(struct fixture *f, const char *entries)
{
	const char *path = write_profile(f, entries);
	struct cost_model *model =
		cost_model_create(f, f->ctx->diag, &(struct cost_options){.profile = path});

	unlink(path);
	assert_non_null(model);
	return model;
}

/*
 * z took 162.08 us and t 162, of which 1 are a launch, and 80.04 and 80 memory at the
 * bandwidth: 81.04 and 81 are left. The kernel has one launch, 80.12 us of memory, those, and 1 us
 * of arithmetic for each other op. k reads a constant that is a tensor: it has the same key inside
 * of a fuse. It takes 162.08 us beside memory.
 */
static void
fusing_saves_memory_and_launches(void **state)
{
	struct fixture *f = *state;
	const char *entries = FIELD("launch", "1e-6") FIELD("bandwidth", "100e9")
		OP("162.08e-6", "add (f32[1000,1000], f32[1000]) -> f32[1000,1000]")
			OP("162e-6", "tanh (f32[1000,1000]) -> f32[1000,1000]");
	struct cost_model *model = measured_model(f, entries);

	assert_us(of_ops(f, estimator(f, model)), 1 + 80.12 + 81.04 + 81 + 3);
	assert_true(of_ops(f, estimator(f, model)) == of_fuse(f, model));
	model = measured_model(
		f, talloc_strdup_append(talloc_strdup(f, entries),
			   OP("243.12e-6", "add (f32[1000,1000], f32[1000]=1) -> f32[1000,1000]")));
	assert_us(of_ops(f, estimator(f, model)), 1 + 80.12 + 81.04 + 81 + 162.08 + 2);
	assert_true(of_ops(f, estimator(f, model)) == of_fuse(f, model));
}

/*
 * h took a third of its roofline of 81 us for 8,000,004 bytes: at that rate the 8,012,000 of the
 * kernel take 27.0405 us, a launch 1 us, and each other op 1 us.
 */
static void
memory_is_as_fast_as_that_of_the_fastest_op(void **state)
{
	struct fixture *f = *state;
	struct cost_model *model = measured_model(f,
		FIELD("launch", "1e-6") FIELD("bandwidth", "100e9")
			OP("27e-6", "mul (f32[1000,1000], f32[]=0.5) -> f32[1000,1000]"));

	assert_us(of_ops(f, estimator(f, model)), 1 + 27 * 8012000.0 / 8000004 + 4);
	assert_true(of_ops(f, estimator(f, model)) == of_fuse(f, model));
}

/*
 * Eight kernels of two ops took 0.5, 1 ... 4 times as long as the 121.04 us that are estimated
 * (memory of three times 4 MB and 4 kB, and a launch): three quarters of them up to 3.5 times. So
 * what nobody has measured is 3.5 times as long; but a kernel of more ops is of another sort.
 */
static void
what_is_only_estimated_is_as_dear_as_most_measured_kernels(void **state)
{
	struct fixture *f = *state;
	char *entries = talloc_strdup(f, FIELD("launch", "1e-6") FIELD("bandwidth", "100e9"));

	for (int i = 1; i <= 8; i++)
		entries = talloc_asprintf_append(entries,
			"op ranks=1 buffers=step median=%.9g spread=0 runs=1 flops=0 bytes=0 "
			"time=2026-01-01T00:00:00Z key=fuse (f32[1000,1000], f32[1000]) { 2 = "
			"add(0, 1); 3 = constant() {value=%d}f32[]; 4 = mul(2, 3); yield(2, 4); } "
			"-> f32[1000,1000], f32[1000,1000]\n",
			121.04e-6 * 0.5 * i, i + 1);
	struct cost_model *model = measured_model(f, entries);
	struct estimator *e = estimator(f, model);
	const uint32_t op[] = {number_of(f->apart, "z"), number_of(f->apart, "h")};

	assert_us(estimator_seconds(e, op, 2, (bool[]){true, true}), 3.5 * 121.04);
	assert_us(of_ops(f, e), 1 + 80.12);
	assert_true(of_ops(f, e) == of_fuse(f, model));
}

/* The kernel itself was measured: its entry counts, whoever asks. */
static void
a_kernel_that_was_measured_is_found(void **state)
{
	struct fixture *f = *state;
	char *key = cost_op_key(f, f->together, op_named(f->together, "t"));
	struct cost_model *model = measured_model(
		f, talloc_asprintf(f,
			   FIELD("launch",
				   "1e-6") "op ranks=1 buffers=step median=5e-05 spread=0 runs=1 "
					   "flops=0 bytes=0 time=2026-01-01T00:00:00Z key=%s\n",
			   key));
	struct estimator *e = estimator_clone(f, estimator(f, model));
	bool measured;

	assert_true(of_ops(f, e) == 50e-6);
	assert_true(of_ops(f, e) == 50e-6);
	assert_int_equal(estimator_counts(e).measured, 2);
	assert_true(cost_plain_seconds(model, 0, f->together, op_named(f->together, "t"), NULL,
			    &measured) == 50e-6);
	assert_true(measured);
}

/* A key says all of its kernel: what is made of it again has the same estimate. */
static void
a_key_is_read_back(void **state)
{
	struct fixture *f = *state;
	char *key = cost_op_key(f, f->together, op_named(f->together, "t"));
	struct ir_op *op;
	struct ir_module *m = key_read(f, ir_context_create(f), key, &op);
	bool measured;

	assert_non_null(m);
	assert_true(cost_plain_seconds(f->described, 0, m, op, NULL, &measured) ==
		    of_fuse(f, f->described));
	const char *wrong[] = {"", "fuse", "allreduce 2 x 4096",
		"fuse (f32[4]) { 1 = relu(7); } -> ",
		"fuse (f32[4]) { 1 = nothing(0); yield(1); } -> f32[4]",
		"fuse (f32[4/2]) { 1 = relu(0); yield(1); } -> f32[4]",
		"fuse (f32[4]) { 1 = matmul(0, 0); yield(1); } -> f32[4]",
		"matmul (f32[4,4]) -> f32[4,4]", "relu (f32[4]) -> f32[5]", "relu (f32[4]) {"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_null(key_read(f, ir_context_create(f), wrong[i], &op));
	const char *right[] = {"fuse (f32[4]) { 1 = relu(0); yield(1); } -> f32[4]",
		"sum (f32[4,8]) {dims=[1], keep=1} -> f32[4,1]", "iota () {dim=1} -> i32[4,8]",
		"contract (f32[2,3], f32[4,3]) {spec=ac,bc->ab} -> f32[2,4]",
		"add (f32[4], f32[]=0.5) -> f32[4]"};
	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		assert_non_null(key_read(f, ir_context_create(f), right[i], &op));
}

/* Both ways to ask give the network the same. */
static void
a_network_answers_to_the_bit(void **state)
{
	struct fixture *f = *state;
	char *path = talloc_asprintf(f, "/tmp/estimate%d.safetensors", (int)getpid());
	static const char text[] = "cluster @t {\n device test {launch = 1us}\n}\n";
	struct cluster *c = cluster_parse(f, f->ctx, "t.cluster", text, sizeof text - 1);

	assert_true(network_save(network_create(f, 7), f->ctx->diag, path, "test"));
	struct cost_model *model = cost_model_create(
		f, f->ctx->diag, &(struct cost_options){.cluster = c, .network = path});
	unlink(path);
	assert_non_null(model);
	struct estimator *e = estimator(f, model);
	assert_true(of_ops(f, e) == of_fuse(f, model));
	assert_true(of_ops(f, estimator_clone(f, e)) == of_fuse(f, model));
	assert_true(of_ops(f, e) != of_fuse(f, f->described));
	assert_int_equal(estimator_counts(e).network, 2);
}

/* Along rows at 50 GB/s from 1 MB on: 20 us, and 160.24 for the bytes; both ways to ask, to the bit. */
static void
kernels_take_what_the_device_reaches(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "cluster @t {\n device test {launch = 1us}\n"
				   " reach test {kernel = rows, share = 0.5, half = 1MB}\n}\n";
	struct cluster *c = cluster_parse(f, f->ctx, "t.cluster", text, sizeof text - 1);
	struct cost_model *model =
		cost_model_create(f, f->ctx->diag, &(struct cost_options){.cluster = c});
	struct estimator *e = estimator(f, model);

	assert_us(of_ops(f, e), 1 + 20 + 160.24);
	assert_true(of_ops(f, e) == of_fuse(f, model));
	assert_true(of_ops(f, estimator_clone(f, e)) == of_fuse(f, model));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_that_stay_inside_cost_no_memory),
		TEST(one_op_takes_what_the_cost_model_says),
		TEST(a_result_that_is_read_outside_is_written),
		TEST(fusing_saves_memory_and_launches),
		TEST(memory_is_as_fast_as_that_of_the_fastest_op),
		TEST(what_is_only_estimated_is_as_dear_as_most_measured_kernels),
		TEST(a_kernel_that_was_measured_is_found),
		TEST(a_key_is_read_back),
		TEST(a_network_answers_to_the_bit),
		TEST(kernels_take_what_the_device_reaches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
