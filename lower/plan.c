/* lower_plan_create: what can be lowered at all, then order, buffers, actions, waits, memory. */
#include "lower/plan_build.h"

#include "ir/names.h"
#include "runtime/rt_program.h"

#include <talloc.h>

struct lower_action *
plan_add_action(struct lower_plan *p, enum lower_action_kind kind, const struct ir_op *op)
{
	p->action = talloc_realloc(p, p->action, struct lower_action, (size_t)p->nactions + 1);
	struct lower_action *a = &p->action[p->nactions++];
	*a = (struct lower_action){.kind = kind,
		.op = op,
		.coll = -1,
		.kernel = -1,
		.src = -1,
		.dst = -1,
		.scratch = -1,
		.copy.slice_axis = -1};
	return a;
}

int32_t
plan_add_buffer(struct lower_plan *p, enum lower_role role, const struct ir_value *v,
	uint64_t bytes, int64_t slots)
{
	p->buffer = talloc_realloc(p, p->buffer, struct lower_buffer, (size_t)p->nbuffers + 1);
	p->buffer[p->nbuffers] = (struct lower_buffer){
		.role = role, .value = v, .bytes = bytes, .slots = slots, .first = -1, .last = -1};
	return p->nbuffers++;
}

int32_t
plan_add_value(struct lower_plan *p, const struct ir_value *v, int32_t buffer)
{
	p->value = talloc_realloc(p, p->value, struct lower_value, (size_t)p->nvalues + 1);
	p->value[p->nvalues] = (struct lower_value){.value = v, .buffer = buffer};
	if (v)
		((struct ir_value *)v)->mark = (uint32_t)p->nvalues + 1;
	return p->nvalues++;
}

struct lower_value *
lower_value_of(const struct lower_plan *p, const struct ir_value *v)
{
	return v->mark ? &p->value[v->mark - 1] : NULL;
}

_Static_assert((int)RT_MAX_AXES >= (int)IR_MAX_AXES, "a program has all axes of its module");

/* Refuses what a program cannot do, at its op. */
static bool
can_lower(struct ir_module *m, struct ir_func *main)
{
	struct diag *d = m->ctx->diag;
	const unsigned before = diag_errors(d);

	IR_FOR_OPS (op, &main->body) {
		if (op->code == OP_call)
			diag_error(d, op->loc,
				"call of @%s: inline the calls before lowering (pass inline)",
				op->symbol ? op->symbol : "?");
		if ((op->code == OP_reducescatter || op->code == OP_alltoall) &&
			m->axis[ir_attr_int(op, "axis", 0)].time)
			diag_error(d, op->loc,
				"%s over time axis %s cannot be lowered; on a time axis use %s, "
				"and partition the result",
				op_name((enum op_code)op->code),
				m->axis[ir_attr_int(op, "axis", 0)].name,
				op->code == OP_alltoall ? "combine" : "reduce");
	}
	return diag_errors(d) == before;
}

struct lower_plan *
lower_plan_create(const void *owner, struct ir_module *m)
{
	struct ir_func *main = ir_func_find(m, "main");

	if (!main) {
		diag_error(m->ctx->diag, LOC_NONE, "there is no @main to lower");
		return NULL;
	}
	if (!can_lower(m, main))
		return NULL;
	struct lower_plan *p = talloc_zero(owner, struct lower_plan);
	if (!p)
		out_of_memory();
	p->module = m;
	p->main = main;
	p->names = names_create(p, main);
	p->arena = arena_create(p);
	ir_block_number(&main->body);
	struct plan_build b = {.p = p, .order = issue_create(p, m, &main->body)};
	plan_buffers(&b);
	if (!b.failed)
		plan_actions(&b);
	if (b.failed) {
		talloc_free(p);
		return NULL;
	}
	plan_waits(&b);
	plan_memory(p);
	return p;
}
