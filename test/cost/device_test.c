/* Device descriptions as text, and the times of collectives. */
#include "passes/analysis/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>
#include <cmocka.h>

struct messages {
	char text[2048];
	int n;
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

static struct device *
parse(void *owner, struct messages *all, const char *text)
{
	struct diag *d = diag_create(owner);
	memset(all, 0, sizeof *all);
	diag_set_handler(d, keep_message, all);
	return device_parse(owner, d, "t.device", text);
}

static void
values_have_units(void **state)
{
	(void)state;
	void *owner = talloc_new(NULL);
	struct messages all;
	struct device *d = parse(owner, &all,
		"# a card\n"
		"device = big card   # its name\n"
		"\n"
		"flops=400TFLOP/s\n"
		"  bandwidth = 2.5 TB/s\n"
		"launch = 2.5us\n"
		"link_latency = 1e-6\n"
		"link_bandwidth = 450e9B/s\n"
		"memory = 80GB\n"
		"post = 1500ns\n"
		"async = 0");
	assert_non_null(d);
	assert_int_equal(all.n, 0);
	assert_string_equal(d->name, "big card");
	assert_true(d->flops == 400e12 && d->bandwidth == 2.5e12 && d->memory == 80e9);
	assert_true(fabs(d->launch - 2.5e-6) < 1e-18 && d->link_latency == 1e-6);
	assert_true(d->link_bandwidth == 450e9 && fabs(d->post - 1.5e-6) < 1e-18 && d->async == 0);
	/* What is not given is the default's. */
	struct device *generic = device_generic(owner);
	assert_string_equal(generic->name, "generic");
	assert_true(d->wait == generic->wait && d->scalar_flops == generic->scalar_flops);
	talloc_free(owner);
}

static void
every_fault_has_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"flops\n", "1:1: expected `name = value`\n"},
		{"flops =  # none\n", "1:1: expected a value behind '='\n"},
		{"\n  flop = 1\n", "2:3: a device has no 'flop'\n"},
		{"flops = fast\n", "1:9: flops: expected a number\n"},
		{"flops = 1e\n", "1:10: flops: expected the unit FLOP/s, found 'e'\n"},
		{"flops = 1-2\n", "1:9: flops: expected a number\n"},
		{"flops = 3GB/s\n", "1:10: flops: expected the unit FLOP/s, found 'GB/s'\n"},
		{"launch = 3Ks\n", "1:11: launch: expected the unit s, found 'Ks'\n"},
		{"memory = 3mB\n", "1:11: memory: expected the unit B, found 'mB'\n"},
		{"async = 1s\n", "1:10: async: expected the unit none, found 's'\n"},
		{"bandwidth = 0\n", "1:13: bandwidth: expected a number above 0\n"},
		{"launch = -1us\n", "1:10: launch: expected a number of at least 0\n"},
		{"flops = 1e999\n", "1:9: flops: expected a number\n"},
		{"flops = 1e308TFLOP/s\n", "1:9: flops: expected a number above 0\n"},
		{"step = 1\nstep = 2\n", "2:1: 'step' is given twice\n"},
		{"x = 1\ny = 2\n", "1:1: a device has no 'x'\n2:1: a device has no 'y'\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		void *owner = talloc_new(NULL);
		struct messages all;
		assert_null(parse(owner, &all, cases[i].text));
		assert_string_equal(all.text, cases[i].message);
		talloc_free(owner);
	}
}

static void
a_file_that_is_not_there(void **state)
{
	(void)state;
	void *owner = talloc_new(NULL);
	struct messages all = {"", 0};
	struct diag *d = diag_create(owner);
	diag_set_handler(d, keep_message, &all);
	assert_null(device_read(owner, d, "/nonexistent/x.device"));
	assert_non_null(strstr(all.text, "/nonexistent/x.device: No such file"));
	talloc_free(owner);
}

/* A ring step by step: in each of the P-1 turns every place sends one piece to its neighbour. */
static double
ring_turns(int places, double bytes, double alpha, double beta)
{
	double t = 0;
	for (int turn = 1; turn < places; turn++)
		t += alpha + bytes / places / beta;
	return t;
}

static void
collectives_take_their_turns(void **state)
{
	(void)state;
	const double alpha = 3e-6, beta = 2e9, bytes = 6e6;
	for (int p = 2; p <= 64; p *= 2) {
		double ring = ring_turns(p, bytes, alpha, beta);
		for (int c = 0; c < COLL_NKINDS; c++) {
			double t = collective_seconds((enum collective)c, p, bytes, alpha, beta);
			double want = ring;
			if (c == COLL_ALLREDUCE)
				want = 2 * ring;
			else if (c == COLL_BROADCAST || c == COLL_REDUCE)
				want = (p - 1) * alpha + bytes / beta;
			else if (c == COLL_SEND)
				want = alpha + bytes / beta;
			assert_true(fabs(t / want - 1) < 1e-12);
			assert_true(
				collective_seconds((enum collective)c, 1, bytes, alpha, beta) == 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_units),
		cmocka_unit_test(every_fault_has_its_place),
		cmocka_unit_test(a_file_that_is_not_there),
		cmocka_unit_test(collectives_take_their_turns),
	};
	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
