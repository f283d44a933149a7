/* Data sets of several files, which have the same tensors, one after another: the rows of a tensor
 * are those of the first file, then those of the second, and so on. */
#ifndef RUNTIME_ROWS_H
#define RUNTIME_ROWS_H

#include "runtime/data/shards.h"

/* Opens the files that a pattern matches, "set-*.safetensors" or "{a,b}.safetensors" (glob(7)), in
 * the order of their names, and reads what rt_st_open_any reads if it is one. Tensors without
 * dimensions are those of the first file. Fails like rt_st_open. */
bool rt_st_open_rows(struct rt_st_file *f, const char *pattern, struct rt_status *st);

/* Calls `visit` for each of these files; stops, and returns false, when it returns false. */
bool rt_st_visit_rows(const char *pattern, bool (*visit)(const char *path, void *arg), void *arg);

/* Rows of a tensor for inputs of `width` elements a row. A tensor of one dimension for an input of
 * two is a stream, whose rows follow one another: what remains at its end is not used. */
int64_t rt_st_rows(const struct rt_st_tensor *t, int input_rank, int64_t width);

/* The box in the tensor of n rows from `row` on, each cut to the box of an input without its first
 * dimension. A stream has only boxes of one row, or of whole rows. */
void rt_st_rows_box(const struct rt_st_tensor *t, int input_rank, const int64_t *input_dims,
	const struct rt_box *inner, int64_t row, int64_t n, struct rt_box *box);

#endif
