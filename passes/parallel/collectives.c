#include "passes/parallel/collectives.h"

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <talloc.h>

bool
collectives_fusible(const struct ir_op *a, const struct ir_op *b)
{
	return a->code == b->code && ir_attrs_equal(a, b) &&
	       ir_type_same_devices(a->block->func->module, a->result[0].type, b->result[0].type) &&
	       ir_operand_type(a, 0)->dtype == ir_operand_type(b, 0)->dtype;
}

/* The members, and the ops of the block that depend on them, found so far. */
struct group {
	void *scratch;
	struct map map; /* of the ops in `list` */
	struct VEC(struct ir_op *) list;
	struct VEC(struct ir_op *) follower; /* those ops of the list that are not members */
	int64_t between;                     /* how many followers precede the last member */
};

MAP_SAME(same_op, struct ir_op *, struct ir_op, list[i] == key)

static bool
has(const struct group *g, const struct ir_op *op)
{
	return map_find(&g->map, mix_pointer(op), same_op, g->list.at, op) != MAP_NONE;
}

static void
add(struct group *g, struct ir_op *op)
{
	map_add(g->scratch, &g->map, mix_pointer(op), same_op, g->list.at, op);
	VEC_PUSH(g->scratch, &g->list, op);
}

/* Does the op depend on the group? A release is after all others that read its value. */
static bool
depends(const struct group *g, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *v = ir_operand(op, i);
		if (v->op && has(g, v->op))
			return true;
		if (op->code == OP_release)
			IR_FOR_USES (use, v)
				if (use->op != op && has(g, use->op))
					return true;
	}
	return false;
}

/* How many of the first members are independent of each other. Records the ops that depend on
 * them. */
static uint32_t
count_independent(struct group *g, struct ir_op *const *member, uint32_t n)
{
	uint32_t k = 1;

	add(g, member[0]);
	for (struct ir_op *op = member[0]->next; op && k < n; op = op->next) {
		const bool follows = depends(g, op), is_member = op == member[k];
		if (follows && is_member)
			break;
		if (follows || is_member)
			add(g, op);
		if (follows)
			VEC_PUSH(g->scratch, &g->follower, op);
		if (is_member) {
			g->between = g->follower.n;
			k++;
		}
	}
	return k;
}

/* One op with the operands of all members, in the place of the last member. */
static struct ir_op *
make_one(const void *scratch, struct ir_module *m, struct ir_op **member, uint32_t n)
{
	struct ir_op *last = member[n - 1];
	int total = 0, at = 0;

	for (uint32_t i = 0; i < n; i++)
		total += member[i]->noperands;
	struct ir_value **operand = ARRAY_NEW(scratch, struct ir_value *, total);
	total = 0;
	for (uint32_t i = 0; i < n; i++)
		for (int j = 0; j < member[i]->noperands; j++)
			operand[total++] = ir_operand(member[i], j);
	struct ir_op *one = ir_op_create(m, (enum op_code)last->code, last->loc, operand, total,
		last->attr, last->nattrs, total);
	ir_insert_before(last, one);
	for (uint32_t i = 0; i < n; i++)
		for (int j = 0; j < member[i]->nresults; j++, at++) {
			struct ir_value *old = &member[i]->result[j];
			one->result[at].type = old->type;
			one->result[at].name = old->name;
			ir_replace_uses(old, &one->result[at]);
		}
	for (uint32_t i = 0; i < n; i++)
		ir_op_erase(member[i]);
	return one;
}

/* Fuses the first members, up to the first that depends on another one; returns how many. */
static uint32_t
fuse_first(struct ir_module *m, struct ir_op **member, uint32_t n, struct ir_op **one)
{
	struct group g = {.scratch = alloc_scratch(NULL)};
	const uint32_t k = count_independent(&g, member, n);

	*one = k > 1 ? make_one(g.scratch, m, member, k) : member[0];
	struct ir_op *at = *one;
	for (int64_t i = 0; i < g.between; i++) {
		ir_op_unlink(g.follower.at[i]);
		ir_insert_after(at, g.follower.at[i]);
		at = g.follower.at[i];
	}
	talloc_free(g.scratch);
	return k;
}

uint32_t
collectives_fuse(struct ir_module *m, struct ir_op **member, uint32_t n, struct ir_op **last)
{
	uint32_t fused = 0;

	for (uint32_t i = 0, k; i < n; i += k) {
		k = fuse_first(m, member + i, n - i, last);
		fused += k > 1 ? k : 0;
	}
	return fused;
}

/* Fuses the collectives of the same kind as the first op and removes them from the list; returns
 * how many are left in it. */
static uint32_t
fuse_kind(struct ir_module *m, struct ir_op **op, uint32_t n, uint32_t *fused)
{
	struct ir_op **member = ARRAY_NEW(NULL, struct ir_op *, n), *like = op[0], *last;
	uint32_t left = 0, noperands = 0, k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (collectives_fusible(like, op[i]) &&
			noperands + op[i]->noperands <= IR_MAX_LIST) {
			noperands += op[i]->noperands;
			member[k++] = op[i];
		} else {
			op[left++] = op[i];
		}
	*fused += collectives_fuse(m, member, k, &last);
	array_free(member);
	return left;
}

uint32_t
collectives_fuse_kinds(struct ir_module *m, struct ir_op **op, uint32_t n)
{
	uint32_t fused = 0;

	while (n)
		n = fuse_kind(m, op, n, &fused);
	return fused;
}
