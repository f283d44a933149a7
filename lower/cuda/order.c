/*
 * sort and topk on CUDA: rows are padded to a power of two, and a block sorts several in shared
 * memory; longer rows are sorted in scratch, one per block, as many at once as ORDER_SCRATCH holds.
 */
#include "lower/cuda/text.h"

#include "ir/ops/order.h"

#include <inttypes.h>

enum {
	ORDER_ENTRY = 12,         /* bytes: a key and a position */
	ORDER_SHARED = 512,       /* entries of a block's short rows: two threads' worth of pairs */
	ORDER_SHARED_MOST = 2048, /* 24 KB of shared memory */
	ORDER_SCRATCH = 1 << 26,  /* bytes of scratch that rows may take together */
};

static int64_t
padded(int64_t n)
{
	int64_t p = 2;

	while (p < n)
		p *= 2;
	return p;
}

void
cuda_order(struct cuda_text *t)
{
	const struct ir_op *op = t->s->kernel;
	const struct order o = order_local(t->s->module, op);
	const int64_t p = padded(o.n), rows = o.outer * o.inner;
	const int64_t together = p < ORDER_SHARED ? ORDER_SHARED / p : 1;
	int64_t grid = (rows + together - 1) / together;

	cuda_open(t);
	if (p <= ORDER_SHARED_MOST) {
		grid = grid < CUDA_GROUPS ? grid : CUDA_GROUPS;
		kernel_line(&t->w, "__shared__ uint64_t key[%" PRId64 "];", together * p);
		kernel_line(&t->w, "__shared__ int32_t at[%" PRId64 "];", together * p);
	} else {
		const int64_t most = ORDER_SCRATCH / (ORDER_ENTRY * p);
		grid = grid < most ? grid : most < 1 ? 1 : most;
		cuda_scratch(t, "uint64_t", "keys", grid * p * 8);
		cuda_scratch(t, "int32_t", "ats", grid * p * 4);
		kernel_line(&t->w,
			"uint64_t *const key = keys + blockIdx.x * INT64_C(%" PRId64 ");", p);
		kernel_line(
			&t->w, "int32_t *const at = ats + blockIdx.x * INT64_C(%" PRId64 ");", p);
	}
	kernel_line(&t->w,
		"order_rows<order_%s, %d, %" PRId64 ", %" PRId64 ">(a0, r0, r1, %" PRId64
		", %" PRId64 ", %" PRId64 ", %" PRId64 ", %s, key, at);",
		ir_dtype_name((enum ir_dtype)ir_operand_type(op, 0)->dtype), CUDA_BLOCK, p,
		together, o.outer, o.n, o.inner, o.k, o.descending ? "~(uint64_t)0" : "0");
	cuda_close(t, CUDA_BLOCK, grid);
}
