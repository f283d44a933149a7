/* Steps on clusters whose devices or links are not alike, worked out by hand. */
#include "ir/cluster/device.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/whatif.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct fixture {
	struct ir_context *ctx;
	char message[512];
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;
	snprintf(f->message, sizeof f->message, "%u:%u: %s", m->line, m->column, m->text);
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	*state = f;
	return 0;
}

/* 1 us a kernel, and so many TFLOP/s; memory is no limit. */
static struct device *
device(const void *owner, const char *name, double tera)
{
	struct device *d = device_generic(owner);
	talloc_free(d->name);
	d->name = talloc_strdup(d, name);
	d->launch = 1e-6;
	d->bandwidth = 1e18;
	d->f32 = tera * 1e12;
	d->scalar_flops = 1e18;
	return d;
}

/* So many devices at one switch, the last one half as fast; links of 5 us and 10 GB/s. */
static struct cluster *
star(struct fixture *f, uint32_t n)
{
	static const struct cluster_link link = {"link", 10e9, 5e-6};
	struct cluster *c = cluster_create(f, "star");
	uint32_t fast = cluster_add_kind(c, device(c, "fast", 1));
	uint32_t slow = cluster_add_kind(c, device(c, "slow", 0.5));
	uint32_t middle = cluster_add_switch(c, "switch", 0, INFINITY);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t kind = i == n - 1 ? slow : fast;
		uint32_t node = cluster_add_node(c);
		cluster_connect(c, cluster_add_device(c, "d", kind, node), middle, &link);
	}
	return c;
}

static struct cost_timeline *
timeline(struct fixture *f, struct cluster *c, const char *text)
{
	struct cost_options o = {.cluster = c};
	struct cost_model *model = cost_model_create(f, f->ctx->diag, &o);
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(model);
	assert_non_null(m);
	return cost_timeline(f, model, m);
}

static void
assert_us(double seconds, double us)
{
	if (fabs(seconds * 1e6 - us) > 1e-5)
		fail_msg("%.6f us, expected %.6f us", seconds * 1e6, us);
}

/*
 * matmul: 2 x 32 x 1000 x 1000 = 64 MFLOP at a place, 65 us on the fast device and 129 us on the
 * slow one. allreduce of 4 MB between 2: 2 (10 us + 2 MB / 10 GB/s) = 420 us, from the moment when
 * the slow one has its partial sum.
 */
static const char two[] = "module @m\n"
			  "mesh [dp = 2]\n"
			  "func @main() {\n"
			  "  %x = input(\"x\") : f32[64/dp,1000]\n"
			  "  %y = input(\"y\") : f32[64/dp,1000]\n"
			  "  %g = contract(%x, %y) {spec = \"bi,bj->ij\"}\n"
			  "  %s = allreduce(%g) {axis = dp}\n"
			  "  output(\"s\", %s)\n"
			  "}\n";

static void
a_collective_waits_for_the_slow_device(void **state)
{
	struct fixture *f = *state;
	struct cost_timeline *t = timeline(f, star(f, 2), two);
	assert_non_null(t);
	assert_int_equal(t->ndevices, 2);
	assert_us(t->iteration, 129 + 420);
	assert_us(t->device[0].compute, 65);
	assert_us(t->device[1].compute, 129);
	/* The fast one waits 64 us for the slow one and is exposed to the message as well. */
	assert_us(t->device[0].idle, 64);
	assert_us(t->device[1].idle, 0);
	assert_us(t->device[0].exposed, 420);
}

static void
a_faster_network_changes_a_copy_of_the_cluster(void **state)
{
	struct fixture *f = *state;
	struct cost_options o = {.cluster = star(f, 2)};
	struct cost_model *model = cost_model_create(f, f->ctx->diag, &o);
	struct whatif *w = whatif_parse(f, f->ctx->diag, "whatif", "net.bandwidth*2, f32*2");
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", two, strlen(two), NULL);
	assert_true(whatif_bind(w, m));
	struct cost_model *changed = cost_model_whatif(f, model, w);
	struct cost_report now, then;
	assert_true(cost_evaluate(changed, m, &then));
	assert_true(cost_evaluate(model, m, &now));
	assert_us(now.iteration, 129 + 420);
	/* 1 us and 64 us on the slow device; 2 (10 us + 2 MB / 20 GB/s). */
	assert_us(then.iteration, 65 + 220);
}

/* As above, and a second product of 64 MFLOP that does not wait for the message. */
static const char beside[] = "module @m\n"
			     "mesh [dp = 2]\n"
			     "func @main() {\n"
			     "  %x = input(\"x\") : f32[64/dp,1000]\n"
			     "  %y = input(\"y\") : f32[64/dp,1000]\n"
			     "  %w = param(\"w\") : f32[1000,1000]\n"
			     "  %g = contract(%x, %y) {spec = \"bi,bj->ij\"}\n"
			     "  %s = allreduce(%g) {axis = dp}\n"
			     "  %h = matmul(%x, %w)\n"
			     "  output(\"s\", %s)\n"
			     "  output(\"h\", %h)\n"
			     "}\n";

static void
fine_replay_slows_computation_beside_messages(void **state)
{
	struct fixture *f = *state;
	struct cluster *c = star(f, 2);
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", beside, strlen(beside), NULL);
	for (int slow = 0; slow < 2; slow++) {
		for (uint32_t k = 0; k < c->nkinds; k++)
			((struct device *)c->kind[k])->slowdown = slow ? 1.5 : 1;
		struct cost_timeline *t[2];
		for (int fine = 0; fine < 2; fine++) {
			struct cost_options o = {.cluster = c, .fine = fine};
			t[fine] = cost_timeline(f, cost_model_create(f, f->ctx->diag, &o), m);
			assert_non_null(t[fine]);
			assert_us(t[fine]->iteration, 129 + 420);
			assert_int_equal(t[fine]->n, t[0]->n);
		}
		/* The message of both begins at 129 us; the fast device has computed for 64 us of h
		 * by then, the slow one begins it. */
		assert_us(t[0]->device[0].compute, 65 + 65);
		assert_us(t[0]->device[1].compute, 129 + 129);
		assert_us(t[1]->device[0].compute, 65 + 64 + (slow ? 1.5 : 1));
		assert_us(t[1]->device[1].compute, 129 + 129 * (slow ? 1.5 : 1));
	}
}

static void
a_mesh_that_is_larger_than_the_cluster_is_refused(void **state)
{
	struct fixture *f = *state;
	diag_set_handler(f->ctx->diag, keep_message, f);
	struct cluster *c = cluster_create(f, "one");
	cluster_add_device(c, "d", cluster_add_kind(c, device(c, "only", 1)), cluster_add_node(c));
	assert_null(timeline(f, c, two));
	assert_non_null(strstr(f->message, "2 devices"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_collective_waits_for_the_slow_device),
		TEST(a_faster_network_changes_a_copy_of_the_cluster),
		TEST(fine_replay_slows_computation_beside_messages),
		TEST(a_mesh_that_is_larger_than_the_cluster_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
