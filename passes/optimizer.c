/* What the optimizer passes share. */
#include "passes/optimizer.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const char prefix[] = "grad.";

/* The params by name, so that a step with many is not searched through for each. */
struct params {
	struct ir_op **op; /* ascending by the address of the name, of which there is one copy */
	size_t n;
};

static int
compare_params(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)(*(struct ir_op *const *)a)->symbol,
		  y = (uintptr_t)(*(struct ir_op *const *)b)->symbol;

	return (x > y) - (x < y);
}

static struct params
collect_params(const void *owner, struct ir_block *block)
{
	struct params p = {talloc_array(owner, struct ir_op *, ir_block_number(block) + 1u), 0};

	if (!p.op)
		out_of_memory();
	IR_FOR_OPS (op, block)
		if (op->code == OP_param)
			p.op[p.n++] = op;
	qsort(p.op, p.n, sizeof *p.op, compare_params);
	return p;
}

static struct ir_op *
find_param(const struct params *p, const char *name)
{
	const struct ir_op wanted = {.symbol = name}, *key = &wanted;
	struct ir_op **found = bsearch(&key, p->op, p->n, sizeof *p->op, compare_params);

	return found ? *found : NULL;
}

static bool
run_one(struct optimizer_step *s, const struct params *params, struct ir_op *gradient,
	optimizer_rule *rule, void *data)
{
	struct ir_builder *b = &s->b;
	const char *name = ir_name(b->m->ctx, gradient->symbol + sizeof prefix - 1);

	s->param = find_param(params, name);
	if (!s->param) {
		diag_error(b->m->ctx->diag, gradient->loc, "%s: no param is named \"%s\"",
			s->run->pass->name, name);
		return false;
	}
	s->last_state = s->param;
	s->w = &s->param->result[0];
	s->g = ir_operand(gradient, 0);
	b->loc = gradient->loc;
	struct ir_value *new = rule(s, data);
	ir_build(b, OP_update, (struct ir_value *[]){s->w, new}, 2, NULL, 0);
	ir_op_erase(gradient);
	pass_count(s->run, "params updated", 1);
	return !b->failed;
}

bool
optimizer_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule, void *data)
{
	struct ir_func *f = ir_func_find(m, "main");
	struct ir_op *last = f->body.last;
	struct optimizer_step s = {.run = run, .b = {.m = m, .block = &f->body}};
	const struct params params = collect_params(run->scratch, &f->body);

	IR_FOR_OPS_SAFE (op, &f->body) {
		bool done = op == last;
		bool gradient = op->code == OP_output &&
				strncmp(op->symbol, prefix, sizeof prefix - 1) == 0;
		if (gradient && !run_one(&s, &params, op, rule, data))
			return false;
		if (done)
			break;
	}
	return true;
}

struct ir_value *
optimizer_state(struct optimizer_step *s, const char *what, bool scalar)
{
	char *name = talloc_asprintf(
		s->run->scratch, "%s.%s.%s", s->run->pass->name, what, s->param->symbol);
	struct ir_builder b = s->b;
	struct ir_type t = {.dtype = s->w->type->dtype};
	const struct ir_type *type = scalar ? ir_type_intern(b.m->ctx, &t) : s->w->type;

	b.before = s->last_state->next;
	struct ir_value *v = ir_build_typed(&b, OP_state, name, NULL, 0, NULL, 0, type);
	s->b.failed = s->b.failed || b.failed;
	if (v) {
		v->name = ir_name(b.m->ctx, name);
		s->last_state = v->op;
	}
	return v;
}

struct ir_value *
optimizer_scale(struct optimizer_step *s, struct ir_value *x, double factor)
{
	if (!x)
		return NULL;
	return ir_build2(
		&s->b, OP_mul, x, ir_build_scalar(&s->b, (enum ir_dtype)x->type->dtype, factor));
}

struct ir_value *
optimizer_shift(struct optimizer_step *s, struct ir_value *x, double summand)
{
	if (!x)
		return NULL;
	return ir_build2(
		&s->b, OP_add, x, ir_build_scalar(&s->b, (enum ir_dtype)x->type->dtype, summand));
}
