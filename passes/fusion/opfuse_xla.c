/*
 * policy=xla: what XLA does for GPUs, as a baseline to compare with. It follows the passes of the
 * fusion pipeline of TensorFlow 2.5 to 2.12, before a search by priority replaced the first three
 * (xla/service/gpu: fusion_pipeline.cc, instruction_fusion.cc, fusion_merger.cc,
 * multi_output_fusion.cc, gpu_fusible.cc; xla/service/instruction_fusion.cc says what is
 * expensive):
 *
 *     rewriting      A product is a library call, and a kernel of its own. A bias that only it
 *                    reads is fused into it, and then a relu or gelu of the sum (gemm_rewriter.cc,
 *                    cudnn_fused_conv_rewriter.cc).
 *     instructions   From the last op to the first, an op is fused with its producers, into a
 *                    kernel with one result: first producers that only it reads, then copies of
 *                    those with other readers, unless they are expensive. Broadcasts and constants
 *                    are always copied. An expensive op is not fused where its elements are read
 *                    more than once. A reduction ends a kernel: no reader is fused with it.
 *     merger         A kernel of pointwise ops, none expensive, is fused into all its readers, if
 *                    all of them are fused kernels and at most 1.1 times as many bytes are moved.
 *     multi-output   Kernels of one kind and shape that read one tensor become one, those that
 *                    share most bytes first; a reduction and what it reads become one.
 *
 * Not followed: fusion of small kernels of different shapes side by side (horizontal_*_fusion.cc),
 * since a kernel here has one iteration space; XLA's limit of 64 operands and results, since fuse.h
 * has a narrower one; its limits on code that is generated several times, since here none is.
 */
#include "passes/fusion/opfuse.h"

#include "ir/base/alloc.h"

#include <stdlib.h>

enum xla_limit {
	READERS = 64 /* readers of a value that are examined */
};

/* The merger may move up to this multiple of the bytes, as a launch is saved. */
static const double merger_bytes = 1.1;

static enum fuse_kind
kind_of(const struct opfuse *u, uint32_t op)
{
	return (enum fuse_kind)fuse_table_role(u->table, op)->kind;
}

static bool
has_product(const struct opfuse *u, uint32_t kernel)
{
	for (uint32_t i = 0; i < u->kernel[kernel].n; i++)
		if (kind_of(u, u->kernel[kernel].op[i]) == FUSE_STARTS)
			return true;
	return false;
}

/* The root of a kernel: its last op. */
static uint32_t
root_of(const struct opfuse *u, uint32_t kernel)
{
	return u->kernel[kernel].op[u->kernel[kernel].n - 1];
}

static bool
is_reduction(const struct opfuse *u, uint32_t op)
{
	return kind_of(u, op) == FUSE_ROW || kind_of(u, op) == FUSE_LAST;
}

/* Does another op read from the kernel, or did none of its ops ever have a reader? */
static bool
is_wanted(struct opfuse *u, uint32_t kernel)
{
	for (uint32_t i = 0; i < u->kernel[kernel].n; i++) {
		const uint32_t op = u->kernel[kernel].op[i];
		uint32_t in[1];
		if (u->home[op] == kernel &&
			(u->first[op] == u->first[op + 1] || opfuse_readers(u, op, in, 1)))
			return true;
	}
	return false;
}

/* ---- library calls ---- */

/* Is the other operand of this sum a broadcast vector? */
static bool
adds_bias(const struct opfuse *u, uint32_t op, uint32_t product)
{
	const struct ir_op *o = u->op[op];
	int sides = 0;

	if (o->code != OP_add || ir_operand(o, 0) == ir_operand(o, 1))
		return false;
	const int other = ir_operand(o, 0)->op == u->op[product];
	const struct ir_type *t = ir_operand_type(o, other);
	for (int d = 0; d < t->rank; d++)
		sides += t->dim[d] != 1;
	return sides == 1 && u->op[op]->result[0].type->rank > 1;
}

/* The only op that reads `op`, if it is a kernel of its own; OPFUSE_NONE: none or several. */
static uint32_t
only_reader(struct opfuse *u, uint32_t op)
{
	uint32_t in[1];

	if (opfuse_readers(u, op, in, 1) != 1 || u->kernel[in[0]].n != 1 ||
		!fuse_may(u->table, in[0]))
		return OPFUSE_NONE;
	return in[0];
}

/* Could both be one kernel at the later place, with no marked op between them? */
static bool
may_join(struct opfuse *u, uint32_t a, uint32_t b)
{
	const uint32_t x = u->kernel[a].place, y = u->kernel[b].place;

	return !opfuse_marked(u, (x < y ? x : y) + 1, (x < y ? y : x) + 1) &&
	       opfuse_check_join(u, a, b) == FUSE_POSSIBLE;
}

static uint32_t
take_epilogue(struct opfuse *u, uint32_t kernel, uint32_t next)
{
	if (!may_join(u, kernel, next))
		return OPFUSE_NONE;
	opfuse_join(u, kernel, next, u->kernel[next].place);
	return next;
}

static void
rewrite_product(struct opfuse *u, uint32_t product)
{
	uint32_t next = only_reader(u, product), kernel;

	if (next == OPFUSE_NONE || !adds_bias(u, next, product))
		return;
	kernel = take_epilogue(u, u->home[product], next);
	if (kernel == OPFUSE_NONE || (next = only_reader(u, next)) == OPFUSE_NONE)
		return;
	const enum op_code code = (enum op_code)u->op[next]->code;
	if (code == OP_relu || (code == OP_gelu_tanh && u->op[product]->code != OP_conv2d))
		take_epilogue(u, kernel, next);
}

/* ---- instruction fusion ---- */

static double
elements(const struct opfuse *u, uint32_t op)
{
	const struct ir_type *t = u->op[op]->result[0].type;

	return u->bytes[op] / ir_dtype_bytes((enum ir_dtype)t->dtype);
}

/* Does the kernel read elements of op's result more than once, to broadcast them? */
static bool
reuses(const struct opfuse *u, uint32_t op, uint32_t kernel)
{
	const struct opfuse_kernel *k = &u->kernel[kernel];

	for (uint32_t i = 0; i < k->n; i++)
		if (opfuse_reads(u, k->op[i], op) && elements(u, k->op[i]) > elements(u, op))
			return true;
	return false;
}

static bool
is_always_copied(const struct opfuse *u, uint32_t op)
{
	const enum op_code code = (enum op_code)u->op[op]->code;

	return code == OP_broadcast || code == OP_constant || code == OP_iota;
}

/* Joins op into a kernel that reads it, or copies it there. */
static bool
take_up(struct opfuse *u, uint32_t op, uint32_t kernel, bool may_duplicate)
{
	uint32_t in[1];
	const bool unfused = u->home[op] == op && u->kernel[op].n == 1;

	if (!fuse_may(u->table, op) || kind_of(u, op) != FUSE_MAP || !unfused ||
		(opfuse_heavy(u, op) && reuses(u, op, kernel)))
		return false;
	const bool alone = opfuse_readers(u, op, in, 1) == 1;
	if (!alone && !is_always_copied(u, op) && (opfuse_heavy(u, op) || !may_duplicate))
		return false;
	if (!opfuse_may_copy(u, &op, 1, kernel, false))
		return false;
	if (alone)
		opfuse_join(u, op, kernel, u->kernel[kernel].place);
	else
		opfuse_copy(u, op, kernel);
	return true;
}

static bool
take_up_one(struct opfuse *u, uint32_t kernel, bool may_duplicate)
{
	uint32_t n;
	const uint32_t *operand = opfuse_operands(u, kernel, &n);
	bool taken = false;

	while (n-- > 0 && !taken)
		taken = take_up(u, operand[n], kernel, may_duplicate);
	return taken;
}

static void
fuse_instructions(struct opfuse *u, bool may_duplicate)
{
	for (uint32_t k = u->nops; k-- > 0;) {
		if (!u->kernel[k].n || !fuse_may(u->table, root_of(u, k)) || has_product(u, k) ||
			!is_wanted(u, k))
			continue;
		while (take_up_one(u, k, may_duplicate)) {
		}
	}
}

/* ---- merger ---- */

static bool
is_mergeable(const struct opfuse *u, uint32_t kernel)
{
	const struct opfuse_kernel *k = &u->kernel[kernel];

	if (k->n < 2)
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		if (opfuse_heavy(u, k->op[i]) || kind_of(u, k->op[i]) != FUSE_MAP)
			return false;
	return true;
}

/* Would the step move few enough bytes if all n readers computed what the kernel does? */
static bool
moves_fewer_bytes(struct opfuse *u, uint32_t kernel, uint32_t n)
{
	const double written = u->bytes[root_of(u, kernel)];
	uint32_t noperands;
	const uint32_t *operand = opfuse_operands(u, kernel, &noperands);
	double read = 0;

	for (uint32_t i = 0; i < noperands; i++)
		read += u->bytes[operand[i]];
	return read * n <= merger_bytes * (read + written * (n + 1));
}

static void
merge_kernel(struct opfuse *u, uint32_t kernel)
{
	uint32_t in[READERS];
	const uint32_t n = opfuse_readers(u, root_of(u, kernel), in, READERS);

	if (!n || n > READERS || !moves_fewer_bytes(u, kernel, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (u->kernel[in[i]].n < 2 || has_product(u, in[i]) || !may_join(u, kernel, in[i]))
			return;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t o = 0; o < u->kernel[kernel].n; o++)
			if (!opfuse_has(u, in[i], u->kernel[kernel].op[o]))
				opfuse_copy(u, u->kernel[kernel].op[o], in[i]);
}

/* ---- multi-output fusion ---- */

/* Do the kernels have the same loops: the same result shape, or the same reduction of operands of
 * the same shape? */
static bool
is_alike(const struct opfuse *u, uint32_t a, uint32_t b)
{
	const uint32_t x = root_of(u, a), y = root_of(u, b);
	const struct ir_type *s = u->op[x]->result[0].type, *t = u->op[y]->result[0].type;
	const struct fuse_role *p = fuse_table_role(u->table, x), *q = fuse_table_role(u->table, y);

	if (p->kind != q->kind || p->rank != q->rank || s->rank != t->rank)
		return false;
	for (int d = 0; d < p->rank; d++)
		if (p->space[d] != q->space[d])
			return false;
	for (int d = 0; d < s->rank; d++)
		if (s->dim[d] != t->dim[d])
			return false;
	return true;
}

static bool
is_multi_output(struct opfuse *u, uint32_t k)
{
	return u->kernel[k].n && fuse_may(u->table, root_of(u, k)) && !has_product(u, k) &&
	       is_wanted(u, k);
}

static bool
join_where_free(struct opfuse *u, uint32_t a, uint32_t b)
{
	const uint32_t x = u->kernel[a].place, y = u->kernel[b].place;

	return may_join(u, a, b) && opfuse_join_apart(u, a, b, x > y ? x : y);
}

static void
fuse_siblings(struct opfuse *u, uint32_t op)
{
	uint32_t in[READERS];
	const uint32_t n = opfuse_readers(u, op, in, READERS);

	for (uint32_t i = 0; i < n && n <= READERS; i++)
		for (uint32_t j = i + 1; j < n && is_multi_output(u, in[i]); j++)
			if (is_multi_output(u, in[j]) && is_alike(u, in[i], in[j]))
				join_where_free(u, in[i], in[j]);
}

static int
largest_first(const void *a, const void *b, void *data)
{
	const struct opfuse *u = data;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (u->bytes[x] != u->bytes[y])
		return u->bytes[x] > u->bytes[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void
fuse_all_siblings(struct opfuse *u)
{
	uint32_t *op = ARRAY_NEW(u, uint32_t, u->nops + 1);

	for (uint32_t i = 0; i < u->nops; i++)
		op[i] = i;
	qsort_r(op, u->nops, sizeof *op, largest_first, u);
	for (uint32_t i = 0; i < u->nops; i++)
		if (!fuse_is_scalar(u->op[op[i]]))
			fuse_siblings(u, op[i]);
	array_free(op);
}

/* Joins a kernel into a reduction that reads it; its own result is still written. */
static void
fuse_into_reduction(struct opfuse *u, uint32_t kernel)
{
	uint32_t in[READERS];
	const uint32_t root = root_of(u, kernel);
	const uint32_t n = opfuse_readers(u, root, in, READERS);

	if (kind_of(u, root) != FUSE_MAP)
		return;
	for (uint32_t i = 0; i < n && i < READERS; i++)
		if (is_multi_output(u, in[i]) && is_reduction(u, root_of(u, in[i])) &&
			fuse_table_role(u->table, root)->rank ==
				fuse_table_role(u->table, root_of(u, in[i]))->rank &&
			join_where_free(u, kernel, in[i]))
			return;
}

void
opfuse_xla(struct opfuse *u)
{
	for (uint32_t i = 0; i < u->nops; i++)
		if (kind_of(u, i) == FUSE_STARTS)
			rewrite_product(u, i);
	fuse_instructions(u, false);
	fuse_instructions(u, true);
	for (uint32_t k = 0; k < u->nops; k++)
		if (is_mergeable(u, k))
			merge_kernel(u, k);
	fuse_all_siblings(u);
	for (uint32_t k = u->nops; k-- > 0;)
		if (is_multi_output(u, k))
			fuse_into_reduction(u, k);
}
