/* Positions of ops in their block: see numbering.h. */
#include "ir/numbering.h"

#include "ir/base/alloc.h"

#include <string.h>

struct ir_numbering *
ir_numbering_create(const void *owner, const struct ir_module *m, const struct ir_block *b)
{
	struct ir_numbering *n = NEW(owner, struct ir_numbering);

	n->nids = m->op_ids;
	n->op = ARRAY_NEW(n, struct ir_op *, n->nids);
	n->number = ARRAY_NEW(n, uint32_t, n->nids);
	memset(n->number, 0xff, n->nids * sizeof *n->number);
	IR_FOR_OPS (op, b) {
		n->number[op->id] = n->n;
		n->op[n->n++] = op;
	}
	return n;
}
