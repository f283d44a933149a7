/*
 * A while as a kernel: its body is lowered like a step of its own, whose states are the carried
 * values (ir/ops/while.h) and whose arena is the scratch of the kernel. So the body has the same
 * kernels, the same sharing of memory and the same updates in place as a step has.
 *
 *     copy the operands to the states
 *     while (the first state is true)
 *             the actions of the step: kernels, copies of next values
 *     copy the states to the results
 */
#include "lower/while.h"

#include "ir/base/alloc.h"
#include "ir/ops/while.h"
#include "lower/cuda/text.h"
#include "lower/plan/plan.h"
#include "lower/plan/step.h"

#include <assert.h>
#include <inttypes.h>
#include <talloc.h>

/* The step of a while for a target. */
struct loop {
	const struct ir_op *op;
	const struct ir_value **carried; /* [op->noperands] */
	struct lower_plan *p;
	struct kernel_args *args; /* by kernel */
	void *scratch;            /* owns it all */
};

/* A while of a module that was verified can be lowered: its ops can. */
static struct loop
loop_create(void *owner, const struct scheme *s, const struct storage_target *target)
{
	struct loop l = {.op = s->kernel, .scratch = alloc_scratch(owner)};
	struct ir_module *step = while_step(l.scratch, s->module, l.op, &l.carried);

	l.p = lower_plan_create_for(l.scratch, step, target);
	assert(l.p);
	l.args = ARRAY_ZERO(l.scratch, struct kernel_args, (size_t)l.p->nkernels + 1);
	const bool sound = lower_check(l.p);
	assert(sound);
	(void)sound;
	return l;
}

static char *
state_text(const struct loop *l, int i)
{
	return step_address(l->scratch, l->p, lower_value_of(l->p, l->carried[i]));
}

static int64_t
state_bytes(const struct loop *l, int i)
{
	return ir_type_local_bytes(l->p->module, l->carried[i]->type);
}

/* The address of an operand or a result of a body's kernel; "NULL": it is part of the code. */
static char *
value_text(const struct loop *l, const struct ir_value *v)
{
	const struct lower_value *x = lower_value_of(l->p, v);

	return x->buffer < 0 ? text_copy(l->scratch, "NULL") : step_address(l->scratch, l->p, x);
}

/* ", s0, s1 ...": the arguments of a kernel of the body. */
static char *
args_text(const struct loop *l, const struct lower_action *a)
{
	char *text = a->scratch >= 0
			     ? TEXT(l->scratch, "m + %" PRIu64, l->p->buffer[a->scratch].offset)
			     : text_copy(l->scratch, "NULL");

	for (int i = 0; i < l->args[a->kernel].n; i++)
		text = text_append(text, ", %s",
			kernel_arg_text(
				l->scratch, l->p->module, &l->args[a->kernel].at[i], "c->coord"));
	return text;
}

static void
host_action(struct kernel_text *w, const struct loop *l, const struct lower_action *a)
{
	const struct ir_op *op = a->op;

	if (a->kind == LOWER_COPY) {
		kernel_line(w, "memcpy(%s, %s, %" PRIu64 ");",
			step_address(l->scratch, l->p, &l->p->value[a->dst]),
			step_address(l->scratch, l->p, &l->p->value[a->src]), a->copy.bytes);
		return;
	}
	assert(a->kind == LOWER_KERNEL);
	char *call = TEXT(l->scratch, "%s_%d(", w->name, a->kernel);
	for (int j = 0; j < op->noperands; j++)
		call = text_append(call, "(const %s *)(%s), ",
			kernel_ctype((enum ir_dtype)ir_operand_type(op, j)->dtype),
			value_text(l, ir_operand(op, j)));
	for (int r = 0; r < op->nresults; r++)
		call = text_append(call, "(%s *)(%s), ",
			kernel_ctype((enum ir_dtype)op->result[r].type->dtype),
			value_text(l, &op->result[r]));
	kernel_line(w, "%s%s);", call, args_text(l, a));
}

void
while_host(struct kernel_text *w)
{
	struct loop l = loop_create(w->scratch, w->s, &storage_host);

	for (int i = 0; i < l.p->nactions; i++) {
		const struct lower_action *a = &l.p->action[i];
		if (a->kind != LOWER_KERNEL)
			continue;
		kernel_write(w->before, NULL, a->scheme,
			TEXT(l.scratch, "%s_%d", w->name, a->kernel), a->in_place,
			&l.args[a->kernel]);
		fputc('\n', w->before);
	}
	kernel_line(w, "unsigned char *const m = scratch;");
	for (int i = 0; i < l.op->noperands; i++)
		kernel_line(w, "memcpy(%s, a%d, %" PRId64 ");", state_text(&l, i), i,
			state_bytes(&l, i));
	char *head = TEXT(
		l.scratch, "while (*(const %s *)(%s))", kernel_ctype(IR_bool), state_text(&l, 0));
	kernel_open(w, head);
	for (int i = 0; i < l.p->nactions; i++)
		host_action(w, &l, &l.p->action[i]);
	kernel_close(w);
	for (int i = 0; i < l.op->nresults; i++)
		kernel_line(w, "memcpy(r%d, %s, %" PRId64 ");", i, state_text(&l, i),
			state_bytes(&l, i));
	talloc_free(l.scratch);
}

static void
cuda_action(struct cuda_text *t, const struct loop *l, const struct lower_action *a)
{
	const struct ir_op *op = a->op;

	if (a->kind == LOWER_COPY) {
		fprintf(t->host, "\t\trt_cuda_copy(ctx, %s, %s, %" PRIu64 ");\n",
			step_address(l->scratch, l->p, &l->p->value[a->dst]),
			step_address(l->scratch, l->p, &l->p->value[a->src]), a->copy.bytes);
		return;
	}
	assert(a->kind == LOWER_KERNEL);
	fprintf(t->host, "\t\t%s_%d(ctx, ", t->name, a->kernel);
	for (int j = 0; j < op->noperands; j++)
		fprintf(t->host, "%s, ", value_text(l, ir_operand(op, j)));
	for (int r = 0; r < op->nresults; r++)
		fprintf(t->host, "%s, ", value_text(l, &op->result[r]));
	fprintf(t->host, "%s);\n", args_text(l, a));
}

/* The condition is copied to the host in every iteration. */
void
while_cuda(struct cuda_text *t)
{
	struct loop l = loop_create(t->w.scratch, t->s, t->src->target);
	const int64_t at = t->scratch;

	for (int i = 0; i < l.p->nactions; i++) {
		const struct lower_action *a = &l.p->action[i];
		if (a->kind != LOWER_KERNEL)
			continue;
		struct scheme *s = cuda_scheme(t->src, l.p->module, l.p->arena, a->op);
		cuda_kernel_write(t->src, s, TEXT(l.scratch, "%s_%d", t->name, a->kernel),
			a->in_place, true, &l.args[a->kernel]);
	}
	cuda_scratch(t, "unsigned char", "loop", (int64_t)l.p->arena_bytes);
	fprintf(t->host, "\tunsigned char *const m = scratch + %" PRId64 ";\n\n", at);
	for (int i = 0; i < l.op->noperands; i++)
		fprintf(t->host, "\trt_cuda_copy(ctx, %s, a%d, %" PRId64 ");\n", state_text(&l, i),
			i, state_bytes(&l, i));
	fprintf(t->host, "\twhile (rt_cuda_is_true(ctx, %s)) {\n", state_text(&l, 0));
	for (int i = 0; i < l.p->nactions; i++)
		cuda_action(t, &l, &l.p->action[i]);
	fprintf(t->host, "\t}\n");
	for (int i = 0; i < l.op->nresults; i++)
		fprintf(t->host, "\trt_cuda_copy(ctx, r%d, %s, %" PRId64 ");\n", i,
			state_text(&l, i), state_bytes(&l, i));
	talloc_free(l.scratch);
}
