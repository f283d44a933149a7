/* Reading safetensors: see safetensors.h. The file is mapped; the header becomes a list of
 * tensors, which is then checked as a whole. */
#include "runtime/data/safetensors.h"
#include "runtime/data/shards.h"
#include "runtime/data/value.h"
#include "runtime/data/json.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
	struct rt_st_file *f;
	struct rt_json json;
	const unsigned char *data;
	uint64_t data_bytes;
	struct rt_status *st;
};

static bool
bad(struct reader *r, const char *what)
{
	return rt_fail(r->st, RT_EXIT_USAGE,
		"%s: not a safetensors file: %s (byte %td of the header)", r->f->path, what,
		r->json.at - r->json.begin);
}

bool
rt_st_add_pair(struct rt_st_pair **pairs, int *npairs, struct rt_st_pair pair)
{
	struct rt_st_pair *more = NULL;
	if (pair.key && pair.value)
		more = realloc(*pairs, (size_t)(*npairs + 1) * sizeof *more);
	if (!more) {
		free(pair.key);
		free(pair.value);
		return false;
	}
	*pairs = more;
	more[(*npairs)++] = pair;
	return true;
}

/* {"name": "text", ...} */
static bool
read_metadata(struct reader *r)
{
	struct rt_json *j = &r->json;
	if (!rt_json_take(j, '{'))
		return bad(r, "__metadata__ is not an object");
	if (rt_json_take(j, '}'))
		return true;
	do {
		struct rt_st_pair pair = {.key = rt_json_string(j)};
		if (pair.key && rt_json_take(j, ':'))
			pair.value = rt_json_string(j);
		if (!rt_st_add_pair(&r->f->pairs, &r->f->npairs, pair))
			return bad(r, "expected a pair of strings in __metadata__");
	} while (rt_json_take(j, ','));
	return rt_json_take(j, '}') || bad(r, "expected ',' or '}' in __metadata__");
}

static bool
read_dtype(struct reader *r, struct rt_st_tensor *t)
{
	char *text = rt_json_string(&r->json);
	const bool ok = text && strlen(text) < sizeof t->dtype && *text;
	if (ok)
		strcpy(t->dtype, text);
	free(text);
	return ok || bad(r, "expected an element type such as \"F32\"");
}

static bool
read_shape(struct reader *r, struct rt_st_tensor *t)
{
	struct rt_json *j = &r->json;
	if (!rt_json_take(j, '['))
		return bad(r, "expected a shape such as [2,3]");
	if (rt_json_take(j, ']'))
		return true;
	do {
		if (t->rank == RT_MAX_RANK)
			return bad(r, "expected a shape of at most 8 dimensions");
		if (!rt_json_count(j, &t->dims[t->rank++]))
			return bad(r, "expected a dimension");
	} while (rt_json_take(j, ','));
	return rt_json_take(j, ']') || bad(r, "expected ',' or ']' in a shape");
}

static bool
read_offsets(struct reader *r, struct rt_st_tensor *t)
{
	struct rt_json *j = &r->json;
	int64_t begin, end;
	if (!rt_json_take(j, '[') || !rt_json_count(j, &begin) || !rt_json_take(j, ',') ||
		!rt_json_count(j, &end) || !rt_json_take(j, ']'))
		return bad(r, "expected data_offsets such as [0,24]");
	t->begin = (uint64_t)begin;
	t->end = (uint64_t)end;
	return true;
}

/* {"dtype": ..., "shape": ..., "data_offsets": ...}, each exactly once. */
static bool
read_tensor(struct reader *r, struct rt_st_tensor *t)
{
	static const struct {
		const char *key;
		bool (*read)(struct reader *r, struct rt_st_tensor *t);
	} fields[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
	unsigned seen = 0;
	struct rt_json *j = &r->json;
	if (!rt_json_take(j, '{'))
		return bad(r, "expected the object that describes a tensor");
	do {
		char *key = rt_json_string(j);
		unsigned i = 0;
		while (key && i < 3 && strcmp(key, fields[i].key))
			i++;
		const bool known = key && i < 3 && !(seen & 1u << i);
		free(key);
		if (!known || !rt_json_take(j, ':'))
			return bad(r, "expected dtype, shape and data_offsets, each once");
		seen |= 1u << i;
		if (!fields[i].read(r, t))
			return false;
	} while (rt_json_take(j, ','));
	return (rt_json_take(j, '}') && seen == 7) ||
	       bad(r, "expected dtype, shape and data_offsets, each once");
}

struct rt_st_tensor *
rt_st_add_tensor(struct rt_st_file *f)
{
	/* Full at 16, 32, 64, ... */
	if (!f->count || (f->count >= 16 && !(f->count & (f->count - 1)))) {
		const int room = f->count ? 2 * f->count : 16;
		struct rt_st_tensor *more = realloc(f->tensors, (size_t)room * sizeof *more);
		if (!more)
			return NULL;
		f->tensors = more;
	}
	f->tensors[f->count] = (struct rt_st_tensor){0};
	return &f->tensors[f->count++];
}

static bool
read_header(struct reader *r)
{
	struct rt_json *j = &r->json;
	bool metadata = false;
	if (!rt_json_take(j, '{'))
		return bad(r, "the header is not a JSON object");
	if (!rt_json_take(j, '}')) {
		do {
			char *name = rt_json_string(j);
			if (!name || !rt_json_take(j, ':')) {
				free(name);
				return bad(r, "expected a name and ':'");
			}
			if (!strcmp(name, "__metadata__")) {
				free(name);
				if (metadata)
					return bad(r, "__metadata__ appears twice");
				metadata = true;
				if (!read_metadata(r))
					return false;
				continue;
			}
			struct rt_st_tensor *t = rt_st_add_tensor(r->f);
			if (!t) {
				free(name);
				return rt_fail_memory(r->st, sizeof *t, "a header");
			}
			t->name = name;
			if (!read_tensor(r, t))
				return false;
		} while (rt_json_take(j, ','));
		if (!rt_json_take(j, '}'))
			return bad(r, "expected ',' or '}' after a tensor");
	}
	rt_json_next(j, ' ');
	return j->at == j->end || bad(r, "text after the header's object");
}

/* Bytes of a tensor; false if they do not fit 64 bits. Unknown types have no size. */
static bool
tensor_bytes(const struct rt_st_tensor *t, uint64_t *out)
{
	uint64_t n = t->end - t->begin;
	for (int i = 0; i < RT_DTYPES; i++) {
		if (strcmp(rt_dtype_info(i)->safetensors, t->dtype))
			continue;
		n = rt_dtype_bytes(i);
		for (int d = 0; d < t->rank; d++)
			if (__builtin_mul_overflow(n, (uint64_t)t->dims[d], &n))
				return false;
	}
	*out = n;
	return true;
}

static int
by_begin(const void *x, const void *y)
{
	const struct rt_st_tensor *a = *(const struct rt_st_tensor *const *)x;
	const struct rt_st_tensor *b = *(const struct rt_st_tensor *const *)y;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int
by_name(const void *x, const void *y)
{
	return strcmp((*(const struct rt_st_tensor *const *)x)->name,
		(*(const struct rt_st_tensor *const *)y)->name);
}

static bool
check_tensor(struct reader *r, struct rt_st_tensor *t)
{
	uint64_t bytes;
	if (t->begin > t->end || t->end > r->data_bytes)
		return rt_fail(r->st, RT_EXIT_USAGE,
			"%s: tensor '%s': its offsets %" PRIu64 " to %" PRIu64
			" are outside the file's %" PRIu64 " bytes of data",
			r->f->path, t->name, t->begin, t->end, r->data_bytes);
	if (!tensor_bytes(t, &bytes))
		return rt_fail(r->st, RT_EXIT_USAGE, "%s: tensor '%s': its shape is too large",
			r->f->path, t->name);
	if (bytes != t->end - t->begin)
		return rt_fail(r->st, RT_EXIT_USAGE,
			"%s: tensor '%s': its offsets span %" PRIu64
			" bytes, but its shape needs %" PRIu64,
			r->f->path, t->name, t->end - t->begin, bytes);
	t->data = r->data + t->begin;
	return true;
}

/* All tensors in another order, from malloc; NULL without memory. */
static const struct rt_st_tensor **
sorted(const struct rt_st_file *f, int (*order)(const void *, const void *), struct rt_status *st)
{
	const size_t bytes = (size_t)(f->count + 1) * sizeof(struct rt_st_tensor *);
	const struct rt_st_tensor **list = malloc(bytes);
	if (!list) {
		rt_fail_memory(st, bytes, "a header");
		return NULL;
	}
	for (int i = 0; i < f->count; i++)
		list[i] = &f->tensors[i];
	qsort(list, (size_t)f->count, sizeof *list, order);
	return list;
}

bool
rt_st_check_names(const struct rt_st_file *f, struct rt_status *st)
{
	const struct rt_st_tensor **list = sorted(f, by_name, st);
	bool ok = list != NULL;
	for (int i = 1; i < f->count && ok; i++)
		if (!strcmp(list[i - 1]->name, list[i]->name))
			ok = rt_fail(st, RT_EXIT_USAGE, "%s: tensor '%s' appears twice", f->path,
				list[i]->name);
	free(list);
	return ok;
}

/* The tensors must cover the data from the first to the last byte. */
static bool
check_cover(struct reader *r, const struct rt_st_tensor **list)
{
	const struct rt_st_file *f = r->f;
	uint64_t at = 0;
	for (int i = 0; i < f->count; i++) {
		if (list[i]->begin != at)
			return rt_fail(r->st, RT_EXIT_USAGE,
				"%s: tensor '%s' begins at byte %" PRIu64
				", but the one before it ends at %" PRIu64,
				f->path, list[i]->name, list[i]->begin, at);
		at = list[i]->end;
	}
	if (at != r->data_bytes)
		return rt_fail(r->st, RT_EXIT_USAGE,
			"%s: the tensors end at byte %" PRIu64 " of %" PRIu64 " bytes of data",
			f->path, at, r->data_bytes);
	return true;
}

static bool
check_all(struct reader *r)
{
	for (int i = 0; i < r->f->count; i++)
		if (!check_tensor(r, &r->f->tensors[i]))
			return false;
	if (!rt_st_check_names(r->f, r->st))
		return false;
	const struct rt_st_tensor **list = sorted(r->f, by_begin, r->st);
	const bool ok = list && check_cover(r, list);
	free(list);
	return ok;
}

bool
rt_st_parse(struct rt_st_file *f, struct rt_status *st)
{
	const unsigned char *bytes = f->map;
	uint64_t length = 0;
	for (int i = 7; i >= 0; i--)
		length = length << 8 | bytes[i];
	if (length > RT_SAFETENSORS_HEADER_MAX || length > f->map_bytes - 8)
		return rt_fail(st, RT_EXIT_USAGE,
			"%s: not a safetensors file, or truncated: a header of %" PRIu64
			" bytes in a file of %zu",
			f->path, length, f->map_bytes);
	const char *header = (const char *)bytes + 8;
	struct reader r = {
		.f = f,
		.json = {header, header, header + length},
		.data = bytes + 8 + length,
		.data_bytes = f->map_bytes - 8 - length,
		.st = st,
	};
	return read_header(&r) && check_all(&r);
}

bool
rt_st_map(struct rt_st_file *f, struct rt_status *st)
{
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO is an error */
	if (fd < 0)
		return rt_fail(st, RT_EXIT_USAGE, "%s: cannot open: %s", f->path, strerror(errno));
	struct stat info;
	bool ok = !fstat(fd, &info);
	if (!ok || !S_ISREG(info.st_mode))
		ok = rt_fail(st, RT_EXIT_USAGE, "%s: not a file", f->path);
	else if (info.st_size < 8)
		ok = rt_fail(st, RT_EXIT_USAGE,
			"%s: not a safetensors file: it has %lld bytes, fewer "
			"than the 8 of the header's length",
			f->path, (long long)info.st_size);
	if (ok) {
		f->map_bytes = (size_t)info.st_size;
		f->map = mmap(NULL, f->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f->map == MAP_FAILED) {
			f->map = NULL;
			ok = rt_fail(
				st, RT_EXIT_RUN, "%s: cannot map: %s", f->path, strerror(errno));
		}
	}
	if (f->map)
		f->fd = fd;
	else
		close(fd);
	return ok;
}

bool
rt_st_open(struct rt_st_file *f, const char *path, struct rt_status *st)
{
	*f = (struct rt_st_file){.path = strdup(path)};
	if (!f->path)
		return rt_fail_memory(st, strlen(path), "a file name");
	if (rt_st_map(f, st) && rt_st_parse(f, st))
		return true;
	rt_st_close(f);
	return false;
}

void
rt_st_free_pairs(struct rt_st_pair *pairs, int npairs)
{
	for (int i = 0; i < npairs; i++) {
		free(pairs[i].key);
		free(pairs[i].value);
	}
	free(pairs);
}

void
rt_st_close(struct rt_st_file *f)
{
	rt_st_close_shards(f);
	for (int i = 0; i < f->count; i++)
		free(f->tensors[i].name);
	free(f->tensors);
	rt_st_free_pairs(f->pairs, f->npairs);
	if (f->map) {
		munmap(f->map, f->map_bytes);
		close(f->fd);
	}
	free(f->path);
	*f = (struct rt_st_file){0};
}

const struct rt_st_tensor *
rt_st_find(const struct rt_st_file *f, const char *name)
{
	for (int i = 0; i < f->count; i++)
		if (!strcmp(f->tensors[i].name, name))
			return &f->tensors[i];
	return NULL;
}

const char *
rt_st_metadata(const struct rt_st_file *f, const char *key)
{
	for (int i = 0; i < f->npairs; i++)
		if (!strcmp(f->pairs[i].key, key))
			return f->pairs[i].value;
	return NULL;
}

bool
rt_st_is_whole(const struct rt_st_file *f)
{
	struct stat now;
	for (int i = 0; i < f->nshards; i++)
		if (f->shards[i].file.path && !rt_st_is_whole(&f->shards[i].file))
			return false;
	return !fstat(f->fd, &now) && (size_t)now.st_size >= f->map_bytes;
}

/* "[2,3]" into text; a dimension of -1 is written as N. */
static void
shape_text(char *text, size_t size, int rank, const int64_t *dims)
{
	size_t at = (size_t)snprintf(text, size, "[");
	for (int d = 0; d < rank && at < size; d++)
		at += (size_t)(dims[d] < 0 ? snprintf(text + at, size - at, "%sN", d ? "," : "")
					   : snprintf(text + at, size - at, "%s%" PRId64,
						     d ? "," : "", dims[d]));
	if (at < size)
		snprintf(text + at, size - at, "]");
}

enum rt_dtype
rt_st_dtype(const struct rt_st_tensor *t)
{
	enum rt_dtype type = 0;
	while (type < RT_DTYPES && strcmp(rt_dtype_info(type)->safetensors, t->dtype))
		type++;
	return type;
}

bool
rt_st_check(const struct rt_st_file *f, const struct rt_st_tensor *t, enum rt_dtype dtype, int rank,
	const int64_t *dims, struct rt_status *st)
{
	if (rt_st_dtype(t) != dtype)
		return rt_fail(st, RT_EXIT_USAGE,
			"%s: tensor '%s': expected elements of type %s, found %s", f->path, t->name,
			rt_dtype_info(dtype)->safetensors, t->dtype);
	return rt_st_check_shape(f, t, rank, dims, st);
}

bool
rt_st_check_converted(const struct rt_st_file *f, const struct rt_st_tensor *t, enum rt_dtype dtype,
	int rank, const int64_t *dims, struct rt_status *st)
{
	return rt_value_converts(rt_st_dtype(t), dtype) ? rt_st_check_shape(f, t, rank, dims, st)
							: rt_st_check(f, t, dtype, rank, dims, st);
}

bool
rt_st_check_shape(const struct rt_st_file *f, const struct rt_st_tensor *t, int rank,
	const int64_t *dims, struct rt_status *st)
{
	bool same = t->rank == rank;
	for (int d = 0; d < rank && same; d++)
		same = dims[d] < 0 || dims[d] == t->dims[d];
	if (same)
		return true;
	char expected[200], found[200];
	shape_text(expected, sizeof expected, rank, dims);
	shape_text(found, sizeof found, t->rank, t->dims);
	return rt_fail(st, RT_EXIT_USAGE, "%s: tensor '%s': expected the shape %s, found %s",
		f->path, t->name, expected, found);
}
