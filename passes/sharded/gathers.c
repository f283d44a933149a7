#include "passes/sharded/gathers.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/memory.h"

struct ir_op *
gathers_before(const struct ir_op *op)
{
	if (op->noperands != 1 || op->nresults != 1 || op->body ||
		!(op_is(op, TRAIT_PURE) || op->code == OP_barrier))
		return NULL;
	return ir_operand(op, 0)->op;
}

/* Does the op move together with the gather that reads it? */
static bool
feeds(const struct ir_op *op)
{
	return op && gathers_before(op) && !op_is(op, TRAIT_PARALLEL) && op->result[0].uses &&
	       !op->result[0].uses->next;
}

struct ir_value *
gather_source(const struct ir_op *gather, int i)
{
	struct ir_value *v = ir_operand(gather, i);

	while (feeds(v->op))
		v = ir_operand(v->op, 0);
	return v;
}

static bool
is_gather(const struct ir_module *m, const struct ir_op *op)
{
	if (op->code != OP_allgather || m->axis[ir_attr_int(op, "axis", 0)].time)
		return false;
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *source = gather_source(op, i);
		if (!source->op || !op_is(source->op, TRAIT_NAMED))
			return false;
	}
	return true;
}

static uint64_t
result_bytes(const struct ir_module *m, const struct ir_op *op)
{
	uint64_t bytes = 0;

	for (int i = 0; i < op->nresults; i++)
		bytes += (uint64_t)ir_type_local_bytes(m, op->result[i].type);
	return bytes;
}

/* Adds the feed from the operand up to the source; ops next to the source come first, as in the
 * block. */
static void
add_feed(const void *owner, struct gather *g, struct ir_op *maker)
{
	if (!feeds(maker))
		return;
	add_feed(owner, g, ir_operand(maker, 0)->op);
	ARRAY_PUSH(owner, g->feed, g->nfeed, maker);
}

static void
add_gather(struct gathers *all, struct ir_op *op)
{
	struct gather g = {.op = op, .bytes = result_bytes(all->m, op)};

	for (int i = 0; i < op->noperands; i++)
		add_feed(all, &g, ir_operand(op, i)->op);
	ARRAY_PUSH(all, all->gather, all->n, g);
	all->of[op->id] = all->n;
	for (int i = 0; i < g.nfeed; i++)
		all->of[g.feed[i]->id] = all->n;
}

struct gathers *
gathers_create(const void *owner, const struct cost_step *step, struct ir_module *m)
{
	struct gathers *g = NEW(owner, struct gathers);
	struct ir_block *main = &ir_func_find(m, "main")->body;

	g->m = m;
	g->step = step;
	g->nids = m->op_ids;
	g->of = ARRAY_ZERO(g, uint32_t, g->nids);
	IR_FOR_OPS (op, main)
		if (is_gather(m, op))
			add_gather(g, op);
	return g;
}

void
gathers_hoist_sources(struct gathers *g)
{
	struct ir_op *first = ir_func_find(g->m, "main")->body.first;
	bool *there = ARRAY_ZERO(g, bool, g->nids);

	for (; op_is(first, TRAIT_NAMED); first = first->next)
		there[first->id] = true;
	for (uint32_t i = 0; i < g->n; i++)
		for (int k = 0; k < g->gather[i].op->noperands; k++) {
			struct ir_op *source = gather_source(g->gather[i].op, k)->op;
			if (there[source->id])
				continue;
			there[source->id] = true;
			ir_op_unlink(source);
			ir_insert_before(first, source);
		}
}

/* The value before any barriers that v passes through. */
static const struct ir_value *
behind_barriers(const struct ir_value *v)
{
	while (v->op && v->op->code == OP_barrier)
		v = ir_operand(v->op, (int)v->index);
	return v;
}

static bool
same_attributes(const struct ir_op *a, const struct ir_op *b)
{
	return a->code == b->code && ir_attrs_equal(a, b);
}

bool
gathers_same(const struct ir_op *a, int i, const struct ir_op *b, int k)
{
	if (!same_attributes(a, b))
		return false;
	const struct ir_value *x = behind_barriers(ir_operand(a, i));
	const struct ir_value *y = behind_barriers(ir_operand(b, k));
	while (x != y) {
		if (!x->op || !y->op || x->op->noperands != 1 || !op_is(x->op, TRAIT_PURE) ||
			x->index != y->index || !same_attributes(x->op, y->op))
			return false;
		x = behind_barriers(ir_operand(x->op, 0));
		y = behind_barriers(ir_operand(y->op, 0));
	}
	return true;
}

double
gathers_seconds(struct gathers *g, const struct ir_op *like, uint64_t bytes)
{
	const uint32_t n = sizeof g->time / sizeof *g->time, parts = ir_parts(like);
	const struct event_group *group =
		g->step ? g->step->answer[alike_number(g->step->alike, like)].group : NULL;
	struct cost_collective c;
	bool measured;

	for (uint32_t i = 0; i < n && group && !g->step->model->whatif; i++)
		if (g->time[i].group == group && g->time[i].bytes == bytes &&
			g->time[i].parts == parts)
			return g->time[i].seconds;
	if (!group || !cost_op_collective(g->m, like, &c))
		return 0;
	c.bytes = (double)bytes;
	const double t = cost_message_seconds(
		g->step->model, g->m, like, &c, group, g->step->device, &measured);
	g->time[g->oldest++ % n] = (struct gather_time){group, bytes, parts, t};
	return t;
}

uint64_t
sharded_limit(const struct pass_run *run, double margin)
{
	return cost_memory_limit(run->cost, pass_budget(run), margin);
}
