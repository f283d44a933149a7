/* Types, and ops over the local dims of values that may have leading ones. */
#include "parser/stablehlo/import/state/state.h"

#include "ir/base/alloc.h"
#include "parser/stablehlo/mlir/number.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- types --- */

bool
import_is_static(const struct mlir_type *t)
{
	if (t->kind != MLIR_TENSOR)
		return true;
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] < 0)
			return false;
	return true;
}

bool
import_is_empty(const struct mlir_type *t)
{
	if (!t || t->kind != MLIR_TENSOR)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] == 0)
			return true;
	return false;
}

bool
import_same_shape(const struct mlir_type *a, const struct mlir_type *b)
{
	if (a->kind != b->kind || a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i] && a->dim[i] >= 0 && b->dim[i] >= 0)
			return false;
	return true;
}

bool
import_same_type(const struct mlir_type *a, const struct mlir_type *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || (a->kind != MLIR_TENSOR && a->text != b->text))
		return false;
	return import_same_shape(a, b) && a->dtype == b->dtype &&
	       (a->dtype >= 0 || a->element == b->element);
}

bool
import_check_shape(struct import *im, const struct mlir_op *op, int i, const int64_t *dim, int rank)
{
	const struct mlir_type *t = op->result[i].type;
	const struct mlir_type *made =
		import_local_type(im, t->dtype < 0 ? IR_f32 : (enum ir_dtype)t->dtype, rank, dim);

	return import_same_shape(t, made) ||
	       import_error(im, op, "result %d has the written type %s, but the op produces %s",
		       i + 1, t->text, made->text);
}

const struct mlir_type *
import_local_type(struct import *im, enum ir_dtype dtype, int rank, const int64_t *dim)
{
	struct mlir_type *t = ARENA_NEW(im->arena, struct mlir_type);
	int64_t *d = ARENA_ARRAY(im->arena, int64_t, rank + 1);
	char *text = text_copy(NULL, "tensor<");

	for (int i = 0; i < rank; i++) {
		d[i] = dim[i];
		text = dim[i] < 0 ? text_append_end(text, "?x")
				  : text_append_end(text, "%" PRId64 "x", dim[i]);
	}
	const char *name = dtype == IR_bool ? "i1" : ir_dtype_name(dtype);
	/* dopt writes u8, MLIR ui8 */
	bool is_unsigned = ir_dtype_class(dtype) == IR_UINT;
	text = text_append_end(
		text, "%s%s>", is_unsigned ? "ui" : name, is_unsigned ? name + 1 : "");
	*t = (struct mlir_type){.kind = MLIR_TENSOR,
		.dtype = (int8_t)dtype,
		.rank = (uint16_t)rank,
		.dim = d,
		.element = ir_dtype_name(dtype),
		.text = ir_name(im->module->ctx, text)};
	talloc_free(text);
	return t;
}

static bool
check_sizes(struct import *im, const struct mlir_op *op, const struct mlir_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] < 0)
			return import_unsupported(im, op, "a size that is not a constant");
	if (ir_shape_fits(t->dim, t->rank))
		return true;
	return import_unsupported_form(
		im, op, "a tensor of more than 2^%d elements", IR_MAX_ELEMENTS_LOG2);
}

const struct ir_type *
import_type(struct import *im, const struct mlir_op *op, const struct mlir_type *t, uint32_t varies)
{
	const struct ir_module *m = im->module;
	struct ir_type type = {0};

	if (t->kind != MLIR_TENSOR) {
		import_error(
			im, op, "expected a tensor, found %s", t->text ? t->text : "another type");
		return NULL;
	}
	if (t->dtype < 0) {
		import_unsupported_form(im, op, "tensors of %s", t->element);
		return NULL;
	}
	type.dtype = (uint8_t)t->dtype;
	for (int a = 0; a < m->naxes; a++)
		if (varies >> a & 1) {
			type.axis[a] = (struct ir_state){.kind = IR_SPLIT, .dim = type.rank};
			type.dim[type.rank++] = m->axis[a].size;
		}
	if (t->rank + type.rank > IR_MAX_RANK) {
		import_unsupported_form(im, op, "a tensor of rank %d%s; the largest rank is %d",
			t->rank + type.rank, type.rank ? " with the dims of the processes" : "",
			IR_MAX_RANK);
		return NULL;
	}
	if (!check_sizes(im, op, t))
		return NULL;
	for (int i = 0; i < t->rank; i++)
		type.dim[type.rank++] = t->dim[i];
	return ir_type_intern(m->ctx, &type);
}

struct import_value
import_result(const struct mlir_op *op, int i, struct ir_value *value, uint32_t varies)
{
	return (struct import_value){
		.value = value, .type = op->result[i].type, .varies = varies, .failed = !value};
}

bool
import_give(const struct mlir_op *op, int i, struct ir_value *value, uint32_t varies,
	struct import_value *out)
{
	out[i] = import_result(op, i, value, varies);
	return value != NULL;
}

/* --- constants --- */

/* A constant holds numbers of i64; a larger u64 becomes a literal. */
static bool
is_large(enum ir_dtype t, int64_t value)
{
	return t == IR_u64 && value < 0;
}

static struct ir_value *
large_integer(struct import *im, int64_t value)
{
	struct ir_type type = {.dtype = IR_u64};
	union cell cell = {.i = value};

	return import_build_literal(im, ir_type_intern(im->module->ctx, &type), &cell, 1);
}

struct ir_value *
import_integer(struct import *im, enum ir_dtype t, int64_t value)
{
	struct ir_type type = {.dtype = (uint8_t)t};
	struct ir_attr attr = ir_make_int(im->module->ctx, "value", value);

	if (is_large(t, value))
		return large_integer(im, value);
	if (ir_dtype_class(t) == IR_FLOAT)
		attr = ir_make_float(im->module->ctx, "value", (double)value);
	return ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &attr, 1,
		ir_type_intern(im->module->ctx, &type));
}

struct ir_value *
import_scalar(struct import *im, enum ir_dtype t, double value)
{
	if (ir_dtype_class(t) != IR_FLOAT)
		return import_integer(im, t, (int64_t)value);
	return ir_build_scalar(&im->builder, t, value);
}

/* n elements (1: a splat) of that type. */
static struct ir_value *
build_constant(struct import *im, const struct ir_type *type, const union cell *v, int64_t n)
{
	struct ir_context *ctx = im->module->ctx;
	bool real = ir_dtype_class((enum ir_dtype)type->dtype) == IR_FLOAT, same = true;

	for (int64_t i = 1; i < n && same; i++)
		same = v[i].i == v[0].i; /* bits, so that NaN and -0 are what they are */
	if (!same)
		return import_build_literal(im, type, v, n);
	if (!real && is_large((enum ir_dtype)type->dtype, v[0].i)) {
		const struct import_value one = {.value = large_integer(im, v[0].i)};
		return one.value ? import_build_broadcast(im, &one, type->rank, type->dim, NULL)
				 : NULL;
	}
	struct ir_attr attr =
		real ? ir_make_float(ctx, "value", v[0].f) : ir_make_int(ctx, "value", v[0].i);
	return ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &attr, 1, type);
}

struct ir_value *
import_dense(struct import *im, const struct mlir_op *op, const struct mlir_dense *d)
{
	const struct ir_type *type = import_type(im, op, d->type, 0);
	bool real = type && ir_dtype_class((enum ir_dtype)type->dtype) == IR_FLOAT;

	if (!type)
		return NULL;
	if (d->complex || d->is_float != real || (!d->splat && d->n != ir_type_elements(type))) {
		import_error(im, op, "elements that do not fit type %s", d->type->text);
		return NULL;
	}
	_Static_assert(sizeof(union cell) == sizeof *d->number, "numbers are cells");
	const struct mlir_element e = mlir_element_of(d->type->element);
	if (e.kind == ELEMENT_FLOAT && e.bits == 8) { /* kept in a wider type */
		for (int64_t i = 0; i < d->n; i++)
			d->number[i].f = mlir_float_round(&e, d->number[i].f);
	}
	return build_constant(im, type, (const union cell *)(const void *)d->number, d->n);
}

struct ir_value *
import_tensor_value(struct import *im, const struct tensor *t)
{
	struct ir_type type = {.dtype = (uint8_t)t->dtype, .rank = (uint8_t)t->rank};

	memcpy(type.dim, t->dim, (size_t)t->rank * sizeof *t->dim);
	return build_constant(
		im, ir_type_intern(im->module->ctx, &type), t->data, tensor_elements(t));
}

/* --- ops on whole tensors --- */

struct ir_value *
build_reshape(struct import *im, struct ir_value *v, const int64_t *shape, int rank)
{
	if (!v || (v->type->rank == rank &&
			  !memcmp(shape, v->type->dim, (size_t)rank * sizeof *shape)))
		return v;
	const struct ir_attr attr = ir_make_ints(im->module, "shape", shape, rank);
	return ir_build(&im->builder, OP_reshape, &v, 1, &attr, 1);
}

struct ir_value *
build_transpose(struct import *im, struct ir_value *v, const int64_t *perm)
{
	bool same = true;

	if (!v)
		return NULL;
	for (int d = 0; d < v->type->rank; d++)
		same = same && perm[d] == d;
	if (same)
		return v;
	const struct ir_attr attr = ir_make_ints(im->module, "perm", perm, v->type->rank);
	return ir_build(&im->builder, OP_transpose, &v, 1, &attr, 1);
}

struct ir_value *
build_swap(struct import *im, struct ir_value *v, int dim, int other)
{
	int64_t perm[IR_MAX_RANK];

	if (!v)
		return NULL;
	for (int d = 0; d < v->type->rank; d++)
		perm[d] = d == dim ? other : d == other ? dim : d;
	return build_transpose(im, v, perm);
}

/* --- leading dims --- */

static int
local_rank(const struct import_value *v)
{
	return v->value->type->rank - import_lead(v);
}

/*
 * v over the axes `all`, with leading dims of size 1 if it does not vary, and `pad` dims of size
 * 1 between leading and local ones.
 */
static struct ir_value *
spread(struct import *im, const struct import_value *v, uint32_t all, int pad)
{
	const struct ir_type *t = v->value->type;
	int64_t shape[IR_MAX_RANK];
	int n = 0, from = 0;

	if (v->varies == all && !pad)
		return v->value;
	if (__builtin_popcount(all) + pad + local_rank(v) > IR_MAX_RANK) {
		diag_error(im->diag, im->builder.loc,
			"a rank of more than %d with the dims of the processes", IR_MAX_RANK);
		im->failed = im->builder.failed = true;
		return NULL;
	}
	for (int a = 0; a < im->module->naxes; a++)
		if (all >> a & 1)
			shape[n++] = v->varies >> a & 1 ? t->dim[from++] : 1;
	for (int i = 0; i < pad; i++)
		shape[n++] = 1;
	while (from < t->rank)
		shape[n++] = t->dim[from++];
	return build_reshape(im, v->value, shape, n);
}

/* The axes `more` as leading dims of v (which has them with size 1): repeated and split. */
static struct ir_value *
repeat_split(struct import *im, struct ir_value *v, uint32_t all, uint32_t more)
{
	struct ir_context *ctx = im->module->ctx;
	int64_t shape[IR_MAX_RANK];
	int lead = 0;

	if (!v || !more)
		return v;
	memcpy(shape, v->type->dim, sizeof shape);
	for (int a = 0; a < im->module->naxes; a++)
		if (all >> a & 1)
			shape[lead++] = im->module->axis[a].size;
	struct ir_attr attr = ir_make_ints(im->module, "shape", shape, v->type->rank);
	v = ir_build(&im->builder, OP_broadcast, &v, 1, &attr, 1);
	lead = 0;
	for (int a = 0; a < im->module->naxes && v; a++) {
		if (more >> a & 1) {
			struct ir_attr split[] = {
				ir_make_int(ctx, "dim", lead), ir_make_axis(ctx, "axis", a)};
			v = ir_build(&im->builder, OP_partition, &v, 1, split, 2);
		}
		lead += all >> a & 1;
	}
	return v;
}

void
import_align(struct import *im, struct import_value *v, int n, bool broadcast)
{
	uint32_t all = 0;

	for (int i = 0; i < n; i++)
		all |= v[i].varies;
	for (int i = 0; i < n; i++) {
		if (!v[i].value || v[i].varies == all)
			continue;
		struct ir_value *x = spread(im, &v[i], all, 0);
		v[i].value = broadcast ? repeat_split(im, x, all, all & ~v[i].varies) : x;
		v[i].varies = all;
	}
}

/* --- ops over local dims --- */

/* Leading dims of v in front of list[n], or their numbers where `numbers`: then list is moved up.
 */
static int
with_lead(const struct import_value *v, const int64_t *list, int n, bool numbers,
	int64_t out[IR_MAX_RANK])
{
	int lead = import_lead(v);

	for (int i = 0; i < lead; i++)
		out[i] = numbers ? i : v->value->type->dim[i];
	for (int i = 0; i < n && lead + i < IR_MAX_RANK; i++)
		out[lead + i] = list[i] + (numbers ? lead : 0);
	return lead + n;
}

static bool
rank_fits(struct import *im, int n)
{
	if (n <= IR_MAX_RANK)
		return true;
	diag_error(im->diag, im->builder.loc, "a tensor of rank %d; the largest rank is %d", n,
		IR_MAX_RANK);
	im->failed = im->builder.failed = true;
	return false;
}

struct ir_value *
import_build_reshape(struct import *im, const struct import_value *v, int rank, const int64_t *dim)
{
	int64_t shape[IR_MAX_RANK];
	int n = with_lead(v, dim, rank, false, shape);

	if (!rank_fits(im, n))
		return NULL;
	return build_reshape(im, v->value, shape, n);
}

struct ir_value *
import_build_transpose(struct import *im, const struct import_value *v, const int64_t *perm)
{
	int64_t list[IR_MAX_RANK];

	with_lead(v, perm, local_rank(v), true, list);
	return build_transpose(im, v->value, list);
}

struct ir_value *
import_build_broadcast(struct import *im, const struct import_value *v, int rank,
	const int64_t *dim, const int64_t *dims)
{
	const struct ir_type *t = v->value->type;
	int64_t shape[IR_MAX_RANK], to[IR_MAX_RANK], last[IR_MAX_RANK];
	int local = local_rank(v), n = with_lead(v, dim, rank, false, shape);

	if (!rank_fits(im, n))
		return NULL;
	for (int i = 0; !dims && i < local; i++)
		last[i] = rank - local + i;
	int nto = with_lead(v, dims ? dims : last, local, true, to);
	bool same = n == t->rank && !memcmp(shape, t->dim, (size_t)n * sizeof *shape);
	for (int i = 0; i < nto; i++)
		same = same && to[i] == i;
	if (same)
		return v->value;
	struct ir_attr attr[] = {ir_make_ints(im->module, "shape", shape, n),
		ir_make_ints(im->module, "dims", to, nto)};
	return ir_build(&im->builder, OP_broadcast, (struct ir_value *[]){v->value}, 1, attr, 2);
}

/* Are v's dims, matched from the right, compatible with those of the others? */
static bool
meets(const struct import_value *v, uint32_t all, int rank)
{
	uint32_t lacks = all & ~v->varies;

	if (!v->varies)
		return true;
	return local_rank(v) == rank && lacks < (v->varies & -v->varies);
}

struct ir_value *
import_build_point(struct import *im, enum op_code code, const struct import_value *v, int n,
	const struct ir_attr *attr, int nattrs, uint32_t *varies)
{
	enum { MOST = 3 };
	struct ir_value *x[MOST];
	uint32_t all = 0;
	int rank = 0;

	for (int i = 0; i < n; i++) {
		all |= v[i].varies;
		rank = rank < local_rank(&v[i]) ? local_rank(&v[i]) : rank;
	}
	for (int i = 0; i < n && i < MOST; i++)
		x[i] = meets(&v[i], all, rank) ? v[i].value
					       : spread(im, &v[i], all, rank - local_rank(&v[i]));
	*varies = all;
	return ir_build(&im->builder, code, x, n, attr, nattrs);
}

struct ir_value *
import_build_convert(struct import *im, struct ir_value *v, enum ir_dtype to)
{
	if (!v || v->type->dtype == to)
		return v;
	if (to == IR_bool)
		return ir_build2(&im->builder, OP_ne, v,
			import_scalar(im, (enum ir_dtype)v->type->dtype, 0));
	struct ir_attr attr = ir_make_dtype(im->module->ctx, "to", to);
	return ir_build(&im->builder, OP_convert, &v, 1, &attr, 1);
}
