/* The table of the roles of ops in kernels, and its queries. The role of an op: role.c. */
#include "passes/fuse/fuse.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/numbering.h"
#include "ir/ops/alike.h"
#include "passes/fuse/role.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

/* An operand of an op; scalar constants are omitted. */
struct operand {
	uint32_t maker; /* op that computes it; NO_MAKER: not an op of the block */
	uint32_t value; /* its id */
	bool apart;     /* read at computed positions */
};

#define NO_MAKER IR_NO_NUMBER

struct fuse_table {
	uint32_t nops;
	struct fuse_role *role;  /* [nops] */
	uint32_t *first;         /* [nops + 1] operands of op i: first[i] to first[i + 1] - 1 */
	struct operand *operand; /* [first[nops]] */
	uint32_t *region;        /* [nops] barriers before op i */
	uint32_t *place;         /* [nops] number of the set of devices that compute op i */
};

/* ---- the table ---- */

static uint32_t
count_operands(const struct ir_numbering *ops)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ops->n; i++)
		n += ops->op[i]->noperands;
	return n;
}

static void
fill_operands(struct fuse_table *t, const struct ir_numbering *ops)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ops->n; i++) {
		const struct ir_op *op = ops->op[i];
		t->first[i] = n;
		for (int j = 0; j < op->noperands; j++) {
			const struct ir_value *v = ir_operand(op, j);
			if (fuse_is_scalar(v->op))
				continue;
			const uint32_t maker = v->op ? ir_number(ops, v->op) : NO_MAKER;
			const bool apart = t->role[i].apart >> (j & 15) & 1;
			t->operand[n++] = (struct operand){maker, v->id, apart};
		}
	}
	t->first[t->nops] = n;
}

/* Ops that are alike share a role. */
static void
fill_roles(struct fuse_table *t, const struct ir_module *m, const struct ir_numbering *ops,
	const struct alike *alike)
{
	void *scratch = alloc_scratch(NULL);
	struct fuse_role *role = ARRAY_NEW(scratch, struct fuse_role, alike->n);
	struct arena *a = arena_create(scratch);

	for (uint32_t i = 0; i < alike->n; i++) {
		role[i] = fuse_role(m, a, alike->first[i]);
		arena_reset(a);
	}
	for (uint32_t i = 0; i < t->nops; i++)
		t->role[i] = role[alike_number(alike, ops->op[i])];
	talloc_free(scratch);
}

/* Params, and values computed from a single param, are available from the start: a barrier of only
 * these keeps two gathers of a shard separate, and delays nothing. */
static bool
delays(const struct ir_op *barrier)
{
	for (int j = 0; j < barrier->noperands; j++) {
		const struct ir_op *op = ir_operand(barrier, j)->op;
		while (op && op_is(op, TRAIT_PURE) && op->noperands == 1)
			op = ir_operand(op, 0)->op;
		if (!op || !op_is(op, TRAIT_PERSISTENT))
			return true;
	}
	return false;
}

/* Ops between two barriers may be one kernel; a barrier belongs to the region before it. */
static void
fill_regions(struct fuse_table *t, const struct ir_numbering *ops)
{
	uint32_t barriers = 0;

	for (uint32_t i = 0; i < ops->n; i++) {
		t->region[i] = barriers;
		barriers += ops->op[i]->code == OP_barrier && delays(ops->op[i]);
	}
}

/* Numbers the sets of devices that hold results, in order of occurrence: one per stage of a
 * pipeline. */
static void
fill_places(struct fuse_table *t, const struct ir_module *m, const struct ir_numbering *ops)
{
	struct VEC(const struct ir_type *) type = {0};
	void *scratch = alloc_scratch(NULL);

	for (uint32_t i = 0; i < ops->n; i++) {
		const struct ir_op *op = ops->op[i];
		int64_t place = 0;
		while (op->nresults && place < type.n &&
			!ir_type_same_devices(m, type.at[place], op->result[0].type))
			place++;
		if (op->nresults && place == type.n)
			VEC_PUSH(scratch, &type, op->result[0].type);
		t->place[i] = (uint32_t)place;
	}
	talloc_free(scratch);
}

struct fuse_table *
fuse_table_create(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct alike *alike)
{
	struct fuse_table *t = NEW(owner, struct fuse_table);
	struct ir_numbering *ops = ir_numbering_create(t, m, b);
	t->nops = ops->n;
	t->role = ARRAY_NEW(t, struct fuse_role, t->nops + 1u);
	t->first = ARRAY_NEW(t, uint32_t, t->nops + 1u);
	t->operand = ARRAY_NEW(t, struct operand, count_operands(ops) + 1u);
	fill_roles(t, m, ops, alike);
	t->region = ARRAY_NEW(t, uint32_t, t->nops + 1u);
	fill_operands(t, ops);
	fill_regions(t, ops);
	t->place = ARRAY_NEW(t, uint32_t, t->nops + 1u);
	fill_places(t, m, ops);
	talloc_free(ops);
	return t;
}

bool
fuse_may(const struct fuse_table *t, uint32_t op)
{
	assert(op < t->nops);
	return t->role[op].kind != FUSE_NONE;
}

void
fuse_table_exclude(struct fuse_table *t, uint32_t op)
{
	assert(op < t->nops);
	t->role[op].kind = FUSE_NONE;
}

const struct fuse_role *
fuse_table_role(const struct fuse_table *t, uint32_t op)
{
	assert(op < t->nops);
	return &t->role[op];
}

uint32_t
fuse_product(const struct fuse_table *t, const uint32_t *op, uint32_t n)
{
	uint32_t product = 0;

	while (product < n && t->role[op[product]].kind != FUSE_STARTS)
		product++;
	return product;
}

const char *
fuse_verdict_text(enum fuse_verdict v)
{
	static const char *const text[] = {
		[FUSE_POSSIBLE] = "they can be fused",
		[FUSE_NO_KERNEL] = "one of them is never fused with other ops",
		[FUSE_BARRIER] =
			"a barrier stands between them, across which a kernel would keep what it "
			"reads",
		[FUSE_PLACES] = "other devices compute one of them",
		[FUSE_SPACES] = "their iteration spaces differ",
		[FUSE_AFTER_SUM] =
			"one reads a reduction that is complete only at the end of the kernel",
		[FUSE_POSITIONS] = "one reads the other's result at positions of its "
				   "own, so it has to be in memory",
		[FUSE_PRODUCT] = "a product must come first in its kernel, and "
				 "all later ops must use its result",
		[FUSE_OPS] = "a kernel has at most 64 ops",
		[FUSE_OPERANDS] = "a kernel has at most 24 operands",
		[FUSE_SUMS] = "a kernel has at most 8 reductions that are only outputs",
	};
	_Static_assert(sizeof text / sizeof *text == FUSE_NVERDICTS, "a text for each");
	_Static_assert(FUSE_MAX_OPS == 64 && FUSE_MAX_OPERANDS == 24 && FUSE_MAX_SUMS == 8,
		"as the texts say");
	return text[v];
}

/* ---- a set of ops ---- */

struct set {
	const struct fuse_table *t;
	const uint32_t *op; /* ascending */
	uint32_t n;
	uint64_t bits; /* op % 64 of each: quickly rejects most ops that are not in it */
	bool across;   /* barriers do not matter */
};

static bool
has(const struct set *s, uint32_t op)
{
	uint32_t low = 0, high = s->n;

	if (!(s->bits >> (op & 63) & 1))
		return false;
	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		if (s->op[middle] < op)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->op[low] == op;
}

static bool
is_prefix(const struct fuse_role *r, const struct fuse_role *of)
{
	return r->rank <= of->rank && !memcmp(r->space, of->space, r->rank * sizeof *r->space);
}

/* Roles and spaces; no op has to be checked together with its operands. */
static enum fuse_verdict
check_roles(struct set *s)
{
	const struct fuse_role *role = s->t->role, *widest = &role[s->op[0]], *product = NULL;
	uint32_t sums = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct fuse_role *r = &role[s->op[i]];
		assert(s->op[i] < s->t->nops && (i == 0 || s->op[i - 1] < s->op[i]));
		if (r->kind == FUSE_NONE)
			return FUSE_NO_KERNEL;
		if (!s->across && s->t->region[s->op[i]] != s->t->region[s->op[0]])
			return FUSE_BARRIER;
		if (s->t->place[s->op[i]] != s->t->place[s->op[0]])
			return FUSE_PLACES;
		if (r->kind == FUSE_STARTS && product)
			return FUSE_PRODUCT;
		if (r->kind == FUSE_STARTS)
			product = r;
		sums += r->kind == FUSE_LAST;
		widest = r->rank > widest->rank ? r : widest;
		s->bits |= UINT64_C(1) << (s->op[i] & 63);
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (!is_prefix(&role[s->op[i]], widest))
			return FUSE_SPACES;
	if (product && product->rank < widest->rank)
		return FUSE_PRODUCT;
	return sums > FUSE_MAX_SUMS ? FUSE_SUMS : FUSE_POSSIBLE;
}

/* A value that is read from the set must be complete when it is read. */
static enum fuse_verdict
check_inside(const struct set *s, uint32_t reader, const struct operand *o)
{
	if (o->apart)
		return FUSE_POSITIONS;
	if (s->t->role[o->maker].kind == FUSE_LAST)
		return FUSE_AFTER_SUM;
	return s->t->role[reader].kind == FUSE_STARTS ? FUSE_PRODUCT : FUSE_POSSIBLE;
}

static enum fuse_verdict
check_operands(const struct set *s)
{
	uint32_t seen[FUSE_MAX_OPERANDS], n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t reader = s->op[i];
		for (uint32_t k = s->t->first[reader]; k < s->t->first[reader + 1]; k++) {
			const struct operand *o = &s->t->operand[k];
			if (o->maker != NO_MAKER && has(s, o->maker)) {
				const enum fuse_verdict v = check_inside(s, reader, o);
				if (v != FUSE_POSSIBLE)
					return v;
				continue;
			}
			uint32_t at = 0;
			while (at < n && seen[at] != o->value)
				at++;
			if (at == FUSE_MAX_OPERANDS)
				return FUSE_OPERANDS;
			if (at == n)
				seen[n++] = o->value;
		}
	}
	return FUSE_POSSIBLE;
}

enum fuse_verdict
fuse_check(const struct fuse_table *t, const uint32_t *op, uint32_t n, bool across)
{
	struct set s = {.t = t, .op = op, .n = n, .across = across};

	if (n <= 1)
		return FUSE_POSSIBLE;
	if (n > FUSE_MAX_OPS)
		return FUSE_OPS;
	const enum fuse_verdict v = check_roles(&s);
	return v == FUSE_POSSIBLE ? check_operands(&s) : v;
}
