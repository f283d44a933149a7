/* Data sets of several files: see rows.h. */
#include "runtime/data/rows.h"
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

bool
rt_st_visit_rows(const char *pattern, bool (*visit)(const char *path, void *arg), void *arg)
{
	glob_t found = {0};
	if (!access(pattern, F_OK)) /* a name, whatever characters it has */
		return visit(pattern, arg);
	/* A name that matches no file is one that cannot be opened. */
	bool ok = !glob(pattern, GLOB_BRACE | GLOB_NOCHECK, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && ok; i++)
		ok = visit(found.gl_pathv[i], arg);
	globfree(&found);
	return ok;
}

/* The files that are being opened. */
struct set {
	struct rt_st_file *f;
	struct rt_status *st;
};

static bool
open_one(const char *path, void *arg)
{
	struct set *s = arg;
	struct rt_st_shard *shard = rt_st_add_shard(s->f, strdup(path));
	if (!shard || !shard->name)
		return rt_fail_memory(s->st, strlen(path), "a file name");
	return rt_st_open(&shard->file, path, s->st);
}

/* The tensor of a file, which must be one like the first file's, but for the number of its rows. */
static const struct rt_st_tensor *
find_alike(const struct rt_st_file *file, const struct rt_st_tensor *first, struct rt_status *st)
{
	const struct rt_st_tensor *t = rt_st_find(file, first->name);
	int64_t dims[RT_MAX_RANK];
	if (!t) {
		rt_fail(st, RT_EXIT_USAGE, "%s: there is no tensor '%s'", file->path, first->name);
		return NULL;
	}
	if (strcmp(t->dtype, first->dtype)) {
		rt_fail(st, RT_EXIT_USAGE,
			"%s: tensor '%s': expected elements of type %s, found %s", file->path,
			t->name, first->dtype, t->dtype);
		return NULL;
	}
	memcpy(dims, first->dims, sizeof dims);
	if (first->rank)
		dims[0] = -1;
	return rt_st_check_shape(file, t, first->rank, dims, st) ? t : NULL;
}

/* Memory for a grid of n parts along the first dimension. */
static bool
new_grid(struct rt_st_tensor *t, int64_t n)
{
	struct rt_st_grid *g = t->grid = calloc(1, sizeof *g);
	bool ok = g != NULL;
	for (int d = 0; d < t->rank && ok; d++) {
		g->cuts[d] = calloc(d ? 1 : (size_t)n, sizeof *g->cuts[d]);
		g->ncuts[d] = d ? 1 : 0;
		ok = g->cuts[d] != NULL;
	}
	if (ok)
		g->shards = calloc((size_t)n, sizeof *g->shards);
	return ok && g->shards;
}

static bool
is_test(const struct rt_st_tensor *t)
{
	return strncmp(t->name, "test.", strlen("test.")) == 0;
}

static bool
has_test(const struct rt_st_file *file)
{
	for (int i = 0; i < file->count; i++)
		if (is_test(&file->tensors[i]))
			return true;
	return false;
}

/* Tensor number i of file `from`, with the rows of all files; those without a test set have none of its. */
static bool
join(struct rt_st_file *f, int from, int i, struct rt_status *st)
{
	const struct rt_st_tensor *first = &f->shards[from].file.tensors[i];
	struct rt_st_tensor *t = rt_st_add_tensor(f);
	if (!t)
		return rt_fail_memory(st, sizeof *t, "a data set");
	*t = *first;
	t->name = strdup(first->name);
	if (!t->name || (t->rank && !new_grid(t, f->nshards)))
		return rt_fail_memory(st, sizeof *t, "a data set");
	if (!t->rank)
		return true;
	t->data = NULL;
	t->dims[0] = 0;
	struct rt_st_grid *g = t->grid;
	for (int k = 0; k < f->nshards; k++) {
		const struct rt_st_file *file = &f->shards[k].file;
		if (is_test(first) && !has_test(file))
			continue;
		const struct rt_st_tensor *part = find_alike(file, first, st);
		if (!part)
			return false;
		if (!part->dims[0])
			continue;
		g->cuts[0][g->ncuts[0]] = t->dims[0];
		g->shards[g->ncuts[0]++] = k;
		t->dims[0] += part->dims[0];
	}
	if (!g->ncuts[0]) { /* no rows at all */
		g->shards[0] = from;
		g->ncuts[0] = 1;
	}
	return true;
}

/* Every file has the tensors of the first, and no others, except the test set: some files may have it. */
static bool
join_all(struct rt_st_file *f, struct rt_status *st)
{
	for (int i = 0; i < f->shards[0].file.count; i++)
		if (!join(f, 0, i, st))
			return false;
	const bool tested = has_test(&f->shards[0].file);
	for (int k = 1; k < f->nshards; k++)
		for (int i = 0; i < f->shards[k].file.count; i++) {
			const struct rt_st_tensor *t = &f->shards[k].file.tensors[i];
			if (rt_st_find(f, t->name))
				continue;
			if (tested || !is_test(t))
				return rt_fail(st, RT_EXIT_USAGE, "%s: tensor '%s' is not in %s",
					f->shards[k].file.path, t->name, f->shards[0].file.path);
			if (!join(f, k, i, st))
				return false;
		}
	return true;
}

/* Counts files, and keeps the name of the last. */
struct count {
	int n;
	char *last;
};

static bool
count_one(const char *path, void *arg)
{
	struct count *c = arg;
	free(c->last);
	c->last = strdup(path);
	c->n++;
	return c->last != NULL;
}

bool
rt_st_open_rows(struct rt_st_file *f, const char *pattern, struct rt_status *st)
{
	struct count c = {0, NULL};
	struct set s = {f, st};
	*f = (struct rt_st_file){0};
	bool ok = rt_st_visit_rows(pattern, count_one, &c) ||
		  rt_fail_memory(st, strlen(pattern), "a file name");
	if (ok && c.n == 1)
		ok = rt_st_open_any(f, c.last, st);
	else if (ok) {
		f->path = strdup(pattern);
		ok = f->path && rt_st_visit_rows(pattern, open_one, &s) && join_all(f, st);
		if (!ok) {
			rt_fail_memory(st, strlen(pattern), "a data set");
			rt_st_close(f);
		}
	}
	free(c.last);
	return ok;
}

static bool
is_stream(const struct rt_st_tensor *t, int input_rank)
{
	return t->rank == 1 && input_rank == 2;
}

int64_t
rt_st_rows(const struct rt_st_tensor *t, int input_rank, int64_t width)
{
	if (!t->rank)
		return 1;
	return is_stream(t, input_rank) ? t->dims[0] / width : t->dims[0];
}

void
rt_st_rows_box(const struct rt_st_tensor *t, int input_rank, const int64_t *input_dims,
	const struct rt_box *inner, int64_t row, int64_t n, struct rt_box *box)
{
	*box = (struct rt_box){.start = {row}, .extent = {n}};
	for (int d = 1; d < input_rank && d < RT_MAX_RANK; d++) {
		box->start[d] = inner->start[d - 1];
		box->extent[d] = inner->extent[d - 1];
	}
	if (is_stream(t, input_rank)) {
		box->start[0] = row * input_dims[1] + inner->start[0];
		box->extent[0] = (n - 1) * input_dims[1] + inner->extent[0];
	}
}
