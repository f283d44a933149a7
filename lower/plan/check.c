/* lower_check: see check.h for its parts, and docs/checking.md for what they prove together. */
#include "lower/plan/check.h"

#include "ir/base/alloc.h"

/* The values that views show. In the order of the text an operand comes before its users. */
static void
find_roots(struct check *c)
{
	const struct lower_plan *p = c->p;

	for (int32_t i = 0; i < p->nvalues; i++)
		c->root[i] = p->value[i].value ? i : -1;
	IR_FOR_OPS (op, &p->main->body)
		for (int r = 0; r < op->nresults && check_is_view(p->module, op); r++)
			c->root[check_number(p, &op->result[r])] =
				c->root[check_number(p, ir_operand(op, r))];
}

uint64_t
check_address(const struct storage_buffer *b)
{
	return b->memory == IR_HOST ? CHECK_HOST_BASE + b->offset : b->offset;
}

bool
lower_check(const struct lower_plan *p)
{
	struct check c = {.p = p, .diag = p->module->ctx->diag};

	check_shape(&c);
	if (c.faults)
		return false;
	c.root = ARRAY_NEW(NULL, int32_t, (size_t)p->nvalues + 1);
	find_roots(&c);
	check_values(&c);
	check_actions(&c);
	check_collectives(&c);
	check_memory(&c);
	check_cells(&c);
	array_free(c.root);
	return c.faults == 0;
}
