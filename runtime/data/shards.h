/* Tensors in several files of a folder: what -save DIR/ writes, and what others publish.
 *
 *	DIR/model-000000600-00001-of-00004.safetensors   the parts that rank 0 writes, after step 600
 *	DIR/model-000000600-00003-of-00004.safetensors   those of rank 2; rank 1 has none to write
 *	DIR/model.safetensors.index.json                 written last: without it there is no checkpoint
 *
 * The index has what other readers of such folders expect, and an object of its own for tensors
 * that are in parts:
 *
 *	"metadata"    total_size, the bytes of all tensors, and the position (position.h)
 *	"weight_map"  {"bias": "model-...", ...}, the tensors that one file has whole
 *	"dopt"        "files": [{"name", "bytes", "digest"}, ...], digest as of rt_st_digest
 *	              "tensors": {"w": {"dtype": "F32", "shape": [64,32], "cuts": [[0,16,32,48],[0]],
 *	                                "files": [0,1,2,3]}, ...}
 *
 * The parts of a tensor are a grid: in each dimension they begin at its cuts, and files[] names the
 * file of each part, row-major over the grid. So they cover the tensor exactly, whatever the index
 * says. A part has the tensor's name in its file. One list of cuts for a shape of several dimensions
 * is of the tensor's elements in order: such parts are rows of elements, of one dimension. An index without "dopt" has whole tensors only. */
#ifndef RUNTIME_SHARDS_H
#define RUNTIME_SHARDS_H

#include "runtime/layout.h"
#include "runtime/data/safetensors.h"

#define RT_ST_INDEX "model.safetensors.index.json"
/* Metadata of a file that may have parts: "3 of 4". */
#define RT_ST_PART_OF "dopt.file"

struct rt_st_grid {
	bool flat; /* parts are of the elements in order; only cuts[0] is there */
	int64_t ncuts[RT_MAX_RANK];
	int64_t *cuts[RT_MAX_RANK]; /* [ncuts] each */
	int64_t *shards;            /* [product of ncuts] */
};

struct rt_st_shard {
	char *name;             /* in the folder of the index */
	struct rt_st_file file; /* opened when it is first needed; before that, path is NULL */
	bool described;         /* the index gives its size and digest: */
	int64_t bytes;
	uint64_t digest;
};

/* Opens one file, or an index: the path is the index or its folder. A
 * tensor of a file, or of an index without parts, has its data; one in parts is for rt_st_read.
 * Fails like rt_st_open. */
bool rt_st_open_any(struct rt_st_file *f, const char *path, struct rt_status *st);

/* The file that rt_st_open_any opens first, from malloc; NULL without memory. */
char *rt_st_first_file(const char *path);

/* Reads a box of a tensor: calls `run` for every run of elements that is contiguous in the file and
 * in the box, with the numbers of its first element in *data, which is set before, and in the box.
 * Opens the files that the box is in, and no others. */
bool rt_st_read(const struct rt_st_file *f, const struct rt_st_tensor *t, const struct rt_box *box,
	const char **data, void (*run)(void *arg, int64_t from, int64_t to, int64_t n), void *arg,
	struct rt_status *st);

/* The same for n elements, from element `first` on of all in order; the second number of `run` is from 0 on. */
bool rt_st_read_flat(const struct rt_st_file *f, const struct rt_st_tensor *t, int64_t first,
	int64_t n, const char **data, void (*run)(void *arg, int64_t from, int64_t to, int64_t n),
	void *arg, struct rt_status *st);

/* Fails unless all parts of a tensor are there. */
bool rt_st_check_parts(
	const struct rt_st_file *f, const struct rt_st_tensor *t, struct rt_status *st);

/* Puts the parts of all tensors together in memory, so that all of them have their data. */
bool rt_st_make_whole(struct rt_st_file *f, struct rt_status *st);

/* The digest of a file's data: of its tensors in the order of the header, each continuing that of
 * the tensors before it. */
uint64_t rt_st_digest(const struct rt_st_file *f);

/* Reads shard i and compares its data with the digest of the index. */
bool rt_st_check_shard(struct rt_st_file *f, int i, struct rt_status *st);

/* The next shard; takes the name, which is from malloc. NULL without memory. */
struct rt_st_shard *rt_st_add_shard(struct rt_st_file *f, char *name);

/* Frees what an index adds to a file; rt_st_close calls it. */
void rt_st_close_shards(struct rt_st_file *f);

#endif
