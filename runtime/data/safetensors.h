/* safetensors files: eight bytes of header length (little endian), a JSON header, then the tensors'
 * bytes. The reader trusts nothing: types, shapes and offsets must fit each other and cover the
 * file's data without gaps or overlaps. */
#ifndef RUNTIME_SAFETENSORS_H
#define RUNTIME_SAFETENSORS_H

#include "runtime/rt_program.h"
#include "runtime/status.h"
#include "runtime/data/write_file.h"

/* The format's own limit on the header. */
#define RT_SAFETENSORS_HEADER_MAX 100000000u

struct rt_st_tensor {
	char *name;
	char dtype[8]; /* as written; an unknown type is an error only when it is used */
	int rank;
	int64_t dims[RT_MAX_RANK];
	uint64_t begin, end;     /* bytes of the data part */
	const void *data;        /* in the mapped file; not necessarily aligned; NULL: in parts */
	struct rt_st_grid *grid; /* the parts: shards.h */
};

/* A line of __metadata__. */
struct rt_st_pair {
	char *key, *value;
};

struct rt_st_file {
	char *path;
	void *map;
	size_t map_bytes;
	int fd; /* of the mapping, if there is one */
	int npairs;
	struct rt_st_pair *pairs;
	int count;
	struct rt_st_tensor *tensors;
	int nshards; /* of an index: the files that it names (shards.h); else 0 */
	struct rt_st_shard *shards;
};

/* Opens and checks a whole file. On failure `f` is empty and the message starts with the path.
 * Close the file with rt_st_close. Tensors are in the order of the header. */
bool rt_st_open(struct rt_st_file *f, const char *path, struct rt_status *st);

void rt_st_close(struct rt_st_file *f);

/* The tensor of that name, or NULL. */
const struct rt_st_tensor *rt_st_find(const struct rt_st_file *f, const char *name);

/* The value of a key in __metadata__, or NULL. */
const char *rt_st_metadata(const struct rt_st_file *f, const char *key);

/* Is the file still as long as when it was opened? If not, reading returns zeros or raises SIGBUS:
 * see shrunk.h. */
bool rt_st_is_whole(const struct rt_st_file *f);

/* The element type of a tensor; RT_DTYPES: unknown. */
enum rt_dtype rt_st_dtype(const struct rt_st_tensor *t);

/* Fails unless `t` has the shape; a dimension of -1 matches any size. */
bool rt_st_check_shape(const struct rt_st_file *f, const struct rt_st_tensor *t, int rank,
	const int64_t *dims, struct rt_status *st);

/* The same, and the element type. */
bool rt_st_check(const struct rt_st_file *f, const struct rt_st_tensor *t, enum rt_dtype dtype,
	int rank, const int64_t *dims, struct rt_status *st);

/* The same, but the element type may also be one that converts (rt_value_converts). */
bool rt_st_check_converted(const struct rt_st_file *f, const struct rt_st_tensor *t,
	enum rt_dtype dtype, int rank, const int64_t *dims, struct rt_status *st);

/* The two parts of rt_st_open: maps the file f->path, and reads what is mapped. */
bool rt_st_map(struct rt_st_file *f, struct rt_status *st);
bool rt_st_parse(struct rt_st_file *f, struct rt_status *st);

/* The next tensor, owned by the file, all zeros; NULL without memory. */
struct rt_st_tensor *rt_st_add_tensor(struct rt_st_file *f);

/* Takes ownership of a pair of strings from malloc; false without memory, or if one is NULL. */
bool rt_st_add_pair(struct rt_st_pair **pairs, int *npairs, struct rt_st_pair pair);
void rt_st_free_pairs(struct rt_st_pair *pairs, int npairs);

/* Fails if two tensors have the same name. */
bool rt_st_check_names(const struct rt_st_file *f, struct rt_status *st);

/* Writing: all tensors are declared first, then their bytes are appended in that order. How the
 * file gets its name: write_file.h. */
struct rt_st_entry {
	const char *name;
	enum rt_dtype dtype;
	int rank;
	const int64_t *dims;
};

/* The entry of a whole tensor of a program, under that name. */
static inline struct rt_st_entry
rt_st_whole_entry(const struct rt_tensor *t, const char *name)
{
	return t->file_rank ? (struct rt_st_entry){name, t->dtype, t->file_rank, t->file_dims}
			    : (struct rt_st_entry){name, t->dtype, t->rank, t->dims};
}

struct rt_st_writer {
	struct rt_write out;
	const char *path;
};

/* `pairs` is the file's __metadata__: npairs lines, or 0. */
bool rt_st_create(struct rt_st_writer *w, const char *path, const struct rt_st_entry *entries,
	int count, const struct rt_st_pair *pairs, int npairs, struct rt_status *st);
bool rt_st_append(struct rt_st_writer *w, const void *bytes, size_t n, struct rt_status *st);

/* Puts the file into its place; with `ok` false, deletes it. Frees the writer's memory. */
bool rt_st_finish(struct rt_st_writer *w, bool ok, struct rt_status *st);

#endif
