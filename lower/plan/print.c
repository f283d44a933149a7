/* The plan as text: a line a buffer, a line an action. */
#include "lower/plan/plan.h"

#include <inttypes.h>

static const char *
value_name(const struct lower_plan *p, int value)
{
	const struct ir_value *v = p->value[value].value;

	return v && v->name ? v->name : "(copy)";
}

static void
print_axes(FILE *out, const struct ir_module *m, uint32_t axes)
{
	for (int a = 0; a < m->naxes; a++)
		if (axes >> a & 1)
			fprintf(out, " %s=%d", m->axis[a].name, m->axis[a].size);
}

static void
print_guard(FILE *out, const struct lower_plan *p, const struct lower_guard *g)
{
	for (int i = 0; i < g->n; i++)
		fprintf(out, " @%s=%d", p->module->axis[g->axis[i]].name, g->place[i]);
}

static void
print_buffer(FILE *out, const struct lower_plan *p, int i)
{
	static const char *const role[] = {"temp", "input", "persistent", "output"};
	const struct storage_buffer *b = &p->buffer[i];

	if (b->first < 0)
		return;
	fprintf(out,
		"buffer %d: %%%s %s [%" PRIu64 ", %" PRIu64 ") slots %" PRId64 " life [%d, %d]\n",
		i, b->value && b->value->name ? b->value->name : "", role[b->role], b->offset,
		b->offset + b->bytes * (uint64_t)b->slots, b->slots, b->first, b->last);
}

static void
print_values(FILE *out, const struct lower_plan *p, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++)
		fprintf(out, " %%%s:%d", ir_operand(op, i)->name ? ir_operand(op, i)->name : "",
			lower_value_of(p, ir_operand(op, i))->buffer);
	fprintf(out, " ->");
	for (int i = 0; i < op->nresults; i++)
		fprintf(out, " %%%s:%d", op->result[i].name ? op->result[i].name : "",
			lower_value_of(p, &op->result[i])->buffer);
}

static void
print_action(FILE *out, const struct lower_plan *p, int i)
{
	static const char *const kind[] = {
		"kernel", "copy", "add", "pack", "post", "wait", "loop", "end"};
	const struct lower_action *a = &p->action[i];

	fprintf(out, "action %d: %s", i, kind[a->kind]);
	if (a->op)
		fprintf(out, " %s", op_name((enum op_code)a->op->code));
	print_axes(out, p->module, a->over);
	if (a->kind == LOWER_KERNEL || a->kind == LOWER_POST)
		print_values(out, p, a->op);
	if (a->kind == LOWER_COPY || a->kind == LOWER_PACK || a->kind == LOWER_ADD)
		fprintf(out, " %%%s:%d -> %%%s:%d", value_name(p, a->src), p->value[a->src].buffer,
			value_name(p, a->dst), p->value[a->dst].buffer);
	if (a->coll >= 0)
		fprintf(out, " coll %d", a->coll);
	if (a->kind == LOWER_POST && p->coll[a->coll].in_row)
		fprintf(out, " in a row");
	if (a->in_place)
		fprintf(out, " in place");
	print_guard(out, p, &a->guard);
	fputc('\n', out);
}

void
lower_plan_print(FILE *out, const struct lower_plan *p)
{
	fprintf(out, "arena %" PRIu64 " bytes\n", p->arena_bytes);
	for (int i = 0; i < p->nbuffers; i++)
		print_buffer(out, p, i);
	for (int i = 0; i < p->nactions; i++)
		print_action(out, p, i);
}
