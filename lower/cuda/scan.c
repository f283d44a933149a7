/*
 * Running sums on CUDA. For rows that lie along the dim, a warp or a block processes each row one
 * piece at a time and carries the sum along; if other loops are contiguous and large enough, each
 * thread processes one row and neighbours read neighbouring elements. The order of additions
 * depends on the sizes alone.
 */
#include "lower/cuda/text.h"

#include <assert.h>
#include <inttypes.h>

enum {
	SCAN_ROWS = CUDA_GROUPS * CUDA_LANES, /* enough rows for one thread each */
	SCAN_LONG = 8192, /* elements from which a block of maximum size is worth its barriers */
};

/* Number of lanes that share a row. */
static int
lanes_of(int64_t n, int64_t rows, bool contiguous)
{
	if (!contiguous && rows >= SCAN_ROWS)
		return 1;
	if (n <= CUDA_BLOCK || (n < 8 * CUDA_BLOCK && rows >= CUDA_GROUPS))
		return CUDA_LANES;
	return n < SCAN_LONG ? CUDA_BLOCK : CUDA_BLOCK_MOST;
}

/* The index along the dim at step `at`. */
static void
declare_index(struct cuda_text *t, const struct scheme_op *o, int64_t n)
{
	const int c = scheme_scan_class(o);

	if (o->scan.reverse)
		kernel_line(&t->w, "const int64_t i%d = %" PRId64 " - (int64_t)at;", c, n - 1);
	else
		kernel_line(&t->w, "const int64_t i%d = at;", c);
}

/* The sum of all elements before the current one: for floats a double. */
static const char *
sum_type(const struct scheme_op *o)
{
	return ir_dtype_class((enum ir_dtype)o->f.dtype) == IR_FLOAT ? "double" : cuda_type(o);
}

static void
write_thread(struct cuda_text *t, const struct scheme_op *o, int64_t n)
{
	kernel_line(&t->w, "%s sum = 0;", sum_type(o));
	cuda_block(t, "for (%s at = 0; at < %" PRId64 "; at++)", cuda_index_type(n), n);
	declare_index(t, o, n);
	const char *value = kernel_value(&t->w, o);
	kernel_line(&t->w, "sum += %s;", value);
	kernel_line(&t->w, "const %s v%d = (%s)sum;", cuda_type(o), o->out, cuda_type(o));
	kernel_store(&t->w, o);
	cuda_end(t);
}

static void
write_group(struct cuda_text *t, const struct scheme_op *o, int64_t n, int lanes)
{
	kernel_line(&t->w, "%s carry = 0;", sum_type(o));
	cuda_block(t, "for (%s from = 0; from < %" PRId64 "; from += %d)",
		cuda_index_type(n + lanes), n, lanes);
	kernel_line(&t->w, "const %s at = from + lane;", cuda_index_type(n + lanes));
	declare_index(t, o, n);
	kernel_line(&t->w, "%s v%d = 0;", cuda_type(o), o->out);
	cuda_block(t, "if (at < %" PRId64 ")", n);
	const char *value = kernel_value(&t->w, o);
	kernel_line(&t->w, "v%d = %s;", o->out, value);
	cuda_end(t);
	kernel_line(&t->w, "v%d = scan<%d>(v%d, carry, %s);", o->out, lanes, o->out,
		lanes == CUDA_LANES ? "nullptr" : "room");
	cuda_block(t, "if (at < %" PRId64 ")", n);
	kernel_store(&t->w, o);
	cuda_end(t);
	cuda_end(t);
}

void
cuda_scan(struct cuda_text *t)
{
	const struct scheme_op *o = &t->s->op[t->g->op[0]];
	const int c = scheme_scan_class(o);

	assert(c >= 0); /* a scan along a dim of size 1 is not a scan */
	const int64_t n = t->g->size[c];
	const struct cuda_space rows = cuda_space_of(t->g, cuda_all(t->g) & ~(1u << c));
	const int lanes = lanes_of(n, rows.size, scheme_stride(t->s, o, -1, c) == 1);
	const int threads = lanes > CUDA_BLOCK ? lanes : CUDA_BLOCK, together = threads / lanes;
	const char *type = cuda_index_type(rows.size + (int64_t)CUDA_GRID * CUDA_BLOCK);

	cuda_open(t);
	if (lanes > 1)
		kernel_line(&t->w, "const uint32_t lane = threadIdx.x %% %d;", lanes);
	if (lanes > CUDA_LANES)
		kernel_line(&t->w, "alignas(8) __shared__ unsigned char room[DEV_ROOM];");
	cuda_block(t,
		"for (%s unit = blockIdx.x * (%s)%d + threadIdx.x / %d; unit < %" PRId64
		"; unit += gridDim.x * %d)",
		type, type, together, lanes, rows.size, together);
	cuda_unflatten(t, &rows, "unit");
	if (lanes == 1)
		write_thread(t, o, n);
	else
		write_group(t, o, n, lanes);
	cuda_end(t);
	cuda_close(t, threads, (rows.size + together - 1) / together);
}
