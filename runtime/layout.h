/* Where a tensor's elements are: maps a place's coordinates to a box of the global tensor. */
#ifndef RUNTIME_LAYOUT_H
#define RUNTIME_LAYOUT_H

#include "runtime/rt_program.h"

/* A box of a global tensor: its corner and its extents; a place's local tensor is such a box,
 * row-major. */
struct rt_box {
	int64_t start[RT_MAX_RANK], extent[RT_MAX_RANK];
};

/* The number of places: the product of the device axes. */
int64_t rt_places(const struct rt_program *p);

/* The coordinates of a place; 0 on time axes. `coord` has RT_MAX_AXES entries. */
/* Bytes of the arena of the rank at a coordinate. */
static inline size_t
rt_arena_bytes(const struct rt_program *p, const int64_t *coord)
{
	return p->arena_of ? p->arena_of[coord[p->stage_axis]] : p->arena_bytes;
}

void rt_place_coords(const struct rt_program *p, int64_t place, int64_t *coord);

/* The distance in place numbers between neighbours on a device axis. */
int64_t rt_axis_stride(const struct rt_program *p, int axis);

/* Elements of the global tensor. */
int64_t rt_tensor_elements(const struct rt_tensor *t);

/* Slices over time that a place keeps: 1 if no time axis splits the tensor. */
int64_t rt_tensor_slices(const struct rt_program *p, const struct rt_tensor *t);

/* The box of slice `slice` at the place with these coordinates, and its number of elements. */
int64_t rt_tensor_box(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord,
	int64_t slice, struct rt_box *box);

/* Does the place with these coordinates hold the tensor? */
bool rt_tensor_here(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord);

/* Is this place the representative (the first) of all places that hold the same elements? */
bool rt_tensor_owner(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord);

/* Copies a box of `bytes`-sized elements from the row-major local tensor to the row-major global one of shape
 * dims[rank]. */
void rt_box_store(int rank, const int64_t *dims, const struct rt_box *box, size_t bytes,
	const void *local, void *global);

/* Calls `run` for every run of the box that is contiguous in the global tensor: the number of its
 * first element there and in the local tensor, and its length. */
void rt_box_runs(int rank, const int64_t *dims, const struct rt_box *box,
	void (*run)(void *arg, int64_t global, int64_t local, int64_t n), void *arg);

/* The same for the elements that two boxes of a global tensor have in common, each box row-major:
 * the number of a run's first element in each of them. */
void rt_box_shared_runs(int rank, const struct rt_box *from, const struct rt_box *to,
	void (*run)(void *arg, int64_t from, int64_t to, int64_t n), void *arg);

#endif
