/* What buffers hold: see memory.h. */
#include "passes/analysis/cost/memory.h"

#include "ir/ops/form.h"
#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

const char *
memory_kind_name(enum memory_kind k)
{
	static const char *const name[] = {
#define KIND(name, many, one) many,
		MEMORY_KINDS(KIND)
#undef KIND
	};

	return name[k];
}

const char *
memory_kind_one(enum memory_kind k)
{
	static const char *const name[] = {
#define KIND(name, many, one) one,
		MEMORY_KINDS(KIND)
#undef KIND
	};

	return name[k];
}

/* The values of a block that lead to the next value of a param, by number of the value. */
struct chain {
	struct ir_module *m;
	uint32_t *first; /* by op->order: number of its first result */
	bool *in;        /* of results, then of arguments */
	uint32_t nresults;
};

static void
chain_create(struct chain *c, const void *owner, struct ir_module *m, struct ir_block *b)
{
	const uint32_t n = ir_block_number(b);

	*c = (struct chain){.m = m, .first = ARRAY_NEW(owner, uint32_t, n)};
	IR_FOR_OPS (op, b) {
		c->first[op->order] = c->nresults;
		c->nresults += op->nresults;
	}
	c->in = ARRAY_NEW(owner, bool, c->nresults + b->nargs);
	memset(c->in, 0, sizeof *c->in * (c->nresults + b->nargs));
}

static bool *
in_chain(const struct chain *c, const struct ir_value *v)
{
	return &c->in[v->op ? c->first[v->op->order] + v->index : c->nresults + v->index];
}

static bool
same_shape(const struct ir_type *a, const struct ir_type *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * a->rank) == 0;
}

/* Is the op done element by element? */
static bool
is_pointwise(struct ir_module *m, const struct ir_op *op)
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
			if (parallel || view
					? i == r
					: same_shape(ir_operand_type(op, i), op->result[r].type) &&
						  is_pointwise(c->m, op))
				*in_chain(c, ir_operand(op, i)) = true;
	}
}

static void
chain_into_fuse(struct chain *c, const struct ir_op *op)
{
	void *scratch = alloc_scratch(NULL);
	struct chain inner;
	bool any = false;

	chain_create(&inner, scratch, c->m, op->body);
	const struct ir_op *yield = op->body->last;
	for (int r = 0; r < op->nresults; r++)
		if (*in_chain(c, &op->result[r]))
			any = *in_chain(&inner, ir_operand(yield, r)) = true;
	for (const struct ir_op *o = yield->prev; o && any; o = o->prev)
		chain_through(&inner, o);
	for (int i = 0; i < op->noperands; i++)
		if (*in_chain(&inner, &op->body->arg[i]))
			*in_chain(c, ir_operand(op, i)) = true;
	talloc_free(scratch);
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
	struct chain c;

	chain_create(&c, array_context(chained), s->module, &main->body);
	chain_main(&c, main);
	for (uint32_t i = 0; i < s->nvalues; i++)
		if (s->value[i].buffer >= 0 && *in_chain(&c, s->value[i].value))
			chained[s->value[i].buffer] = true;
	for (uint32_t i = 0; i < s->nbuffers; i++)
		kind[i] = kind_of(s, &s->buffer[i], chained[i]);
	array_free(chained);
	return kind;
}
