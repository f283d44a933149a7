/* Parameters and states: initial values and files; and outputs, which are written the same way. */
#ifndef RUNTIME_PARAMS_H
#define RUNTIME_PARAMS_H

#include "runtime/rank.h"

static inline bool
rt_is_kept(const struct rt_tensor *t)
{
	return t->role == RT_PARAM || t->role == RT_STATE;
}

/* Sets the initial values of the slices that this rank holds. */
void rt_params_init(struct rt_rank *r);

/* Reads all parameters and states from a file, or a folder of files (shards.h); other tensors in it are ignored.
 * Floats of another width are rounded, integers of another width must fit. A file that was not
 * saved by a program may lack states: these get their initial values, and rank 0 says so. */
bool rt_params_load(struct rt_rank *r, const char *path);

/* Writes all parameters and states, to a folder if the path ends with a slash, with the metadata of position.h for `step` steps, or all
 * outputs of the last step, as global tensors: rank 0 collects and writes. All ranks call it
 * together; failures show in the status of rank 0. */
bool rt_params_save(struct rt_rank *r, const char *path, int64_t step);
bool rt_outputs_dump(struct rt_rank *r, const char *path);

/* The same for -keep-step: params and states, with the position before `step`, and the inputs of
 * the last step as RT_STEP_INPUT NAME. */
bool rt_step_keep(struct rt_rank *r, const char *path, int64_t step);

/* Params and states of this rank, to memory of rt_kept_bytes (`out`) or back. */
size_t rt_kept_bytes(const struct rt_program *p);
void rt_kept_copy(struct rt_rank *r, char *memory, bool out);

/* Rank 0 receives the whole tensor in `global` (others may pass NULL), from the places that own its
 * slices. All ranks call it together. */
void rt_collect(struct rt_rank *r, const struct rt_tensor *t, void *global);

#endif
