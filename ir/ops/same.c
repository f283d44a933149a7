/* Ops that compute the same: see same.h. */
#include "ir/ops/same.h"

#include "ir/base/mix.h"

static const struct ir_value *
operand(const struct ir_op *op, int i, struct ir_value *const *as)
{
	const struct ir_value *v = ir_operand(op, i);

	return as ? as[v->id] : v;
}

static uint64_t
hash_attr(uint64_t hash, const struct ir_attr *a)
{
	hash = mix_word(hash, (uint64_t)(uintptr_t)a->key ^ a->kind);
	if (a->kind != ATTR_LIST)
		return mix_word(hash, (uint64_t)a->i);
	for (int i = 0; i < a->n; i++)
		hash = hash_attr(hash, &a->list[i]);
	return hash;
}

/* A sum over the operands if they commute: the same in any order. */
uint64_t
same_hash(const struct ir_op *op, struct ir_value *const *as)
{
	uint64_t hash = mix_word(0, op->code), sum = 0;

	for (int i = 0; i < op->noperands; i++) {
		const uint64_t word = (uintptr_t)operand(op, i, as);
		if (op_is(op, TRAIT_COMMUTES))
			sum += mix_word(0, word);
		else
			hash = mix_word(hash, word);
	}
	hash = mix_word(hash, sum);
	for (int i = 0; i < op->nattrs; i++)
		hash = hash_attr(hash, &op->attr[i]);
	for (int i = 0; i < op->nresults; i++)
		hash = mix_word(hash, (uintptr_t)op->result[i].type);
	return hash;
}

static bool
same_operands(const struct ir_op *a, const struct ir_op *b, struct ir_value *const *as)
{
	bool same = true;

	for (int i = 0; i < a->noperands; i++)
		same = same && operand(a, i, as) == operand(b, i, as);
	return same || (op_is(a, TRAIT_COMMUTES) && a->noperands == 2 &&
			       operand(a, 0, as) == operand(b, 1, as) &&
			       operand(a, 1, as) == operand(b, 0, as));
}

bool
same_ops(const struct ir_op *a, const struct ir_op *b, struct ir_value *const *as)
{
	if (a->code != b->code || a->symbol != b->symbol || a->noperands != b->noperands ||
		a->nresults != b->nresults || !ir_attrs_equal(a, b) || !same_operands(a, b, as))
		return false;
	for (int i = 0; i < a->nresults; i++)
		if (a->result[i].type != b->result[i].type)
			return false;
	return true;
}
