/* IR ops on whole tensors, one call each: shapes, constants, gathers and scatters. */
#include "parser/stablehlo/import/build/build.h"

#include "parser/stablehlo/spmd/spmd.h"

#include <math.h>
#include <string.h>

/* Attributes of an op that has entries for some dims, collected as dims that it changes come up. */
struct changed {
	int64_t dim[IR_MAX_RANK], entry[3][IR_MAX_RANK];
	int n;
};

static void
add_changed(struct changed *c, int dim, int64_t a, int64_t b, int64_t third)
{
	c->dim[c->n] = dim;
	c->entry[0][c->n] = a;
	c->entry[1][c->n] = b;
	c->entry[2][c->n++] = third;
}

static struct ir_value *
build_changed(struct import *im, enum op_code code, struct ir_value *v, const struct changed *c,
	const char *const key[3])
{
	struct ir_attr attr[4];

	if (!c->n)
		return v;
	for (int i = 0; i < 3; i++)
		attr[i] = ir_make_ints(im->module, key[i], c->entry[i], c->n);
	attr[3] = ir_make_ints(im->module, "dims", c->dim, c->n);
	return ir_build(&im->builder, code, &v, 1, attr, 4);
}

bool
build_fits(struct import *im, const int64_t *dim, int rank)
{
	if (ir_shape_fits(dim, rank))
		return true;
	diag_error(im->diag, im->builder.loc, "this makes a tensor of more than 2^%d elements",
		IR_MAX_ELEMENTS_LOG2);
	im->failed = im->builder.failed = true;
	return false;
}

struct ir_value *
build_slice(struct import *im, struct ir_value *v, const int64_t *start, const int64_t *limit,
	const int64_t *step)
{
	static const char *const key[3] = {"start", "limit", "step"};
	struct changed c = {.n = 0};

	if (!v)
		return NULL;
	for (int d = 0; d < v->type->rank; d++) {
		const int64_t by = step ? step[d] : 1;
		if (start[d] != 0 || limit[d] != v->type->dim[d] || by != 1)
			add_changed(&c, d, start[d], limit[d], by);
	}
	return build_changed(im, OP_slice, v, &c, key);
}

struct ir_value *
build_slice_dim(
	struct import *im, struct ir_value *v, int dim, int64_t start, int64_t limit, int64_t step)
{
	static const char *const key[3] = {"start", "limit", "step"};
	struct changed c = {.n = 0};

	if (!v)
		return NULL;
	if (start != 0 || limit != v->type->dim[dim] || step != 1)
		add_changed(&c, dim, start, limit, step);
	return build_changed(im, OP_slice, v, &c, key);
}

struct ir_value *
build_element(struct import *im, struct ir_value *v, int dim, int64_t i)
{
	return build_squeeze(im, build_slice_dim(im, v, dim, i, i + 1, 1), dim);
}

/* Converts bool to numbers for ops without a bool row. */
static struct ir_value *
as_number(struct import *im, struct ir_value *v)
{
	return v && v->type->dtype == IR_bool ? build_convert(im, v, IR_u8) : v;
}

static struct ir_value *
as_before(struct import *im, struct ir_value *v, const struct ir_value *before)
{
	return before->type->dtype == IR_bool ? build_convert(im, v, IR_bool) : v;
}

static struct ir_value *
pad(struct import *im, struct ir_value *v, const struct ir_attr *with, const int64_t *low,
	const int64_t *high, const int64_t *interior)
{
	struct changed c = {.n = 0};
	struct ir_attr attr[5];
	int n = 0;

	if (!v)
		return NULL;
	for (int d = 0; d < v->type->rank; d++)
		if (low[d] || high[d] || (interior && interior[d] && v->type->dim[d] > 1))
			add_changed(&c, d, low[d], high[d], interior ? interior[d] : 0);
	if (!c.n)
		return v;
	int64_t size[IR_MAX_RANK];
	for (int d = 0; d < v->type->rank; d++)
		size[d] = v->type->dim[d];
	for (int i = 0; i < c.n; i++) {
		int64_t *s = &size[c.dim[i]];
		*s = c.entry[0][i] + c.entry[1][i] + *s + (*s > 1 ? (*s - 1) * c.entry[2][i] : 0);
	}
	if (!build_fits(im, size, v->type->rank))
		return NULL;
	attr[n++] = ir_make_ints(im->module, "low", c.entry[0], c.n);
	attr[n++] = ir_make_ints(im->module, "high", c.entry[1], c.n);
	attr[n++] = ir_make_ints(im->module, "interior", c.entry[2], c.n);
	attr[n++] = ir_make_ints(im->module, "dims", c.dim, c.n);
	if (with) {
		attr[n] = *with;
		attr[n++].key = ir_name(im->module->ctx, "value");
	}
	struct ir_value *x = as_number(im, v);
	return as_before(im, ir_build(&im->builder, OP_pad, &x, 1, attr, n), v);
}

struct ir_value *
build_pad_zero(struct import *im, struct ir_value *v, const int64_t *low, const int64_t *high,
	const int64_t *interior)
{
	return pad(im, v, NULL, low, high, interior);
}

/* A mask of the elements, not padding, of a padded tensor of that shape: sizes and dims are v's. */
static struct ir_value *
build_inside(struct import *im, const struct ir_value *v, const int64_t *low, const int64_t *high,
	const int64_t *interior)
{
	struct ir_type t = {.dtype = IR_bool, .rank = v->type->rank};
	struct ir_attr yes = ir_make_bool(im->module->ctx, "value", true);

	/* Along dims that are not padded one element represents all. */
	for (int d = 0; d < t.rank; d++)
		t.dim[d] = low[d] || high[d] || (interior && interior[d]) ? v->type->dim[d] : 1;
	return pad(im,
		ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &yes, 1,
			ir_type_intern(im->module->ctx, &t)),
		NULL, low, high, interior);
}

struct ir_value *
build_pad(struct import *im, struct ir_value *v, struct ir_value *with, const int64_t *low,
	const int64_t *high, const int64_t *interior)
{
	if (!v || !with)
		return NULL;
	const struct ir_attr *value = build_constant_value(with);
	if (value && v->type->dtype != IR_bool)
		return pad(im, v, value, low, high, interior);
	struct ir_value *padded = pad(im, v, NULL, low, high, interior);
	if (padded == v || !padded)
		return padded;
	return build_select(im, build_inside(im, v, low, high, interior), padded,
		build_spread(im, with, v->type->rank));
}

struct ir_value *
build_squeeze(struct import *im, struct ir_value *v, int dim)
{
	int64_t shape[IR_MAX_RANK];
	int n = 0;

	if (!v)
		return NULL;
	for (int d = 0; d < v->type->rank; d++)
		if (d != dim)
			shape[n++] = v->type->dim[d];
	return build_reshape(im, v, shape, n);
}

struct ir_value *
build_unsqueeze(struct import *im, struct ir_value *v, int dim)
{
	int64_t shape[IR_MAX_RANK + 1];
	int n = 0;

	if (!v)
		return NULL;
	for (int d = 0; d <= v->type->rank; d++) {
		if (d == dim)
			shape[n++] = 1;
		if (d < v->type->rank)
			shape[n++] = v->type->dim[d];
	}
	return build_reshape(im, v, shape, n);
}

struct ir_value *
build_flatten(struct import *im, struct ir_value *v, int from, int to)
{
	int64_t shape[IR_MAX_RANK + 1];
	int n = 0;

	if (!v)
		return NULL;
	for (int d = 0; d < from; d++)
		shape[n++] = v->type->dim[d];
	shape[n] = 1;
	for (int d = from; d < to; d++)
		shape[n] *= v->type->dim[d];
	n++;
	for (int d = to; d < v->type->rank; d++)
		shape[n++] = v->type->dim[d];
	return build_reshape(im, v, shape, n);
}

struct ir_value *
build_broadcast(
	struct import *im, struct ir_value *v, const int64_t *shape, int rank, const int64_t *dims)
{
	if (!v || (v->type->rank == rank &&
			  !memcmp(shape, v->type->dim, (size_t)rank * sizeof *shape)))
		return v;
	if (!build_fits(im, shape, rank))
		return NULL;
	const struct ir_attr attr[] = {ir_make_ints(im->module, "shape", shape, rank),
		ir_make_ints(im->module, "dims", dims, v->type->rank)};
	return ir_build(&im->builder, OP_broadcast, &v, 1, attr, 2);
}

struct ir_value *
build_like(struct import *im, struct ir_value *v, const struct ir_value *like)
{
	int64_t dims[IR_MAX_RANK];

	if (!v || !like)
		return NULL;
	for (int d = 0; d < v->type->rank; d++)
		dims[d] = like->type->rank - v->type->rank + d;
	return spmd_split_as(
		im, build_broadcast(im, v, like->type->dim, like->type->rank, dims), like);
}

struct ir_value *
build_spread(struct import *im, struct ir_value *v, int rank)
{
	int64_t shape[IR_MAX_RANK];

	if (!v || !v->type->rank)
		return v;
	for (int d = 0; d < rank; d++)
		shape[d] = d < v->type->rank ? v->type->dim[d] : 1;
	return build_reshape(im, v, shape, rank);
}

struct ir_value *
build_concat(struct import *im, struct ir_value *const *v, int n, int dim)
{
	struct ir_value **x = ARENA_ARRAY(im->arena, struct ir_value *, n);

	memcpy(x, v, (size_t)n * sizeof *x);
	return ir_build_concat(&im->builder, x, n, dim);
}

struct ir_value *
build_reverse(struct import *im, struct ir_value *v, const int64_t *dims, int n)
{
	if (!v || !n)
		return v;
	const struct ir_attr attr = ir_make_ints(im->module, "dims", dims, n);
	return ir_build(&im->builder, OP_reverse, &v, 1, &attr, 1);
}

struct ir_value *
build_convert(struct import *im, struct ir_value *v, enum ir_dtype t)
{
	if (!v || v->type->dtype == t)
		return v;
	const struct ir_attr attr = ir_make_dtype(im->module->ctx, "to", t);
	return ir_build(&im->builder, OP_convert, &v, 1, &attr, 1);
}

struct ir_value *
build_select(struct import *im, struct ir_value *c, struct ir_value *a, struct ir_value *b)
{
	return ir_build(&im->builder, OP_select, (struct ir_value *[]){c, a, b}, 3, NULL, 0);
}

struct ir_value *
build_reduce(struct import *im, enum op_code code, struct ir_value *v, const int64_t *dims, int n)
{
	if (!v || !n)
		return v;
	const struct ir_attr attr = ir_make_ints(im->module, "dims", dims, n);
	return ir_build(&im->builder, code, &v, 1, &attr, 1);
}

struct ir_value *
build_contract(struct import *im, const char *spec, struct ir_value *a, struct ir_value *b)
{
	const struct ir_attr attr = ir_make_string(im->module->ctx, "spec", spec);

	return ir_build(&im->builder, OP_contract, (struct ir_value *[]){a, b}, 2, &attr, 1);
}

struct ir_value *
build_zeros(struct import *im, const struct ir_type *t)
{
	struct ir_context *ctx = im->module->ctx;

	if (!t)
		return NULL;
	const struct ir_attr attr = ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT
					    ? ir_make_float(ctx, "value", 0)
					    : ir_make_int(ctx, "value", 0);
	return ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &attr, 1, t);
}

struct ir_value *
build_int(struct import *im, enum ir_dtype t, int64_t value)
{
	const struct ir_type type = {.dtype = (uint8_t)t};
	const struct ir_attr attr = ir_make_int(im->module->ctx, "value", value);

	return ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &attr, 1,
		ir_type_intern(im->module->ctx, &type));
}

struct ir_value *
build_iota(struct import *im, enum ir_dtype t, int rank, int dim, int64_t n)
{
	struct ir_type type = {.dtype = (uint8_t)t, .rank = (uint8_t)rank};
	const struct ir_attr attr = ir_make_int(im->module->ctx, "dim", dim);

	for (int d = 0; d < rank; d++)
		type.dim[d] = d == dim ? n : 1;
	return ir_build_typed(&im->builder, OP_iota, NULL, NULL, 0, &attr, 1,
		ir_type_intern(im->module->ctx, &type));
}

/* The operands: the table or updates, then the numbers. */
static struct ir_value *
build_numbers(struct import *im, enum op_code code, struct ir_value *x,
	struct ir_value *const *number, int n, const struct ir_attr *attr, int nattrs)
{
	struct ir_value *operand[IR_MAX_RANK + 1] = {as_number(im, x)};

	if (!x)
		return NULL;
	for (int k = 0; k < n; k++)
		operand[k + 1] = number[k];
	return as_before(im, ir_build(&im->builder, code, operand, n + 1, attr, nattrs), x);
}

struct ir_value *
build_gather(struct import *im, struct ir_value *table, struct ir_value *const *number, int n,
	const int64_t *dims, int batch)
{
	const struct ir_attr attr[] = {ir_make_ints(im->module, "dims", dims, n),
		ir_make_int(im->module->ctx, "batch", batch)};

	return build_numbers(im, OP_gather_nd, table, number, n, attr, 2);
}

struct ir_value *
build_scatter(struct import *im, struct ir_value *updates, struct ir_value *const *number, int n,
	const int64_t *dims, const int64_t *sizes, int batch, const char *how)
{
	const struct ir_attr attr[] = {ir_make_ints(im->module, "sizes", sizes, n),
		ir_make_ints(im->module, "dims", dims, n),
		ir_make_int(im->module->ctx, "batch", batch),
		ir_make_string(im->module->ctx, "how", how)};

	return build_numbers(im, OP_scatter_nd, updates, number, n, attr, 4);
}

const struct ir_attr *
build_constant_value(const struct ir_value *v)
{
	while (v->op && (v->op->code == OP_broadcast || v->op->code == OP_reshape))
		v = ir_operand(v->op, 0);
	return v->op && v->op->code == OP_constant ? ir_attr_find(v->op, "value") : NULL;
}

/* The smallest and the largest number of an integer type, u64 as the same bits. */
static int64_t
lowest_int(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_INT ? (int64_t)(UINT64_MAX << (8 * ir_dtype_bytes(t) - 1))
					   : 0;
}

static int64_t
highest_int(enum ir_dtype t)
{
	const unsigned bits = 8 * ir_dtype_bytes(t);

	if (ir_dtype_class(t) == IR_INT)
		return (int64_t)(UINT64_MAX >> (65 - bits));
	return (int64_t)(UINT64_MAX >> (64 - bits));
}

static bool
is_float_identity(double x, enum import_monoid monoid)
{
	switch (monoid) {
	case MONOID_ADD: return x == 0;
	case MONOID_MUL: return x == 1;
	case MONOID_MAX: return x == -INFINITY;
	case MONOID_MIN: return x == INFINITY;
	default: return false;
	}
}

static bool
is_int_identity(int64_t x, enum ir_dtype t, enum import_monoid monoid)
{
	switch (monoid) {
	case MONOID_ADD:
	case MONOID_OR:
	case MONOID_XOR: return x == 0;
	case MONOID_MUL: return x == 1;
	case MONOID_MAX: return x == lowest_int(t);
	case MONOID_MIN: return x == highest_int(t);
	case MONOID_AND: return t == IR_bool ? x == 1 : x == highest_int(t) || x == -1;
	default: return false;
	}
}

bool
build_is_identity(const struct ir_value *v, enum import_monoid monoid)
{
	const struct ir_attr *a = build_constant_value(v);
	const enum ir_dtype t = build_dtype(v);

	if (!a)
		return false;
	if (ir_dtype_class(t) == IR_FLOAT)
		return is_float_identity(a->kind == ATTR_FLOAT ? a->f : (double)a->i, monoid);
	if (a->kind == ATTR_FLOAT)
		return false;
	if (t == IR_bool && monoid == MONOID_MAX)
		return a->i == 0;
	if (t == IR_bool && monoid == MONOID_MIN)
		return a->i == 1;
	return is_int_identity(a->i, t, monoid);
}

struct ir_value *
build_combine(struct import *im, enum import_monoid monoid, struct ir_value *a, struct ir_value *b)
{
	static const uint16_t codes[][2] = {
		[MONOID_ADD] = {OP_add, OP_or},
		[MONOID_MUL] = {OP_mul, OP_and},
		[MONOID_MAX] = {OP_maximum, OP_or},
		[MONOID_MIN] = {OP_minimum, OP_and},
		[MONOID_AND] = {OP_and, OP_and},
		[MONOID_OR] = {OP_or, OP_or},
		[MONOID_XOR] = {OP_xor, OP_xor},
	};

	if (!a || !b)
		return NULL;
	return ir_build2(
		&im->builder, (enum op_code)codes[monoid][a->type->dtype == IR_bool], a, b);
}

enum ir_dtype
build_wide(enum ir_dtype t)
{
	return t == IR_f16 || t == IR_bf16 ? IR_f32 : t;
}
