/* What buffers hold: see memory.h. */
#include "passes/analysis/cost/memory.h"

#include "ir/ops/form.h"
#include "ir/base/alloc.h"

#include <string.h>

static const struct {
	const char *many, *one;
} kind_name[] = {
#define KIND(name, many, one) {many, one},
	MEMORY_KINDS(KIND)
#undef KIND
};

const char *
memory_kind_name(enum memory_kind k)
{
	return kind_name[k].many;
}

const char *
memory_kind_one(enum memory_kind k)
{
	return kind_name[k].one;
}

/* The values that lead to the next value of a param. */
struct chain {
	const struct ir_module *m;
	bool *in; /* by value->id */
};

static bool *
in_chain(const struct chain *c, const struct ir_value *v)
{
	return &c->in[v->id];
}

/* Is the op done element by element? */
static bool
is_pointwise(const struct ir_module *m, const struct ir_op *op)
{
	struct form f;

	return form_exists((enum op_code)op->code) &&
	       form_shape(m, op, op->result[0].type, &f, NULL) && f.reduce == REDUCE_NONE &&
	       !form_has_computed(&f);
}

static void chain_into_fuse(struct chain *c, const struct ir_op *op);

/* From results of an op to its operands. */
static void
chain_through(struct chain *c, const struct ir_op *op)
{
	const bool parallel = op_is(op, TRAIT_PARALLEL), view = storage_is_view(c->m, op);

	if (op->code == OP_fuse) {
		chain_into_fuse(c, op);
		return;
	}
	for (int r = 0; r < op->nresults; r++) {
		if (!*in_chain(c, &op->result[r]))
			continue;
		for (int i = 0; i < op->noperands; i++)
			if (parallel || view ? i == r
					     : ir_type_same_dims(ir_operand_type(op, i),
						       op->result[r].type) &&
						       is_pointwise(c->m, op))
				*in_chain(c, ir_operand(op, i)) = true;
	}
}

static void
chain_into_fuse(struct chain *c, const struct ir_op *op)
{
	bool any = false;

	const struct ir_op *yield = op->body->last;
	for (int r = 0; r < op->nresults; r++)
		if (*in_chain(c, &op->result[r]))
			any = *in_chain(c, ir_operand(yield, r)) = true;
	for (const struct ir_op *o = yield->prev; o && any; o = o->prev)
		chain_through(c, o);
	for (int i = 0; i < op->noperands; i++)
		if (*in_chain(c, &op->body->arg[i]))
			*in_chain(c, ir_operand(op, i)) = true;
}

/* Which values of @main lead to the next value of a param? */
static void
chain_main(struct chain *c, const struct ir_func *main)
{
	for (const struct ir_op *op = main->body.last; op; op = op->prev) {
		if (op->code == OP_update)
			*in_chain(c, ir_operand(op, 1)) |= ir_operand(op, 0)->op->code == OP_param;
		else if (!op_is(op, TRAIT_EFFECT | TRAIT_NAMED))
			chain_through(c, op);
	}
}

static enum memory_kind
kind_of(const struct storage *s, const struct storage_buffer *b, bool chained)
{
	if (b->role == STORAGE_OUTPUT || b->role == STORAGE_INPUT)
		return MEMORY_IO;
	if (b->use != STORAGE_VALUES)
		return MEMORY_WORKSPACE;
	if (b->role == STORAGE_PERSISTENT)
		return b->op->code == OP_param ? MEMORY_PARAM : MEMORY_STATE;
	if (chained)
		return MEMORY_GRADIENT;
	return storage_is_message(s->module, b->op) ? MEMORY_COMMUNICATION : MEMORY_ACTIVATION;
}

enum memory_kind *
memory_kinds(const void *owner, const struct storage *s)
{
	enum memory_kind *kind = ARRAY_NEW(owner, enum memory_kind, s->nbuffers);
	bool *chained = ARRAY_ZERO(owner, bool, s->nbuffers);
	struct ir_func *main = ir_func_find(s->module, "main");
	struct chain c = {.m = s->module,
		.in = ARRAY_ZERO(array_context(chained), bool, s->module->value_ids)};

	chain_main(&c, main);
	for (uint32_t i = 0; i < s->nvalues; i++)
		if (s->value[i].buffer >= 0 && *in_chain(&c, s->value[i].value))
			chained[s->value[i].buffer] = true;
	for (uint32_t i = 0; i < s->nbuffers; i++)
		kind[i] = kind_of(s, &s->buffer[i], chained[i]);
	array_free(chained);
	return kind;
}
