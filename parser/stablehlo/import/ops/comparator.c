/* Comparators of sort: which of them are an order by keys. */
#include "parser/stablehlo/import/ops/comparator.h"

#include <string.h>

struct match {
	const struct mlir_block *block;
	int steps; /* left */
};

static bool
same_dense(const struct mlir_dense *a, const struct mlir_dense *b)
{
	return a->n == b->n && a->splat == b->splat && a->is_float == b->is_float &&
	       !memcmp(a->number, b->number, (size_t)a->n * sizeof *a->number);
}

static bool same_attrs(const struct mlir_attr *a, const struct mlir_attr *b, uint32_t n);

static bool
same_attr(const struct mlir_attr *a, const struct mlir_attr *b)
{
	if (a->name != b->name || a->kind != b->kind || a->n != b->n)
		return false;
	switch (a->kind) {
	case MLIR_UNIT: return true;
	case MLIR_INT:
	case MLIR_BOOL: return a->i == b->i;
	case MLIR_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
	case MLIR_STRING:
	case MLIR_SYMBOL:
	case MLIR_WORD:
	case MLIR_OPAQUE: return !strcmp(a->s, b->s);
	case MLIR_LIST:
	case MLIR_DICT: return same_attrs(a->item, b->item, a->n);
	case MLIR_DENSE: return same_dense(a->dense, b->dense);
	case MLIR_TYPE: return a->type == b->type;
	default: return false;
	}
}

static bool
same_attrs(const struct mlir_attr *a, const struct mlir_attr *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!same_attr(&a[i], &b[i]))
			return false;
	return true;
}

/* Is v the same expression as u, on the second elements? u reads arguments 2i, and v 2i + 1. */
static bool
mirrors(struct match *m, const struct mlir_value *u, const struct mlir_value *v)
{
	if (m->steps-- <= 0)
		return false;
	if (u->block == m->block || v->block == m->block)
		return u->block == v->block && u->index % 2 == 0 && v->index == u->index + 1;
	if (!u->op || !v->op || u->op->block != m->block || v->op->block != m->block)
		return u == v; /* from outside */
	const struct mlir_op *a = u->op, *b = v->op;
	if (a->name != b->name || a->noperands != b->noperands || a->nattrs != b->nattrs ||
		a->nregions || b->nregions || u->index != v->index ||
		!same_attrs(a->attr, b->attr, a->nattrs))
		return false;
	for (uint32_t i = 0; i < a->noperands; i++)
		if (!mirrors(m, a->operand[i], b->operand[i]))
			return false;
	return true;
}

static const char *
word(const struct mlir_op *op, const char *name)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	return a && a->kind == MLIR_WORD ? a->s : "";
}

static const struct mlir_op *
op_of(const struct match *m, const struct mlir_value *v, const char *name, uint32_t noperands)
{
	const struct mlir_op *op = v->op;

	return op && op->block == m->block && op->noperands == noperands && !strcmp(op->name, name)
		       ? op
		       : NULL;
}

/* compare LT or GT (LE and GE: an order up to equal ones) of a mirrored pair. */
static bool
read_compare(struct match *m, const struct mlir_value *v, struct comparator_key *key)
{
	const struct mlir_op *op = op_of(m, v, "stablehlo.compare", 2);

	if (!op)
		return false;
	const char *direction = word(op, "comparison_direction");
	const bool less = direction[0] == 'L', greater = direction[0] == 'G';
	if (!less && !greater)
		return false;
	key->total = !strcmp(word(op, "compare_type"), "TOTALORDER");
	if (mirrors(m, op->operand[0], op->operand[1])) {
		key->value = op->operand[0];
		key->descending = greater;
		return true;
	}
	key->value = op->operand[1];
	key->descending = less;
	return mirrors(m, op->operand[1], op->operand[0]);
}

/* compare EQ of the pair that the key is of. */
static bool
is_equality(struct match *m, const struct mlir_value *v, const struct comparator_key *key)
{
	const struct mlir_op *op = op_of(m, v, "stablehlo.compare", 2);

	if (!op || strcmp(word(op, "comparison_direction"), "EQ"))
		return false;
	for (int i = 0; i < 2; i++)
		if (op->operand[i] == key->value)
			return mirrors(m, op->operand[i], op->operand[1 - i]);
	return false;
}

/* v = or(compare, and(equal, rest)), in any order of operands: the key, and the rest. */
static const struct mlir_value *
read_level(struct match *m, const struct mlir_value *v, struct comparator_key *key)
{
	const struct mlir_op *either = op_of(m, v, "stablehlo.or", 2);

	for (int i = 0; either && i < 2; i++) {
		const struct mlir_op *both = op_of(m, either->operand[1 - i], "stablehlo.and", 2);
		if (!both || !read_compare(m, either->operand[i], key))
			continue;
		for (int k = 0; k < 2; k++)
			if (is_equality(m, both->operand[k], key))
				return both->operand[1 - k];
	}
	return NULL;
}

int
comparator_keys(const struct mlir_block *region, struct comparator_key key[COMPARATOR_MAX_KEYS])
{
	struct match m = {.block = region, .steps = COMPARATOR_MAX_STEPS};
	const struct mlir_value *v = region->last->operand[0];

	for (int n = 0; n < COMPARATOR_MAX_KEYS && v; n++) {
		if (read_compare(&m, v, &key[n]))
			return n + 1;
		v = read_level(&m, v, &key[n]);
	}
	return 0;
}
