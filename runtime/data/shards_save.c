/* Saving into a folder: see shards_save.h. */
#include "runtime/data/shards_save.h"
#include "runtime/data/digest.h"
#include "runtime/data/json.h"
#include "runtime/data/params.h"
#include "runtime/data/shards.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "model-000000600-00001-of-00004.safetensors"; the second save of a step in a folder has
 * "model-000000600.1-": no file is written that an index may name already. */
#define PREFIX "model-"
#define STEP_DIGITS 9
#define EXTENSION ".safetensors"
#define NAME_BYTES 128

/* What the ranks tell each other: the file that each has written. */
struct written {
	int64_t bytes; /* 0: none */
	uint64_t digest;
};

struct save {
	struct rt_rank *r;
	const char *path;
	int64_t step;
	struct rt_position_text position;
	int32_t attempt;
	struct written *all; /* [nranks] */
	double *share; /* [ntensors]: the part of all bytes that is before the tensor, 0 to 1 */
	double total;  /* bytes of all tensors */
};

bool
rt_shards_named(const char *path)
{
	const size_t length = strlen(path);
	return length && path[length - 1] == '/';
}

bool
rt_shards_folder(const char *path, struct rt_status *st)
{
	return ((!mkdir(path, 0777) || errno == EEXIST) && !access(path, W_OK | X_OK)) ||
	       rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", path, strerror(errno));
}

/* Calls `visit` for the files of this format in a folder, the index not among them. */
static void
visit_files(
	const char *path, void (*visit)(const char *path, const char *name, void *arg), void *arg)
{
	DIR *folder = opendir(path);
	for (struct dirent *e; folder && (e = readdir(folder));) {
		const char *name = e->d_name + strlen(PREFIX), *end = strstr(e->d_name, EXTENSION);
		if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) &&
			strspn(name, "0123456789") >= STEP_DIGITS && end)
			visit(path, e->d_name, arg);
	}
	if (folder)
		closedir(folder);
}

static void
remove_file(const char *path, const char *name, void *arg)
{
	const char *kept = arg; /* begin of the names that stay; NULL: none */
	char *file = NULL;
	if ((kept && !strncmp(name, kept, strlen(kept))) || asprintf(&file, "%s%s", path, name) < 0)
		return;
	unlink(file);
	free(file);
}

static char *
index_of(const char *path)
{
	char *file = NULL;
	return asprintf(&file, "%s" RT_ST_INDEX, path) < 0 ? NULL : file;
}

bool
rt_shards_complete(const char *path)
{
	char *index = index_of(path);
	const bool complete = index && !access(index, F_OK);
	free(index);
	return complete;
}

void
rt_shards_remove(const char *path)
{
	char *index = index_of(path);
	if (index)
		unlink(index);
	free(index);
	visit_files(path, remove_file, NULL);
	rmdir(path);
}

/* --- names ------------------------------------------------------------------------------------ */

/* "model-000000600-" of this step and attempt. */
static void
put_prefix(const struct save *s, char *text)
{
	int n = snprintf(text, NAME_BYTES, PREFIX "%0*" PRId64, STEP_DIGITS, s->step);
	if (s->attempt)
		n += snprintf(text + n, NAME_BYTES - (size_t)n, ".%" PRId32, s->attempt);
	snprintf(text + n, NAME_BYTES - (size_t)n, "-");
}

static void
put_name(const struct save *s, int rank, char *text)
{
	put_prefix(s, text);
	const size_t n = strlen(text);
	snprintf(text + n, NAME_BYTES - n, "%05d-of-%05d" EXTENSION, rank + 1, s->r->world->nranks);
}

struct taken {
	char prefix[NAME_BYTES];
	bool found;
};

static void
look_for(const char *path, const char *name, void *arg)
{
	struct taken *t = arg;
	(void)path;
	t->found = t->found || !strncmp(name, t->prefix, strlen(t->prefix));
}

/* Names that are not in the folder: rank 0 looks, all use them. */
static bool
find_names(struct save *s)
{
	struct rt_rank *r = s->r;
	int32_t *all = malloc((size_t)r->world->nranks * sizeof *all);
	struct taken t = {.found = !r->world->rank && rt_shards_folder(s->path, r->status)};
	for (s->attempt = -1; t.found;) {
		s->attempt++;
		t.found = false;
		put_prefix(s, t.prefix);
		visit_files(s->path, look_for, &t);
	}
	s->all = malloc((size_t)r->world->nranks * sizeof *s->all);
	if (!all || !s->all)
		rt_fail_memory(r->status, (size_t)r->world->nranks * sizeof *s->all, "file names");
	const bool ok = rt_agree(r->world, r->status);
	if (ok) {
		r->world->ops->allgather(r->world, &s->attempt, all, sizeof s->attempt);
		s->attempt = all[0];
	}
	free(all);
	return ok;
}

/* --- who writes what -------------------------------------------------------------------------- */

static bool
is_split(const struct rt_tensor *t, int axis)
{
	for (int d = 0; d < t->rank; d++)
		for (int i = 0; i < t->split[d].n; i++)
			if (t->split[d].axis[i] == axis)
				return true;
	return false;
}

/* The number of the ranks that hold the same part, and which of them these coordinates are. */
static int64_t
replicas(
	const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord, int64_t *which)
{
	int64_t n = 1;
	*which = 0;
	for (int a = 0; a < p->naxes; a++) {
		if (p->axes[a].is_time || t->single[a] || is_split(t, a))
			continue;
		n *= p->axes[a].size;
		*which = *which * p->axes[a].size + coord[a];
	}
	return n;
}

/* The parts of a tensor over each dimension. */
static int64_t
grid_of(const struct rt_program *p, const struct rt_tensor *t, int64_t *parts)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++) {
		parts[d] = 1;
		for (int i = 0; i < t->split[d].n; i++)
			parts[d] *= p->axes[t->split[d].axis[i]].size;
		n *= parts[d];
	}
	return n;
}

/* What is replicated is divided over its replicas by these shares. */
static bool
find_shares(struct save *s)
{
	const struct rt_program *p = s->r->prog;
	s->share = calloc((size_t)p->ntensors + 1, sizeof *s->share);
	if (!s->share)
		return rt_fail_memory(
			s->r->status, (size_t)p->ntensors * sizeof *s->share, "shares");
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		s->share[i] = s->total;
		if (rt_is_kept(t))
			s->total +=
				(double)rt_tensor_elements(t) * (double)rt_dtype_bytes(t->dtype);
	}
	for (int i = 0; i < p->ntensors && s->total > 0; i++)
		s->share[i] /= s->total;
	return true;
}

/* Does the rank at these coordinates write its part of tensor i? One of the replicas does. */
static bool
is_writer(const struct save *s, int i, const int64_t *coord)
{
	const struct rt_tensor *t = &s->r->prog->tensors[i];
	int64_t which;
	if (!rt_is_kept(t) || !rt_tensor_here(s->r->prog, t, coord))
		return false;
	const int64_t n = replicas(s->r->prog, t, coord, &which);
	const int64_t turn = (int64_t)(s->share[i] * (double)n);
	return which == (turn < n ? turn : n - 1);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The tensors of this rank's file. */
struct content {
	int count;
	const struct rt_tensor **tensors;
	struct rt_st_entry *entries;
	struct rt_box *boxes;
};

static bool
find_content(struct content *c, const struct save *s)
{
	const struct rt_rank *r = s->r;
	const struct rt_program *p = r->prog;
	const size_t n = (size_t)p->ntensors + 1;
	int64_t parts[RT_MAX_RANK];
	c->tensors = calloc(n, sizeof *c->tensors);
	c->entries = calloc(n, sizeof *c->entries);
	c->boxes = calloc(n, sizeof *c->boxes);
	if (!c->tensors || !c->entries || !c->boxes)
		return rt_fail_memory(r->status, n * sizeof *c->boxes, "a file's header");
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		struct rt_box *box = &c->boxes[c->count];
		if (!is_writer(s, i, r->ctx.coord))
			continue;
		rt_tensor_box(p, t, r->ctx.coord, 0, box);
		c->tensors[c->count] = t;
		c->entries[c->count++] =
			grid_of(p, t, parts) > 1
				? (struct rt_st_entry){t->name, t->dtype, t->rank, box->extent}
				: rt_st_whole_entry(t, t->name);
	}
	return true;
}

static bool
append_all(struct rt_st_writer *w, const struct content *c, struct rt_rank *r, struct written *out)
{
	for (int i = 0; i < c->count; i++) {
		const size_t bytes = rt_slice_bytes(r->prog, c->tensors[i]);
		const void *data = rt_rank_view(r, c->tensors[i], 0);
		out->digest = rt_digest(data, bytes, out->digest);
		if (!rt_st_append(w, data, bytes, r->status))
			return false;
	}
	out->bytes = (int64_t)ftello(w->out.file);
	return out->bytes >= 0;
}

static bool
write_file(struct save *s, const struct content *c, struct written *out)
{
	struct rt_rank *r = s->r;
	struct rt_st_writer w;
	struct rt_st_pair pairs[RT_POSITION_PAIRS + 1];
	char name[NAME_BYTES], of[NAME_BYTES], *file = NULL;
	if (!c->count)
		return true;
	put_name(s, r->world->rank, name);
	snprintf(of, sizeof of, "%d of %d", r->world->rank + 1, r->world->nranks);
	memcpy(pairs, s->position.pairs, sizeof s->position.pairs);
	pairs[RT_POSITION_PAIRS] = (struct rt_st_pair){(char *)(uintptr_t)RT_ST_PART_OF, of};
	if (asprintf(&file, "%s%s", s->path, name) < 0)
		return rt_fail_memory(r->status, sizeof name, "a file name");
	const int npairs = RT_POSITION_PAIRS + (r->world->nranks > 1);
	bool ok = rt_st_create(&w, file, c->entries, c->count, pairs, npairs, r->status);
	if (ok)
		ok = rt_st_finish(&w, append_all(&w, c, r, out), r->status);
	free(file);
	return ok;
}

/* --- the index -------------------------------------------------------------------------------- */

/* The rank that writes each part, row-major over the grid; from malloc. */
static int *
writers(const struct save *s, int tensor, const int64_t *parts, int64_t n)
{
	const struct rt_program *p = s->r->prog;
	const struct rt_tensor *t = &p->tensors[tensor];
	int *rank_of = calloc((size_t)n, sizeof *rank_of);
	for (int rank = 0; rank_of && rank < rt_places(p); rank++) {
		int64_t coord[RT_MAX_AXES], part = 0;
		struct rt_box box;
		rt_place_coords(p, rank, coord);
		if (!is_writer(s, tensor, coord))
			continue;
		rt_tensor_box(p, t, coord, 0, &box);
		for (int d = 0; d < t->rank; d++)
			part = part * parts[d] + (box.extent[d] ? box.start[d] / box.extent[d] : 0);
		rank_of[part] = rank;
	}
	return rank_of;
}

static void
put_list(FILE *out, int64_t n, int64_t step)
{
	for (int64_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "[", i * step);
	fputc(']', out);
}

/* "w": {"dtype": ..., "shape": ..., "cuts": ..., "files": ...} */
static bool
put_tensor(FILE *out, const struct save *s, int tensor, const int64_t *number_of)
{
	const struct rt_program *p = s->r->prog;
	const struct rt_tensor *t = &p->tensors[tensor];
	int64_t parts[RT_MAX_RANK];
	const int64_t n = grid_of(p, t, parts);
	int *rank_of = writers(s, tensor, parts, n);
	if (!rank_of)
		return false;
	rt_json_put(out, t->name);
	fprintf(out, ": {\"dtype\": \"%s\", \"shape\": [", rt_dtype_info(t->dtype)->safetensors);
	const struct rt_st_entry whole = rt_st_whole_entry(t, t->name);
	for (int d = 0; d < whole.rank; d++)
		fprintf(out, "%s%" PRId64, d ? "," : "", whole.dims[d]);
	fputs("], \"cuts\": [", out);
	for (int d = 0; d < (n > 1 ? t->rank : whole.rank); d++) {
		fputs(d ? "," : "", out);
		put_list(out, n > 1 ? parts[d] : 1, n > 1 ? t->dims[d] / parts[d] : 0);
	}
	fputs("], \"files\": [", out);
	for (int64_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", number_of[rank_of[i]]);
	fputs("]}", out);
	free(rank_of);
	return true;
}

/* The rank whose file has the whole tensor; -1: it is in parts. */
static int
whole_in(const struct save *s, int tensor)
{
	int64_t parts[RT_MAX_RANK];
	if (grid_of(s->r->prog, &s->r->prog->tensors[tensor], parts) > 1)
		return -1;
	int *rank_of = writers(s, tensor, parts, 1);
	const int rank = rank_of ? *rank_of : -1;
	free(rank_of);
	return rank;
}

static void
put_metadata(FILE *out, const struct save *s)
{
	fprintf(out, "{\n\"metadata\": {\"total_size\": %.0f", s->total);
	for (int i = 0; i < RT_POSITION_PAIRS; i++)
		fprintf(out, ", \"%s\": \"%s\"", s->position.pairs[i].key,
			s->position.pairs[i].value);
	fputs("},\n\"weight_map\": {", out);
}

static void
put_map(FILE *out, const struct save *s)
{
	const struct rt_program *p = s->r->prog;
	const char *between = "\n";
	for (int i = 0; i < p->ntensors; i++) {
		char name[NAME_BYTES];
		const int rank = rt_is_kept(&p->tensors[i]) ? whole_in(s, i) : -1;
		if (rank < 0)
			continue;
		put_name(s, rank, name);
		fputs(between, out);
		rt_json_put(out, p->tensors[i].name);
		fprintf(out, ": \"%s\"", name);
		between = ",\n";
	}
	fputs("},\n\"dopt\": {\"files\": [", out);
}

/* number_of[rank]: of its file in the list. */
static void
put_files(FILE *out, const struct save *s, int64_t *number_of)
{
	int64_t n = 0;
	for (int rank = 0; rank < s->r->world->nranks; rank++) {
		char name[NAME_BYTES];
		if (!s->all[rank].bytes)
			continue;
		put_name(s, rank, name);
		fprintf(out,
			"%s{\"name\": \"%s\", \"bytes\": %" PRId64 ", \"digest\": \"%016" PRIx64
			"\"}",
			n ? ",\n" : "\n", name, s->all[rank].bytes, s->all[rank].digest);
		number_of[rank] = n++;
	}
	fputs("],\n\"tensors\": {", out);
}

static bool
put_index(FILE *out, const struct save *s, int64_t *number_of)
{
	const struct rt_program *p = s->r->prog;
	const char *between = "\n";
	put_metadata(out, s);
	put_map(out, s);
	put_files(out, s, number_of);
	for (int i = 0; i < p->ntensors; i++) {
		if (!rt_is_kept(&p->tensors[i]))
			continue;
		fputs(between, out);
		if (!put_tensor(out, s, i, number_of))
			return false;
		between = ",\n";
	}
	fputs("}}\n}\n", out);
	return true;
}

static bool
write_index(const struct save *s)
{
	struct rt_status *st = s->r->status;
	struct rt_write w;
	char *file = index_of(s->path);
	int64_t *number_of = calloc((size_t)s->r->world->nranks, sizeof *number_of);
	bool ok = (file && number_of) || rt_fail_memory(st, NAME_BYTES, "an index");
	if (ok && !rt_write_open(&w, file))
		ok = rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", file, strerror(errno));
	if (ok) {
		const bool put = put_index(w.file, s, number_of);
		errno = ENOMEM; /* the only reason for `put` to be false */
		ok = (rt_write_close(&w, put) && put) ||
		     rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", file, strerror(errno));
	}
	free(number_of);
	free(file);
	return ok;
}

bool
rt_shards_save(struct rt_rank *r, const char *path, const struct rt_position *where)
{
	struct save s = {.r = r, .path = path, .step = where->step};
	struct content c = {0};
	struct written mine = {0};
	rt_position_write(where, &s.position);
	bool ok = find_names(&s);
	if (ok) {
		if (find_shares(&s) && find_content(&c, &s))
			write_file(&s, &c, &mine);
		ok = rt_agree(r->world, r->status);
	}
	if (ok) {
		r->world->ops->allgather(r->world, &mine, s.all, sizeof mine);
		if (!r->world->rank && write_index(&s)) {
			char prefix[NAME_BYTES];
			put_prefix(&s, prefix);
			visit_files(path, remove_file, prefix);
		}
		ok = rt_agree(r->world, r->status);
	}
	free(c.tensors);
	free(c.entries);
	free(c.boxes);
	free(s.share);
	free(s.all);
	return ok;
}
