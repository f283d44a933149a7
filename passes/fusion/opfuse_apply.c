/*
 * Kernels become fuses. Liveness decides which ops a kernel keeps and which results it writes. From
 * the last op to the first, an op of a kernel is live if a live op of that kernel reads it, or if
 * the kernel is its home and a live op elsewhere reads it without a copy of its own.
 */
#include "passes/fusion/opfuse.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

struct apply {
	struct opfuse *u;
	bool **live;           /* [nops] per kernel k, for each of its ops */
	bool *out;             /* [nops] read outside of its home kernel */
	struct ir_op **fuse;   /* [nops] of kernel k; NULL: none */
	struct ir_value **now; /* [nops] the replacement of its result; NULL: itself */
};

static uint32_t
find(const struct opfuse_kernel *k, uint32_t op)
{
	uint32_t i = 0;

	while (k->op[i] != op)
		i++;
	return i;
}

/* Does a live op of kernel k read op? Scans the kernel, which is small; op may have many
 * readers. */
static bool
is_read_in(const struct apply *a, uint32_t op, uint32_t k)
{
	const struct opfuse *u = a->u;
	const struct opfuse_kernel *own = &u->kernel[k];

	for (uint32_t i = own->n; i-- > 0 && own->op[i] > op;)
		if (a->live[k][i] && opfuse_reads(u, own->op[i], op))
			return true;
	return false;
}

/* Is op live in kernel `in`, and does that kernel have no copy of `what`? */
static bool
reads_from_outside(const struct apply *a, uint32_t op, uint32_t in, uint32_t what)
{
	return !opfuse_has(a->u, in, what) && a->live[in][find(&a->u->kernel[in], op)];
}

static bool
is_read_outside(const struct apply *a, uint32_t op)
{
	const struct opfuse *u = a->u;

	for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++) {
		const uint32_t reader = u->reader[r];
		if (reads_from_outside(a, reader, u->home[reader], op))
			return true;
		for (size_t c = 0; c < opfuse_ncopies(u, reader); c++) {
			const uint32_t in = opfuse_copy_at(u, reader, c);
			if (in != OPFUSE_NONE && reads_from_outside(a, reader, in, op))
				return true;
		}
	}
	return false;
}

static void
find_live(struct apply *a)
{
	struct opfuse *u = a->u;

	for (uint32_t op = u->nops; op-- > 0;) {
		const uint32_t home = u->home[op];
		/* An op that had no readers before is left alone, unless it was joined into a
		 * kernel. */
		const bool alone = u->first[op] == u->first[op + 1] && u->kernel[home].n == 1;
		a->out[op] = is_read_outside(a, op);
		a->live[home][find(&u->kernel[home], op)] =
			alone || a->out[op] || is_read_in(a, op, home);
		for (size_t c = 0; c < opfuse_ncopies(u, op); c++) {
			const uint32_t k = opfuse_copy_at(u, op, c);
			if (k != OPFUSE_NONE)
				a->live[k][find(&u->kernel[k], op)] = is_read_in(a, op, k);
		}
	}
}

static void
remark_kernel(struct apply *a, const struct ir_op *fuse, uint32_t n, uint32_t copied)
{
	struct pass_run *run = a->u->run;

	if (a->u->silent)
		return;
	pass_count(run, "op(s) fused", n - copied);
	pass_count(run, "kernel(s)", 1);
	if (copied) {
		pass_count(run, "op(s) copied", copied);
		pass_remark(run, fuse, PASS_APPLIED,
			"%u ops fused into one kernel, %u of them copied", n, copied);
	} else {
		pass_remark(run, fuse, PASS_APPLIED, "%u ops fused into one kernel", n);
	}
}

/* The fuse of kernel k, at the end of the block; none if fewer than two of its ops are live. */
static void
make_fuse(struct apply *a, uint32_t k)
{
	struct opfuse *u = a->u;
	const struct opfuse_kernel *own = &u->kernel[k];
	struct ir_op **op = NEW_ARRAY(u, struct ir_op *, own->n);
	uint32_t *number = NEW_ARRAY(op, uint32_t, own->n);
	bool *out = NEW_ARRAY(op, bool, own->n);
	uint32_t n = 0, copied = 0;
	int r = 0;

	for (uint32_t i = 0; i < own->n; i++) {
		if (!a->live[k][i])
			continue;
		number[n] = own->op[i];
		op[n] = u->op[own->op[i]];
		out[n] = u->home[own->op[i]] == k && a->out[own->op[i]];
		copied += u->home[own->op[i]] != k;
		n++;
	}
	if (n > 1) {
		a->fuse[k] = fuse_make(u->m, op, n, out, fuse_product(u->table, number, n));
		ir_block_append(u->block, a->fuse[k]);
		for (uint32_t i = 0; i < n; i++)
			if (out[i])
				a->now[ir_number(u->ops, op[i])] = &a->fuse[k]->result[r++];
	}
	talloc_free(op);
	if (n > 1)
		remark_kernel(a, a->fuse[k], n, copied);
}

static void
replace_ops(struct apply *a)
{
	struct opfuse *u = a->u;

	for (uint32_t i = 0; i < u->nops; i++)
		if (a->now[i])
			ir_replace_uses(&u->op[i]->result[0], a->now[i]);
	for (uint32_t i = u->nops; i-- > 0;) {
		const uint32_t home = u->home[i];
		const bool gone = a->fuse[home] || !a->live[home][find(&u->kernel[home], i)];
		if (gone)
			ir_op_erase(u->op[i]);
	}
	IR_FOR_OPS_SAFE (op, u->block)
		if (fuse_is_scalar(op) && !op->result[0].uses)
			ir_op_erase(op); /* every reader has its own copy */
}

/* ---- the order of the block ---- */

struct node {
	struct ir_op *op;
	uint32_t waits; /* operands that are not yet placed */
};

/* Orders the ops of the block by their keys: their numbers, or for fuses the places of the
 * kernels. */
struct sorter {
	struct opfuse *u;
	struct node *node;
	uint32_t *heap;  /* heap of node numbers */
	bool releases;   /* does the block have releases? Only then are last readers counted */
	uint32_t *uses;  /* by value->id: users that are not placed yet, releases not counted */
	uint32_t *place; /* by op->id: its key, then the number of its node */
};

/* A heap of node numbers, the smallest first: nodes are numbered in the order of their keys. */
static void
push(uint32_t *heap, uint32_t n, uint32_t x)
{
	uint32_t at = n;

	for (; at > 0 && heap[(at - 1) / 2] > x; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = x;
}

static uint32_t
pop(uint32_t *heap, uint32_t n)
{
	const uint32_t least = heap[0], x = heap[n - 1];
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < n - 1; at = child) {
		child += child + 1 < n - 1 && heap[child + 1] < heap[child];
		if (heap[child] >= x)
			break;
		heap[at] = heap[child];
	}
	heap[at] = x;
	return least;
}

/* A release waits for the op that makes its value, and for all other users of the value. */
static uint32_t
count_waits(const uint32_t *uses, const struct ir_op *op)
{
	uint32_t n = 0;

	for (int j = 0; j < op->noperands; j++) {
		n += ir_operand(op, j)->op != NULL;
		n += op->code == OP_release && uses[ir_operand(op, j)->id];
	}
	return n;
}

static void
count_uses(struct sorter *s)
{
	IR_FOR_OPS (op, s->u->block)
		for (int j = 0; j < op->noperands && op->code != OP_release; j++)
			s->uses[ir_operand(op, j)->id]++;
}

/* One operand of the op is now placed; after the last one the op goes into the heap. */
static uint32_t
arrive(struct sorter *s, const struct ir_op *op, uint32_t n)
{
	const uint32_t number = s->place[op->id];

	if (--s->node[number].waits == 0)
		push(s->heap, n++, number);
	return n;
}

static uint32_t
tell_readers(struct sorter *s, const struct ir_op *op, uint32_t n)
{
	for (int r = 0; r < op->nresults; r++)
		IR_FOR_USES (use, &op->result[r])
			n = arrive(s, use->op, n);
	for (int j = 0; s->releases && j < op->noperands && op->code != OP_release; j++) {
		if (--s->uses[ir_operand(op, j)->id])
			continue;
		IR_FOR_USES (use, ir_operand(op, j))
			if (use->op->code == OP_release)
				n = arrive(s, use->op, n);
	}
	return n;
}

/* Sets the keys of the ops; the key of a fuse is the place of its kernel. */
static void
find_places(struct sorter *s, const struct apply *a)
{
	const struct opfuse *u = s->u;

	IR_FOR_OPS (op, u->block) {
		s->place[op->id] = ir_number(u->ops, op);
		s->releases |= op->code == OP_release;
	}
	for (uint32_t k = 0; k < u->nops; k++)
		if (a->fuse[k])
			s->place[a->fuse[k]->id] = u->kernel[k].place;
}

/* Numbers the nodes in the order of their keys; equal keys keep the order of the block. */
static uint32_t
sort_nodes(struct sorter *s)
{
	const struct opfuse *u = s->u;
	uint32_t *at = ARRAY_ZERO(u, uint32_t, u->nops + 1u), n = 0;

	IR_FOR_OPS (op, u->block)
		at[s->place[op->id] + 1]++;
	for (uint32_t i = 0; i < u->nops; i++)
		at[i + 1] += at[i];
	IR_FOR_OPS (op, u->block) {
		const uint32_t number = at[s->place[op->id]]++;
		s->place[op->id] = number;
		s->node[number] = (struct node){op, count_waits(s->uses, op)};
		n++;
	}
	array_free(at);
	return n;
}

/* Orders the ops by their keys, subject to their dependencies. */
static void
sort_block(struct apply *a)
{
	struct opfuse *u = a->u;
	struct sorter s = {.u = u,
		.node = ARRAY_ZERO(u, struct node, 2u * u->nops + 1),
		.heap = ARRAY_NEW(u, uint32_t, 2u * u->nops + 1),
		.uses = ARRAY_ZERO(u, uint32_t, u->m->value_ids),
		.place = ARRAY_NEW(u, uint32_t, u->m->op_ids)};
	uint32_t n, ready = 0, placed = 0;

	find_places(&s, a);
	if (s.releases)
		count_uses(&s);
	n = sort_nodes(&s);
	for (uint32_t i = 0; i < n; i++)
		if (!s.node[i].waits)
			push(s.heap, ready++, i);
	while (ready) {
		struct ir_op *op = s.node[pop(s.heap, ready--)].op;
		ir_op_unlink(op);
		ir_block_append(u->block, op);
		placed++;
		ready = tell_readers(&s, op, ready);
	}
	assert(placed == n && "no kernel depends on itself");
	(void)placed;
	array_free(s.node);
	array_free(s.heap);
	array_free(s.uses);
	array_free(s.place);
}

/* Puts the flags of all kernels into one array, and sets where those of each kernel begin. */
static bool **
live_create(struct opfuse *u)
{
	bool **live = ARRAY_NEW(u, bool *, u->nops);
	size_t n = 0;

	for (uint32_t k = 0; k < u->nops; k++)
		n += u->kernel[k].n;
	bool *next = ARRAY_ZERO(u, bool, n);
	for (uint32_t k = 0; k < u->nops; next += u->kernel[k++].n)
		live[k] = next;
	return live;
}

void
opfuse_apply(struct opfuse *u)
{
	struct apply a = {.u = u};

	a.live = live_create(u);
	a.out = ARRAY_ZERO(u, bool, u->nops);
	a.fuse = ARRAY_ZERO(u, struct ir_op *, u->nops);
	a.now = ARRAY_ZERO(u, struct ir_value *, u->nops);
	find_live(&a);
	for (uint32_t k = 0; k < u->nops; k++)
		if (u->kernel[k].n > 1)
			make_fuse(&a, k);
	replace_ops(&a);
	sort_block(&a);
	u->fuse = a.fuse;
}
