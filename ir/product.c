/* Products with their dims by letters, and transposes: product.h. */
#include "ir/product.h"

#include <string.h>

int
transpose_order(const struct ir_op *op, int64_t perm[IR_MAX_RANK])
{
	const int rank = ir_operand_type(op, 0)->rank,
		  n = ir_attr_ints(op, "perm", perm, IR_MAX_RANK);

	for (int i = 0; i < rank; i++)
		perm[i] = n < 0 ? rank - 1 - i : perm[i] < 0 ? perm[i] + rank : perm[i];
	return rank;
}

/* One letter a dim. */
static bool
letters_of(const struct form_access *x, char letters[IR_MAX_RANK])
{
	for (int d = 0; d < x->rank; d++) {
		if (x->index[d] < 0)
			return false;
		letters[d] = (char)('a' + x->index[d]);
	}
	return true;
}

bool
product_read(const struct ir_module *m, const struct ir_op *op, struct product *p)
{
	struct form f;

	if (!form_shape(m, op, NULL, &f, NULL) || !letters_of(&f.out, p->out))
		return false;
	p->n = f.ninputs;
	p->out_rank = f.out.rank;
	for (int j = 0; j < f.ninputs; j++) {
		p->v[j] = ir_operand(op, j);
		p->rank[j] = f.in[j].rank;
		if (!letters_of(&f.in[j], p->in[j]))
			return false;
	}
	return true;
}

bool
product_sums_over_several(const struct product *p)
{
	unsigned seen = 0;

	for (int j = 0; j < p->n; j++)
		for (int d = 0; d < p->rank[j]; d++)
			if (!memchr(p->out, p->in[j][d], (size_t)p->out_rank))
				seen |= 1u << (p->in[j][d] - 'a');
	return seen & (seen - 1);
}

struct ir_value *
product_build(struct ir_builder *b, const struct product *p)
{
	char spec[(FORM_MAX_INPUTS + 1) * (IR_MAX_RANK + 2)] = "";

	for (int j = 0; j < p->n; j++) {
		strcat(spec, j ? "," : "");
		strncat(spec, p->in[j], (size_t)p->rank[j]);
	}
	strcat(spec, "->");
	strncat(spec, p->out, (size_t)p->out_rank);
	struct ir_attr attr = ir_make_string(b->m->ctx, "spec", spec);
	return ir_build(b, OP_contract, p->v, p->n, &attr, 1);
}
