/* Layouts: see layout.h. */
#include "runtime/layout.h"
#include <string.h>

int64_t
rt_places(const struct rt_program *p)
{
	int64_t n = 1;
	for (int a = 0; a < p->naxes; a++)
		n *= p->axes[a].is_time ? 1 : p->axes[a].size;
	return n;
}

void
rt_place_coords(const struct rt_program *p, int64_t place, int64_t *coord)
{
	for (int a = 0; a < RT_MAX_AXES; a++)
		coord[a] = 0;
	for (int a = p->naxes - 1; a >= 0; a--) {
		if (p->axes[a].is_time)
			continue;
		coord[a] = place % p->axes[a].size;
		place /= p->axes[a].size;
	}
}

int64_t
rt_axis_stride(const struct rt_program *p, int axis)
{
	int64_t stride = 1;
	for (int a = axis + 1; a < p->naxes; a++)
		stride *= p->axes[a].is_time ? 1 : p->axes[a].size;
	return stride;
}

int64_t
rt_tensor_elements(const struct rt_tensor *t)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++)
		n *= t->dims[d];
	return n;
}

/* Is the tensor split over this axis? */
static bool
split_over(const struct rt_tensor *t, int axis)
{
	for (int d = 0; d < t->rank; d++)
		for (int i = 0; i < t->split[d].n; i++)
			if (t->split[d].axis[i] == axis)
				return true;
	return false;
}

int64_t
rt_tensor_slices(const struct rt_program *p, const struct rt_tensor *t)
{
	int64_t n = 1;
	for (int a = 0; a < p->naxes; a++)
		if (p->axes[a].is_time && split_over(t, a))
			n *= p->axes[a].size;
	return n;
}

int64_t
rt_tensor_box(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord,
	int64_t slice, struct rt_box *box)
{
	int64_t at[RT_MAX_AXES] = {0};
	for (int a = p->naxes - 1; a >= 0; a--) {
		at[a] = coord[a];
		if (p->axes[a].is_time && split_over(t, a)) {
			at[a] = slice % p->axes[a].size;
			slice /= p->axes[a].size;
		}
	}
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++) {
		int64_t number = 0, parts = 1;
		for (int i = 0; i < t->split[d].n; i++) {
			const int a = t->split[d].axis[i];
			number = number * p->axes[a].size + at[a];
			parts *= p->axes[a].size;
		}
		box->extent[d] = t->dims[d] / parts;
		box->start[d] = number * box->extent[d];
		n *= box->extent[d];
	}
	return n;
}

bool
rt_tensor_here(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord)
{
	for (int a = 0; a < p->naxes; a++)
		if (!p->axes[a].is_time && t->single[a] && t->single[a] - 1 != coord[a])
			return false;
	return true;
}

bool
rt_tensor_owner(const struct rt_program *p, const struct rt_tensor *t, const int64_t *coord)
{
	if (!rt_tensor_here(p, t, coord))
		return false;
	for (int a = 0; a < p->naxes; a++)
		if (!p->axes[a].is_time && !t->single[a] && coord[a] && !split_over(t, a))
			return false;
	return true;
}

/* The box that both have; false if it is empty. */
static bool
intersect(int rank, const struct rt_box *x, const struct rt_box *y, struct rt_box *both)
{
	bool any = true;
	for (int d = 0; d < rank; d++) {
		const int64_t end_x = x->start[d] + x->extent[d],
			      end_y = y->start[d] + y->extent[d];
		both->start[d] = x->start[d] > y->start[d] ? x->start[d] : y->start[d];
		both->extent[d] = (end_x < end_y ? end_x : end_y) - both->start[d];
		any = any && both->extent[d] > 0;
	}
	return any;
}

/* The number of an element of a box: position index[] of `both` in the row-major box `in`. */
static int64_t
element_of(int rank, const struct rt_box *in, const struct rt_box *both, const int64_t *index)
{
	int64_t n = 0;
	for (int d = 0; d < rank; d++)
		n = n * in->extent[d] + both->start[d] - in->start[d] + index[d];
	return n;
}

void
rt_box_shared_runs(int rank, const struct rt_box *from, const struct rt_box *to,
	void (*run)(void *arg, int64_t from, int64_t to, int64_t n), void *arg)
{
	struct rt_box both;
	if (!intersect(rank, from, to, &both))
		return;
	/* Inner dimensions that both boxes have whole make longer runs. */
	int inner = rank;
	int64_t length = 1, count = 1, index[RT_MAX_RANK] = {0};
	while (inner > 0 && (inner == rank || (both.extent[inner] == from->extent[inner] &&
						      both.extent[inner] == to->extent[inner])))
		length *= both.extent[--inner];
	for (int d = 0; d < inner; d++)
		count *= both.extent[d];
	for (int64_t i = 0; i < count; i++) {
		run(arg, element_of(rank, from, &both, index), element_of(rank, to, &both, index),
			length);
		for (int d = inner - 1; d >= 0 && ++index[d] == both.extent[d]; d--)
			index[d] = 0;
	}
}

void
rt_box_runs(int rank, const int64_t *dims, const struct rt_box *box,
	void (*run)(void *arg, int64_t global, int64_t local, int64_t n), void *arg)
{
	struct rt_box whole = {{0}, {0}};
	memcpy(whole.extent, dims, (size_t)rank * sizeof *dims);
	rt_box_shared_runs(rank, &whole, box, run, arg);
}

struct copy {
	const char *local;
	char *global;
	size_t bytes;
};

static void
copy_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	const struct copy *c = arg;
	memcpy(c->global + (size_t)global * c->bytes, c->local + (size_t)local * c->bytes,
		(size_t)n * c->bytes);
}

void
rt_box_store(int rank, const int64_t *dims, const struct rt_box *box, size_t bytes,
	const void *local, void *global)
{
	struct copy c = {local, global, bytes};
	rt_box_runs(rank, dims, box, copy_run, &c);
}
