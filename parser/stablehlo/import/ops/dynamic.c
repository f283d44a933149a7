/*
 * dynamic_slice and dynamic_update_slice. Starts are clamped so that the slice is inside. Known
 * starts become plain slices and pads; others are handled dim by dim. If a start differs between
 * processes, each element looks up its own position.
 */
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/ops/shape.h"

#include <inttypes.h>

/* Are the operands from number `from` on integer scalars, one for each dim? Reports if not. */
static bool
check_starts(struct import *im, const struct mlir_op *op, const struct import_value *in,
	uint32_t from, int rank)
{
	if (op->noperands - from != (uint32_t)rank)
		return import_error(im, op, "has %u starts for an operand of rank %d",
			op->noperands - from, rank);
	for (uint32_t i = from; i < op->noperands; i++) {
		const struct mlir_type *t = in[i].type;
		enum ir_dclass c = ir_dtype_class((enum ir_dtype)t->dtype);
		if (t->rank || c == IR_FLOAT || c == IR_BOOL)
			return import_error(im, op, "start %u is %s; it must be an integer scalar",
				i - from, t->text);
		if (t->dtype != in[from].type->dtype)
			return import_error(im, op, "starts %d and %u differ: %s and %s", 0,
				i - from, in[from].type->text, t->text);
	}
	return true;
}

/* The start as i64: a large u64 stays large. */
static struct ir_value *
start_value(struct import *im, struct ir_value *v)
{
	if (v->type->dtype == IR_u64)
		v = ir_build2(&im->builder, OP_minimum, v, import_integer(im, IR_u64, INT64_MAX));
	return import_build_convert(im, v, IR_i64);
}

/* The start, moved into [0, most], as i64. */
static struct import_value
clamped(struct import *im, const struct import_value *start, int64_t most)
{
	struct import_value v = *start;

	v.value = start_value(im, v.value);
	v.value = ir_build2(&im->builder, OP_maximum, v.value, import_integer(im, IR_i64, 0));
	v.value = ir_build2(&im->builder, OP_minimum, v.value, import_integer(im, IR_i64, most));
	return v;
}

/* 0 ... n - 1 plus sign * start: i64[leading dims of start.., n]. */
static struct import_value
positions(struct import *im, const struct import_value *start, int64_t n, bool minus)
{
	struct ir_attr dim = ir_make_int(im->module->ctx, "dim", 0);
	struct ir_type t = {.dtype = IR_i64, .rank = 1, .dim = {n}};
	struct import_value pair[2] = {{.value = ir_build_typed(&im->builder, OP_iota, NULL, NULL,
						0, &dim, 1, ir_type_intern(im->module->ctx, &t))},
		*start};
	struct import_value r = {0};

	r.value = import_build_point(im, minus ? OP_sub : OP_add, pair, 2, NULL, 0, &r.varies);
	return r;
}

/* x with local dim d read at `at`, i64[lead.., n]: x[.., at[j], ..]. */
static struct import_value
look_up(struct import *im, const struct import_value *x, int d, const struct import_value *at)
{
	struct import_value v[2] = {*x, *at};
	struct import_value r = {.type = x->type};
	enum ir_dtype t = (enum ir_dtype)x->value->type->dtype;
	int64_t perm[IR_MAX_RANK];

	if (!at->value)
		return r;
	if (t == IR_bool)
		v[0].value = import_build_convert(im, v[0].value, IR_u8);
	import_align(im, v, 2, true);
	if (!v[0].value || !v[1].value)
		return r;
	int lead = import_lead(&v[0]), rank = v[0].value->type->rank - lead;
	struct ir_attr attr[] = {ir_make_ints(im->module, "dims", (int64_t[]){lead + d}, 1),
		ir_make_int(im->module->ctx, "batch", lead)};
	r.varies = v[0].varies;
	r.value = ir_build(&im->builder, OP_gather_nd,
		(struct ir_value *[]){v[0].value, v[1].value}, 2, attr, 2);
	if (!r.value)
		return r;
	/* The looked up dim comes first: moves it back. */
	for (int i = 0; i < rank; i++)
		perm[i] = i == d ? 0 : i < d ? i + 1 : i;
	r.value = import_build_transpose(im, &r, perm);
	r.value = import_build_convert(im, r.value, t);
	return r;
}

/* `size` elements along local dim d from a start that is not known. */
static struct import_value
slice_dim(struct import *im, const struct import_value *x, int d, int64_t size,
	const struct import_value *start)
{
	int lead = import_lead(x);
	struct import_value r = *x;

	if (start->varies) {
		struct import_value s = clamped(im, start, x->value->type->dim[lead + d] - size);
		struct import_value at = {0};
		if (s.value)
			at = positions(im, &s, size, false);
		return look_up(im, x, d, &at);
	}
	struct ir_attr attr[] = {ir_make_int(im->module->ctx, "size", size),
		ir_make_int(im->module->ctx, "dim", lead + d)};
	r.value = ir_build(&im->builder, OP_dynamic_slice,
		(struct ir_value *[]){x->value, start_value(im, start->value)}, 2, attr, 2);
	return r;
}

/* Starts that depend only on constants, clamped; known[i] false: not known. */
static void
known_starts(struct import *im, const struct import_value *start, int n, const int64_t *have,
	const int64_t *size, int64_t *at, bool *known)
{
	for (int i = 0; i < n; i++) {
		int64_t most = have[i] - size[i];
		known[i] = !most || import_known_ints(im, &start[i], &at[i], 1) == 1;
		if (!known[i])
			continue;
		bool large = start[i].type->dtype == IR_u64 && at[i] < 0 && most;
		at[i] = !most || (at[i] < 0 && !large) ? 0 : at[i] > most || large ? most : at[i];
	}
}

static struct import_value
slice(struct import *im, const struct import_value *x, const struct import_value *start,
	const int64_t *size)
{
	int lead = import_lead(x), rank = x->value->type->rank - lead;
	const int64_t *have = x->value->type->dim + lead;
	int64_t at[IR_MAX_RANK] = {0}, from[IR_MAX_RANK] = {0}, to[IR_MAX_RANK] = {0};
	bool known[IR_MAX_RANK];
	struct import_value r = *x;

	known_starts(im, start, rank, have, size, at, known);
	for (int i = 0; i < rank; i++) {
		from[i] = known[i] ? at[i] : 0;
		to[i] = known[i] ? at[i] + size[i] : have[i];
	}
	r.value = import_build_slice(im, x, from, to, NULL);
	for (int i = 0; i < rank && r.value; i++)
		if (!known[i])
			r = slice_dim(im, &r, i, size[i], &start[i]);
	return r;
}

bool
import_dynamic_slice(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = in[0].type;
	int64_t size[IR_MAX_RANK];

	if (!import_ints(im, op, "slice_sizes", size, t->rank) ||
		!check_starts(im, op, in, 1, t->rank))
		return false;
	for (int i = 0; i < t->rank; i++)
		if (size[i] < 0 || size[i] > t->dim[i])
			return import_error(im, op,
				"dim %d of size %" PRId64 " cannot have a slice of size %" PRId64,
				i, t->dim[i], size[i]);
		else if (!size[i])
			return import_error(im, op,
				"dim %d of the result is empty, but its written type is %s", i,
				op->result[0].type->text);
	out[0] = slice(im, &in[0], in + 1, size);
	out[0].type = op->result[0].type;
	return out[0].value != NULL;
}

/* --- updates --- */

/* x with u in the place of what starts at `start` along local dim d; sizes agree in the others. */
static struct import_value
update_dim(struct import *im, const struct import_value *x, const struct import_value *u, int d,
	const struct import_value *start)
{
	struct import_value v[2] = {*x, *u}, r = {.type = x->type};

	import_align(im, v, 2, true);
	if (!v[0].value || !v[1].value)
		return r;
	int lead = import_lead(&v[0]);
	int64_t n = v[0].value->type->dim[lead + d], size = v[1].value->type->dim[lead + d];
	r.varies = v[0].varies;
	if (!start->varies) {
		struct ir_attr dim = ir_make_int(im->module->ctx, "dim", lead + d);
		r.value = ir_build(&im->builder, OP_dynamic_update_slice,
			(struct ir_value *[]){
				v[0].value, v[1].value, start_value(im, start->value)},
			3, &dim, 1);
		return r;
	}
	struct import_value s = clamped(im, start, n - size), at = {0};
	if (s.value)
		at = positions(im, &s, n, true);
	struct import_value found = look_up(im, &v[1], d, &at);
	if (!found.value)
		return r;
	/* Which positions are inside of u: at[lead.., n] as [lead.., 1, n, 1]. */
	int64_t shape[IR_MAX_RANK];
	int rank = v[0].value->type->rank - lead;
	for (int i = 0; i < rank; i++)
		shape[i] = i == d ? n : 1;
	at.value = import_build_reshape(im, &at, rank, shape);
	struct ir_value *below =
		ir_build2(&im->builder, OP_lt, at.value, import_integer(im, IR_i64, size));
	struct ir_value *above =
		ir_build2(&im->builder, OP_ge, at.value, import_integer(im, IR_i64, 0));
	struct import_value pick[3] = {
		{.value = ir_build2(&im->builder, OP_and, above, below), .varies = at.varies},
		found, v[0]};
	if (pick[0].value)
		r.value = import_build_point(im, OP_select, pick, 3, NULL, 0, &r.varies);
	return r;
}

/*
 * u over local dims d ... of x: along dim d, the elements from the start on are extracted, updated
 * along the other dims and put back.
 */
static struct import_value
update(struct import *im, const struct import_value *x, const struct import_value *u, int d,
	const struct import_value *start)
{
	int rank = x->value->type->rank - import_lead(x);
	const int64_t *have = x->value->type->dim + import_lead(x);
	const int64_t *size = u->value->type->dim + import_lead(u);
	bool rest = false;

	while (d < rank && have[d] == size[d])
		d++;
	if (d == rank)
		return *u;
	for (int i = d + 1; i < rank; i++)
		rest = rest || have[i] != size[i];
	if (!rest)
		return update_dim(im, x, u, d, &start[d]);
	int64_t part[IR_MAX_RANK];
	for (int i = 0; i < rank; i++)
		part[i] = i == d ? size[d] : have[i];
	struct import_value inner = slice(im, x, start, part);
	if (inner.value)
		inner = update(im, &inner, u, d + 1, start);
	if (!inner.value)
		return inner;
	return update_dim(im, x, &inner, d, &start[d]);
}

bool
import_dynamic_update(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = in[0].type, *u = in[1].type;

	if (u->rank != t->rank || u->dtype != t->dtype)
		return import_error(
			im, op, "the update is %s, but the operand is %s", u->text, t->text);
	for (int i = 0; i < t->rank; i++)
		if (u->dim[i] > t->dim[i])
			return import_error(im, op,
				"dim %d of the update has size %" PRId64
				", but that of the operand is %" PRId64,
				i, u->dim[i], t->dim[i]);
	if (!check_starts(im, op, in, 2, t->rank))
		return false;
	if (import_is_empty(u)) {
		out[0] = in[0];
		out[0].type = op->result[0].type;
		return true;
	}
	out[0] = update(im, &in[0], &in[1], 0, in + 2);
	out[0].type = op->result[0].type;
	return out[0].value != NULL;
}
