/*
 * Where params are gathered: right before the first op that reads the whole param, so that it is in
 * memory from there to its last reader (DeepCompile, section 4.1). For the backward pass it is
 * gathered again, from a barrier of the slice, which keeps the two gathers distinct:
 *
 *     %w = param("w") : f32[64/dp,8]
 *     %0 = convert(%w) {to = bf16} : bf16[64/dp,8]       forward
 *     %1 = allgather(%0) {axis = dp} : bf16[64,8]
 *     %h = matmul(%x, %1)
 *     ...
 *     %b = barrier(%w) : f32[64/dp,8]                    backward
 *     %2 = convert(%b) {to = bf16} : bf16[64/dp,8]
 *     %3 = allgather(%2) {axis = dp} : bf16[64,8]
 *     %d = contract(%g, %3) ...
 *
 * Ops between the param and the gather are repeated too, so that only the param itself is in memory
 * in between.
 */
#include "passes/sharded/gathers.h"
#include "passes/sharded/shard.h"

#include "ir/base/alloc.h"
#include "ir/memory/issue.h"
#include "ir/numbering.h"

/* Ops between a param and its gather: a conversion, a transpose, a reshape. */
enum { CHAIN_MAX = 16 };

/* A gather of a param, and the ops between them. */
struct chain {
	struct ir_op *param;
	struct ir_op *op[CHAIN_MAX]; /* from the gather back to the op that reads the param */
	int n;
};

/* Fills *g if op gathers, over the axis, a value that is computed from one param alone. */
static bool
find_chain(const struct shard *s, struct ir_op *op, struct chain *g)
{
	if (op->code != OP_allgather || op->noperands != 1 ||
		ir_attr_int(op, "axis", -1) != s->axis)
		return false;
	for (g->n = 0; op && g->n < CHAIN_MAX; op = gathers_before(op)) {
		g->param = op;
		if (op->code == OP_param)
			return true;
		g->op[g->n++] = op;
	}
	return false;
}

/* The earlier one of a and b; b may be NULL. */
static struct ir_op *
earlier(const struct ir_numbering *order, struct ir_op *a, struct ir_op *b)
{
	return b && ir_number(order, b) < ir_number(order, a) ? b : a;
}

/* The first reader of v in the forward pass, or outside of it if not `forward`; NULL: none. */
static struct ir_op *
first_reader(const struct shard *s, const struct ir_numbering *order, const struct ir_value *v,
	bool forward)
{
	struct ir_op *first = NULL;

	IR_FOR_USES (u, v)
		if (s->forward[u->op->id] == forward)
			first = earlier(order, u->op, first);
	return first;
}

/* Moves the slice of a whole param, from which its update is computed, before its first reader. */
static void
sink_slice(const struct shard *s, const struct ir_numbering *order, struct ir_op *op)
{
	const struct ir_op *from = op->noperands ? ir_operand(op, 0)->op : NULL;
	struct ir_op *first = NULL;

	if (op->code != OP_partition || ir_attr_int(op, "axis", -1) != s->axis || !from ||
		from->code != OP_param)
		return;
	IR_FOR_USES (u, &op->result[0])
		first = earlier(order, u->op, first);
	if (!first)
		return;
	ir_op_unlink(op);
	ir_insert_before(first, op);
}

/* Moves the gather, and ops that only it depends on, before that op. */
static void
move(const struct chain *g, struct ir_op *before)
{
	for (int i = 0; i < g->n; i++) {
		if (i && g->op[i]->result[0].uses->next)
			return;
		ir_op_unlink(g->op[i]);
		ir_insert_before(before, g->op[i]);
		before = g->op[i];
	}
}

/*
 * If the reader is in a loop over micro-batches, the param is gathered in each iteration, so that
 * it is in memory from there to its last reader and not during the whole loop.
 */
static void
gather_each(const struct shard *s, struct ir_op *gather, const struct ir_op *reader)
{
	/* A reshape has one reader, with which it is repeated: shard_copy_views. */
	const bool view = reader->code == OP_reshape && reader->result[0].uses;
	const uint32_t over = issue_op_axes(s->m, view ? reader->result[0].uses->op : reader);

	if (s->gather != GATHER_EACH || !over)
		return;
	if (over & (over - 1)) {
		pass_remark(s->run, gather, PASS_MISSED,
			"gathered once for all iterations: its reader is in a loop over several "
			"time axes");
		return;
	}
	int axis = 0;
	while (!(over >> axis & 1))
		axis++;
	const struct ir_attr each = ir_make_axis(s->m->ctx, "each", axis);
	ir_attr_set(s->m, gather, &each);
}

/* Gathers again before `first`, for all readers of the gather outside of the forward pass. */
static bool
gather_again(struct shard *s, const struct chain *g, struct ir_op *first)
{
	struct ir_value *old = &g->op[0]->result[0];
	struct ir_builder b = {
		.m = s->m, .block = first->block, .before = first, .loc = old->op->loc};
	struct ir_value *param = &g->param->result[0], *v = ir_build_barrier(&b, &param, 1);

	for (int i = g->n - 1; v && i >= 0; i--) {
		struct ir_op *copy = ir_op_clone(s->m, g->op[i], &v);
		ir_insert_before(first, copy);
		v = &copy->result[0];
	}
	if (!v)
		return false;
	for (struct ir_use *u = old->uses, *next; u; u = next) {
		next = u->next;
		if (!s->forward[u->op->id])
			ir_set_operand(u->op, (int)(u - u->op->operand), v);
	}
	ir_attr_remove(v->op, "each");
	gather_each(s, v->op, first);
	pass_count(s->run, "gather(s) for the backward pass", 1);
	return true;
}

static bool
place(struct shard *s, const struct ir_numbering *order, const struct chain *g)
{
	const struct ir_value *v = &g->op[0]->result[0];
	struct ir_op *forward = first_reader(s, order, v, true),
		     *backward = first_reader(s, order, v, false);

	if (!forward && !backward)
		return true;
	pass_count(s->run, "gather(s)", 1);
	move(g, forward ? forward : backward);
	gather_each(s, g->op[0], forward ? forward : backward);
	return !forward || !backward || !s->reshard || gather_again(s, g, backward);
}

bool
shard_place_gathers(struct shard *s)
{
	struct ir_block *block = &ir_func_find(s->m, "main")->body;
	const struct ir_numbering *order = ir_numbering_create(s->run->scratch, s->m, block);
	const uint32_t n = order->n;

	s->forward = shard_forward_ops(s);
	for (uint32_t i = 0; i < n; i++) {
		struct chain g;
		sink_slice(s, order, order->op[i]);
		if (find_chain(s, order->op[i], &g) && !place(s, order, &g))
			return false;
	}
	return true;
}
