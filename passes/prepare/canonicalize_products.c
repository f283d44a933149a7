/*
 * Transposes around a product: a contract names its dims, so it reads an operand and writes its
 * result in any order, and a library's matrix product takes transposed factors as they lie. The sum
 * is the same one; over several indices its terms may come in another order, which pass_reorders
 * says.
 */
#include "ir/ops/form.h"
#include "passes/prepare/canonicalize.h"

#include <string.h>

/* One letter a dim; false where an operand repeats a dim of size 1: contract does not broadcast. */
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

struct product {
	char in[FORM_MAX_INPUTS][IR_MAX_RANK], out[IR_MAX_RANK];
	int rank[FORM_MAX_INPUTS], out_rank, n;
	struct ir_value *v[FORM_MAX_INPUTS];
};

static bool
read_product(struct canon *c, struct ir_op *op, struct product *p)
{
	struct form f;

	if (!form_shape(c->m, op, NULL, &f, NULL) || !letters_of(&f.out, p->out))
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

/* Along several indices the terms come in the order in which the spec names those. */
static bool
sums_over_several(const struct product *p)
{
	unsigned seen = 0;

	for (int j = 0; j < p->n; j++)
		for (int d = 0; d < p->rank[j]; d++)
			if (!memchr(p->out, p->in[j][d], (size_t)p->out_rank))
				seen |= 1u << (p->in[j][d] - 'a');
	return seen & (seen - 1);
}

static struct ir_value *
build_product(struct canon *c, const struct product *p)
{
	char spec[(FORM_MAX_INPUTS + 1) * (IR_MAX_RANK + 2)] = "";

	for (int j = 0; j < p->n; j++) {
		strcat(spec, j ? "," : "");
		strncat(spec, p->in[j], (size_t)p->rank[j]);
	}
	strcat(spec, "->");
	strncat(spec, p->out, (size_t)p->out_rank);
	struct ir_attr attr = ir_make_string(c->m->ctx, "spec", spec);
	if (sums_over_several(p))
		pass_reorders(c->run);
	return ir_build(&c->b, OP_contract, p->v, p->n, &attr, 1);
}

/* A factor that is transposed is read where it lies. */
static struct ir_value *
product_of_transposes(struct canon *c, struct ir_op *op)
{
	struct product p;
	bool any = false;

	for (int j = 0; j < op->noperands; j++)
		any = any || canon_made_by(op, j, OP_transpose);
	if (!any || !read_product(c, op, &p))
		return NULL;
	for (int j = 0; j < p.n; j++) {
		const struct ir_op *t = canon_made_by(op, j, OP_transpose);
		int64_t perm[IR_MAX_RANK];
		char before[IR_MAX_RANK];
		if (!t)
			continue;
		canon_permutation(t, perm);
		memcpy(before, p.in[j], sizeof before);
		for (int d = 0; d < p.rank[j]; d++)
			p.in[j][perm[d]] = before[d];
		p.v[j] = ir_operand(t, 0);
	}
	return build_product(c, &p);
}

/* A product that is only read transposed is made so. */
static struct ir_value *
transpose_of_product(struct canon *c, struct ir_op *op)
{
	struct ir_value *made = ir_operand(op, 0);
	struct product p;
	int64_t perm[IR_MAX_RANK];
	char before[IR_MAX_RANK];

	if (!made->op || (made->op->code != OP_matmul && made->op->code != OP_contract) ||
		made->uses->next || !read_product(c, made->op, &p))
		return NULL;
	canon_permutation(op, perm);
	memcpy(before, p.out, sizeof before);
	for (int d = 0; d < p.out_rank; d++)
		p.out[d] = before[perm[d]];
	return build_product(c, &p);
}

static const char folded[] = "transpose(s) folded into products";

const struct rewrite canon_products[] = {
	{OP_matmul, product_of_transposes, folded},
	{OP_contract, product_of_transposes, folded},
	{OP_transpose, transpose_of_product, folded},
	{0},
};
