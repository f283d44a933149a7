/* What-if: what a text changes, and its faults. */
#include "ir/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "ir/cluster/device.h"
#include "passes/analysis/cost/whatif.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct messages {
	char text[2048];
	int n;
};

struct bench {
	void *owner;
	struct ir_context *ctx;
	struct messages all;
	struct whatif *w;
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct messages *all = data;
	size_t used = strlen(all->text);
	snprintf(all->text + used, sizeof all->text - used, "%u:%u: %s\n", m->line, m->column,
		m->text);
	all->n++;
}

static struct bench
parse(const char *text)
{
	struct bench b = {.owner = talloc_new(NULL)};
	struct messages *all = talloc_zero(b.owner, struct messages);
	b.ctx = ir_context_create(b.owner);
	diag_set_handler(b.ctx->diag, keep_message, all);
	b.w = whatif_parse(b.owner, b.ctx->diag, "whatif", text);
	b.all = *all;
	memset(all, 0, sizeof *all);
	diag_set_handler(b.ctx->diag, keep_message, all);
	return b;
}

static void
expect_fault(const char *text, const char *message)
{
	struct bench b = parse(text);
	assert_null(b.w);
	assert_string_equal(b.all.text, message);
	talloc_free(b.owner);
}

static void
fields_of_devices_change(void **state)
{
	(void)state;
	struct bench b = parse("f32*2, launch=3us ,net.bandwidth * 4,net.latency=0s, overlap=0");
	assert_non_null(b.w);
	assert_int_equal(whatif_count(b.w), 5);
	assert_string_equal(whatif_item_text(b.w, 1), "launch=3us");
	assert_string_equal(whatif_item_text(b.w, 2), "net.bandwidth * 4");
	struct device *d = device_generic(b.owner);
	d->f32 = 3e12;
	d->bandwidth = 1e11;
	d->link_latency = 5e-6;
	d->link_bandwidth = 1e10;
	whatif_device(b.w, d);
	assert_true(d->f32 == 6e12 && d->bandwidth == 1e11 && d->overlap == 0);
	assert_true(fabs(d->launch - 3e-6) < 1e-18);
	assert_true(d->link_latency == 0 && d->link_bandwidth == 4e10);
	talloc_free(b.owner);
}

/* A rate that is not given is another type's: it stays so. What has a least value keeps to it. */
static void
rates_and_limits(void **state)
{
	(void)state;
	struct bench b = parse("flops*2,slowdown*0.25");
	struct device *d = device_generic(b.owner);
	d->f32 = 1e12;
	d->bf16 = 4e12;
	d->slowdown = 2;
	whatif_device(b.w, d);
	assert_true(d->f32 == 2e12 && d->bf16 == 8e12 && d->i8 == 0 && d->slowdown == 1);
	assert_true(d->scalar_flops == 1e12);
	talloc_free(b.owner);
	expect_fault("slowdown=0.5", "1:10: expected a value of at least 1\n");
	expect_fault("slowdown=2s", "1:11: expected no unit, found 's'\n");
}

static void
links_and_kinds_of_a_cluster_change(void **state)
{
	(void)state;
	struct bench b = parse("net.bandwidth*2,net.latency*0.5,memory*2");
	struct device *d = device_generic(b.owner);
	const struct device *kinds[1] = {d};
	struct cluster_link link[2] = {{"fast", 100, 4}, {"slow", 10, 40}};
	struct cluster *c = talloc_zero(b.owner, struct cluster);
	d->memory = 8e9;
	c->kind = kinds;
	c->nkinds = 1;
	c->link = link;
	c->nlinks = 2;
	whatif_cluster(b.w, c);
	assert_true(link[0].bandwidth == 200 && link[1].bandwidth == 20);
	assert_true(link[0].latency == 2 && link[1].latency == 20);
	assert_true(c->kind[0] != d && c->kind[0]->memory == 16e9 && d->memory == 8e9);
	assert_string_equal(c->kind[0]->name, "generic");
	talloc_free(b.owner);
}

/* Seconds of the op that makes a value, which took 8 s. */
static double
seconds(const struct bench *b, const struct ir_module *m, const char *name)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->nresults && op->result[0].name && !strcmp(op->result[0].name, name))
			return whatif_seconds(b->w, m, op, 8);
	return -1;
}

static const char step[] =
	"module @m\n"
	"mesh [dp = 2]\n"
	"func @main() {\n"
	"  %x = input(\"x\") : f32[8/dp,4]\n"
	"  %w = param(\"w\") : f32[4,4]\n"
	"  %b = param(\"b\") : f32[4]\n"
	"  %h = matmul(%x, %w)\n"
	"  %r = relu(%h)\n"
	"  %f = fuse(%r, %w, %b) { %p = matmul(%r, %w) %q = add(%p, %b) yield(%q) }\n"
	"  %e = fuse(%f, %b) { %s = add(%f, %b) %t = relu(%s) yield(%t) }\n"
	"  %l = sum(%e) {dims = [0]}\n"
	"  %L = allreduce(%l) {axis = dp}\n"
	"  %2 = neg(%L)\n"
	"  output(\"y\", %2)\n"
	"}\n";

static struct ir_module *
module_of(const struct bench *b)
{
	return parse_module(b->owner, b->ctx, "m.dir", step, strlen(step), NULL);
}

/* A fuse counts as its op with the most arithmetic, the first of equals. */
static void
ops_are_called_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double h, r, f, e, L;
	} want[] = {
		{"matmul*0.5", 4, 8, 4, 8, 8},
		{"relu*0", 8, 0, 8, 8, 8},
		{"add*2", 8, 8, 8, 16, 8},
		{"fuse*2,matmul*2", 16, 8, 32, 16, 8},
		{"kernels*0.25", 2, 2, 2, 2, 8},
		{"collectives*0.25", 8, 8, 8, 8, 2},
		{"allreduce=3s", 8, 8, 8, 8, 3},
		{"allreduce*2,allreduce=3s,allreduce*2", 8, 8, 8, 8, 6},
		{"op=%r*0.5, op = %f=500ms", 8, 4, 0.5, 8, 8},
		{"f32*2", 8, 8, 8, 8, 8},
	};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct bench b = parse(want[i].text);
		assert_non_null(b.w);
		struct ir_module *m = module_of(&b);
		assert_true(whatif_bind(b.w, m));
		assert_float_equal(seconds(&b, m, "h"), want[i].h, 1e-12);
		assert_float_equal(seconds(&b, m, "r"), want[i].r, 1e-12);
		assert_float_equal(seconds(&b, m, "f"), want[i].f, 1e-12);
		assert_float_equal(seconds(&b, m, "e"), want[i].e, 1e-12);
		assert_float_equal(seconds(&b, m, "L"), want[i].L, 1e-12);
		talloc_free(b.owner);
	}
}

/* Values without a name are called by the number that the printer gives them. */
static void
ops_are_called_by_number(void **state)
{
	(void)state;
	struct bench b = parse("op=%0*2");
	struct ir_module *m = module_of(&b);
	const struct ir_op *neg = ir_func_find(m, "main")->body.last->prev;
	assert_int_equal(neg->code, OP_neg);
	assert_true(whatif_bind(b.w, m));
	assert_true(whatif_seconds(b.w, m, neg, 3) == 6);
	assert_true(whatif_seconds(b.w, m, neg->prev, 3) == 3);
	talloc_free(b.owner);
}

static void
values_that_are_not_there(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{"op=%lossy*2", "1:4: @main has no value %lossy\n"},
		{"matmul*1, op=%ff*2", "1:14: @main has no value %ff; did you mean 'f'?\n"},
		{"op=%q*2",
			"1:4: %q is inside a kernel of several ops, whose cost changes as a whole: "
			"use op=%f\n"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct bench b = parse(wrong[i].text);
		struct messages all = {0};
		diag_set_handler(b.ctx->diag, keep_message, &all);
		assert_false(whatif_bind(b.w, module_of(&b)));
		assert_string_equal(all.text, wrong[i].message);
		talloc_free(b.owner);
	}
}

static void
items_that_change_nothing(void **state)
{
	(void)state;
	struct bench b = parse("conv2d*2,op=%w*2,matmul*1");
	struct messages all = {0};
	diag_set_handler(b.ctx->diag, keep_message, &all);
	assert_true(whatif_bind(b.w, module_of(&b)));
	assert_string_equal(all.text,
		"1:1: no op of @main that takes time matches: nothing changes\n"
		"1:13: this op takes no time: nothing changes\n");
	talloc_free(b.owner);
}

static void
faults_have_their_place(void **state)
{
	(void)state;
	expect_fault("matmull*2",
		"1:1: there is nothing to change named 'matmull'; did you mean 'matmul'?\n");
	expect_fault("net.bandwith*2",
		"1:1: there is nothing to change named 'net.bandwith'; did you mean 'net.bandwidth'?\n");
	expect_fault("matmul*-1", "1:8: expected a number of at least 0\n");
	expect_fault("matmul*nan", "1:8: expected a number\n");
	expect_fault("matmul*0x10", "1:8: expected a number\n");
	expect_fault("matmul*inf", "1:8: expected a number\n");
	expect_fault("matmul*1e999", "1:8: the number is too large\n");
	expect_fault("matmul*", "1:8: expected a number\n");
	expect_fault("matmul*2us", "1:9: a factor has no unit\n");
	expect_fault("matmul=2", "1:8: expected a unit: s, found none\n");
	expect_fault("launch=2GB", "1:9: expected a unit: s, found 'GB'\n");
	expect_fault("f32=2TB/s", "1:6: expected a unit: FLOP/s, found 'TB/s'\n");
	expect_fault("net.bandwidth*0", "1:15: expected a factor above 0\n");
	expect_fault("net.bandwidth=0GB/s", "1:15: expected a value of at least 1B/s\n");
	expect_fault("matmul*1e10", "1:8: expected a factor between 1e-09 and 1e+09\n");
	expect_fault("flops*1e-10", "1:7: expected a factor between 1e-09 and 1e+09\n");
	expect_fault("overlap*2", "1:9: overlap is a switch: expected overlap=1 or overlap=0\n");
	expect_fault("overlap=2", "1:9: expected 0 or 1\n");
	expect_fault("overlap=1s", "1:10: expected no unit, found 's'\n");
	expect_fault(
		"matmul", "1:7: expected '*' and a factor, or '=' and a value, found the end\n");
	expect_fault("matmul*2;relu*2", "1:9: a factor has no unit\n");
	expect_fault("matmul*2,", "1:10: expected what to change, found the end\n");
	expect_fault("*2", "1:1: expected what to change, found '*'\n");
	expect_fault("op=42*2", "1:4: expected the name of a value, as in op=%NAME\n");
	expect_fault("op=%*2", "1:4: expected the name of a value, as in op=%NAME\n");
	/* One message a fault, and the rest is read. */
	expect_fault("matmul*-1, qqqq*2, launch*0, relu*x",
		"1:8: expected a number of at least 0\n"
		"1:12: there is nothing to change named 'qqqq'\n"
		"0:0: expected net.bandwidth, net.latency, a field of the device "
		"(f32, launch ...), an op (matmul ...), kernels, collectives or op=%NAME\n"
		"1:35: expected a number\n");
}

/* xorshift: G. Marsaglia, "Xorshift RNGs", 2003 */
static unsigned
draw(uint64_t *random, unsigned below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (unsigned)(*random >> 16) % below;
}

/* Damaged texts: items without a message, or a message and none. */
static void
any_text_has_items_or_faults(void **state)
{
	enum { TEXTS = 5000, TOKENS = 12, KINDS = 4, EACH = 8, LONGEST = 16 };
	/* An item is one of each row; one token in eight is from any row. */
	static const char *const token[KINDS][EACH] = {
		{"matmul", "op=%f", "net.latency", "flops", "overlap", "kernels", "op=%0",
			"scatter"},
		{"*", "=", " * ", "* ", "%", "*-", "==", ""},
		{"2", "0.5", "0", "1e3", "3us", "2GB/s", "nan", "1e999"},
		{",", ", ", " ,", ",", "", ",,", "\xff", "op=%r*2,"}};
	uint64_t random = 88172645463325252;
	int good = 0;
	(void)state;
	for (int i = 0; i < TEXTS; i++) {
		char text[(TOKENS + 1) * LONGEST] = "";
		unsigned n = draw(&random, TOKENS) + 3;
		for (unsigned k = 0; k < n && k < TOKENS; k++) {
			unsigned kind = draw(&random, 8) ? k % KINDS : draw(&random, KINDS);
			strcat(text, token[kind][draw(&random, EACH)]);
		}
		struct bench b = parse(text);
		assert_int_equal(b.w != NULL, b.all.n == 0);
		if (b.w && whatif_count(b.w)) {
			struct ir_module *m = module_of(&b);
			whatif_bind(b.w, m);
			assert_true(seconds(&b, m, "h") >= 0);
			good++;
		}
		talloc_free(b.owner);
	}
	assert_in_range(good, TEXTS / 250, TEXTS / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_devices_change),
		cmocka_unit_test(rates_and_limits),
		cmocka_unit_test(links_and_kinds_of_a_cluster_change),
		cmocka_unit_test(ops_are_called_by_name),
		cmocka_unit_test(ops_are_called_by_number),
		cmocka_unit_test(values_that_are_not_there),
		cmocka_unit_test(items_that_change_nothing),
		cmocka_unit_test(any_text_has_items_or_faults),
		cmocka_unit_test(faults_have_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
