/* The step that timelines and reports show. */
#include "passes/tools/report/report.h"

#include "ir/base/alloc.h"
#include "ir/cluster/cluster.h"
#include "ir/ops/form.h"

#include <inttypes.h>
#include <math.h>
#include <talloc.h>

/* Peak FLOP/s of a kind of device for the products of the step: of the fastest of their types, or
 * of f32. 0: not known. */
static double
product_peak(const struct view *v, uint32_t kind)
{
	double peak = 0;
	bool any = false;

	for (uint32_t i = 0; i < v->line->n; i++) {
		const struct ir_op *op = v->line->event[i].op;
		if (op->code != OP_matmul && op->code != OP_contract)
			continue;
		const struct ir_type *t = ir_operand_type(op, 0);
		peak = fmax(peak, cost_model_peak(v->cost, kind, (enum ir_dtype)t->dtype));
		any = true;
	}
	return any ? peak : cost_model_peak(v->cost, kind, IR_f32);
}

static void
count_flops(struct view *v)
{
	v->flops = ARRAY_ZERO(v, double, (size_t)v->total.ops + 1);
	IR_FOR_OPS (op, &v->main->body)
		if (cost_op_kind(v->m, op) == COST_COMPUTE)
			v->flops[ir_number(v->ops, op)] = op_work(v->m, op).flops;
}

/* Counts the places on each kind of device. */
static bool
count_places(struct view *v)
{
	struct cluster *c = cost_model_cluster(v->cost);
	uint32_t *device = cluster_placement(v, v->m, c);

	if (!device)
		return false;
	v->places = ZERO_ARRAY(v, uint32_t, c->nkinds);
	for (int64_t i = 0; i < ir_devices(v->m); i++)
		v->places[c->kind_of[device[i]]]++;
	v->room = INFINITY;
	bool known = true;
	for (uint32_t k = 0; k < c->nkinds; k++) {
		if (v->places[k] == 0)
			continue;
		const double peak = product_peak(v, k);
		known = known && peak > 0;
		v->peak += v->places[k] * peak;
		v->room = fmin(v->room, c->kind[k]->memory);
	}
	if (!known)
		v->peak = 0;
	return true;
}

struct view *
view_create(const void *owner, const struct cost_model *cost, const struct ir_module *m)
{
	struct view *v = NEW(owner, struct view);

	*v = (struct view){.m = m, .main = ir_func_find(m, "main"), .cost = cost};
	if (!cost_evaluate(cost, m, &v->total) || !(v->line = cost_timeline(v, cost, m)) ||
		!count_places(v)) {
		talloc_free(v);
		return NULL;
	}
	v->names = names_create(v, v->main);
	v->ops = ir_numbering_create(v, m, &v->main->body);
	count_flops(v);
	view_memory(v);
	return v;
}

double
view_flops(const struct view *v, const struct cost_event *e)
{
	return e->communication ? 0 : v->flops[view_op(v, e)];
}

const char *
view_axis(const struct view *v, const struct cost_event *e)
{
	struct cost_collective c;

	return cost_op_collective(v->m, e->op, &c) ? v->m->axis[c.axis].name : NULL;
}

const char *
view_value(const struct view *v, const struct ir_op *op, char text[VIEW_NAME])
{
	uint32_t number = 0;

	text[0] = 0;
	if (op->nresults == 0)
		return text;
	const char *name = names_find(v->names, &op->result[0], &number);
	if (name)
		snprintf(text, VIEW_NAME, "%%%s", name);
	else
		snprintf(text, VIEW_NAME, "%%%" PRIu32, number);
	return text;
}
