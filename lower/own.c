/* The tables of kernels for ops with functions of their own, for CUDA and for the host. */
#include "lower/own.h"

#include "ir/ops/order.h"
#include "lower/cuda/text.h"
#include "lower/while.h"

#include <assert.h>
#include <inttypes.h>

static void
host_order(struct kernel_text *w)
{
	const struct ir_op *op = w->s->kernel;
	const struct order o = order_local(w->s->module, op);

	kernel_line(w,
		"rt_order(RT_%s, a0, r0, r1, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
		", %s, scratch);",
		ir_dtype_name((enum ir_dtype)ir_operand_type(op, 0)->dtype), o.outer, o.n, o.inner,
		o.k, o.descending ? "true" : "false");
}

static const struct {
	void (*host)(struct kernel_text *w);
	void (*cuda)(struct cuda_text *t);
} table[OP_NCODES] = {
	[OP_sort] = {host_order, cuda_order},
	[OP_topk] = {host_order, cuda_order},
	[OP_while] = {while_host, while_cuda},
};

void
own_host(struct kernel_text *w)
{
	assert(table[w->s->kernel->code].host);
	table[w->s->kernel->code].host(w);
}

void
own_cuda(struct cuda_text *t)
{
	assert(table[t->s->kernel->code].cuda);
	table[t->s->kernel->code].cuda(t);
}
