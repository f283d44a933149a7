/*
 * Places: what each of them holds of a tensor, the whole tensor from all of them, and how a
 * parallelization op moves data between them.
 *
 * Time axes are treated as device axes are. A program runs the places in time one after another and
 * we run them in lockstep, an op at all places before the next op. That gives the same values: an
 * op at a place reads values at that place only, so it cannot tell when the other places run; and
 * an op that reads other places on a time axis (reduce, combine ...) gives a value that exists when
 * all of them are done, in a program as here. Sums are made in the order of the places, in both.
 *
 * A split that is added is always the innermost of its dimension, and only an innermost one is
 * removed. So, on one axis, removing the split from a local tensor concatenates the slices of the
 * places, whatever else splits the dimension; and a parallelization op is two steps that do not
 * depend on the op: collect the tensor over the axis, then cut it as the type of the result
 * requires.
 */
#include "ir/interp/internal.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

static const int64_t origin[IR_MAX_RANK] = {0};

void
interp_local_shape(const struct interp *it, const struct ir_type *t, int64_t dim[IR_MAX_RANK])
{
	for (int d = 0; d < t->rank; d++)
		dim[d] = it->o.mode == INTERP_LAYOUT ? ir_type_local_dim(it->m, t, d) : t->dim[d];
}

bool
interp_holds(const struct interp *it, const struct ir_type *t, int64_t place)
{
	if (it->o.mode == INTERP_MEANING)
		return true;
	for (int x = 0; x < it->m->naxes; x++)
		if (t->axis[x].kind == IR_SINGLE &&
			it->coord[place][x] != ir_axis_place(&it->m->axis[x], t->axis[x].order))
			return false;
	return true;
}

/* Where the part of a place starts in the whole tensor. */
static void
part_start(const struct interp *it, const struct ir_type *t, int64_t place, const int64_t *local,
	int64_t start[IR_MAX_RANK])
{
	for (int d = 0; d < t->rank; d++)
		start[d] = it->o.mode == INTERP_MEANING
				   ? 0
				   : local[d] * ir_type_slice(it->m, t, d, it->coord[place]);
}

/* Is the place at 0 on every axis of that kind? */
static bool
is_first(const struct interp *it, const struct ir_type *t, enum ir_state_kind kind, int64_t place)
{
	if (it->o.mode == INTERP_LAYOUT)
		for (int x = 0; x < it->m->naxes; x++)
			if (t->axis[x].kind == kind && it->coord[place][x] != 0)
				return false;
	return true;
}

struct tensor *
interp_cut(const struct interp *it, const void *owner, const struct ir_type *t,
	const struct tensor *whole, int64_t place)
{
	if (!interp_holds(it, t, place))
		return NULL;
	int64_t local[IR_MAX_RANK], start[IR_MAX_RANK];
	interp_local_shape(it, t, local);
	part_start(it, t, place, local, start);
	struct tensor *part = tensor_create(owner, whole->dtype, whole->rank, local);
	if (is_first(it, t, IR_PARTIAL, place))
		tensor_copy_box(part, origin, whole, start, local, false);
	return part;
}

struct tensor *
interp_assemble(const struct interp *it, const void *owner, const struct ir_type *t,
	struct tensor *const *place)
{
	struct tensor *whole = tensor_create(owner, (enum ir_dtype)t->dtype, t->rank, t->dim);
	int64_t local[IR_MAX_RANK], start[IR_MAX_RANK];
	interp_local_shape(it, t, local);
	bool add = false; /* adjacent parts are copied, not added: 0 + -0 would be 0 */
	for (int i = 0; i < it->m->naxes; i++)
		add = add || t->axis[i].kind == IR_PARTIAL;
	for (int64_t p = 0; p < it->nplaces; p++) {
		if (!interp_holds(it, t, p) || !is_first(it, t, IR_COPIED, p))
			continue;
		assert(place[p]);
		part_start(it, t, p, local, start);
		tensor_copy_box(whole, start, place[p], origin, local, add);
	}
	tensor_settle(whole, it->o.f64);
	return whole;
}

/* The place with coordinate k on an axis and the coordinates of `place` on the others. */
static int64_t
place_at(const struct interp *it, int64_t place, int axis, int k)
{
	int64_t stride = 1;
	for (int x = it->m->naxes - 1; x > axis; x--)
		stride *= it->m->axis[x].size;
	return place + (k - it->coord[place][axis]) * stride;
}

bool
interp_copies_agree(const struct interp *it, const struct ir_type *t, struct tensor *const *place)
{
	for (int64_t p = 0; p < it->nplaces; p++) {
		if (!place[p])
			continue;
		int64_t first = p;
		for (int x = 0; x < it->m->naxes && it->o.mode == INTERP_LAYOUT; x++)
			if (t->axis[x].kind == IR_COPIED)
				first = place_at(it, first, x, 0);
		if (first != p && !tensor_compare(place[first], place[p], 0, NULL))
			return false;
	}
	return true;
}

/* The tensor that the places along an axis hold together, as the type without that axis. */
static struct tensor *
collect(const struct interp *it, const void *owner, const struct ir_type *t,
	struct tensor *const *from, int axis, int64_t place)
{
	const struct ir_state s = t->axis[axis];
	if (s.kind == IR_COPIED)
		return tensor_copy(owner, from[place]);
	if (s.kind == IR_SINGLE)
		return tensor_copy(owner, from[place_at(it, place, axis,
						  ir_axis_place(&it->m->axis[axis], s.order))]);
	int list[IR_MAX_AXES];
	const int size = it->m->axis[axis].size;
	int64_t local[IR_MAX_RANK], dim[IR_MAX_RANK], at[IR_MAX_RANK] = {0};
	interp_local_shape(it, t, local);
	memcpy(dim, local, sizeof dim);
	if (s.kind == IR_SPLIT) {
		assert(ir_type_split_axes(t, s.dim, list) == s.order + 1);
		dim[s.dim] *= size;
	}
	/* A sum starts at +0; one place has nothing to sum, and slices are copied unchanged. */
	const bool add = s.kind == IR_PARTIAL && size > 1;
	struct tensor *all = tensor_create(owner, (enum ir_dtype)t->dtype, t->rank, dim);
	for (int k = 0; k < size; k++) {
		if (s.kind == IR_SPLIT)
			at[s.dim] = k * local[s.dim];
		tensor_copy_box(all, at, from[place_at(it, place, axis, k)], origin, local, add);
		/* micro-batches are added one after another to a sum of this type */
		if (add && it->m->axis[axis].time)
			tensor_settle(all, it->o.f64);
	}
	return all;
}

/* Does the parallelization op sum over its axis? Then no result is -0, also by meaning. */
static bool
sums_over(const struct interp *it, const struct ir_type *from, const struct ir_type *to, int axis)
{
	return axis >= 0 && from->axis[axis].kind == IR_PARTIAL &&
	       to->axis[axis].kind != IR_PARTIAL && it->m->axis[axis].size > 1;
}

void
interp_move(const struct interp *it, const void *owner, const struct ir_op *op, int i,
	struct tensor **result)
{
	const struct ir_type *from = ir_operand_type(op, i), *to = op->result[i].type;
	struct tensor *const *place = interp_places(it, ir_operand(op, i));
	const int over = (int)ir_attr_int(op, "axis", -1),
		  axis = it->o.mode == INTERP_MEANING ? -1 : over;
	for (int64_t p = 0; p < it->nplaces; p++) {
		if (!interp_holds(it, to, p)) {
			result[p] = NULL;
			continue;
		}
		if (axis < 0) {
			result[p] = tensor_copy(owner, place[p]);
			if (sums_over(it, from, to, over))
				tensor_add_zero(result[p]);
			continue;
		}
		struct tensor *all = collect(it, owner, from, place, axis, p);
		int64_t local[IR_MAX_RANK], at[IR_MAX_RANK] = {0};
		interp_local_shape(it, to, local);
		const struct ir_state s = to->axis[axis];
		if (s.kind == IR_SPLIT)
			at[s.dim] = it->coord[p][axis] * local[s.dim];
		result[p] = tensor_create(owner, all->dtype, all->rank, local);
		tensor_copy_box(result[p], origin, all, at, local, false);
		talloc_free(all);
		tensor_settle(result[p], it->o.f64);
	}
}
