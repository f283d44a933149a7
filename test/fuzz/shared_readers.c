/* What each reader does with any bytes. */
#include "test/fuzz/readers.h"

#include "ir/ir.h"
#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "passes/analysis/profile/text.h"
#include "passes/analysis/trace/report/measure.h"
#include "passes/analysis/trace/report/report.h"
#include "passes/pipeline/schedule.h"
#include "runtime/data/shards.h"
#include "test/fuzz/mlir_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <talloc.h>
#include <unistd.h>

enum {
	/* Blocks: putting them in place would take the time of the test, not of the parser. */
	LONG_CHAIN = 50,
	ROUTE_ENDS = 64,    /* of a cluster between which routes are looked for */
	CONTEXT_LIFE = 200, /* texts that a context sees */
};

#define HOLDS(condition) holds((condition), #condition, __func__)

static void
holds(bool condition, const char *text, const char *where)
{
	if (condition)
		return;
	fprintf(stderr, "%s: does not hold: %s\n", where, text);
	abort();
}

/* It is read without an error, or refused with one. */
static bool
is_read(const struct ir_context *ctx, unsigned errors, bool read)
{
	HOLDS(read == (diag_errors(ctx->diag) == errors));
	return read;
}

/* What `print` writes of x; for free(). */
static char *
printed(void (*print)(FILE *out, const void *x), const void *x, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	HOLDS(out != NULL);
	print(out, x);
	fclose(out);
	return text;
}

static void
same(const char *a, size_t na, const char *b, size_t nb)
{
	HOLDS(na == nb && memcmp(a, b, na) == 0);
}

/* A file with these bytes, for readers that take a path. */
struct file {
	int fd;
	char path[64];
};

static struct file
file_of(const char *text, size_t n)
{
	struct file f = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};

	HOLDS(f.fd >= 0 && write(f.fd, text, n) == (ssize_t)n);
	snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
	return f;
}

/* --- dir --- */

static void
print_module(FILE *out, const void *m)
{
	ir_print(out, m);
}

static bool
has_long_chain(const char *text)
{
	for (const char *s = text; (s = strstr(s, "repeat = ")); s++)
		if (strtoll(s + strlen("repeat = "), NULL, 10) > LONG_CHAIN)
			return true;
	return false;
}

static void
check_inlined(struct ir_context *ctx, const char *text, size_t n)
{
	const struct parse_options in_place = {.inline_calls = true};
	const unsigned errors = diag_errors(ctx->diag);
	struct ir_module *flat = parse_module(ctx, ctx, "inlined", text, n, &in_place);

	HOLDS(flat ? ir_verify(flat) : diag_errors(ctx->diag) > errors);
	talloc_free(flat);
}

static bool
check_dir(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	size_t n1, n2;

	struct ir_module *m = parse_module(ctx, ctx, "fuzzed", text, n, NULL);

	if (!is_read(ctx, errors, m))
		return false;
	HOLDS(ir_verify(m));
	char *once = printed(print_module, m, &n1);
	struct ir_module *again = parse_module(ctx, ctx, "printed", once, n1, NULL);
	HOLDS(again != NULL);
	char *twice = printed(print_module, again, &n2);
	same(once, n1, twice, n2);
	if (!has_long_chain(once))
		check_inlined(ctx, once, n1);
	talloc_free(again);
	talloc_free(m);
	free(once);
	free(twice);
	return true;
}

/* --- mlir --- */

static void
print_mlir(FILE *out, const void *f)
{
	mlir_print(out, f);
}

static bool
check_mlir(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	size_t n1, n2;

	mlir_is_text(text, n);
	struct mlir_file *f = mlir_read(ctx, ctx, "fuzzed", text, n);
	if (!is_read(ctx, errors, f))
		return false;
	char *once = printed(print_mlir, f, &n1);
	struct mlir_file *again = mlir_read(ctx, ctx, "printed", once, n1);
	HOLDS(again != NULL);
	char *twice = printed(print_mlir, again, &n2);
	same(once, n1, twice, n2);
	talloc_free(again);
	talloc_free(f);
	free(once);
	free(twice);
	return true;
}

/* --- cluster --- */

static void
check_routes(struct cluster *c)
{
	struct cluster_route r;

	cluster_reserve(c, 3);
	const uint32_t n = c->ndevices + c->nhosts, step = n / ROUTE_ENDS + 1;
	for (uint32_t i = 0; i < n; i += step)
		for (uint32_t j = 0; j < n; j += step) {
			HOLDS(cluster_route(c, i, j, &r));
			HOLDS(r.bandwidth > 0 && r.latency >= 0);
			for (uint32_t k = 0; k < r.nlinks; k++)
				HOLDS(r.link[k] < c->nlinks);
		}
}

static bool
check_cluster(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	struct cluster *c = cluster_parse(ctx, ctx, "fuzzed", text, n);

	if (!is_read(ctx, errors, c))
		return false;
	struct cluster *again = cluster_parse(ctx, ctx, "printed", c->text, strlen(c->text));
	HOLDS(again != NULL);
	same(again->text, strlen(again->text), c->text, strlen(c->text));
	HOLDS(again->ndevices == c->ndevices && again->nlinks == c->nlinks);
	check_routes(c);
	talloc_free(again);
	talloc_free(c);
	return true;
}

/* --- profile as text --- */

static void
print_profile(FILE *out, const void *p)
{
	HOLDS(profile_text_write((struct profile *)p, out));
}

/* What a data base with the entries of a text prints; for free(). */
static char *
profile_text_of(struct diag *d, const char *text, size_t n, size_t *nprinted)
{
	struct file f = file_of(text, n);
	struct profile *p = profile_open(NULL, d, f.path, PROFILE_READ);

	HOLDS(p != NULL);
	char *all = printed(print_profile, p, nprinted);
	talloc_free(p);
	close(f.fd);
	return all;
}

static bool
check_profile(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	size_t n1, n2;

	if (!is_read(ctx, errors, profile_text_load(NULL, ctx->diag, "fuzzed", text, n)))
		return false;
	/* A file with a zero byte is not one of text. */
	if (memchr(text, 0, n))
		return true;
	char *once = profile_text_of(ctx->diag, text, n, &n1);
	char *twice = profile_text_of(ctx->diag, once, n1, &n2);
	same(once, n1, twice, n2);
	free(once);
	free(twice);
	return true;
}

/* --- trace of one rank --- */

static bool
use_trace(struct diag *d, const void *owner, const struct trace_set *s, FILE *null)
{
	const struct trace_align_options o = {0};
	struct trace_alignment *a = trace_align(owner, d, s, &o);
	struct trace_measured *m = a ? trace_measure(owner, d, s, a) : NULL;

	if (!m)
		return false;
	HOLDS(isfinite(trace_aligned(a, 0, 0)));
	HOLDS(isfinite(m->iteration.median));
	trace_report_print(null, TRACE_JSON, s, a, m);
	trace_report_print(null, TRACE_TEXT, s, a, m);
	return true;
}

static bool
check_trace(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	struct file f = file_of(text, n);
	FILE *null = fopen("/dev/null", "w");
	void *scratch = talloc_new(NULL);
	const char *const path[] = {f.path};
	struct trace_set *s = trace_set_read(scratch, ctx->diag, path, 1);
	const bool good = s && use_trace(ctx->diag, scratch, s, null);

	talloc_free(scratch);
	fclose(null);
	close(f.fd);
	return is_read(ctx, errors, good);
}

/* --- safetensors --- */

static unsigned
sum_of(const struct rt_st_tensor *t)
{
	unsigned sum = 0;

	for (uint64_t i = 0; i < t->end - t->begin; i++)
		sum += ((const unsigned char *)t->data)[i];
	return sum;
}

static bool
check_safetensors(struct ir_context *ctx, const char *text, size_t n)
{
	struct file f = file_of(text, n);
	struct rt_st_file s;
	struct rt_status st = {0};
	const bool good = rt_st_open(&s, f.path, &st);
	uint64_t bytes = 0;

	HOLDS(good == (st.code == 0) && good == !*st.text);
	(void)ctx;
	for (int i = 0; good && i < s.count; i++) {
		const struct rt_st_tensor *t = &s.tensors[i];
		HOLDS(t->begin <= t->end && t->end <= n && t->rank >= 0 && t->rank <= RT_MAX_RANK);
		HOLDS(rt_st_find(&s, t->name) == t);
		HOLDS((const char *)t->data + (t->end - t->begin) <= (const char *)s.map + n);
		bytes += t->end - t->begin;
		sum_of(t);
	}
	HOLDS(bytes <= n);
	if (good)
		rt_st_close(&s);
	close(f.fd);
	return good;
}

/* --- indexes of safetensors files --- */

/* Files that an index names are not there: what remains are tensors in parts, or none. */
static bool
check_index(struct ir_context *ctx, const char *text, size_t n)
{
	struct file f = file_of(text, n);
	struct rt_st_file s;
	struct rt_status st = {0};
	const bool good = rt_st_open_any(&s, f.path, &st);

	HOLDS(good == (st.code == 0) && good == !*st.text);
	(void)ctx;
	for (int i = 0; good && i < s.count; i++) {
		const struct rt_st_tensor *t = &s.tensors[i];
		HOLDS(rt_st_find(&s, t->name) == t && (!t->data || !t->grid));
		struct rt_box box = {{0}, {0}};
		for (int d = 0; d < t->rank; d++)
			box.extent[d] = t->dims[d];
		const char *data;
		bool any = true;
		for (int d = 0; d < t->rank; d++)
			any = any && t->dims[d];
		if (t->grid)
			HOLDS(rt_st_read(&s, t, &box, &data, NULL, NULL, &st) == !any);
	}
	if (good)
		rt_st_close(&s);
	close(f.fd);
	return good;
}

/* --- schedules of pipelines --- */

static void
print_schedule(FILE *out, const void *s)
{
	schedule_write(out, s);
}

/* One that passes the checks does so with sends and receives, and can be simulated. */
static void
use_schedule(struct diag *d, const struct schedule *s)
{
	struct schedule_stage *stage =
		talloc_zero_array(NULL, struct schedule_stage, (unsigned)s->nstages);

	for (int i = 0; i < s->nstages; i++)
		stage[i] = (struct schedule_stage){1, 1, 1, 0.5, 1, 0.5};
	const struct schedule_cost *c = schedule_cost(stage, s, d, SCHEDULE_TAGGED, stage);
	HOLDS(c != NULL && isfinite(c->makespan) && c->peak >= 1);
	const struct schedule *with =
		schedule_has_messages(s) ? NULL : schedule_lower(stage, s, d, true);
	HOLDS(!with || schedule_verify(with, d, SCHEDULE_BLOCKING));
	talloc_free(stage);
}

static bool
check_schedule(struct ir_context *ctx, const char *text, size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	size_t n1, n2;
	struct schedule *s = schedule_read(ctx, ctx->diag, "fuzzed", text, n);

	if (!is_read(ctx, errors, s))
		return false;
	char *once = printed(print_schedule, s, &n1);
	struct schedule *again = schedule_read(ctx, ctx->diag, "printed", once, n1);
	HOLDS(again != NULL);
	char *twice = printed(print_schedule, again, &n2);
	same(once, n1, twice, n2);
	free(once);
	free(twice);
	const bool good = schedule_verify(again, ctx->diag, SCHEDULE_TAGGED);
	if (good)
		use_schedule(ctx->diag, again);
	talloc_free(again);
	talloc_free(s);
	return good;
}

/* --- the table --- */

struct fuzz_reader {
	const char *name;
	bool (*check)(struct ir_context *ctx, const char *text, size_t n);
	bool zero;   /* the reader asks for a zero behind the text */
	bool placed; /* every error has a place */
};

static const struct fuzz_reader readers[] = {
	{"dir", check_dir, false, false},
	{"mlir", check_mlir, false, false},
	{"cluster", check_cluster, true, true},
	{"profile", check_profile, true, false},
	{"trace", check_trace, false, false},
	{"safetensors", check_safetensors, false, false},
	{"index", check_index, false, false},
	{"schedule", check_schedule, false, false},
};

struct fuzz_session {
	const struct fuzz_reader *reader;
	struct ir_context *ctx;
	int texts;
};

static void
check_message(void *data, const struct diag_message *m)
{
	const struct fuzz_session *s = data;

	HOLDS(m->text != NULL);
	HOLDS(!s->reader->placed || (m->line > 0 && m->column > 0));
}

struct fuzz_session *
fuzz_session_create(const char *reader)
{
	struct fuzz_session *s = talloc_zero(NULL, struct fuzz_session);

	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (strcmp(readers[i].name, reader) == 0)
			s->reader = &readers[i];
	HOLDS(s->reader != NULL);
	return s;
}

void
fuzz_session_end(struct fuzz_session *s)
{
	talloc_free(s->ctx);
	talloc_free(s);
}

/* Its reporter keeps every text; making it takes longer than reading a small one. */
static struct ir_context *
context(struct fuzz_session *s)
{
	if (s->texts++ % CONTEXT_LIFE == 0) {
		talloc_free(s->ctx);
		s->ctx = ir_context_create(NULL);
		diag_set_handler(s->ctx->diag, check_message, s);
	}
	return s->ctx;
}

bool
fuzz_read(struct fuzz_session *s, const char *text, size_t n)
{
	struct ir_context *ctx = context(s);
	char *copy = s->reader->zero ? talloc_zero_size(NULL, n + 1) : NULL;

	if (copy)
		memcpy(copy, text, n);
	const bool right = s->reader->check(ctx, copy ? copy : text, n);
	talloc_free(copy);
	return right;
}
