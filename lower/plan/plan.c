/* lower_plan_create: checks that the module can be lowered, then storage, actions, waits. */
#include "lower/plan/build.h"

#include "ir/base/vec.h"
#include "ir/names.h"
#include "runtime/rt_program.h"

#include <talloc.h>

struct lower_action *
plan_add_action(
	struct lower_plan *p, enum lower_action_kind kind, const struct ir_op *op, int32_t at)
{
	ARRAY_PUSH(p, p->action, p->nactions,
		(struct lower_action){.kind = kind,
			.at = at,
			.op = op,
			.coll = -1,
			.kernel = -1,
			.src = -1,
			.dst = -1,
			.scratch = -1,
			.copy.slice_axis = -1});
	return &p->action[p->nactions - 1];
}

int32_t
plan_add_value(struct lower_plan *p, const struct ir_value *v, int32_t buffer)
{
	ARRAY_PUSH(p, p->value, p->nvalues, (struct lower_value){.value = v, .buffer = buffer});
	return p->nvalues - 1;
}

struct lower_value *
lower_value_of(const struct lower_plan *p, const struct ir_value *v)
{
	const uint32_t number = storage_number(p->storage, v);

	return number == STORAGE_NONE ? NULL : &p->value[number];
}

const struct issue_loop *
lower_loop_of(const struct lower_plan *p, const struct lower_action *a)
{
	const struct issue *o = p->storage->order;
	const uint32_t at = (uint32_t)a->at / 2;

	return &o->loop[o->loop_of[at < o->n ? at : o->n - 1]];
}

bool
lower_is_message(const struct lower_plan *p, const struct lower_coll *c, struct cell_message *m)
{
	return !c->transfer && issue_message(p->storage->order, c->op, m);
}

_Static_assert((int)RT_MAX_AXES >= (int)IR_MAX_AXES, "a program has all axes of its module");

/* Rejects, at its op, anything that a program cannot do. */
static bool
can_lower(const struct ir_module *m, struct ir_func *main)
{
	struct diag *d = m->ctx->diag;
	const unsigned before = diag_errors(d);

	IR_FOR_OPS (op, &main->body)
		if (op->code == OP_call)
			diag_error(d, op->loc,
				"call of @%s: inline the calls before lowering (pass inline)",
				op->symbol ? op->symbol : "?");
	return diag_errors(d) == before;
}

/* Adds the locations that the storage has chosen for the values of @main: an entry for each. */
static void
add_values(struct lower_plan *p)
{
	for (uint32_t i = 0; i < p->storage->nvalues; i++) {
		const struct storage_value *x = &p->storage->value[i];
		const int32_t n = plan_add_value(p, x->value, x->buffer);
		p->value[n].time = x->time;
		p->value[n].stride = x->stride;
		p->value[n].ring = x->ring;
	}
}

struct lower_row
lower_row_of(const struct lower_plan *p, const struct lower_coll *c)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (int i = 0; i < c->nbufs; i++) {
		const struct storage_buffer *b = &p->buffer[p->value[c->buf[i].dst].buffer];
		begin = b->offset < begin ? b->offset : begin;
		end = b->offset + b->bytes > end ? b->offset + b->bytes : end;
	}
	return (struct lower_row){begin, end - begin};
}

/* Copies and sums that are timed have row numbers after those of the kernels. */
static void
number_moves(struct lower_plan *p)
{
	for (int i = 0; i < p->nactions; i++) {
		struct lower_action *a = &p->action[i];
		if (a->op && (a->kind == LOWER_COPY || a->kind == LOWER_ADD))
			a->kernel = p->nkernels + p->nmoves++;
	}
}

struct lower_plan *
lower_plan_create_for(
	const void *owner, const struct ir_module *m, const struct storage_target *target)
{
	struct ir_func *main = ir_func_find(m, "main");

	if (!main) {
		diag_error(m->ctx->diag, LOC_NONE, "the module has no @main to lower");
		return NULL;
	}
	if (!can_lower(m, main))
		return NULL;
	struct lower_plan *p = NEW(owner, struct lower_plan);
	p->module = m;
	p->main = main;
	p->names = names_create(p, main);
	p->ops = ir_numbering_create(p, m, &main->body);
	p->arena = arena_create(p);
	p->target = target;
	p->storage = storage_create(p, m, main, target, NULL);
	p->buffer = p->storage->buffer;
	p->nbuffers = (int)p->storage->nbuffers;
	p->arena_bytes = p->storage->arena_bytes;
	p->host_bytes = p->storage->host_bytes;
	p->home_bytes = p->storage->home_bytes;
	add_values(p);
	struct plan_build b = {.p = p, .order = p->storage->order};
	if (p->storage->order->why) {
		diag_error(m->ctx->diag, p->storage->order->why_op->loc,
			"the schedule of the micro-batches cannot be followed: %s",
			p->storage->order->why);
		b.failed = true;
	}
	plan_actions(&b);
	if (b.failed) {
		talloc_free(p);
		return NULL;
	}
	plan_waits(&b);
	number_moves(p);
	return p;
}

struct lower_plan *
lower_plan_create(const void *owner, const struct ir_module *m)
{
	return lower_plan_create_for(owner, m, &storage_host);
}
