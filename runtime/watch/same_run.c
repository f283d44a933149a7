/* What is compared, and how each thing is written: one table. Options have a column of their own
 * table that says how far they must agree (runtime/options.c).
 *
 * Files are compared by content, not by name: every machine may have a copy in a different place. A
 * file of up to WHOLE_BYTES is read whole, by each rank: at some GB/s that takes less than a
 * second, and ranks of one machine share the system's cache of it. For a longer file SAMPLES pieces
 * of SAMPLE_BYTES are read, the first, the last and others at equal distances, since reading
 * hundreds of GB before the first step would take minutes. Another data set, another order of rows
 * or another number of them shows in nearly every piece; a few changed rows in such a large file
 * may not. */
#include "runtime/data/digest.h"
#include "runtime/data/rows.h"
#include "runtime/watch/same.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE_BYTES ((size_t)1 << 20)
#define SAMPLES 1024
#define WHOLE_BYTES ((int64_t)(SAMPLES * SAMPLE_BYTES))

struct subject {
	const struct rt_program *prog;
	const struct rt_device *device;
	const struct rt_options *options;
	const struct rt_data *data;      /* NULL: not open yet */
	const struct rt_position *start; /* NULL: not known yet */
	const char *load;                /* the file to start from; NULL: none */
};

static uint64_t
digest_text(const char *text, uint64_t h)
{
	return text ? rt_digest(text, strlen(text), h) : h;
}

/* Field by field: the padding between them is not part of the program. */
#define ADD(h, field) rt_digest(&(field), sizeof(field), h)

static uint64_t
digest_tensor(const struct rt_tensor *t, uint64_t h)
{
	h = digest_text(t->name, h);
	h = ADD(ADD(ADD(ADD(h, t->role), t->dtype), t->rank), t->dims);
	h = ADD(ADD(h, t->file_rank), t->file_dims);
	for (int d = 0; d < RT_MAX_RANK; d++)
		h = rt_digest(t->split[d].axis, t->split[d].n, h);
	h = ADD(ADD(ADD(ADD(h, t->single), t->init), t->scale), t->mean);
	return ADD(ADD(ADD(ADD(ADD(h, t->seed), t->has_test), t->test), t->range), t->offset);
}

static uint64_t
digest_collective(const struct rt_coll *c, uint64_t h)
{
	h = digest_text(c->name, h);
	h = ADD(ADD(ADD(ADD(ADD(h, c->kind), c->axis), c->dtype), c->from), c->to);
	h = ADD(ADD(ADD(h, c->nbufs), c->bytes), c->parts);
	for (int i = 0; i < c->nbufs; i++) {
		const struct rt_buf *b = &c->bufs[i];
		h = ADD(ADD(ADD(ADD(ADD(h, b->src), b->dst), b->outer), b->n), b->inner);
		h = ADD(ADD(ADD(ADD(ADD(h, b->d1), b->mid), b->d2), b->first_split), b->stride);
	}
	return h;
}

static void
put_runtime(FILE *out, const struct subject *s)
{
	(void)s;
	fprintf(out, "version %u", RT_ABI_VERSION);
}

static void
put_program(FILE *out, const struct subject *s)
{
	fprintf(out, "%s", s->prog->name);
	if (s->prog->build)
		fprintf(out, " of module %s", s->prog->build);
}

static void
put_generator(FILE *out, const struct subject *s)
{
	fputs(s->prog->generator ? s->prog->generator : "unknown", out);
}

static void
put_device(FILE *out, const struct subject *s)
{
	fputs(s->device->name, out);
}

static void
put_mesh(FILE *out, const struct subject *s)
{
	for (int a = 0; a < s->prog->naxes; a++)
		fprintf(out, "%s%s%s = %" PRId64, a ? ", " : "[",
			s->prog->axes[a].is_time ? "steps " : "", s->prog->axes[a].name,
			s->prog->axes[a].size);
	fputs(s->prog->naxes ? "]" : "none", out);
}

static void
put_tensors(FILE *out, const struct subject *s)
{
	const struct rt_program *p = s->prog;
	uint64_t h = ADD(ADD(0, p->arena_bytes), p->batch);
	for (int i = 0; i < p->ntensors; i++)
		h = digest_tensor(&p->tensors[i], h);
	fprintf(out, "%d with digest %016" PRIx64, p->ntensors, h);
}

static void
put_kernels(FILE *out, const struct subject *s)
{
	const struct rt_program *p = s->prog;
	uint64_t h = 0;
	for (int i = 0; i < p->nkernels; i++)
		h = digest_text(p->kernels[i].op, digest_text(p->kernels[i].name, h));
	fprintf(out, "%d with digest %016" PRIx64, p->nkernels, h);
}

static void
put_collectives(FILE *out, const struct subject *s)
{
	uint64_t h = 0;
	for (int i = 0; i < s->prog->ncolls; i++)
		h = digest_collective(&s->prog->colls[i], h);
	fprintf(out, "%d with digest %016" PRIx64, s->prog->ncolls, h);
}

/* "x F32[50,3], y I32[50]" of the inputs that one part of the data set has. */
static void
put_part(FILE *out, const struct subject *s, enum rt_part part)
{
	bool any = false;
	for (int i = 0; s->data->sources[part] && i < s->prog->ntensors; i++) {
		const struct rt_st_tensor *t = s->data->sources[part][i];
		if (!t)
			continue;
		fprintf(out, "%s%s %s[", any ? ", " : "", t->name, t->dtype);
		for (int d = 0; d < t->rank; d++)
			fprintf(out, "%s%" PRId64, d ? "," : "", t->dims[d]);
		fputc(']', out);
		any = true;
	}
	if (!any)
		fputs("none", out);
}

static void
put_train(FILE *out, const struct subject *s)
{
	put_part(out, s, RT_TRAIN);
}

static void
put_test(FILE *out, const struct subject *s)
{
	put_part(out, s, RT_TEST);
}

/* Adds the bytes of a file from `at` on to the digest; fewer if it ends before. */
static bool
digest_piece(int file, int64_t at, char *room, uint64_t *h)
{
	size_t have = 0;
	ssize_t n = 1;
	for (; have < SAMPLE_BYTES && n > 0; have += n > 0 ? (size_t)n : 0)
		n = pread(file, room + have, SAMPLE_BYTES - have, at + (int64_t)have);
	*h = rt_digest(room, have, *h);
	return n >= 0;
}

/* A file's size and a digest of its content. */
static bool
digest_file(int file, int64_t *bytes, uint64_t *h)
{
	struct stat found;
	char *room = malloc(SAMPLE_BYTES);
	bool ok = room && !fstat(file, &found);
	*bytes = ok ? (int64_t)found.st_size : 0;
	*h = 0;
	const int64_t last = *bytes - (int64_t)SAMPLE_BYTES;
	for (int64_t at = 0; ok && *bytes <= WHOLE_BYTES && at < *bytes; at += SAMPLE_BYTES)
		ok = digest_piece(file, at, room, h);
	for (int64_t i = 0; ok && *bytes > WHOLE_BYTES && i < SAMPLES; i++)
		ok = digest_piece(file, i + 1 < SAMPLES ? last / SAMPLES * i : last, room, h);
	free(room);
	return ok;
}

/* What is added up over the files of a pattern. */
struct content {
	int64_t bytes;
	uint64_t digest;
};

static bool
digest_path(const char *path, void *arg)
{
	struct content *c = arg;
	int64_t bytes;
	uint64_t h;
	char *first = rt_st_first_file(path);
	const int file = first ? open(first, O_RDONLY | O_CLOEXEC) : -1;
	free(first);
	const bool ok = file >= 0 && digest_file(file, &bytes, &h);
	if (ok) {
		c->digest = c->bytes ? rt_digest(&h, sizeof h, c->digest) : h;
		c->bytes += bytes;
	}
	if (file >= 0)
		close(file);
	return ok;
}

/* Ranks of one process read one file, through one cache: no comparison is needed. Of a folder, the
 * index is compared: it has digests of its files, which are checked when they are read. */
static void
put_file(FILE *out, const char *path)
{
	struct content c = {0, 0};
	if (!path || !rt_mpi_started())
		fputs(path ? "read by one process" : "none", out);
	else if (rt_st_visit_rows(path, digest_path, &c))
		fprintf(out, "%" PRId64 " bytes with digest %016" PRIx64, c.bytes, c.digest);
	else
		fprintf(out, "not readable: %s", strerror(errno));
}

static void
put_data_file(FILE *out, const struct subject *s)
{
	put_file(out, s->options->data);
}

static void
put_load_file(FILE *out, const struct subject *s)
{
	put_file(out, s->load);
}

static void
put_start(FILE *out, const struct subject *s)
{
	fprintf(out, "after step %" PRId64 " with seed %" PRIu64 ", row %" PRIu64, s->start->step,
		s->start->seed, s->start->row);
}

/* When a thing is compared. */
enum when { AT_START, WITH_FILES };

static const struct {
	enum when when;
	const char *name;
	void (*put)(FILE *out, const struct subject *s);
} rows[] = {
	{AT_START, "version of the runtime", put_runtime},
	{AT_START, "program", put_program},
	{AT_START, "generator of the program", put_generator},
	{AT_START, "device", put_device},
	{AT_START, "mesh", put_mesh},
	{AT_START, "tensors of the program", put_tensors},
	{AT_START, "kernels of the program", put_kernels},
	{AT_START, "collectives of the program", put_collectives},
	{WITH_FILES, "start of the run", put_start},
	{WITH_FILES, "training set", put_train},
	{WITH_FILES, "test set", put_test},
	{WITH_FILES, "contents of -data", put_data_file},
	{WITH_FILES, "contents of -load", put_load_file},
};

static void
put_rows(struct rt_facts *f, enum when when, const struct subject *s)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		FILE *out = rows[i].when == when ? rt_fact(f, rows[i].name) : NULL;
		if (out)
			rows[i].put(out, s);
	}
}

static void
put_options(struct rt_facts *f, const struct rt_options *o)
{
	char name[RT_OPTION_TEXT], text[RT_OPTION_TEXT];
	for (int i = 0; rt_options_fact(o, i, name, text); i++) {
		FILE *out = *name ? rt_fact(f, name) : NULL;
		if (out)
			fputs(text, out);
	}
}

/* Options that not all ranks could read: which ranks could not, unless all have the same text. */
static bool
agree_on_failure(struct rt_world *w, struct rt_status *st)
{
	struct rt_status own = *st;
	struct rt_facts f = {0};
	FILE *out = rt_fact(&f, "options");
	if (out)
		fputs(st->code ? st->text : "in order", out);
	*st = (struct rt_status){0};
	if (!rt_facts_same(&f, w, "the ranks of this run were started differently", st))
		return false;
	*st = own;
	return !st->code;
}

bool
rt_same_start(const struct rt_program *p, const struct rt_device *device,
	const struct rt_options *o, struct rt_world *w, struct rt_status *st)
{
	if (!agree_on_failure(w, st))
		return false;
	struct rt_facts f = {0};
	put_rows(&f, AT_START, &(struct subject){p, device, o, NULL, NULL, NULL});
	put_options(&f, o);
	return rt_facts_same(&f, w, "the ranks of this run were started differently", st);
}

bool
rt_same_files(const struct rt_rank *r, const struct rt_data *d)
{
	if (r->world->nranks == 1)
		return true;
	struct rt_facts f = {0};
	put_rows(&f, WITH_FILES,
		&(struct subject){r->prog, r->device, r->options, d, &r->start, r->load});
	return rt_facts_same(&f, r->world, "the ranks of this run read different data", r->status);
}
