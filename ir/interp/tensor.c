/* Tensors of the interpreter: one cell an element of any type; types only affect rounding.
 */
#include "ir/interp/internal.h"

#include "ir/base/alloc.h"
#include "runtime/kernel/rng.h"

#include <assert.h>
#include <string.h>

struct tensor *
tensor_create(const void *owner, enum ir_dtype dtype, int rank, const int64_t *dim)
{
	struct tensor *t = NEW(owner, struct tensor);
	t->dtype = dtype;
	t->rank = rank;
	for (int d = 0; d < rank; d++)
		t->dim[d] = dim[d];
	t->data = array_create_zero(
		t, (size_t)tensor_elements(t), sizeof *t->data, "a tensor of the interpreter");
	return t;
}

struct tensor *
tensor_copy(const void *owner, const struct tensor *t)
{
	return tensor_reshape(owner, t, t->rank, t->dim);
}

struct tensor *
tensor_reshape(const void *owner, const struct tensor *t, int rank, const int64_t *dim)
{
	struct tensor *r = tensor_create(owner, t->dtype, rank, dim);
	assert(tensor_elements(r) == tensor_elements(t));
	memcpy(r->data, t->data, (size_t)tensor_elements(t) * sizeof *t->data);
	return r;
}

int64_t
tensor_elements(const struct tensor *t)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++)
		n *= t->dim[d];
	return n;
}

void
tensor_strides(const struct tensor *t, int64_t stride[IR_MAX_RANK])
{
	int64_t n = 1;
	for (int d = t->rank; d-- > 0;) {
		stride[d] = n;
		n *= t->dim[d];
	}
}

void
tensor_settle(struct tensor *t, bool f64)
{
	const int64_t n = tensor_elements(t);
	if (ir_dtype_class(t->dtype) != IR_FLOAT) {
		for (int64_t i = 0; i < n; i++)
			t->data[i].i = ir_dtype_wrap(t->dtype, t->data[i].i);
		return;
	}
	if (f64 || t->dtype == IR_f64)
		return;
	if (t->dtype == IR_f32) {
		for (int64_t i = 0; i < n; i++)
			t->data[i].f = (double)(float)t->data[i].f;
		return;
	}
	for (int64_t i = 0; i < n; i++)
		t->data[i].f = ir_dtype_round(t->dtype, t->data[i].f);
}

void
tensor_add_zero(struct tensor *t)
{
	const int64_t n = tensor_elements(t);
	for (int64_t i = 0; ir_dtype_class(t->dtype) == IR_FLOAT && i < n; i++)
		t->data[i].f += 0.0;
}

static void
copy_row(union cell *dst, const union cell *src, int64_t n, bool add, bool isfloat)
{
	if (!add) {
		memcpy(dst, src, (size_t)n * sizeof *dst);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		if (isfloat)
			dst[i].f += src[i].f;
		else
			dst[i].i = (int64_t)((uint64_t)dst[i].i + (uint64_t)src[i].i);
}

void
tensor_copy_box(struct tensor *dst, const int64_t *to, const struct tensor *src,
	const int64_t *from, const int64_t *size, bool add)
{
	const bool isfloat = ir_dtype_class(dst->dtype) == IR_FLOAT;
	int64_t ds[IR_MAX_RANK], ss[IR_MAX_RANK], at[IR_MAX_RANK] = {0};
	tensor_strides(dst, ds);
	tensor_strides(src, ss);
	const int last = dst->rank - 1;
	for (;;) {
		int64_t d = 0, s = 0;
		for (int i = 0; i <= last; i++) {
			d += (to[i] + at[i]) * ds[i];
			s += (from[i] + at[i]) * ss[i];
		}
		copy_row(dst->data + d, src->data + s, last < 0 ? 1 : size[last], add, isfloat);
		int i = last - 1;
		while (i >= 0 && ++at[i] == size[i])
			at[i--] = 0;
		if (i < 0)
			return;
	}
}

void
tensor_add_noise(struct tensor *t, uint64_t seed)
{
	const int64_t n = ir_dtype_class(t->dtype) == IR_FLOAT ? tensor_elements(t) : 0;

	for (int64_t i = 0; i < n; i++)
		t->data[i].f *= rt_mix64((uint64_t)t->data[i].i ^ rt_mix64(seed)) & 1 ? 1 + 0x1p-52
										      : 1 - 0x1p-52;
}
