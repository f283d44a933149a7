/* Positions of ops in their block: see numbering.h. */
#include "ir/numbering.h"

#include "ir/base/alloc.h"

#include <string.h>

static uint32_t
count(const struct ir_block *b)
{
	uint32_t n = 0;

	IR_FOR_OPS (op, b)
		n++;
	return n;
}

struct ir_numbering *
ir_numbering_create(const void *owner, const struct ir_module *m, const struct ir_block *b)
{
	struct ir_numbering *n = NEW(owner, struct ir_numbering);

	n->op = ARRAY_NEW(n, struct ir_op *, count(b));
	n->nids = m->op_ids;
	n->number = ARRAY_NEW(n, uint32_t, n->nids);
	memset(n->number, 0xff, n->nids * sizeof *n->number);
	IR_FOR_OPS (op, b) {
		n->number[op->id] = n->n;
		n->op[n->n++] = op;
	}
	return n;
}
