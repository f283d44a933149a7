/*
 * Output of nccl-tests is read. The texts have the form that the versions print and times of real
 * runs:
 *   16 x H100, two nodes, all_reduce_perf: github.com/lessizzmore/create-a3mega-ztan-fork
 *   2 x A40, sendrecv_perf: NVIDIA/nccl-tests issue 214
 *   2 x GB10, all_reduce_perf 2.20.0: NVIDIA/dgx-spark-playbooks pull request 103
 *   8 x V100, all_gather_perf of 2020: NVIDIA/nccl-tests issue 37
 *   8 GPUs in two nodes, reduce_scatter_perf: NVIDIA/nccl-tests issue 128
 */
#include "passes/analysis/collective/fit.h"
#include "passes/analysis/profile/nccl_tests.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	struct diag *diag;
	char message[512];
	unsigned line, column;
	int messages;
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;
	snprintf(f->message, sizeof f->message, "%s", m->text);
	f->line = m->line;
	f->column = m->column;
	f->messages++;
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->diag = diag_create(f);
	diag_set_handler(f->diag, keep_message, f);
	*state = f;
	return 0;
}

#define CONFIG                                                                                     \
	"# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 "      \
	"iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
#define RANKS                                                                                      \
	"#  Rank  0 Group  0 Pid 1478709 on      gpu23 device  0 [0x31] NVIDIA A40\n"              \
	"#  Rank  1 Group  0 Pid 1171742 on      gpu24 device  0 [0x31] NVIDIA A40\n"
#define TABLE                                                                                      \
	"#\n#                                                              out-of-place    "       \
	"                   in-place          \n"                                                  \
	"#       size         count      type   redop    root     time   algbw   busbw #wrong"     \
	"     time   algbw   busbw #wrong\n"                                                       \
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "     \
	"     (us)  (GB/s)  (GB/s)       \n"
#define END "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.16 \n#\n\n"

static const struct {
	double bytes, out_of_place, in_place; /* us */
} h100[] = {{8, 135.8, 123.5}, {16, 123.2, 122.3}, {32, 123.3, 122.7}, {64, 123.4, 122.9},
	{128, 123.0, 122.7}, {256, 123.6, 122.7}, {512, 126.6, 123.4}, {1024, 147.1, 123.1},
	{2048, 125.8, 124.6}, {4096, 126.9, 125.6}, {8192, 131.6, 130.6}, {16384, 138.6, 137.6},
	{32768, 155.2, 153.1}, {65536, 159.4, 157.6}, {131072, 159.3, 169.0},
	{262144, 167.1, 163.9}, {524288, 174.2, 171.0}, {1048576, 203.2, 207.2},
	{2097152, 254.0, 252.9}, {4194304, 364.6, 356.6}, {8388608, 571.9, 563.5},
	{16777216, 977.6, 951.6}, {33554432, 1059.9, 1054.0}, {67108864, 1261.6, 1270.2},
	{134217728, 1652.2, 1636.7}, {268435456, 2360.9, 2359.9}, {536870912, 3817.5, 3828.0},
	{1073741824, 6759.0, 6737.4}, {2147483648, 12646, 12641}, {4294967296, 24361, 24365},
	{8589934592, 47535, 47743}};

enum { H100 = sizeof h100 / sizeof *h100 };

/* As all_reduce_perf prints them. */
static char *
h100_text(void *owner)
{
	char *t = talloc_strdup(owner, "> mpirun -np 16 build/all_reduce_perf -b 8 -e 8G -f 2\n\n");
	t = talloc_strdup_append(t, CONFIG);
	for (int i = 0; i < 16; i++)
		t = talloc_asprintf_append(t,
			"#  Rank %2d Group  0 Pid %6d on ztan-mig-%s device %2d [0000:%02x:00] "
			"NVIDIA H100 80GB HBM3\n",
			i, 6899 + i, i < 8 ? "235z" : "gq73", i % 8, 4 + i);
	t = talloc_strdup_append(t, TABLE);
	for (int i = 0; i < H100; i++) {
		double b = h100[i].bytes, us[] = {h100[i].out_of_place, h100[i].in_place};
		t = talloc_asprintf_append(t, "%12.0f  %12.0f     float     sum      -1", b, b / 4);
		for (int k = 0; k < 2; k++) {
			double bandwidth = b / us[k] * 1e-3;
			t = talloc_asprintf_append(t, "  %7.*f  %6.2f  %6.2f      0",
				us[k] >= 1e4   ? 0
				: us[k] >= 100 ? 1
					       : 2,
				us[k], bandwidth, bandwidth * 15 / 8);
		}
		t = talloc_strdup_append(t, "\n");
	}
	return talloc_strdup_append(t, END);
}

static int
read_text(struct fixture *f, const char *text, struct profile_collective **list)
{
	f->message[0] = 0;
	f->messages = 0;
	return nccl_tests_read(f, f->diag, "nccl.txt", text, RT_COLL_KINDS, 0, list);
}

/* Refused with these words, at a line and column. */
static void
refused(struct fixture *f, const char *text, unsigned line, unsigned column, const char *words)
{
	struct profile_collective *list;
	assert_int_equal(read_text(f, text, &list), -1);
	if (!strstr(f->message, words))
		fail_msg("expected '%s' in '%s'", words, f->message);
	assert_int_equal(f->messages, 1);
	assert_int_equal(f->line, line);
	assert_int_equal(f->column, column);
}

static void
an_allreduce_of_two_nodes_is_read(void **state)
{
	struct fixture *f = *state;
	struct profile_collective *list;
	int n = read_text(f, h100_text(f), &list);
	assert_string_equal(f->message, "");
	assert_int_equal(n, H100);
	for (int i = 0; i < n; i++) {
		assert_string_equal(list[i].transport, "nccl");
		assert_int_equal(list[i].kind, RT_ALLREDUCE);
		assert_int_equal(list[i].places, 16);
		assert_int_equal(list[i].nodes, 2);
		assert_int_equal(list[i].runs, 40);
		assert_true(list[i].bytes == h100[i].bytes);
		double mean = (h100[i].out_of_place + h100[i].in_place) / 2;
		assert_true(fabs(list[i].median * 1e6 - mean) < 1e-9 * mean);
		assert_true(fabs(list[i].spread * mean -
				    fabs(h100[i].out_of_place - h100[i].in_place)) < 1e-9 * mean);
	}
}

/* Every second size from its neighbours: what passes/analysis/collective/fit.h says of curves. */
static void
a_curve_foretells_the_sizes_between(void **state)
{
	struct fixture *f = *state;
	double sum = 0;
	for (int odd = 0; odd < 2; odd++) {
		double bytes[H100], seconds[H100];
		uint32_t n = 0;
		for (int i = odd; i < H100; i += 2) {
			bytes[n] = h100[i].bytes;
			seconds[n++] = h100[i].in_place * 1e-6;
		}
		struct collective_curve *c = collective_curve_create(f, bytes, seconds, n);
		for (int i = 2 - odd - !odd; i < H100 - 1; i += 2)
			if (i > odd)
				sum += fabs(collective_curve_seconds(c, h100[i].bytes) * 1e6 /
						    h100[i].in_place -
					    1);
	}
	assert_true(sum / (H100 - 2) < 0.025);
}

static void
newer_and_older_versions_differ_in_columns(void **state)
{
	struct fixture *f = *state;
	struct profile_collective *list;
	/* 2.20.0 names the test, and may add columns. */
	int n = read_text(f,
		"# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102\n"
		"# Collective test starting: all_reduce_perf\n"
		"# nThread 1 nGpus 1 minBytes 8192 maxBytes 8589934592 step: 2(factor) warmup "
		"iters: 10 iters: 100 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
		"#\n# Using devices\n"
		"#  Rank  0 Group  0 Pid 1666603 on spark-d708 device  0 [000f:01:00] NVIDIA GB10\n"
		"#  Rank  1 Group  0 Pid 1669515 on spark-dbf4 device  0 [000f:01:00] NVIDIA GB10\n"
		"#       size         count      type   redop    root     time   algbw   busbw  "
		"#wrong     time   algbw   busbw  #wrong           timestamp\n"
		"        8192          2048     float     sum      -1    35.15    0.23    0.23     "
		"  "
		"0    30.33    0.27    0.27       0  2026-01-05 10:00:00\n"
		"spark-d708:1:2 NCCL INFO something else\n"
		"       16384          4096     float     sum      -1    31.67    0.52    0.52     "
		"  "
		"0    30.75    0.53    0.53     N/A  2026-01-05 10:00:01\n"
		"# Out of bounds values : 0 OK\n"
		"# Avg bus bandwidth    : 0.4 \n#\n"
		"# Collective test concluded: all_reduce_perf\n",
		&list);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].runs, 200);
	assert_true(fabs(list[1].median - 31.21e-6) < 1e-12);
	/* 2020: no operation or root, an error in place of #wrong. */
	n = read_text(f,
		"all_gather_perf -g 2 -b 4294967296 -e 4294967296 -n 100\n"
		"# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 1(bytes) warmup iters: 5 iters: "
		"100 validation: 1\n# Using devices\n"
		"#   Rank  0 Pid  71327 on 51e6 device  0 [0x1a] Tesla V100\n"
		"#   Rank  1 Pid  71327 on 51e6 device  1 [0x1b] Tesla V100\n"
		"#       size         count    type     time   algbw   busbw  error     time   "
		"algbw   "
		"busbw  error\n"
		"  4294967296     536870912   float    29122  129.05  129.05  1e-07    29169  "
		"128.84 "
		" 128.84  0e+00\n"
		"# Out of bounds values : 0 OK\n",
		&list);
	assert_int_equal(n, 1);
	assert_int_equal(list->kind, RT_ALLGATHER);
	assert_int_equal(list->nodes, 1);
	assert_true(list->bytes == 4294967296 && fabs(list->median - 29145.5e-6) < 1e-12);
}

#define ROW                                                                                        \
	"         256            64     float     sum      -1    34.24    0.01    0.01      0"     \
	"    33.65    0.01    0.01    N/A\n"

static void
tests_stand_one_after_another(void **state)
{
	struct fixture *f = *state;
	struct profile_collective *list;
	const char *text = "$ ./sendrecv_perf\n" CONFIG RANKS TABLE ROW END
			   "$ mpirun --tag-output ./reduce_scatter_perf_mpi\n" CONFIG RANKS
			   "[1,0]<stdout>:#       size         count      type   redop    root     "
			   "time   algbw "
			   "  busbw #wrong     time   algbw   busbw #wrong\n"
			   "[1,0]<stdout>:           0             0     float     sum      -1     "
			   "5.70    0.00 "
			   "   0.00      0     5.54    0.00    0.00      0\n"
			   "[1,0]<stdout>:         128            16     float     sum      -1    "
			   "32.31    0.00 "
			   "   0.00      0    25.35    0.01    0.00      0\n"
			   "[1,0]<stdout>:         128            32      half     sum      -1    "
			   "34.31    0.00 "
			   "   0.00      0    27.35    0.01    0.00      0\n" END;
	assert_int_equal(read_text(f, text, &list), 2);
	assert_int_equal(list[0].kind, RT_REDUCESCATTER);
	assert_true(list[0].bytes == 128);
	assert_true(fabs(list[0].median - (32.31 + 25.35 + 34.31 + 27.35) / 4 * 1e-6) < 1e-12);
	assert_int_equal(list[0].runs, 80);
	assert_int_equal(list[1].kind, RT_SEND);
	assert_int_equal(list[1].places, 2);
	assert_int_equal(list[1].nodes, 2);
}

static void
what_the_text_does_not_say_is_given(void **state)
{
	struct fixture *f = *state;
	struct profile_collective *list;
	refused(f, CONFIG RANKS TABLE ROW END, 10, 1, "give the collective that it measured");
	refused(f, "all_reduce_perf\n" TABLE ROW END, 6, 1, "does not list the ranks");
	assert_int_equal(
		nccl_tests_read(f, f->diag, "t", CONFIG TABLE ROW END, RT_REDUCE, 12, &list), 1);
	assert_int_equal(list->kind, RT_REDUCE);
	assert_int_equal(list->places, 12);
	/* What it says must not differ. */
	assert_int_equal(
		nccl_tests_read(f, f->diag, "t", CONFIG RANKS TABLE ROW END, RT_REDUCE, 3, &list),
		-1);
	assert_non_null(strstr(f->message, "expected 3 ranks, found 2"));
	assert_int_equal(
		nccl_tests_read(f, f->diag, "t", "all_reduce_perf\n" CONFIG RANKS TABLE ROW END,
			RT_REDUCE, 0, &list),
		-1);
	assert_non_null(strstr(f->message, "the test measured allreduce, not reduce"));
}

#define HEAD "x/all_reduce_perf\n" CONFIG RANKS TABLE

static void
wrong_text_is_refused_where_it_is_wrong(void **state)
{
	struct fixture *f = *state;
	refused(f, "", 1, 1, "not nccl-tests output");
	refused(f, "op matmul 3us\n", 1, 1, "not nccl-tests output");
	refused(f, HEAD ROW, 11, 117, "the run is cut off");
	refused(f, HEAD ROW "         512           128     float     sum", 12, 1,
		"the row is cut off: found 4 columns, expected 13");
	refused(f,
		HEAD "         256            64     float     sum      -1     0.00    0.01    0.01"
		     "      0    33.65    0.01    0.01    N/A\n" END,
		11, 58, "longer than 0.00 us");
	refused(f,
		HEAD "         256            64     float     sum      -1    34.24    0.01    0.01"
		     "      0   -33.65    0.01    0.01    N/A\n" END,
		11, 88, "longer than -33.65 us");
	refused(f,
		HEAD "         256            64     float     sum      -1      nan    0.01    0.01"
		     "      0    33.65    0.01    0.01    N/A\n" END,
		11, 59, "expected a time, found 'nan'");
	refused(f,
		HEAD "         256            64     float     sum      -1    34.24    0.01    0.01"
		     "      7    33.65    0.01    0.01    N/A\n" END,
		11, 84, "7 elements of the result are wrong");
	refused(f, HEAD ROW "# Out of bounds values : 2 FAILED\n", 12, 1,
		"2 results are out of bounds");
	refused(f,
		HEAD "         256            32     float     sum      -1    34.24    0.01    0.01"
		     "      0    33.65    0.01    0.01    N/A\n" END,
		11, 10, "allreduce of 2 ranks: 256 bytes are not 32 elements of 4 bytes");
	refused(f, "x/hypercube_perf\n" CONFIG RANKS TABLE ROW END, 11, 1,
		"does not name the test");
	refused(f,
		"all_reduce_perf\n" CONFIG
		"#  Rank  0 Group  0 Pid 1 on a device  0 [0x31] NVIDIA A40\n" TABLE ROW END,
		10, 1, "a collective on one rank");
	refused(f,
		"all_reduce_perf\n" CONFIG
		"#  Rank  0 Group  0 Pid 1 on a device  0 [0x31] NVIDIA A40\n"
		"#  Rank  0 Group  0 Pid 2 on b device  0 [0x31] NVIDIA A40\n",
		6, 1, "build nccl-tests with MPI=1");
	refused(f,
		"all_reduce_perf\n" CONFIG RANKS
		"#  Rank  2 Group  1 Pid 1 on a device  0 [0x31] NVIDIA A40\n" TABLE ROW END,
		12, 1, "the groups differ in size");
	refused(f, "all_reduce_perf\n# size count type redop root cputime algbw busbw #wrong\n", 2,
		30, "run without -C");
}

/* Cut off anywhere, changed anywhere: an answer or a report, never a crash. */
static void
any_damage_is_survived(void **state)
{
	struct fixture *f = *state;
	char *text = h100_text(f);
	size_t length = strlen(text);
	struct profile_collective *list;
	for (size_t i = 0; i < length; i += 7) {
		char *cut = talloc_strndup(NULL, text, i);
		struct diag *d = diag_create(cut);
		diag_set_handler(d, keep_message, f);
		f->messages = 0;
		int n = nccl_tests_read(cut, d, "cut", cut, RT_COLL_KINDS, 0, &list);
		assert_true((n == -1) == (f->messages > 0));
		/* The last line but one is the first that is not needed. */
		assert_true(n == -1 || i >= length - strlen(END));
		talloc_free(cut);
		char *changed = talloc_strdup(NULL, text);
		changed[i] = (char)("\n \t9#x-."[i % 8]);
		d = diag_create(changed);
		diag_set_handler(d, keep_message, f);
		f->messages = 0;
		n = nccl_tests_read(changed, d, "changed", changed, RT_COLL_KINDS, 0, &list);
		assert_true((n == -1) == (f->messages > 0));
		talloc_free(changed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, free_scratch)
		TEST(an_allreduce_of_two_nodes_is_read),
		TEST(a_curve_foretells_the_sizes_between),
		TEST(newer_and_older_versions_differ_in_columns),
		TEST(tests_stand_one_after_another),
		TEST(what_the_text_does_not_say_is_given),
		TEST(wrong_text_is_refused_where_it_is_wrong),
		TEST(any_damage_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
