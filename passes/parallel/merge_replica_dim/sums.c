/*
 * merge-replica-dim, first part: a sum over a batch and then over replicas becomes one sum over
 * both. Rewrites of a sum, by the op that makes its operand, if nothing else reads that operand:
 *
 *     sum(sum(x, A), B)                    sum(x, A and B)
 *     sum(contract(.. -> rkn), r)          contract(.. -> kn)        also of matmul
 *     sum(transpose(x, p), D)              transpose(sum(x, p[D]))
 *     sum(reshape(x), D)                   reshape(sum(x, D'))       if only dims of size 1 differ
 *     sum(x, D), D of size 1               reshape(x)
 *     what linear.c has
 *
 * The results are those of a sum in another order. Each rewrite moves a sum up by an op or takes
 * one away, so this ends.
 */
#include "ir/product.h"
#include "passes/parallel/merge_replica_dim/merge_replica_dim.h"

#include <string.h>

struct sums {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_builder b;
};

/* Erases an op without readers, and the ops that only it read, along first operands. */
static void
replica_drop(struct ir_op *op)
{
	while (op && op->block && op->nresults == 1 && !op->result[0].uses &&
		op_is(op, TRAIT_PURE)) {
		struct ir_op *from[FORM_MAX_INPUTS];
		const int n = op->noperands < FORM_MAX_INPUTS ? op->noperands : FORM_MAX_INPUTS;
		for (int i = 0; i < n; i++)
			from[i] = ir_operand(op, i)->op;
		ir_op_erase(op);
		for (int i = 1; i < n; i++) {
			bool seen = from[i] == from[0];
			for (int k = 1; k < i; k++)
				seen = seen || from[k] == from[i];
			if (!seen && from[i] && from[i]->block)
				replica_drop(from[i]);
		}
		op = n ? from[0] : NULL;
	}
}

/* The dims of a reduction as a set; all where none are given. */
static uint32_t
dims_of(const struct ir_op *op)
{
	const int rank = ir_operand_type(op, 0)->rank;
	int64_t dim[IR_MAX_RANK];
	uint32_t set = 0;
	const int n = ir_attr_ints(op, "dims", dim, IR_MAX_RANK);

	if (n < 0)
		return (1u << rank) - 1;
	for (int i = 0; i < n; i++)
		set |= 1u << (dim[i] < 0 ? dim[i] + rank : dim[i]);
	return set;
}

static struct ir_value *
build_sum(struct sums *s, struct ir_value *x, uint32_t dims)
{
	int64_t list[IR_MAX_RANK];
	int n = 0;

	for (int d = 0; d < IR_MAX_RANK; d++)
		if (dims >> d & 1)
			list[n++] = d;
	const struct ir_attr attr = ir_make_ints(s->m, "dims", list, n);
	return ir_build(&s->b, OP_sum, &x, 1, &attr, 1);
}

static struct ir_value *
build_reshape(struct sums *s, struct ir_value *x, const struct ir_type *like)
{
	const struct ir_attr attr = ir_make_ints(s->m, "shape", like->dim, like->rank);

	return x ? ir_build(&s->b, OP_reshape, &x, 1, &attr, 1) : NULL;
}

static struct ir_value *
sum_of_sum(struct sums *s, struct ir_op *op, struct ir_op *inner)
{
	const uint32_t first = dims_of(inner), second = dims_of(op);
	uint32_t all = first;
	int at = 0;

	if (ir_attr_int(inner, "keep", 0))
		return NULL;
	for (int d = 0; d < ir_operand_type(inner, 0)->rank; d++)
		if (!(first >> d & 1) && (second >> at++ & 1))
			all |= 1u << d;
	return build_sum(s, ir_operand(inner, 0), all);
}

static struct ir_value *
sum_of_product(struct sums *s, struct ir_op *op, struct ir_op *inner)
{
	const uint32_t dims = dims_of(op);
	struct product p;
	int n = 0;

	if (!product_read(s->m, inner, &p))
		return NULL;
	for (int d = 0; d < p.out_rank; d++)
		if (!(dims >> d & 1))
			p.out[n++] = p.out[d];
	p.out_rank = n;
	return product_build(&s->b, &p);
}

static struct ir_value *
sum_of_transpose(struct sums *s, struct ir_op *op, struct ir_op *inner)
{
	const uint32_t dims = dims_of(op);
	int64_t perm[IR_MAX_RANK], rest[IR_MAX_RANK];
	const int rank = transpose_order(inner, perm);
	uint32_t below = 0;
	int n = 0;

	for (int d = 0; d < rank; d++) {
		if (dims >> d & 1)
			below |= 1u << perm[d];
		else
			rest[n++] = perm[d];
	}
	for (int i = 0; i < n; i++) /* later dims move up */
		rest[i] -= __builtin_popcount(below & ((1u << rest[i]) - 1));
	struct ir_value *x = build_sum(s, ir_operand(inner, 0), below);
	const struct ir_attr attr = ir_make_ints(s->m, "perm", rest, n);
	return x ? ir_build(&s->b, OP_transpose, &x, 1, &attr, 1) : NULL;
}

/* Dims larger than 1 have the same order: those summed over are found below. */
static struct ir_value *
sum_of_reshape(struct sums *s, struct ir_op *op, struct ir_op *inner)
{
	const struct ir_type *from = ir_operand_type(inner, 0), *to = inner->result[0].type;
	const uint32_t dims = dims_of(op);
	uint32_t below = 0;
	int i = 0;

	if (dims == 1 && from->rank && to->rank && from->dim[0] == to->dim[0]) {
		struct ir_value *x = build_sum(s, ir_operand(inner, 0), 1);
		return build_reshape(s, x, op->result[0].type);
	}
	for (int d = 0; d < to->rank; d++) {
		if (to->dim[d] == 1)
			continue;
		while (i < from->rank && from->dim[i] == 1)
			i++;
		if (i == from->rank || from->dim[i] != to->dim[d])
			return NULL;
		if (dims >> d & 1)
			below |= 1u << i;
		i++;
	}
	return build_reshape(s, build_sum(s, ir_operand(inner, 0), below), op->result[0].type);
}

static bool
sums_ones(const struct ir_op *op)
{
	const uint32_t dims = dims_of(op);

	for (int d = 0; d < ir_operand_type(op, 0)->rank; d++)
		if ((dims >> d & 1) && ir_operand_type(op, 0)->dim[d] != 1)
			return false;
	return true;
}

static struct ir_value *
rewrite(struct sums *s, struct ir_op *op)
{
	struct ir_value *x = ir_operand(op, 0);
	struct ir_op *inner = x->op;

	if (ir_attr_int(op, "keep", 0))
		return NULL;
	if (sums_ones(op))
		return build_reshape(s, x, op->result[0].type);
	if (!inner || x->uses->next)
		return NULL;
	switch (inner->code) {
	case OP_sum: return sum_of_sum(s, op, inner);
	case OP_contract:
	case OP_matmul: return sum_of_product(s, op, inner);
	case OP_transpose: return sum_of_transpose(s, op, inner);
	case OP_reshape: return sum_of_reshape(s, op, inner);
	default: return replica_sum_of_linear(s->run, &s->b, op, inner);
	}
}

/* Is one of the dims split, so that replicas are summed over, or is there nothing to sum? */
static bool
is_wanted(const struct sums *s, const struct ir_op *op)
{
	const uint32_t dims = dims_of(op);
	const struct ir_type *t = ir_operand_type(op, 0);

	for (int a = 0; a < s->m->naxes; a++)
		if (t->axis[a].kind == IR_SPLIT && (dims >> t->axis[a].dim & 1) &&
			t->dim[t->axis[a].dim] == s->m->axis[a].size)
			return true;
	return sums_ones(op);
}

bool
replica_join_sums(struct pass_run *run, struct ir_module *m, struct ir_block *b)
{
	struct sums s = {.run = run, .m = m};
	struct ir_op *op = b->first;

	while (op) {
		struct ir_op *next = op->next, *prev = op->prev;
		const struct ir_op *sum;
		struct ir_value *v = NULL;
		s.b = (struct ir_builder){.m = m, .block = b, .before = op, .loc = op->loc};
		const bool before = diag_mute(m->ctx->diag, true);
		if (op->code == OP_sum && is_wanted(&s, op))
			v = rewrite(&s, op);
		else if (op->code == OP_allreduce)
			v = replica_sum_beside(&s.b, op, &sum);
		diag_mute(m->ctx->diag, before);
		if (!v || v->type != op->result[0].type) {
			while (op->prev != prev) /* unused */
				ir_op_erase(op->prev);
			op = next;
			continue;
		}
		pass_count(run, "sum(s) merged", 1);
		if (!v->name)
			v->name = op->result[0].name;
		ir_replace_uses(&op->result[0], v);
		/* The sums just made are looked at next: they may move further up. */
		struct ir_op *made = prev ? prev->next : b->first;
		const bool none = made == op;
		replica_drop(op);
		op = none ? next : made;
	}
	return true;
}
