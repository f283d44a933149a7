/* Meshes from which plan starts: see plan.h. */
#include "ir/base/alloc.h"
#include "ir/cluster/cluster.h"
#include "passes/analysis/cost/cost.h"
#include "passes/plan/plan.h"

#include <string.h>

const char plan_stage_axis[] = "pp";

struct axis {
	const char *name;
	int64_t size;
};

/* A name that is unused in the module. */
static const char *
free_name(const struct planner *p, const char *word)
{
	char *name = text_copy(p->run->scratch, word);

	while (ir_axis_find(p->m, name) >= 0 || ir_let_find(p->m, ir_name(p->m->ctx, name)))
		name = text_append(name, "_");
	return ir_name(p->m->ctx, name);
}

/* Adds the axes, except those of one device, to a copy of the module. */
static void
add_base(struct planner *p, const struct axis *axis, int n)
{
	struct plan_base *b = &p->base[p->nbases++];

	*b = (struct plan_base){.m = ir_module_clone(p->run->scratch, p->m), .stages = 1};
	for (int i = 0; i < b->m->naxes; i++)
		if (!b->m->axis[i].time && b->m->axis[i].size > 1)
			b->axis[b->n++] = b->m->axis[i].name;
	for (int i = 0; i < n; i++) {
		if (axis[i].size == 1 || b->m->naxes == IR_MAX_AXES)
			continue;
		const bool stages = !strcmp(axis[i].name, plan_stage_axis);
		const char *name =
			stages ? ir_name(p->m->ctx, plan_stage_axis) : free_name(p, axis[i].name);
		b->m->axis[b->m->naxes++] = (struct ir_axis){
			.name = name, .size = (int32_t)axis[i].size, .loc = LOC_NONE};
		b->mesh = b->mesh ? TEXT(p->run->scratch, "%s,%s=%lld", b->mesh, name,
					    (long long)axis[i].size)
				  : TEXT(p->run->scratch, "%s=%lld", name, (long long)axis[i].size);
		if (stages)
			b->stages = (int)axis[i].size;
		else
			b->axis[b->n++] = name;
	}
	b->attempts = attempts_create(p->run->scratch, p->manager, b->m);
	plan_add_depths(p, b);
}

/* Devices of a node: those of the first, if all nodes are equal and n is a multiple; else 1. */
static int64_t
node_size(const struct cluster *c, int64_t n)
{
	int64_t size = 0;

	for (uint32_t i = 0; i < c->ndevices; i++)
		size += c->node_of[i] == c->node_of[0];
	return !c->boundless && size < n && n % size == 0 ? size : 1;
}

/* Maximum number of pipeline stages, as bubbles grow with it. */
enum { MOST_STAGES = 8 };

void
plan_meshes(struct planner *p, int64_t devices)
{
	const struct cluster *c = cost_model_cluster(p->model);

	add_base(p, NULL, 0);
	if (devices == 1)
		return;
	const int64_t cards = node_size(c, devices), nodes = devices / cards;
	int64_t stages = 1;
	while (2 * stages <= MOST_STAGES && nodes % (2 * stages) == 0)
		stages *= 2;
	add_base(p, (struct axis[]){{"device", devices}}, 1);
	add_base(p, (struct axis[]){{"node", nodes}, {"card", cards}}, 2);
	add_base(p,
		(struct axis[]){
			{plan_stage_axis, stages}, {"node", nodes / stages}, {"card", cards}},
		3);
}

static bool
has_sizes(const struct plan_base *b, const int32_t *size, int n)
{
	bool same = b->n == n && b->stages == 1;

	for (int i = 0; i < n && same; i++)
		same = b->m->axis[ir_axis_find(b->m, b->axis[i])].size == size[i];
	return same;
}

int
plan_mesh_of(struct planner *p, const int32_t *size, int n)
{
	struct axis axis[IR_MAX_AXES];

	for (int i = 0; i < p->nbases; i++)
		if (has_sizes(&p->base[i], size, n))
			return i;
	if (p->nbases == PLAN_NMESHES)
		return PLAN_PLAIN;
	for (int i = 0; i < n; i++)
		axis[i] = (struct axis){TEXT(p->run->scratch, "axis%d", i), size[i]};
	add_base(p, axis, n);
	return p->nbases - 1;
}
