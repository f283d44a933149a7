/*
 * Symmetry (dPRO, section 5.3): models repeat blocks, such as the layers of a transformer, and a
 * decision for one of them holds for the others. The paper does not say how blocks are found. Here
 * two ops are alike if they have the same key (cost_op_key) and their neighbourhoods are alike: the
 * ops that they read and their readers, up to RADIUS steps away. That leaves out the first and the
 * last block, whose neighbours differ. Two nodes are alike if their ops are. The first decision of
 * an iteration for two nodes counts for all pairs like them.
 *
 * The numbers are hashes of 64 bits: the chance that two different ops of a million collide is 1 in
 * 37 million, and the harm is a decision made for another pair.
 */
#include "passes/search/papers/dpro.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

enum { RADIUS = 2 };

struct entry {
	uint64_t what;
	uint32_t value;
};

struct entries VEC(struct entry);

struct dpro_alike {
	uint64_t *op; /* [plan_ops] */
	struct map map;
	struct entries entry;
};

uint64_t
dpro_alike_mix(const uint64_t *class, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = mix64(hash ^ mix64(class[i]));
	return hash;
}

/* --- ops --- */

/* The hash of an op itself: its key or, if it does no work, its name in the table and its types. */
static uint64_t
hash_op(const struct ir_op *op)
{
	char *key = cost_op_key(NULL, op->block->func->module, op);
	uint64_t hash = mix64(op->code);

	if (key)
		hash = mix_bytes(hash, key, strlen(key));
	for (int i = 0; !key && i < op->nresults; i++) {
		const struct ir_type *t = op->result[i].type;
		hash = mix64(hash ^ t->dtype);
		for (int k = 0; k < t->rank; k++)
			hash = mix64(hash ^ (uint64_t)t->dim[k]);
	}
	talloc_free(key);
	return mix64(hash);
}

static uint64_t
hash_around(const struct plan *p, uint32_t number, const uint64_t *hash)
{
	const struct ir_op *op = plan_op(p, number);
	uint64_t h = hash[number], readers = 0;

	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *from = ir_operand(op, i)->op;
		h = mix64(h ^ mix64(from ? hash[plan_number(p, from)] : 0));
	}
	/* The sum does not depend on the order of readers, which may differ between blocks. */
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i])
			readers +=
				mix64(hash[plan_number(p, u->op)] ^ (uint64_t)(u - u->op->operand));
	return mix64(h ^ readers);
}

static void
hash_ops(struct dpro_alike *a, const struct plan *p)
{
	uint32_t n = plan_ops(p);
	uint64_t *next = NEW_ARRAY(a, uint64_t, n);

	a->op = NEW_ARRAY(a, uint64_t, n);
	for (uint32_t i = 0; i < n; i++)
		a->op[i] = hash_op(plan_op(p, i));
	for (int round = 0; round < RADIUS; round++) {
		for (uint32_t i = 0; i < n; i++)
			next[i] = hash_around(p, i, a->op);
		memcpy(a->op, next, n * sizeof *next);
	}
	talloc_free(next);
}

struct dpro_alike *
dpro_alike_create(const void *owner, const struct plan *p)
{
	struct dpro_alike *a = NEW(owner, struct dpro_alike);

	hash_ops(a, p);
	return a;
}

uint64_t
dpro_alike_class(const struct dpro_alike *a, const struct plan *p, uint32_t node)
{
	if (!a || node == PLAN_NONE)
		return 0;
	struct plan_node it = plan_node(p, node);
	uint64_t hash = mix64(it.nops);
	for (uint32_t i = 0; i < it.nops; i++)
		hash = mix64(hash ^ a->op[PLAN_OP_OF(it.op[i])]);
	return hash;
}

/* --- what was decided --- */

MAP_SAME(same_entry, struct entries, uint64_t, list->at[i].what == *key)

bool
dpro_alike_find(const struct dpro_alike *a, uint64_t what, uint32_t *value)
{
	if (!a)
		return false;
	const uint32_t i = map_find(&a->map, what, same_entry, &a->entry, &what);
	if (i == MAP_NONE)
		return false;
	*value = a->entry.at[i].value;
	return true;
}

void
dpro_alike_set(struct dpro_alike *a, uint64_t what, uint32_t value)
{
	if (!a)
		return;
	const uint32_t i = map_add(a, &a->map, what, same_entry, &a->entry, &what);
	if (i == a->entry.n)
		VEC_PUSH(a, &a->entry, (struct entry){what, value});
	else
		a->entry.at[i].value = value;
}

void
dpro_alike_forget(struct dpro_alike *a)
{
	if (!a)
		return;
	map_clear(&a->map);
	a->entry.n = 0;
}
