/* Kernels at reached rates. See reach.h. */
#include "passes/analysis/estimate/reach.h"

#include "ir/base/arena.h"
#include "ir/loops/pitch.h"
#include "ir/loops/scheme.h"
#include "ir/ops/row.h"
#include "passes/analysis/cost/internal.h"
#include "passes/fuse/role.h"

#include <math.h>
#include <talloc.h>

/* Tensor cores load 16 bytes at a time: rows of other sizes use narrower loads. */
enum { ALIGNED_BYTES = 16 };

/* An operand with at most this share of the bytes of the result counts as a bias. */
static const double BIAS_SHARE = 1.0 / 64;

/* An op that accesses less than this share of another's data does not characterize the kernel. */
static const double MUCH = 1.0 / 16;

/* --- one op --- */

/* With a library of convolutions: a product that makes pixels x channels, or out x in channels and
 * window. */
static struct reach_size
conv_size(const struct ir_module *m, const struct ir_op *op, double f)
{
	const bool filter = op->code == OP_conv2d_filter;
	const struct ir_type *t = op->result[0].type;
	const double c = (double)ir_type_local_elements(m, t);
	const double channels =
		(double)ir_type_local_dim(m, t, filter ? 0 : t->rank + row_image_dim(op, -3));
	struct reach_size s = {.calls = 1, .batch = 1, .k = f / c};

	s.m = filter ? channels : c / channels;
	s.n = filter ? c / channels : channels;
	return s;
}

/* Are rows of that many elements of v aligned, or padded? */
static bool
is_aligned(const struct ir_module *m, enum reach_rows rows, const struct ir_value *v, int64_t row)
{
	return row * (int64_t)ir_dtype_bytes((enum ir_dtype)v->type->dtype) % ALIGNED_BYTES == 0 ||
	       rows == REACH_ALIGNED || (rows == REACH_PITCH && pitch_row(m, v));
}

/* With a library of products: the last loop around them is its batch, unless it sums; for each
 * iteration of the others it is called again. */
static struct reach_size
gemm_size(const struct ir_module *m, enum reach_rows rows, const struct ir_op *op,
	const struct scheme_gemm *g)
{
	struct reach_size s = {
		.calls = 1, .batch = 1, .m = (double)g->m, .n = (double)g->n, .k = (double)g->k};
	const int batch = g->nsum ? -1 : g->nloops - 1;

	for (int i = 0; i < g->nloops; i++)
		*(i == batch ? &s.batch : &s.calls) *= (double)g->loop[i].size;
	s.unaligned = !is_aligned(m, rows, ir_operand(op, g->first), g->lda) ||
		      !is_aligned(m, rows, ir_operand(op, g->second), g->ldb) ||
		      !is_aligned(m, rows, &op->result[0], g->ldc);
	return s;
}

/* Products without a library call have the sizes that follow from what they read and write: of b
 * pairs, f = b m n k multiplications, b m k and b k n elements, and b m n of the result. */
static struct reach_size
matrix_size(const struct ir_module *m, const struct ir_op *op, double f)
{
	const double a = (double)ir_type_local_elements(m, ir_operand_type(op, 0));
	const double b = (double)ir_type_local_elements(m, ir_operand_type(op, 1));
	const double c = (double)ir_type_local_elements(m, op->result[0].type);
	struct reach_size s = {.calls = 1, .m = f / b, .n = f / a, .k = f / c};

	s.batch = f / (s.m * s.n * s.k);
	return s;
}

static bool
is_conv(const struct ir_op *op)
{
	return op->code == OP_conv2d || op->code == OP_conv2d_data || op->code == OP_conv2d_filter;
}

/* Bytes of the tensors of a convolution that tensor cores cannot read or write as they are. */
static double
copied_bytes(const struct ir_module *m, const struct ir_op *op)
{
	const bool last = ir_attr_int(op, "channels_last", 0);
	double bytes = 0;

	for (int j = 0; j < op->noperands + op->nresults; j++) {
		const struct ir_type *t = ir_op_value(op, j)->type;
		const int64_t row = ir_type_local_dim(m, t, t->rank - 1) *
				    (int64_t)ir_dtype_bytes((enum ir_dtype)t->dtype);
		bytes += last && row % ALIGNED_BYTES == 0 ? 0 : (double)ir_type_local_bytes(m, t);
	}
	return bytes;
}

/* Sets the size and the kind of a product. */
static void
set_product(
	struct reach_op *r, const struct ir_module *m, const struct ir_op *op, enum reach_rows rows)
{
	const double f = fmax(r->flops / 2, 1);
	struct arena *a = arena_create(NULL);
	struct scheme *s = scheme_create(a, m, a, op);
	const bool gemm = s && s->nsegments && s->segment[0].kind == SCHEME_GEMM;

	if (gemm)
		r->size = gemm_size(m, rows, op, &s->segment[0].gemm);
	else
		r->size = is_conv(op) ? conv_size(m, op, f) : matrix_size(m, op, f);
	if (gemm || !is_conv(op))
		r->kernel = r->size.batch > 1.5 ? REACH_batched : REACH_product;
	else
		r->kernel = op->code == OP_conv2d        ? REACH_conv
			    : op->code == OP_conv2d_data ? REACH_conv_data
							 : REACH_conv_filter;
	if (!gemm && is_conv(op))
		r->copied = copied_bytes(m, op);
	talloc_free(a);
}

static enum reach_kernel
loops_kernel(const struct ir_module *m, const struct ir_op *op)
{
	switch (op->code) {
	case OP_scatter_add:
	case OP_scatter_nd: return REACH_scatter;
	case OP_gather:
	case OP_gather_nd: return REACH_gather;
	default: break;
	}
	struct arena *a = arena_create(NULL);
	const struct fuse_role r = fuse_role(m, a, op);
	talloc_free(a);
	return r.kind == FUSE_ROW ? REACH_rows : r.kind == FUSE_LAST ? REACH_columns : REACH_flat;
}

/* The seconds of a product of that size. */
static double
product_seconds(const struct device *d, const struct reach_op *r, enum reach_kernel k)
{
	const enum reach_type t = (enum reach_type)r->type;

	return reach_product_seconds(&d->reach[k][t], device_reach_peak(d, t), &r->size, r->flops);
}

void
reach_price(struct reach_op *r, const struct device *d)
{
	const struct reach *memory = &d->reach[REACH_flat][r->reads];
	const double peak = device_reach_peak(d, (enum reach_type)r->type);
	const double copied = device_has_tensor_cores(d, peak) ? 2 * r->copied : 0;

	r->inside = product_seconds(d, r, REACH_attention);
	r->seconds = fmax(product_seconds(d, r, (enum reach_kernel)r->kernel),
			     reach_seconds(memory, d->bandwidth, r->bytes)) +
		     reach_seconds(memory, d->bandwidth, copied);
}

struct reach_op
reach_op_of(const struct device *d, const struct ir_module *m, const struct ir_op *op,
	struct op_work w, enum reach_rows rows)
{
	struct reach_op r = {.flops = w.flops, .bytes = w.bytes, .product = cost_is_product(op)};
	double whole = 0;

	if (!op->nresults)
		return r;
	for (int j = 0; j < op->noperands; j++)
		whole += (double)ir_type_local_bytes(m, ir_operand_type(op, j));
	for (int i = 0; i < op->nresults; i++)
		r.results += (double)ir_type_local_bytes(m, op->result[i].type);
	const enum ir_dtype result = (enum ir_dtype)op->result[0].type->dtype;
	const enum ir_dtype operand =
		op->noperands ? (enum ir_dtype)ir_operand_type(op, 0)->dtype : result;
	r.type = reach_type_of(operand);
	r.reads = reach_memory_type(operand);
	r.writes = reach_memory_type(result);
	r.ends_product = op->code == OP_add || op->code == OP_relu;
	r.exponential = op->code == OP_exp;
	if (r.product) {
		set_product(&r, m, op, rows);
		reach_price(&r, d);
		return r;
	}
	r.kernel = loops_kernel(m, op);
	r.seconds = w.flops / d->scalar_flops;
	r.spared = fmax(0, whole + r.results - w.bytes);
	return r;
}

/* --- a kernel --- */

void
reach_add(struct reach_sums *s, const struct reach_op *r, bool out)
{
	s->n++;
	if (r->product) {
		s->products++;
		s->batched += r->size.batch * r->size.calls > 1.5;
		s->seconds += r->seconds;
		s->inside += r->inside;
		s->read[r->reads] += r->bytes - r->results;
		s->written[r->writes] += out ? r->results : 0;
		s->results[r->writes] += r->results;
		return;
	}
	s->ends += r->ends_product;
	s->exponential |= r->exponential;
	if (r->bytes > s->kernel[r->kernel])
		s->kernel[r->kernel] = r->bytes;
	s->loops += r->seconds;
}

bool
reach_is_attention(const struct reach_sums *s)
{
	return s->products > 1 && s->products == s->batched && s->exponential;
}

/* Does the library do everything after the products: a bias, a relu? */
static bool
library_ends(const struct reach_sums *s)
{
	double results = 0, others = 0;

	if (s->n > s->products + s->ends || s->ends > 2 * s->products)
		return false;
	for (int t = 0; t < REACH_TYPES; t++) {
		results += s->results[t];
		others += fmax(0, s->bytes[t] - s->read[t]);
	}
	return others <= results * (1 + BIAS_SHARE);
}

/* The last kind in reach.def that makes up much of the kernel: a mean of a few numbers does not. */
enum reach_kernel
reach_loops(const struct reach_sums *s)
{
	double all = 0;
	int kernel = REACH_KERNELS;

	for (int k = REACH_flat; k < REACH_KERNELS; k++)
		all = fmax(all, s->kernel[k]);
	while (--kernel > REACH_flat && !(s->kernel[kernel] > MUCH * all))
		;
	if (kernel == REACH_columns && s->kernel[REACH_rows] > MUCH * all)
		return REACH_both;
	return (enum reach_kernel)kernel;
}

double
reach_loop_bytes(const struct reach_sums *s, int type)
{
	if (reach_is_attention(s))
		return fmax(0, s->bytes[type]);
	if (s->products && library_ends(s))
		return 0;
	return fmax(0, s->bytes[type] - s->read[type] - s->written[type]) + s->results[type];
}

/* Seconds of the loops over memory, all types one after the other, with one start. */
static double
memory_seconds(const struct reach_sums *s, const struct device *d)
{
	const enum reach_kernel kernel = reach_loops(s);
	double seconds = 0, start = 0;

	for (int t = 0; t < REACH_TYPES; t++) {
		if (s->bytes[t] <= 0 && s->results[t] <= 0)
			continue; /* most types are unused, and searches call this often */
		const struct reach *r = &d->reach[kernel][t];
		const double bytes = reach_loop_bytes(s, t);
		if (bytes <= 0)
			continue;
		seconds += bytes / (r->share * d->bandwidth);
		start = fmax(start, r->half / (r->share * d->bandwidth));
	}
	return seconds + start;
}

double
reach_kernel_seconds(const struct reach_sums *s, const struct device *d)
{
	const double memory = memory_seconds(s, d);
	const double loops = memory > 0 ? fmax(s->loops, memory) : 0;

	return d->launch + (reach_is_attention(s) ? fmax(s->inside, loops) : s->seconds + loops);
}

struct reach_sums
reach_alone(const struct reach_op *r)
{
	struct reach_sums s = {.n = 0};

	reach_add(&s, r, true);
	s.bytes[r->reads] += r->bytes - r->results;
	s.bytes[r->writes] += r->results;
	return s;
}

double
reach_alone_seconds(const struct reach_op *r, const struct device *d)
{
	const struct reach_sums s = reach_alone(r);

	return reach_kernel_seconds(&s, d);
}

double
reach_copy_seconds(const struct device *d, enum ir_dtype t, double bytes)
{
	return d->launch +
	       reach_seconds(&d->reach[REACH_flat][reach_memory_type(t)], d->bandwidth, 2 * bytes);
}
