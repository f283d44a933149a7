/* Reading tensors that are in several files: see shards.h. */
#include "runtime/data/shards.h"
#include "runtime/data/digest.h"
#include "runtime/data/json.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Metadata with such keys is the same in the index and in its files. */
#define OWN_KEYS "dopt."

struct reader {
	struct rt_st_file *f;
	struct rt_json json;
	struct rt_st_pair *map; /* weight_map: tensor and file */
	int nmap;
	bool has_parts;
	struct rt_status *st;
};

static bool
bad(struct reader *r, const char *what)
{
	return rt_fail(r->st, RT_EXIT_USAGE, "%s: not an index of safetensors files: %s (byte %td)",
		r->f->path, what, r->json.at - r->json.begin);
}

/* Calls `member` for each member of an object, with the cursor at its value. */
static bool
read_object(
	struct reader *r, bool (*member)(struct reader *r, const char *key, void *arg), void *arg)
{
	struct rt_json *j = &r->json;
	if (!rt_json_take(j, '{'))
		return bad(r, "expected '{'");
	if (rt_json_take(j, '}'))
		return true;
	do {
		char *key = rt_json_string(j);
		bool ok = (key && rt_json_take(j, ':')) || bad(r, "expected a name and ':'");
		ok = ok && member(r, key, arg);
		free(key);
		if (!ok)
			return false;
	} while (rt_json_take(j, ','));
	return rt_json_take(j, '}') || bad(r, "expected ',' or '}'");
}

static bool
skip(struct reader *r)
{
	return rt_json_skip(&r->json) || bad(r, "expected a value");
}

/* [16,32] into a list from malloc, which must be NULL before. */
static bool
read_counts(struct reader *r, int64_t **list, int64_t *n)
{
	struct rt_json *j = &r->json;
	if (*list || !rt_json_take(j, '['))
		return bad(r, *list ? "a list that is given twice" : "expected a list of numbers");
	int64_t room = 0;
	bool more = !rt_json_next(j, ']');
	while (more) {
		if (*n == room) {
			room = room ? 2 * room : 4;
			int64_t *longer = realloc(*list, (size_t)room * sizeof **list);
			if (!longer)
				return rt_fail_memory(r->st, (size_t)room, "an index");
			*list = longer;
		}
		if (!rt_json_count(j, &(*list)[(*n)++]))
			return bad(r, "expected a whole number");
		more = rt_json_take(j, ',');
	}
	return rt_json_take(j, ']') || bad(r, "expected ',' or ']'");
}

static bool
read_metadata(struct reader *r, const char *key, void *arg)
{
	(void)arg;
	if (!rt_json_next(&r->json, '"'))
		return skip(r); /* total_size */
	const struct rt_st_pair pair = {strdup(key), rt_json_string(&r->json)};
	return rt_st_add_pair(&r->f->pairs, &r->f->npairs, pair) || bad(r, "expected a string");
}

static bool
read_map(struct reader *r, const char *key, void *arg)
{
	(void)arg;
	const struct rt_st_pair pair = {strdup(key), rt_json_string(&r->json)};
	return rt_st_add_pair(&r->map, &r->nmap, pair) || bad(r, "expected the name of a file");
}

struct rt_st_shard *
rt_st_add_shard(struct rt_st_file *f, char *name)
{
	struct rt_st_shard *more = realloc(f->shards, (size_t)(f->nshards + 1) * sizeof *f->shards);
	if (!more) {
		free(name);
		return NULL;
	}
	f->shards = more;
	f->shards[f->nshards] = (struct rt_st_shard){.name = name};
	return &f->shards[f->nshards++];
}

static bool
read_shard(struct reader *r, const char *key, void *arg)
{
	struct rt_st_shard *s = arg;
	struct rt_json *j = &r->json;
	if (!strcmp(key, "name") && !s->name)
		return (s->name = rt_json_string(j)) != NULL || bad(r, "expected a name");
	if (!strcmp(key, "bytes"))
		return rt_json_count(j, &s->bytes) || bad(r, "expected a number of bytes");
	if (strcmp(key, "digest"))
		return skip(r);
	char *text = rt_json_string(j), *end = text;
	if (text)
		s->digest = strtoull(text, &end, 16);
	const bool ok = text && *text && !*end;
	free(text);
	return ok || bad(r, "expected a digest of hexadecimal digits");
}

static bool
read_shards(struct reader *r)
{
	struct rt_json *j = &r->json;
	if (!rt_json_take(j, '['))
		return bad(r, "expected a list of files");
	if (rt_json_take(j, ']'))
		return true;
	do {
		struct rt_st_shard *s = rt_st_add_shard(r->f, NULL);
		if (!s)
			return rt_fail_memory(r->st, sizeof *s, "an index");
		s->described = true;
		if (!read_object(r, read_shard, s))
			return false;
	} while (rt_json_take(j, ','));
	return rt_json_take(j, ']') || bad(r, "expected ',' or ']'");
}

static bool
read_dtype(struct reader *r, struct rt_st_tensor *t)
{
	char *text = rt_json_string(&r->json);
	if (text)
		snprintf(t->dtype, sizeof t->dtype, "%s", text);
	free(text);
	return rt_st_dtype(t) < RT_DTYPES || bad(r, "expected an element type such as \"F32\"");
}

static bool
read_shape(struct reader *r, struct rt_st_tensor *t)
{
	int64_t *dims = NULL, n = 0;
	bool ok = read_counts(r, &dims, &n);
	if (ok && n > RT_MAX_RANK)
		ok = bad(r, "expected a shape of at most 8 dimensions");
	t->rank = ok ? (int)n : 0;
	for (int d = 0; d < t->rank; d++)
		t->dims[d] = dims[d];
	free(dims);
	return ok;
}

static bool
read_cuts(struct reader *r, struct rt_st_grid *g)
{
	struct rt_json *j = &r->json;
	int d = 0;
	if (!rt_json_take(j, '['))
		return bad(r, "expected the cuts of each dimension");
	if (rt_json_take(j, ']'))
		return true;
	do {
		if (d == RT_MAX_RANK)
			return bad(r, "expected cuts of at most 8 dimensions");
		if (!read_counts(r, &g->cuts[d], &g->ncuts[d]))
			return false;
		d++;
	} while (rt_json_take(j, ','));
	return rt_json_take(j, ']') || bad(r, "expected ',' or ']'");
}

/* The tensor whose object is being read, and the length of its list of files. */
struct parts {
	struct rt_st_tensor *t;
	int64_t nfiles;
};

static bool
read_part(struct reader *r, const char *key, void *arg)
{
	struct parts *p = arg;
	if (!strcmp(key, "dtype"))
		return read_dtype(r, p->t);
	if (!strcmp(key, "shape"))
		return read_shape(r, p->t);
	if (!strcmp(key, "cuts"))
		return read_cuts(r, p->t->grid);
	return strcmp(key, "files") ? skip(r) : read_counts(r, &p->t->grid->shards, &p->nfiles);
}

static int64_t
elements_of(const struct rt_st_tensor *t)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++)
		n *= t->dims[d];
	return n;
}

/* Is the grid one of this tensor, with a file for each part? */
static bool
check_grid(struct reader *r, const struct parts *p)
{
	struct rt_st_grid *g = p->t->grid;
	uint64_t elements = 8; /* bytes of the largest element type */
	int64_t n = 1;
	bool ok = rt_st_dtype(p->t) < RT_DTYPES;
	for (int d = 0; d < p->t->rank && ok; d++)
		ok = !__builtin_mul_overflow(elements, (uint64_t)p->t->dims[d], &elements);
	g->flat = p->t->rank > 1 && g->ncuts[0] && !g->ncuts[1];
	for (int d = 0; d < RT_MAX_RANK && ok; d++) {
		const int64_t size = g->flat ? elements_of(p->t) : p->t->dims[d];
		ok = d < (g->flat ? 1 : p->t->rank) ? g->ncuts[d] > 0 && g->cuts[d][0] == 0
						    : !g->ncuts[d];
		for (int64_t i = 1; i < g->ncuts[d] && ok; i++)
			ok = g->cuts[d][i - 1] < g->cuts[d][i] && g->cuts[d][i] < size;
		ok = ok && (!g->ncuts[d] || !__builtin_mul_overflow(n, g->ncuts[d], &n));
	}
	ok = ok && p->nfiles == n;
	for (int64_t i = 0; i < n && ok; i++)
		ok = g->shards[i] < r->f->nshards;
	return ok || rt_fail(r->st, RT_EXIT_USAGE,
			     "%s: tensor '%s': its cuts and files do not fit its type and shape",
			     r->f->path, p->t->name);
}

static bool
read_tensor(struct reader *r, const char *key, void *arg)
{
	(void)arg;
	struct parts p = {rt_st_add_tensor(r->f), 0};
	if (p.t) {
		p.t->name = strdup(key);
		p.t->grid = calloc(1, sizeof *p.t->grid);
	}
	if (!p.t || !p.t->name || !p.t->grid)
		return rt_fail_memory(r->st, sizeof *p.t->grid, "an index");
	return read_object(r, read_part, &p) && check_grid(r, &p);
}

/* "files" comes first: parts are checked against it. */
static bool
read_own(struct reader *r, const char *key, void *arg)
{
	if (!strcmp(key, "files"))
		return read_shards(r);
	return strcmp(key, "tensors") ? skip(r) : read_object(r, read_tensor, arg);
}

static bool
read_index(struct reader *r, const char *key, void *arg)
{
	if (!strcmp(key, "metadata"))
		return read_object(r, read_metadata, arg);
	if (!strcmp(key, "weight_map"))
		return read_object(r, read_map, arg);
	if (strcmp(key, "dopt"))
		return skip(r);
	r->has_parts = true;
	return read_object(r, read_own, arg);
}

/* --- files ------------------------------------------------------------------------------------ */

/* DIR/name from malloc, next to the index. */
static char *
path_beside(const char *index, const char *name)
{
	const char *slash = strrchr(index, '/');
	char *path = NULL;
	return asprintf(&path, "%.*s%s", slash ? (int)(slash - index + 1) : 0, index, name) < 0
		       ? NULL
		       : path;
}

/* Is the file the one that was written with the index? */
static bool
check_file(const struct rt_st_file *f, const struct rt_st_shard *s, struct rt_status *st)
{
	if (s->described && (uint64_t)s->bytes != s->file.map_bytes)
		return rt_fail(st, RT_EXIT_USAGE,
			"%s: expected the %" PRId64 " bytes that %s says, found %zu", s->file.path,
			s->bytes, f->path, s->file.map_bytes);
	for (int i = 0; s->described && i < f->npairs; i++) {
		const struct rt_st_pair *own = &f->pairs[i];
		const char *value = rt_st_metadata(&s->file, own->key);
		if (!strncmp(own->key, OWN_KEYS, strlen(OWN_KEYS)) &&
			(!value || strcmp(value, own->value)))
			return rt_fail(st, RT_EXIT_USAGE,
				"%s: another checkpoint's file: its '%s' is '%s', but %s says '%s'",
				s->file.path, own->key, value ? value : "", f->path, own->value);
	}
	return true;
}

static struct rt_st_file *
open_shard(const struct rt_st_file *f, int64_t i, struct rt_status *st)
{
	struct rt_st_shard *s = &f->shards[i];
	if (s->file.path)
		return &s->file;
	char *path = path_beside(f->path, s->name);
	if (!path)
		rt_fail_memory(st, strlen(s->name), "a file name");
	bool ok = path && rt_st_open(&s->file, path, st);
	free(path);
	if (ok && !check_file(f, s, st)) {
		rt_st_close(&s->file);
		ok = false;
	}
	return ok ? &s->file : NULL;
}

/* Files are in the folder of the index. */
static bool
check_names(struct reader *r)
{
	for (int i = 0; i < r->f->nshards; i++) {
		const char *name = r->f->shards[i].name;
		if (!name || !*name || strchr(name, '/'))
			return rt_fail(r->st, RT_EXIT_USAGE,
				"%s: expected the name of a file in the same folder, found '%s'",
				r->f->path, name ? name : "");
	}
	return true;
}

/* The shard of that name, new if there is none yet; -1 without memory. */
static int64_t
shard_of(struct rt_st_file *f, const char *name)
{
	int i = 0;
	while (i < f->nshards && strcmp(f->shards[i].name, name))
		i++;
	return i < f->nshards || rt_st_add_shard(f, strdup(name)) ? i : -1;
}

/* A tensor that one file has whole. */
static bool
take_tensor(struct reader *r, const struct rt_st_pair *where)
{
	const int64_t shard = shard_of(r->f, where->value);
	if (shard < 0)
		return rt_fail_memory(r->st, strlen(where->value), "an index");
	if (!check_names(r))
		return false;
	const struct rt_st_file *file = open_shard(r->f, shard, r->st);
	const struct rt_st_tensor *found = file ? rt_st_find(file, where->key) : NULL;
	if (!found)
		return file && rt_fail(r->st, RT_EXIT_USAGE, "%s: there is no tensor '%s'",
				       file->path, where->key);
	struct rt_st_tensor *t = rt_st_add_tensor(r->f);
	if (t) {
		*t = *found;
		t->name = strdup(found->name);
	}
	return (t && t->name) || rt_fail_memory(r->st, sizeof *t, "an index");
}

static bool
read_text(struct reader *r)
{
	struct rt_json *j = &r->json;
	bool ok = read_object(r, read_index, NULL);
	rt_json_next(j, ' ');
	ok = ok && (j->at == j->end || bad(r, "text after the object"));
	ok = ok && (r->has_parts || r->nmap || bad(r, "expected weight_map"));
	for (int i = 0; i < r->nmap && ok && !r->has_parts; i++)
		ok = take_tensor(r, &r->map[i]);
	return ok && check_names(r) && rt_st_check_names(r->f, r->st);
}

static bool
read_index_file(struct rt_st_file *f, struct rt_status *st)
{
	const char *text = f->map;
	struct reader r = {.f = f, .json = {text, text, text + f->map_bytes}, .st = st};
	const bool ok = read_text(&r);
	rt_st_free_pairs(r.map, r.nmap);
	return ok;
}

/* JSON, not the length of a header: as one its eighth character would be far too large. */
static bool
is_index(const struct rt_st_file *f)
{
	const char *text = f->map;
	return text[0] == '{' && text[7];
}

static bool
is_folder(const char *path)
{
	struct stat found;
	return !stat(path, &found) && S_ISDIR(found.st_mode);
}

char *
rt_st_first_file(const char *path)
{
	char *file = NULL;
	if (!is_folder(path))
		return strdup(path);
	const bool slash = *path && path[strlen(path) - 1] == '/';
	return asprintf(&file, "%s%s%s", path, slash ? "" : "/", RT_ST_INDEX) < 0 ? NULL : file;
}

bool
rt_st_open_any(struct rt_st_file *f, const char *path, struct rt_status *st)
{
	*f = (struct rt_st_file){.path = rt_st_first_file(path)};
	if (!f->path)
		return rt_fail_memory(st, strlen(path), "a file name");
	bool ok = !is_folder(path) || !access(f->path, F_OK) ||
		  rt_fail(st, RT_EXIT_USAGE,
			  "%s: there is no complete checkpoint: there is no " RT_ST_INDEX, path);
	ok = ok && rt_st_map(f, st) && (is_index(f) ? read_index_file(f, st) : rt_st_parse(f, st));
	if (!ok)
		rt_st_close(f);
	return ok;
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* The box of the part at a position of the grid, and its number. */
static int64_t
part_box(const struct rt_st_tensor *t, const int64_t *at, struct rt_box *box)
{
	const struct rt_st_grid *g = t->grid;
	int64_t number = 0;
	for (int d = 0; d < t->rank; d++) {
		const bool last = at[d] + 1 == g->ncuts[d];
		number = number * g->ncuts[d] + at[d];
		box->start[d] = g->cuts[d][at[d]];
		box->extent[d] = (last ? t->dims[d] : g->cuts[d][at[d] + 1]) - box->start[d];
	}
	return number;
}

/* The elements of a part; NULL if its file lacks it. */
static const char *
part_data(const struct rt_st_file *f, const struct rt_st_tensor *t, int64_t number,
	const struct rt_box *box, struct rt_status *st)
{
	const struct rt_st_file *file = open_shard(f, t->grid->shards[number], st);
	const struct rt_st_tensor *part = file ? rt_st_find(file, t->name) : NULL;
	if (file && !part)
		rt_fail(st, RT_EXIT_USAGE, "%s: there is no tensor '%s'", file->path, t->name);
	return part && rt_st_check(file, part, rt_st_dtype(t), t->grid->flat ? 1 : t->rank,
			       box->extent, st)
		       ? part->data
		       : NULL;
}

/* The part of dimension d that position `at` is in. */
static int64_t
cut_of(const struct rt_st_grid *g, int d, int64_t at)
{
	int64_t low = 0, high = g->ncuts[d];
	while (high - low > 1) {
		const int64_t middle = low + (high - low) / 2;
		if (g->cuts[d][middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A tensor that is being read. */
struct reading {
	const struct rt_st_file *f;
	const struct rt_st_tensor *t;
	int64_t first, n; /* elements of all in order */
	const char **data;
	void (*run)(void *arg, int64_t from, int64_t to, int64_t n);
	void *arg;
	struct rt_status *st;
	bool failed;
};

/* Calls `run` of r for n elements of a tensor whose parts are of its elements in order. */
static void
flat_run(void *arg, int64_t from, int64_t to, int64_t n)
{
	struct reading *r = arg;
	const struct rt_st_grid *g = r->t->grid;
	for (int64_t i = cut_of(g, 0, from); n && !r->failed; i++) {
		const int64_t end = i + 1 < g->ncuts[0] ? g->cuts[0][i + 1] : elements_of(r->t);
		const int64_t count = end - from < n ? end - from : n;
		const struct rt_box part = {.extent = {end - g->cuts[0][i]}};
		*r->data = part_data(r->f, r->t, i, &part, r->st);
		r->failed = !*r->data;
		if (!r->failed)
			r->run(r->arg, from - g->cuts[0][i], to, count);
		from += count;
		to += count;
		n -= count;
	}
}

/* The elements of a run of the tensor that are among r->n. */
static void
clip_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	const struct reading *r = arg;
	const int64_t end = r->first + r->n, begin = global > r->first ? global : r->first,
		      last = global + n < end ? global + n : end;
	if (begin < last)
		r->run(r->arg, local + begin - global, begin - r->first, last - begin);
}

static void
note_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	const struct reading *r = arg;
	(void)local;
	if (global < r->first + r->n && global + n > r->first)
		*(bool *)r->arg = true;
}

/* Reads what the part at a position of the grid has of the r->n elements. */
static void
read_part_flat(struct reading *r, const int64_t *at)
{
	struct rt_box part;
	bool any = false;
	const int64_t number = part_box(r->t, at, &part);
	struct reading note = {.first = r->first, .n = r->n, .arg = &any};
	rt_box_runs(r->t->rank, r->t->dims, &part, note_run, &note);
	if (!any)
		return;
	*r->data = part_data(r->f, r->t, number, &part, r->st);
	r->failed = !*r->data;
	if (!r->failed)
		rt_box_runs(r->t->rank, r->t->dims, &part, clip_run, r);
}

bool
rt_st_read_flat(const struct rt_st_file *f, const struct rt_st_tensor *t, int64_t first, int64_t n,
	const char **data, void (*run)(void *arg, int64_t from, int64_t to, int64_t n), void *arg,
	struct rt_status *st)
{
	struct reading r = {f, t, first, n, data, run, arg, st, false};
	int64_t at[RT_MAX_RANK] = {0};
	*data = t->data;
	if (t->data)
		run(arg, first, 0, n);
	else if (t->grid->flat)
		flat_run(&r, first, 0, n);
	for (int d = 0; d >= 0 && !t->data && !t->grid->flat && !r.failed;) {
		read_part_flat(&r, at);
		for (d = t->rank - 1; d >= 0 && ++at[d] == t->grid->ncuts[d]; d--)
			at[d] = 0;
	}
	return !r.failed;
}

bool
rt_st_read(const struct rt_st_file *f, const struct rt_st_tensor *t, const struct rt_box *box,
	const char **data, void (*run)(void *arg, int64_t from, int64_t to, int64_t n), void *arg,
	struct rt_status *st)
{
	int64_t first[RT_MAX_RANK], at[RT_MAX_RANK], last[RT_MAX_RANK];
	*data = t->data;
	if (t->data) {
		rt_box_runs(t->rank, t->dims, box, run, arg);
		return true;
	}
	for (int d = 0; d < t->rank; d++)
		if (!box->extent[d])
			return true;
	if (t->grid->flat) {
		struct reading r = {f, t, 0, 0, data, run, arg, st, false};
		rt_box_runs(t->rank, t->dims, box, flat_run, &r);
		return !r.failed;
	}
	for (int d = 0; d < t->rank; d++) {
		at[d] = first[d] = cut_of(t->grid, d, box->start[d]);
		last[d] = cut_of(t->grid, d, box->start[d] + box->extent[d] - 1);
	}
	for (int d = 0; d >= 0;) {
		struct rt_box part;
		const int64_t number = part_box(t, at, &part);
		*data = part_data(f, t, number, &part, st);
		if (!*data)
			return false;
		rt_box_shared_runs(t->rank, &part, box, run, arg);
		for (d = t->rank - 1; d >= 0 && ++at[d] > last[d]; d--)
			at[d] = first[d];
	}
	return true;
}

static void
skip_run(void *arg, int64_t from, int64_t to, int64_t n)
{
	(void)arg, (void)from, (void)to, (void)n;
}

bool
rt_st_check_parts(const struct rt_st_file *f, const struct rt_st_tensor *t, struct rt_status *st)
{
	const char *data;
	struct rt_box whole = {{0}, {0}};
	memcpy(whole.extent, t->dims, sizeof whole.extent);
	return rt_st_read(f, t, &whole, &data, skip_run, NULL, st);
}

struct copy {
	const char *data;
	char *to;
	size_t bytes;
};

static void
copy_run(void *arg, int64_t from, int64_t to, int64_t n)
{
	const struct copy *c = arg;
	memcpy(c->to + (size_t)to * c->bytes, c->data + (size_t)from * c->bytes,
		(size_t)n * c->bytes);
}

bool
rt_st_make_whole(struct rt_st_file *f, struct rt_status *st)
{
	for (int i = 0; i < f->count; i++) {
		struct rt_st_tensor *t = &f->tensors[i];
		struct rt_box whole = {{0}, {0}};
		if (t->data)
			continue;
		struct copy c = {NULL, NULL, rt_dtype_bytes(rt_st_dtype(t))};
		size_t bytes = c.bytes;
		for (int d = 0; d < t->rank; d++)
			bytes *= (size_t)(whole.extent[d] = t->dims[d]);
		c.to = malloc(bytes ? bytes : 1);
		if (!c.to)
			return rt_fail_memory(st, bytes, "a tensor in parts");
		if (!rt_st_read(f, t, &whole, &c.data, copy_run, &c, st)) {
			free(c.to);
			return false;
		}
		t->data = c.to;
	}
	return true;
}

uint64_t
rt_st_digest(const struct rt_st_file *f)
{
	uint64_t h = 0;
	for (int i = 0; i < f->count; i++)
		h = rt_digest(f->tensors[i].data, f->tensors[i].end - f->tensors[i].begin, h);
	return h;
}

bool
rt_st_check_shard(struct rt_st_file *f, int i, struct rt_status *st)
{
	const struct rt_st_file *file = open_shard(f, i, st);
	if (!file || !f->shards[i].described)
		return file != NULL;
	const uint64_t found = rt_st_digest(file);
	return found == f->shards[i].digest ||
	       rt_fail(st, RT_EXIT_USAGE,
		       "%s: damaged: the digest of its data is %016" PRIx64
		       ", but %s says %016" PRIx64,
		       file->path, found, f->path, f->shards[i].digest);
}

void
rt_st_close_shards(struct rt_st_file *f)
{
	for (int i = 0; i < f->count; i++) {
		struct rt_st_grid *g = f->tensors[i].grid;
		for (int d = 0; g && d < RT_MAX_RANK; d++)
			free(g->cuts[d]);
		if (g) {
			free(g->shards);
			free((void *)(uintptr_t)f->tensors[i].data);
		}
		free(g);
	}
	for (int i = 0; i < f->nshards; i++) {
		rt_st_close(&f->shards[i].file);
		free(f->shards[i].name);
	}
	free(f->shards);
}
