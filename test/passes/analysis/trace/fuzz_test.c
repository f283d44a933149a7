/*
 * Damaged traces: three ranks of two hosts, of which one file is mutated some thousand times in a
 * fixed sequence, and cut off at every byte. Each must give an error, or be read, aligned, measured
 * and printed with finite numbers. Sanitized builds see the rest.
 */
#include "passes/analysis/trace/report/measure.h"
#include "passes/analysis/trace/report/report.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RANKS = 3,
	STEPS = 3,
	MUTATIONS = 4000, /* twenty seconds with sanitizers */
	MAX_DAMAGE = 3,   /* of one text */
	CUT_STRIDE = 7,   /* every so manyth byte: each is read anew */
	MAX_TEXT = 1 << 15,
};

struct fuzz {
	char folder[64], *path[RANKS], *text[RANKS];
	size_t length[RANKS];
	uint64_t random;
	int errors;
	FILE *null;
};

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. */
static uint64_t
below(struct fuzz *f, uint64_t n)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * 2685821657736338717u >> 16) % n;
}

/* A collective of each kind of dependence: all on all, all on one, one on all, one on one. */
static const struct {
	const char *kind;
	int from, to;
} collectives[] = {{"allreduce", 0, 0}, {"broadcast", 1, 0}, {"gather", 0, 2}, {"send", 2, 0}};

enum { NCOLLECTIVES = sizeof collectives / sizeof *collectives };

static void
put_event(FILE *out, int rank, const char *name, const char *category, double ts, double dur,
	const char *args)
{
	fprintf(out,
		",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":"
		"%d,"
		"\"tid\":%d,\"args\":{%s}}",
		name, category, ts, dur, rank, strcmp(category, "collective") == 0, args);
}

static void
put_trace(FILE *out, int rank)
{
	const int host = rank / 2;
	char args[200];
	double at = 1000 + 7 * rank + 50000 * host;

	fprintf(out,
		"{\"otherData\":{\"format\":\"dopt-trace\",\"version\":1,\"program\":\"p\\u00fc\","
		"\"build\":\"0\",\"run\":5,\"rank\":%d,\"ranks\":%d,\"host\":\"h%d\",\"clock\":"
		"\"c%d\","
		"\"anchor_ns\":1000,\"wall_ns\":2000,\"clock_error_ns\":0,\"predicted_us\":1.5,"
		"\"arena_bytes\":64,\"dropped\":%d,\"axes\":[{\"name\":\"dp\",\"size\":%d,\"time\":"
		"false,\"place\":%d},{\"name\":\"mb\",\"size\":2,\"time\":true,\"place\":0}],"
		"\"kernels\":[{\"op\":3,\"name\":\"k\",\"text\":\"%%k\",\"flops\":1e3,\"bytes\":8}]"
		",\"collectives\":[",
		rank, RANKS, host, host, rank == 1, RANKS, rank);
	for (int c = 0; c < NCOLLECTIVES; c++)
		fprintf(out,
			"%s{\"op\":%d,\"name\":\"c%d\",\"kind\":\"%s\",\"axis\":\"dp\",\"bytes\":4,"
			"\"from\":%d,\"to\":%d}",
			c ? "," : "", 4 + c, c, collectives[c].kind, collectives[c].from,
			collectives[c].to);
	fputs("]},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\"}", out);
	for (int s = 0; s < STEPS; s++) {
		const double begin = at;
		for (int c = 0; c < NCOLLECTIVES; c++) {
			snprintf(args, sizeof args, "\"step\":%d,\"kernel\":0", s);
			put_event(out, rank, "k", "kernel", at, 10, args);
			snprintf(args, sizeof args,
				"\"step\":%d,\"collective\":%d,\"group\":0,\"sequence\":%d,"
				"\"posted\":%.3f",
				s, c, s * NCOLLECTIVES + c, at + 10);
			put_event(out, rank, "c", "collective", at + 10, 40 - rank, args);
			snprintf(args, sizeof args, "\"step\":%d,\"collective\":%d", s, c);
			put_event(out, rank, "c", "wait", at + 11, 38 - rank, args);
			at += 100;
		}
		snprintf(args, sizeof args, "\"step\":%d", s);
		put_event(out, rank, "step", "step", begin, at - begin, args);
	}
	fputs("]}\n", out);
}

static void
write_file(const char *path, const char *text, size_t n)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, n, out), n);
	assert_int_equal(fclose(out), 0);
}

static int
set_up(void **state)
{
	struct fuzz *f = talloc_zero(NULL, struct fuzz);

	strcpy(f->folder, "/tmp/dopt-trace-XXXXXX");
	if (!mkdtemp(f->folder))
		return 1;
	f->null = fopen("/dev/null", "w");
	for (int r = 0; r < RANKS; r++) {
		FILE *out = open_memstream(&f->text[r], &f->length[r]);
		put_trace(out, r);
		fclose(out);
		f->path[r] = talloc_asprintf(f, "%s/rank-%d.json", f->folder, r);
		write_file(f->path[r], f->text[r], f->length[r]);
	}
	f->random = 88172645463325252u;
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fuzz *f = *state;

	for (int r = 0; r < RANKS; r++) {
		unlink(f->path[r]);
		free(f->text[r]);
	}
	rmdir(f->folder);
	fclose(f->null);
	talloc_free(f);
	return 0;
}

static void
note_error(void *data, const struct diag_message *m)
{
	struct fuzz *f = data;

	f->errors += m->level == DIAG_ERROR;
}

/* Everything that the tool does with traces; was it possible? */
static bool
use(struct fuzz *f)
{
	void *scratch = talloc_new(NULL);
	struct diag *d = diag_create(scratch);
	const char *const paths[] = {f->folder};
	const struct trace_align_options o = {0};
	bool ok = false;

	f->errors = 0;
	diag_set_handler(d, note_error, f);
	struct trace_set *s = trace_set_read(scratch, d, paths, 1);
	struct trace_alignment *a = s ? trace_align(scratch, d, s, &o) : NULL;
	if (a) {
		trace_print_alignment(f->null, TRACE_JSON, s, a);
		trace_print_merged(f->null, s, a);
		for (uint32_t i = 0; i < s->n; i++)
			assert_true(isfinite(trace_aligned(a, i, 0)));
		struct trace_measured *m = trace_measure(scratch, d, s, a);
		if (m) {
			trace_report_print(f->null, TRACE_JSON, s, a, m);
			trace_report_print(f->null, TRACE_TEXT, s, a, m);
			assert_true(isfinite(m->iteration.median));
		}
		ok = m != NULL;
	}
	/* A message if and only if something is wrong. */
	assert_int_equal(ok, f->errors == 0);
	talloc_free(scratch);
	return ok;
}

static void
whole_traces_are_read(void **state)
{
	assert_true(use(*state));
}

static void
cut_traces_are_errors(void **state)
{
	struct fuzz *f = *state;

	for (size_t n = 0; n + 3 < f->length[1]; n += CUT_STRIDE) {
		write_file(f->path[1], f->text[1], n);
		assert_false(use(f));
	}
	write_file(f->path[1], f->text[1], f->length[1]);
}

static const char *const token[] = {"{", "}", "[", "]", ",", ":", "\"", "-1", "0", "1", "2",
	"1e308", "1e-320", "99999999999999999999", "9007199254740993", "0.0005", "null", "true",
	"\"ph\":\"X\"", "\"cat\":\"kernel\"", "\"cat\":\"step\"", "\"dur\":0", "\\u0000", "\\",
	"\"from\":2", "\"to\":2", "\"size\":2147483648", "\"size\":1", "\"place\":0",
	"\"step\":4294967295", "\"sequence\":1", "\"collective\":1", "\"group\":2",
	"\"clock_error_ns\":1000000", "\"clock\":\"c0\"", "\xff", "\"dropped\":3", "\"ranks\":1",
	"\"time\":true"};

static size_t
damage(struct fuzz *f, char *text, size_t n)
{
	const size_t at = below(f, n), kind = below(f, 5);

	if (kind == 0) {
		text[at] = (char)below(f, 256);
		return n;
	}
	if (kind == 1) { /* a digit: most of those give a file that is right, with other times */
		for (size_t i = at; i < n; i++)
			if (text[i] >= '0' && text[i] <= '9') {
				text[i] = (char)('0' + below(f, 10));
				break;
			}
		return n;
	}
	const size_t gone = below(f, 2) ? below(f, 40) : 0;
	const size_t from = at + gone < n ? at + gone : n;
	const char *put = kind == 2 ? "" : token[below(f, sizeof token / sizeof *token)];
	const size_t length = strlen(put);
	memmove(text + at + length, text + from, n - from);
	memcpy(text + at, put, length);
	return at + length + n - from;
}

static void
damaged_traces_are_errors_or_are_used(void **state)
{
	struct fuzz *f = *state;
	static char text[MAX_TEXT];
	int used = 0;

	for (int i = 0; i < MUTATIONS; i++) {
		const size_t r = below(f, RANKS), times = 1 + below(f, MAX_DAMAGE);
		size_t n = f->length[r];
		assert_true(n + MAX_DAMAGE * 64 < MAX_TEXT);
		memcpy(text, f->text[r], n);
		for (size_t k = 0; k < times; k++)
			n = damage(f, text, n);
		write_file(f->path[r], text, n);
		used += use(f);
		write_file(f->path[r], f->text[r], f->length[r]);
	}
	/* Of both there are many: else nothing was tested. */
	assert_in_range(used, MUTATIONS / 50, MUTATIONS * 49 / 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_traces_are_read),
		cmocka_unit_test(cut_traces_are_errors),
		cmocka_unit_test(damaged_traces_are_errors_or_are_used),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
