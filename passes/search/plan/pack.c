/*
 * Which tensors are copied into a message before it is posted: the rules of ir/memory/row.c for a
 * module that is not built yet. A kernel writes a tensor directly into the message if the message
 * is its only reader, which depends on fusion.
 */
#include "passes/search/plan/impl.h"

#include "ir/memory/issue.h"
#include "ir/memory/storage.h"

/* Counts the reads of a value: 0, 1, or more. */
struct readers {
	const struct plan *p;
	uint32_t maker; /* op that makes it */
	uint32_t node;  /* a kernel of several ops that reads it, counted once */
	uint32_t n;
};

static void
count_node(struct readers *r, uint32_t node)
{
	const struct plan_state *s = &r->p->node[node];

	if (node == PLAN_NONE || node == r->node || plan_holds(r->p, node, r->maker))
		return;
	if (!s->message && s->nops > 1)
		r->node = node;
	r->n++;
}

static void
count_readers(struct readers *r, const struct ir_value *v)
{
	const struct plan *p = r->p;

	IR_FOR_USES (use, v) {
		const uint32_t op = ir_number(p->base->ops, use->op);
		if (r->n > 1)
			return;
		if (storage_is_view(p->base->m, use->op)) {
			count_readers(r, &use->op->result[use - use->op->operand]);
			continue;
		}
		if (!p->base->op[op].work) {
			r->n++;
			continue;
		}
		count_node(r, p->home[op]);
		for (uint32_t h = p->copies[op]; h != PLAN_NONE; h = p->holder[h].next)
			count_node(r, p->holder[h].node);
	}
}

static bool
read_once(const struct plan *p, const struct ir_value *v)
{
	struct readers r = {p, ir_number(p->base->ops, v->op), PLAN_NONE, 0};

	count_readers(&r, v);
	return r.n == 1;
}

static const struct ir_value *
whole_of(const struct plan *p, const struct ir_value *v)
{
	while (v->op && storage_is_view(p->base->m, v->op))
		v = ir_operand(v->op, v->index);
	return v;
}

static uint32_t
count_tensors(const struct plan *p, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->node[node].nops; i++)
		n += p->base->op[p->pool[p->node[node].op + i] & PLAN_OP].op->noperands;
	return n;
}

/* The op of the i-th tensor of a message; *operand: which of its operands the tensor is. */
static const struct ir_op *
tensor_of(const struct plan *p, uint32_t node, uint32_t i, int *operand)
{
	uint32_t k = p->node[node].op;
	const struct ir_op *op = p->base->op[p->pool[k] & PLAN_OP].op;

	for (; i >= op->noperands; op = p->base->op[p->pool[++k] & PLAN_OP].op)
		i -= op->noperands;
	*operand = (int)i;
	return op;
}

static const struct ir_op *
op_of(const struct plan *p, uint32_t node, uint32_t i)
{
	return p->base->op[p->pool[p->node[node].op + i] & PLAN_OP].op;
}

static bool
has_slices_in_time(const struct ir_module *m, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (issue_axes(m, ir_operand_type(op, j)) || issue_axes(m, op->result[j].type))
			return true;
	return false;
}

/* PLAN_NONE, the home of a collective without readers, is not a row. */
static bool
is_row(const struct plan *p, uint32_t node)
{
	if (node == PLAN_NONE)
		return false;
	const struct plan_state *s = &p->node[node];
	const struct ir_op *first = op_of(p, node, 0);

	if (!s->message || first->code != OP_allreduce || (s->nops < 2 && first->noperands < 2))
		return false;
	for (uint32_t i = 0; i < s->nops; i++)
		if (has_slices_in_time(p->base->m, op_of(p, node, i)))
			return false;
	return true;
}

/* Does the message carry exactly what the previous one has left in a row? */
static bool
continues(const struct plan *p, uint32_t node, uint32_t before)
{
	uint32_t n = count_tensors(p, node);
	bool same = n == count_tensors(p, before);

	for (uint32_t i = 0; i < n && same; i++) {
		int j, k;
		const struct ir_op *op = tensor_of(p, node, i, &j);
		const struct ir_op *from = tensor_of(p, before, i, &k);
		same = whole_of(p, ir_operand(op, j)) == &from->result[k] &&
		       read_once(p, &from->result[k]);
	}
	return same;
}

static bool
is_message(const struct plan *p, const struct ir_op *op)
{
	return op && storage_lies_in_place((enum op_code)op->code) &&
	       storage_is_message(p->base->m, op);
}

static bool
is_packed(const struct plan *p, uint32_t node, const struct ir_value *operand)
{
	const struct ir_value *v = whole_of(p, operand);

	if (!v->op || op_is(v->op, TRAIT_NAMED) || issue_axes(p->base->m, v->type) ||
		!read_once(p, v))
		return true;
	for (; is_message(p, v->op); v = whole_of(p, ir_operand(v->op, v->index))) {
		uint32_t before = p->home[ir_number(p->base->ops, v->op)];
		if (is_row(p, before))
			return !continues(p, node, before);
	}
	return false;
}

/* As cost_pack_seconds of the collective that the node will become. */
replay_time
plan_packing(const struct plan *p, uint32_t node)
{
	const struct cost_step *step = p->base->step;
	const struct device *d = step->model->cluster->kind[step->kind_of[0]];
	double t = 0;

	if (p->base->whole || !is_row(p, node))
		return 0;
	for (uint32_t i = 0; i < p->node[node].nops; i++) {
		const struct ir_op *op = op_of(p, node, i);
		for (int j = 0; j < op->noperands; j++)
			if (is_packed(p, node, ir_operand(op, j)))
				t += cost_copy_seconds(d, step->m, ir_operand_type(op, j));
	}
	return replay_from_seconds(t);
}

static void
pack_message(struct plan *p, uint32_t node)
{
	const replay_time packing = plan_packing(p, node);

	if (packing == p->node[node].packing)
		return;
	plan_log_node(p, node);
	p->node[node].packing = packing;
	plan_dirty(p, p->node[node].position);
}

/* Updates the messages of several tensors that read the op, also through collectives of a single
 * tensor: those work in place, so that data in a row stays in the row. */
static void
pack_readers(struct plan *p, uint32_t op)
{
	while (op != PLAN_NONE) {
		const struct plan_op *o = &p->base->op[op];
		op = PLAN_NONE; /* the last of the latter: their chain may be long */
		for (uint32_t k = 0; k < o->nreaders; k++) {
			const uint32_t reader = p->base->reader[o->first_reader + k],
				       home = p->home[reader];
			if (!p->base->op[reader].collective || home == PLAN_NONE)
				continue;
			if (is_row(p, home)) {
				pack_message(p, home);
				continue;
			}
			if (op != PLAN_NONE)
				pack_readers(p, op);
			op = reader;
		}
	}
}

void
plan_pack_again(struct plan *p, uint32_t node)
{
	const struct plan_state *s = &p->node[node];

	for (uint32_t i = 0; i < s->nops; i++) {
		const uint32_t op = p->pool[s->op + i] & PLAN_OP;
		if (p->base->op[op].sent)
			pack_readers(p, op);
	}
}
