/*
 * The cost of whole steps, worked out by hand for a device with round numbers:
 * 1 TFLOP/s, 100 GB/s, 1 us a kernel; links of 10 us and 10 GB/s.
 */
#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/profile/profile.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "launch = 1us, link_latency = 10us, link_bandwidth = 10GB/s"

struct fixture {
	struct ir_context *ctx;
	struct cost_model *model;
	char message[512];
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;
	snprintf(f->message, sizeof f->message, "%u:%u: %s", m->line, m->column, m->text);
}

/* A device alone with these attributes. */
static struct cost_model *
model_of(struct fixture *f, const char *attributes)
{
	char *text = talloc_asprintf(f, "cluster @t {\n device test {%s}\n}\n", attributes);
	struct cluster *c = cluster_parse(f, f->ctx, "t.cluster", text, strlen(text));
	assert_non_null(c);
	return cost_model_create(f, f->ctx->diag, &(struct cost_options){.cluster = c});
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	f->model = model_of(f, DEVICE);
	*state = f;
	return 0;
}

static struct ir_module *
module(struct fixture *f, const char *text)
{
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(m);
	return m;
}

static struct cost_report
evaluate(struct fixture *f, const struct cost_model *model, struct ir_module *m)
{
	(void)f;
	struct cost_report r;
	memset(&r, 0, sizeof r);
	assert_true(cost_evaluate(model, m, &r));
	return r;
}

static void
assert_us(double seconds, double us)
{
	if (fabs(seconds * 1e6 - us) > 1e-5)
		fail_msg("%.6f us, expected %.6f us", seconds * 1e6, us);
}

static const struct ir_op *
op_named(const struct ir_module *m, const char *result)
{
	for (const struct ir_op *op = ir_func_find(m, "main")->body.first; op; op = op->next)
		if (op->nresults && op->result[0].name && !strcmp(op->result[0].name, result))
			return op;
	fail_msg("no %%%s", result);
	return NULL;
}

/*
 * matmul: 32 x 1000 x 1000, 2 operations each, 64 us (its 4.3 MB take 43); add of 4 MB: 120 us.
 * allreduce of 4 MB between 2: 2 (10 us + 2 MB / 10 GB/s) = 420 us.
 */
static const char data_parallel[] = "module @m\n"
				    "mesh [dp = 2]\n"
				    "func @main() {\n"
				    "  %x = input(\"x\") : f32[64/dp,1000]\n"
				    "  %w = param(\"w\") : f32[1000,1000]\n"
				    "  %y = matmul(%x, %w)\n"
				    "  %g = contract(%x, %y) {spec = \"bi,bj->ij\"}\n"
				    "  %s = allreduce(%g) {axis = dp}\n"
				    "  %h = matmul(%y, %w)\n"
				    "  %n = sub(%w, %s)\n"
				    "  update(%w, %n)\n"
				    "  output(\"h\", %h)\n"
				    "}\n";

static void
a_collective_hides_behind_a_kernel(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, data_parallel);
	struct cost_report r = evaluate(f, f->model, m);
	/* y 65, g 65, then s 420 beside h 65, then n 121. */
	assert_us(r.iteration, 65 + 65 + 420 + 121);
	assert_us(r.compute, 3 * 65 + 121);
	assert_us(r.communication, 420);
	assert_us(r.exposed, 420 - 65);
	assert_int_equal(r.ops, 9);
	assert_int_equal(r.events, 5);
	assert_int_equal(r.estimated, 5);
	assert_int_equal(r.measured, 0);
	assert_us(r.estimated_time, 3 * 65 + 121 + 420);
	/* 2 places, 3 products and a subtraction that both do. */
	assert_true(r.flops == 2 * (3 * 64e6 + 1e6));
}

/* The same step where h is computed from what a barrier of y and s gives: after s, though it reads y. */
static void
who_reads_a_barrier_waits_for_all_of_it(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, "module @m\nmesh [dp = 2]\nfunc @main() {\n"
					"  %x = input(\"x\") : f32[64/dp,1000]\n"
					"  %w = param(\"w\") : f32[1000,1000]\n"
					"  %y = matmul(%x, %w)\n"
					"  %g = contract(%x, %y) {spec = \"bi,bj->ij\"}\n"
					"  %s = allreduce(%g) {axis = dp}\n"
					"  %y1, %s1 = barrier(%y, %s)\n"
					"  %h = matmul(%y1, %w)\n"
					"  %n = sub(%w, %s1)\n"
					"  update(%w, %n)\n"
					"  output(\"h\", %h)\n"
					"}\n");
	struct cost_report r = evaluate(f, f->model, m);
	assert_us(r.iteration, 65 + 65 + 420 + 65 + 121);
	assert_us(r.compute, 3 * 65 + 121);
	assert_us(r.exposed, 420);
	assert_int_equal(r.events, 5);
	assert_true(r.flops == 2 * (3 * 64e6 + 1e6));
}

/* Two tensors of 4 MB in one message, or one of them twice. What appears twice cannot be made in
 * the message: each time it is copied, 1 us and 8 MB at 100 GB/s, before the message is posted. */
static char *
two_in_one(struct fixture *f, const char *second)
{
	return talloc_asprintf(f,
		"module @two\nmesh [dp = 2]\nfunc @main() {\n"
		"  %%x = input(\"x\") : f32[20/dp,1000]\n"
		"  %%a = contract(%%x, %%x) {spec = \"bi,bj->ij\"}\n%s"
		"  output(\"A\", %%A)\n  output(\"B\", %%B)\n}\n",
		second);
}

static void
copies_into_a_message_take_their_time(void **state)
{
	struct fixture *f = *state;
	struct ir_module *made = module(
				 f, two_in_one(f, "  %b = contract(%x, %x) {spec = \"bi,bj->ji\"}\n"
						  "  %A, %B = allreduce(%a, %b) {axis = dp}\n")),
			 *copied = module(
				 f, two_in_one(f, "  %A, %B = allreduce(%a, %a) {axis = dp}\n"));
	static const char *const how[] = {DEVICE, DEVICE ", async = 1",
		DEVICE ", async = 0, post = 3us, wait = 2us", DEVICE ", async = 0, overlap = 0"};
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		const struct cost_model *model = model_of(f, how[i]);
		struct cost_report m = evaluate(f, model, made), c = evaluate(f, model, copied);
		const double kernel = m.compute - c.compute;
		assert_true(kernel > 0);
		assert_us(c.iteration - m.iteration, 2 * (1 + 80) - kernel * 1e6);
		assert_us(c.communication - m.communication, 0);
	}
}

static void
the_timeline_is_that_of_the_report(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, data_parallel);
	struct cost_timeline *t = cost_timeline(f, f->model, m);
	const struct {
		const char *op;
		double start, end;
		bool communication, critical;
	} want[] = {{"y", 0, 65, false, true}, {"g", 65, 130, false, true},
		{"s", 130, 550, true, true}, {"h", 130, 195, false, false},
		{"n", 550, 671, false, true}};
	assert_int_equal(t->n, 5);
	assert_int_equal(t->ndevices, 1);
	assert_us(t->iteration, 671);
	for (int i = 0; i < 5; i++) {
		assert_ptr_equal(t->event[i].op, op_named(m, want[i].op));
		assert_us(t->event[i].start, want[i].start);
		assert_us(t->event[i].end, want[i].end);
		assert_int_equal(t->event[i].communication, want[i].communication);
		assert_int_equal(t->event[i].critical, want[i].critical);
	}
}

static void
a_thread_that_computes_posts_and_waits(void **state)
{
	struct fixture *f = *state;
	struct cost_model *host =
		model_of(f, DEVICE ", async = 0, post = 2us, wait = 3us, step = 7us");
	struct cost_report r = evaluate(f, host, module(f, data_parallel));
	/* step 7, y 65, g 65, post 2, s 420 beside h 65, wait 3, n 121. */
	assert_us(r.iteration, 7 + 65 + 65 + 2 + 420 + 3 + 121);
	assert_us(r.compute, 3 * 65 + 121);
	assert_us(r.exposed, 420 + 2 + 3 - 65);
	/* A collective is posted behind the kernels before it, though its operand is ready. */
	static const char text[] = "module @m\n"
				   "mesh [dp = 2]\n"
				   "func @main() {\n"
				   "  %x = input(\"x\") : f32[64/dp,1000]\n"
				   "  %w = param(\"w\") : f32[1000,1000]\n"
				   "  %y = matmul(%x, %w)\n"
				   "  %a = allgather(%x) {axis = dp}\n"
				   "  output(\"y\", %y)\n"
				   "  output(\"a\", %a)\n"
				   "}\n";
	struct ir_module *m = module(f, text);
	/* allgather of 256 KB: 10 us + 128 KB / 10 GB/s = 22.8 us. */
	assert_us(evaluate(f, f->model, m).iteration, 65 + 22.8);
	/* step, y, post, a, and a wait at the end of the step */
	assert_us(evaluate(f, host, m).iteration, 7 + 65 + 2 + 22.8 + 3);
}

static void
cores_that_compute_also_move_messages(void **state)
{
	struct fixture *f = *state;
	struct cost_model *host =
		model_of(f, DEVICE ", async = 0, post = 2us, wait = 3us, overlap = 0");
	struct cost_report r = evaluate(f, host, module(f, data_parallel));
	/* y 65, g 65, post 2, h 65, s 420, wait 3, n 121, one after another. */
	assert_us(r.iteration, 65 + 65 + 2 + 65 + 420 + 3 + 121);
	assert_us(r.compute, 3 * 65 + 121);
	assert_us(r.communication, 420);
	assert_us(r.exposed, 420 + 2 + 3);
}

static void
collectives_run_in_the_order_of_their_posts(void **state)
{
	struct fixture *f = *state;
	struct cost_model *host = model_of(f, DEVICE ", async = 0, overlap = 0");
	struct ir_module *m = module(f, "module @m\n"
					"mesh [dp = 2]\n"
					"func @main() {\n"
					"  %x = input(\"x\") : f32[64/dp,1000]\n"
					"  %w = param(\"w\") : f32[1000,1000]\n"
					"  %a = allgather(%x) {axis = dp}\n"
					"  %y = matmul(%x, %w)\n"
					"  %b = allgather(%y) {axis = dp}\n"
					"  %c = exp(%b)\n"
					"  %d = exp(%a)\n"
					"  output(\"c\", %c)\n"
					"  output(\"d\", %d)\n"
					"}\n");
	struct cost_timeline *t = cost_timeline(f, host, m);
	/* a is posted first and so runs first, though b is what c waits for. */
	const char *const order[] = {"y", "a", "b", "c", "d"};
	assert_int_equal(t->n, 5);
	for (int i = 0; i < 5; i++) {
		assert_ptr_equal(t->event[i].op, op_named(m, order[i]));
		assert_us(t->event[i].start, i ? t->event[i - 1].end * 1e6 : 0);
	}
}

/*
 * Two stages, four micro-batches of 250 x 1000: a product takes 501 us, a send 10 + 100 = 110 us,
 * and putting a slice of 1 MB into the whole 21 us.
 */
static const char pipeline[] = "module @p\n"
			       "mesh [pp = 2]\n"
			       "steps [mb = 4]\n"
			       "func @main() {\n"
			       "  %x = input(\"x\") : f32[1000/mb,1000]@pp=0\n"
			       "  %w = param(\"w\") : f32[1000,1000]@pp=0\n"
			       "  %v = param(\"v\") : f32[1000,1000]@pp=1\n"
			       "  %y = matmul(%x, %w)\n"
			       "  %z = send(%y) {axis = pp, from = 0, to = 1}\n"
			       "  %u = matmul(%z, %v)\n"
			       "  %c = combine(%u) {axis = mb}\n"
			       "  output(\"c\", %c)\n"
			       "}\n";

static void
stages_of_a_pipeline_overlap(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, pipeline);
	struct cost_report r = evaluate(f, f->model, m);
	/* The first stage waits for each send, which the second posts after its sum of the turn
	 * before; the second is behind by its own product. */
	const double turn = 501 + 21 + 110;
	assert_us(r.iteration, 3 * turn + 501 + 110 + 501 + 21);
	assert_us(r.compute, 4 * (501 + 21));
	assert_us(r.communication, 4 * 110);
	assert_int_equal(r.events, 4 * (1 + 2 + 2));
	struct cost_timeline *t = cost_timeline(f, f->model, m);
	assert_int_equal(t->ndevices, 2);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct cost_event *e = &t->event[i];
		const double sent = turn * e->iteration + 501 + 110;
		if (e->communication)
			assert_us(e->start, sent - 110);
		else if (e->op->code == OP_matmul)
			assert_us(e->start, e->device ? sent : e->iteration ? sent - turn : 0);
		else
			assert_us(e->start, sent + 501);
	}
}

static void
sums_over_micro_batches_are_complete_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, "module @a\n"
					"mesh [dp = 2]\n"
					"steps [mb = 4]\n"
					"func @main() {\n"
					"  %x = input(\"x\") : f32[256/dp/mb,1000]\n"
					"  %w = param(\"w\") : f32[1000,1000]\n"
					"  %y = matmul(%x, %w)\n"
					"  %g = contract(%x, %y) {spec = \"bi,bj->ij\"}\n"
					"  %a = reduce(%g) {axis = mb}\n"
					"  %s = allreduce(%a) {axis = dp}\n"
					"  %n = sub(%w, %s)\n"
					"  update(%w, %n)\n"
					"}\n");
	struct cost_report r = evaluate(f, f->model, m);
	/* Four turns of y 65, g 65, a (8 MB: 81 us); then s 420 and n 121. */
	assert_us(r.iteration, 4 * (65 + 65 + 81) + 420 + 121);
	assert_int_equal(r.events, 4 * 3 + 2);
	assert_us(r.exposed, 420);
}

static void
keys_tell_work_apart_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m =
		module(f, "module @k\n"
			  "mesh [dp = 2, tp = 4]\n"
			  "func @main() {\n"
			  "  %x = input(\"x\") : f32[64/dp,32]\n"
			  "  %z = input(\"z\") : f32[32,32]\n"
			  "  %w = param(\"w\") : f32[32,16]\n"
			  "  %v = param(\"v\") : f32[32,64/tp]\n"
			  "  %a = matmul(%x, %w)\n"
			  "  %b = matmul(%z, %v)\n"
			  "  %c = matmul(%z, %z)\n"
			  "  %d = sum(%z) {dims = [0]}\n"
			  "  %e = sum(%z) {dims = [1]}\n"
			  "  %f = fuse(%x, %w) { %p = matmul(%x, %w) %q = relu(%p) yield(%q) }\n"
			  "  %g = fuse(%z, %v) { %i = matmul(%z, %v) %j = relu(%i) yield(%j) }\n"
			  "  %h = fuse(%x, %w) { %p = matmul(%x, %w) %q = tanh(%p) yield(%q) }\n"
			  "  %s = allgather(%x) {axis = dp}\n"
			  "  %r = reshape(%z) {shape = [1024]}\n"
			  "  output(\"a\", %a)\n"
			  "}\n");
	const char *key[128] = {NULL};
	for (const char *n = "abcdefghsr"; *n; n++)
		key[(int)*n] = cost_op_key(f, m, op_named(m, (char[]){*n, 0}));
	/* The same local shapes, under other names and in another layout. */
	assert_string_equal(key['a'], key['b']);
	assert_string_equal(key['f'], key['g']);
	assert_string_equal(key['a'], "matmul (f32[32,32], f32[32,16]) -> f32[32,16]");
	assert_string_equal(key['f'],
		"fuse (f32[32,32], f32[32,16]) { 2 = matmul(0, 1); 3 = relu(2); yield(3); } -> "
		"f32[32,16]");
	assert_string_equal(key['s'], "allgather 2 x 8192");
	assert_null(key['r']); /* a view */
	const char *different = "acdefhs";
	for (const char *p = different; *p; p++)
		for (const char *q = p + 1; *q; q++)
			assert_string_not_equal(key[(int)*p], key[(int)*q]);
}

static void
measured_times_take_the_place_of_estimates(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/costXXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	struct ir_module *m = module(f, data_parallel);
	const char *key = cost_op_key(f, m, op_named(m, "y"));
	struct profile *p = profile_open(f, f->ctx->diag, path, PROFILE_WRITE);
	assert_non_null(p);
	const struct profile_op ops[] = {{key, 1, 30e-6, 0, 9, 0, 0, PROFILE_STEP, 0},
		{key, 2, 50e-6, 0, 9, 0, 0, PROFILE_STEP, 0},
		{key, 8, 90e-6, 0, 9, 0, 0, PROFILE_STEP, 0}};
	for (int i = 0; i < 3; i++)
		assert_true(profile_put_op(p, "cpu", &ops[i]));
	const struct profile_link l = {"threads", RT_ALLREDUCE, 2, 100e-6, 40e9, 0, 1, 0};
	assert_true(profile_put_link(p, "cpu", &l));
	const struct profile_field launch = {"launch", 0, NULL, 0};
	assert_true(profile_put_field(p, "cpu", &launch));
	talloc_free(p);
	struct cost_model *model =
		cost_model_create(f, f->ctx->diag, &(struct cost_options){.profile = path});
	assert_non_null(model);
	assert_string_equal(cost_model_device(model)->name, "cpu");
	struct cost_report r = evaluate(f, model, m);
	/* y and h have the key, with 2 ranks; the collective 100 us + 4 MB / 40 GB/s. */
	assert_us(r.iteration, 50 + 64 + 200 + 120);
	assert_int_equal(r.measured, 3);
	assert_int_equal(r.estimated, 2);
	assert_us(r.measured_time, 50 + 50 + 200);
	assert_us(r.estimated_time, 64 + 120);
	assert_string_equal(cost_report_header(f, model, &r),
		"times: 3 of 5 ops (62.0 % of the time) measured on cpu, the others estimated"
		"; 147k examples a second"); /* 64 in 434 us */
	/* A size that was measured itself counts more than the fit. */
	p = profile_open(f, f->ctx->diag, path, PROFILE_WRITE);
	const struct profile_collective c = {"threads", RT_ALLREDUCE, 2, 4e6, 300e-6, 0, 5, 1, 0};
	assert_true(profile_put_collective(p, "cpu", &c));
	assert_true(profile_put_op(p, "gpu", &ops[0]));
	talloc_free(p);
	diag_set_handler(f->ctx->diag, keep_message, f);
	assert_null(cost_model_create(f, f->ctx->diag, &(struct cost_options){.profile = path}));
	assert_non_null(strstr(f->message, "it has entries for device gpu"));
	unlink(path);
	char wal[sizeof path + 8];
	snprintf(wal, sizeof wal, "%s-wal", path), unlink(wal);
	snprintf(wal, sizeof wal, "%s-shm", path), unlink(wal);
}

static void
what_cannot_be_evaluated(void **state)
{
	struct fixture *f = *state;
	struct cost_report r;
	struct ir_module *m = module(f, "module @m\n"
					"func @main() {\n"
					"  %x = input(\"x\") : f32[4]\n"
					"  %y = call @t(%x)\n"
					"  output(\"y\", %y)\n"
					"}\n"
					"func @t(%a) { return(%a) }\n");
	diag_set_handler(f->ctx->diag, keep_message, f);
	assert_false(cost_evaluate(f->model, m, &r));
	assert_non_null(strstr(f->message, "4:8: a call has no cost"));
	assert_false(cost_evaluate(f->model, ir_module_create(f, f->ctx, "empty"), &r));
	assert_non_null(strstr(f->message, "no @main"));
}

static void
an_empty_step_costs_nothing(void **state)
{
	struct fixture *f = *state;
	struct cost_report r = evaluate(f, f->model, module(f, "module @m\nfunc @main() {\n}\n"));
	assert_true(r.iteration == 0 && r.peak_bytes == 0 && r.exposed == 0 && r.events == 0);
	assert_true(r.fits);
}

/* A random step of products, sums and collectives over dp = 2 and four micro-batches. */
static char *
random_text(void *owner, uint64_t *seed)
{
	char *t = talloc_strdup(owner, "module @r\n"
				       "mesh [dp = 2]\n"
				       "steps [mb = 4]\n"
				       "func @main() {\n"
				       "  %v0 = input(\"x\") : f32[64/mb/dp,64]\n"
				       "  %w = param(\"w\") : f32[64,64]\n");
	int n = 1;
	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		unsigned kind = (unsigned)(*seed >> 33) % 4,
			 a = (unsigned)(*seed >> 40) % (unsigned)n;
		unsigned b = (unsigned)(*seed >> 50) % (unsigned)n;
		if (kind == 0)
			t = talloc_asprintf_append(t, "  %%v%d = add(%%v%u, %%v%u)\n", n++, a, b);
		else if (kind == 1)
			t = talloc_asprintf_append(t, "  %%v%d = matmul(%%v%u, %%w)\n", n++, a);
		else if (kind == 2)
			t = talloc_asprintf_append(t,
				"  %%g%d = allgather(%%v%u) {axis = dp}\n"
				"  %%v%d = partition(%%g%d) {dim = 0, axis = dp}\n",
				n, a, n, n),
			n++;
		else
			t = talloc_asprintf_append(t,
				"  %%p%d = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%a%d = reduce(%%p%d) {axis = mb}\n"
				"  %%r%d = allreduce(%%a%d) {axis = dp}\n"
				"  output(\"o%d\", %%r%d)\n",
				i, a, b, i, i, i, i, i, i);
	}
	return talloc_asprintf_append(t, "}\n");
}

static void
random_steps_keep_their_bounds(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 11;
	for (int trial = 0; trial < 300; trial++) {
		char *text = random_text(f, &seed);
		struct ir_module *m = module(f, text);
		struct cost_report r = evaluate(f, f->model, m), again;
		double all = r.compute + r.communication;
		assert_true(r.iteration >= r.compute && r.iteration >= r.communication);
		assert_true(r.iteration <= all + 1e-12);
		assert_true(fabs(r.iteration - r.compute - r.exposed) < 1e-12);
		assert_true(r.exposed <= r.communication + 1e-12);
		assert_true(fabs(r.estimated_time - all) < 1e-12);
		assert_true(r.peak_bytes >= r.persistent_bytes);
		/* To the bit: again, and of a second copy of the module. */
		again = evaluate(f, f->model, m);
		assert_memory_equal(&again, &r, offsetof(struct cost_report, fits));
		again = evaluate(f, f->model, module(f, text));
		assert_memory_equal(&again, &r, offsetof(struct cost_report, fits));
	}
}

/* The attributes of an alltoall are dims, not roots: however it moves a tensor, one request has its
 * time. */
static void
alltoalls_of_all_dims_are_one_request(void **state)
{
	struct fixture *f = *state;
	struct ir_module *m = module(f, "module @t\nmesh [x = 2]\nfunc @main() {\n"
					"  %a = input(\"a\") : f32[8/x,8,8]\n"
					"  %b = alltoall(%a) {from = 0, to = 1, axis = x}\n"
					"  %c = alltoall(%b) {from = 1, to = 2, axis = x}\n"
					"  output(\"c\", %c)\n}\n");
	const uint32_t device[] = {0, 1};
	uint32_t place[] = {0, 1};
	const struct event_group g = {0, 1, 2, place, NULL};
	int n = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op->code != OP_alltoall)
			continue;
		const struct collective_request q = cost_collective_request(f, m, op, &g, device);
		assert_int_equal(q.kind, RT_ALLTOALL);
		assert_int_equal(q.from, 0);
		assert_int_equal(q.to, 0);
		n++;
	}
	assert_int_equal(n, 2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {
		TEST(a_collective_hides_behind_a_kernel),
		TEST(who_reads_a_barrier_waits_for_all_of_it),
		TEST(copies_into_a_message_take_their_time),
		TEST(the_timeline_is_that_of_the_report),
		TEST(a_thread_that_computes_posts_and_waits),
		TEST(cores_that_compute_also_move_messages),
		TEST(collectives_run_in_the_order_of_their_posts),
		TEST(stages_of_a_pipeline_overlap),
		TEST(sums_over_micro_batches_are_complete_at_the_end),
		TEST(keys_tell_work_apart_and_nothing_else),
		TEST(measured_times_take_the_place_of_estimates),
		TEST(what_cannot_be_evaluated),
		TEST(an_empty_step_costs_nothing),
		TEST(random_steps_keep_their_bounds),
		TEST(alltoalls_of_all_dims_are_one_request),
	};
	return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
