/*
 * Transposes around a product: a contract names its dims, so it reads an operand and writes its
 * result in any order, and a library's matrix product accepts transposed factors in place. The sum
 * is the same one; over several indices its terms may come in another order, which pass_reorders
 * records.
 */
#include "ir/product.h"
#include "passes/prepare/canonicalize.h"

#include <string.h>

static struct ir_value *
build(struct canon *c, const struct product *p)
{
	if (product_sums_over_several(p))
		pass_reorders(c->run);
	return product_build(&c->b, p);
}

/* A transposed factor is read without the transpose. */
static struct ir_value *
product_of_transposes(struct canon *c, struct ir_op *op)
{
	struct product p;
	bool any = false;

	for (int j = 0; j < op->noperands; j++)
		any = any || canon_made_by(op, j, OP_transpose);
	if (!any || !product_read(c->m, op, &p))
		return NULL;
	for (int j = 0; j < p.n; j++) {
		const struct ir_op *t = canon_made_by(op, j, OP_transpose);
		int64_t perm[IR_MAX_RANK];
		char before[IR_MAX_RANK];
		if (!t)
			continue;
		transpose_order(t, perm);
		memcpy(before, p.in[j], sizeof before);
		for (int d = 0; d < p.rank[j]; d++)
			p.in[j][perm[d]] = before[d];
		p.v[j] = ir_operand(t, 0);
	}
	return build(c, &p);
}

/* A product that is only read transposed is computed in that order. */
static struct ir_value *
transpose_of_product(struct canon *c, struct ir_op *op)
{
	struct ir_value *made = ir_operand(op, 0);
	struct product p;
	int64_t perm[IR_MAX_RANK];
	char before[IR_MAX_RANK];

	if (!made->op || (made->op->code != OP_matmul && made->op->code != OP_contract) ||
		made->uses->next || !product_read(c->m, made->op, &p))
		return NULL;
	transpose_order(op, perm);
	memcpy(before, p.out, sizeof before);
	for (int d = 0; d < p.out_rank; d++)
		p.out[d] = before[perm[d]];
	return build(c, &p);
}

static const char folded[] = "transpose(s) folded into products";

const struct rewrite canon_products[] = {
	{OP_matmul, product_of_transposes, folded},
	{OP_contract, product_of_transposes, folded},
	{OP_transpose, transpose_of_product, folded},
	{0},
};
