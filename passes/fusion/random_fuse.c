/*
 * random-fuse: kernels at random. Draws the kernels that opfuse and the searches could form without
 * judging them, so that kernels of all kinds can be measured and an estimator trained on them
 * (DisCo, section 4.3):
 *
 *     dopt -pass=grad,sgd,random-fuse -seed=1 -measure -profile=FILE model.dir
 *
 * Two kernels, each of one op at first, become one if what passes/fuse/fuse.h says of all their ops
 * allows it and no path leads from them through others back into them. Which two is drawn: an op,
 * and then one that it reads, or that reads it, or that reads the same as it. How often that is
 * tried is drawn too, so that steps range from almost apart to almost fused.
 *
 * Right because a fuse computes what its body computes.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/sort.h"
#include "ir/numbering.h"
#include "ir/ops/alike.h"
#include "passes/fuse/apart.h"
#include "passes/fuse/fuse.h"
#include "passes/pass.h"

#include <string.h>
#include <talloc.h>

/* Two kernels that read the same mask may be far apart in the step: they are left alone. */
enum { FAR = 200 /* nodes */ };

struct group {
	uint32_t *op; /* ascending */
	uint32_t n;
};

struct sampler {
	struct pass_run *run;
	struct ir_module *m;
	struct fuse_table *table;
	struct ir_numbering *ops;
	struct ir_op **op; /* [n] by number */
	uint32_t n;
	struct group **group; /* [n] of each op */
	/* Uses of the first result of op i: reader[first[i]] ... reader[first[i + 1] - 1]. */
	uint32_t *first;
	struct ir_op **reader;
	struct apart *order;
	uint64_t state;
};

static uint32_t
below(struct sampler *s, uint32_t n)
{
	return mix64_below(&s->state, n);
}

static uint32_t
number_of(const struct sampler *s, const struct ir_op *op)
{
	return ir_number(s->ops, op);
}

/* The kernel that an op is in; NULL: it was not in the block at the start. */
static struct group *
group_of(const struct sampler *s, const struct ir_op *op)
{
	const uint32_t number = op ? number_of(s, op) : IR_NO_NUMBER;

	return number == IR_NO_NUMBER ? NULL : s->group[number];
}

/* A random op of the block that makes an operand of op; NULL: none. */
static struct ir_op *
some_maker(struct sampler *s, const struct ir_op *op)
{
	if (!op->noperands)
		return NULL;
	return ir_operand(op, (int)below(s, op->noperands))->op;
}

/* A random op that reads the result of op; NULL: none. */
static struct ir_op *
some_reader(struct sampler *s, const struct ir_op *op)
{
	if (!op)
		return NULL;
	const uint32_t number = number_of(s, op), first = s->first[number],
		       n = s->first[number + 1] - first;
	return n ? s->reader[first + below(s, n)] : NULL;
}

static const struct ir_op *
some_neighbour(struct sampler *s, const struct ir_op *op)
{
	switch (below(s, 5)) {
	case 0: return some_reader(s, some_maker(s, op)); /* a sibling */
	case 1:
	case 2: return some_reader(s, op);
	default: return some_maker(s, op);
	}
}

static struct group *
both_of(struct sampler *s, const struct group *a, const struct group *b)
{
	struct group *g = NEW(s->run->scratch, struct group);

	g->n = a->n + b->n;
	g->op = NEW_ARRAY(g, uint32_t, g->n);
	memcpy(g->op, a->op, a->n * sizeof *a->op);
	memcpy(g->op + a->n, b->op, b->n * sizeof *b->op);
	sort_uint32(g->op, g->n);
	return g;
}

/* ---- reads between groups: a group is named by its first op ---- */

static bool
visit_uses(const struct sampler *s, const struct group *g, const struct ir_value *v,
	apart_visit *visit, void *to)
{
	IR_FOR_USES (use, v) {
		const struct group *in = group_of(s, use->op);
		if (in != g && visit(to, in->op[0]))
			return true;
	}
	return false;
}

static bool
visit_readers(void *data, uint32_t node, apart_visit *visit, void *to)
{
	const struct sampler *s = data;
	const struct group *g = s->group[node];

	for (uint32_t i = 0; i < g->n && g->op[0] == node; i++)
		for (int r = 0; r < s->op[g->op[i]]->nresults; r++)
			if (visit_uses(s, g, &s->op[g->op[i]]->result[r], visit, to))
				return true;
	return false;
}

static bool
visit_operands(void *data, uint32_t node, apart_visit *visit, void *to)
{
	const struct sampler *s = data;
	const struct group *g = s->group[node];

	for (uint32_t i = 0; i < g->n && g->op[0] == node; i++) {
		const struct ir_op *op = s->op[g->op[i]];
		for (int j = 0; j < op->noperands; j++) {
			const struct group *from = group_of(s, ir_operand(op, j)->op);
			if (from && from != g && visit(to, from->op[0]))
				return true;
		}
	}
	return false;
}

static void
try_one(struct sampler *s)
{
	const uint32_t i = below(s, s->n);
	const struct ir_op *other = fuse_may(s->table, i) ? some_neighbour(s, s->op[i]) : NULL;

	if (!other || !fuse_may(s->table, number_of(s, other)))
		return;
	struct group *a = s->group[i], *b = group_of(s, other);
	if (a == b)
		return;
	struct group *g = both_of(s, a, b);
	const bool a_first = a->op[0] < b->op[0];
	if (fuse_check(s->table, g->op, g->n, false) != FUSE_POSSIBLE ||
		!apart_join(s->order, (a_first ? b : a)->op[0], (a_first ? a : b)->op[0])) {
		talloc_free(g);
		return;
	}
	for (uint32_t k = 0; k < g->n; k++)
		s->group[g->op[k]] = g;
	talloc_free(a);
	talloc_free(b);
}

/* --- groups become fuses --- */

static bool
is_read_outside(const struct sampler *s, const struct group *g, const struct ir_op *op)
{
	IR_FOR_USES (use, &op->result[0])
		if (group_of(s, use->op) != g)
			return true;
	return false;
}

static void
make_fuse(struct sampler *s, const struct group *g)
{
	struct ir_op **op = NEW_ARRAY(s->run->scratch, struct ir_op *, g->n);
	bool *out = NEW_ARRAY(op, bool, g->n), any = false;
	int r = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		op[i] = s->op[g->op[i]];
		any |= out[i] = is_read_outside(s, g, op[i]);
	}
	if (!any)
		return; /* dead */
	struct ir_op *fuse = fuse_make(s->m, op, g->n, out, fuse_product(s->table, g->op, g->n));
	ir_insert_after(op[g->n - 1], fuse);
	for (uint32_t i = 0; i < g->n; i++)
		if (out[i])
			ir_replace_uses(&op[i]->result[0], &fuse->result[r++]);
	for (uint32_t i = g->n; i > 0; i--)
		ir_op_erase(op[i - 1]);
	pass_count(s->run, "op(s) fused", g->n);
	pass_count(s->run, "kernel(s)", 1);
	talloc_free(op);
}

/* Moves the operands of `op`, and theirs in turn, before `at`, unless they are there already: a
 * reader of one op of a fuse may have preceded the fuse's last op. done: by op->id. */
static void
pull_up(bool *done, struct ir_op *op, struct ir_op *at)
{
	done[op->id] = true;
	for (int j = 0; j < op->noperands; j++) {
		struct ir_op *maker = ir_operand(op, j)->op;
		if (!maker || done[maker->id])
			continue;
		pull_up(done, maker, at);
		ir_op_unlink(maker);
		ir_insert_before(at, maker);
	}
}

static void
order_block(const struct sampler *s, struct ir_block *b)
{
	bool *done = ARRAY_ZERO(s->run->scratch, bool, s->m->op_ids);

	IR_FOR_OPS (op, b)
		if (!done[op->id])
			pull_up(done, op, op);
}

/* The op of the block that makes an operand as its first result; s->n: none. */
static uint32_t
maker_of(const struct sampler *s, const struct ir_op *op, int j)
{
	const struct ir_value *v = ir_operand(op, j);
	const uint32_t i = v->op && v->index == 0 ? ir_number(s->ops, v->op) : IR_NO_NUMBER;

	return i == IR_NO_NUMBER ? s->n : i;
}

/* Siblings are taken in block order, as the order of uses depends on earlier passes. */
static void
list_readers(struct sampler *s)
{
	uint32_t *at = ARRAY_ZERO(s->run->scratch, uint32_t, s->n + 2u), n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		for (int j = 0; j < s->op[i]->noperands; j++)
			at[maker_of(s, s->op[i], j)]++;
	s->first = ARRAY_NEW(s->run->scratch, uint32_t, s->n + 2u);
	for (uint32_t i = 0; i <= s->n; i++) {
		s->first[i] = n;
		n += at[i];
		at[i] = s->first[i];
	}
	s->reader = ARRAY_NEW(s->run->scratch, struct ir_op *, n);
	for (uint32_t i = 0; i < s->n; i++)
		for (int j = 0; j < s->op[i]->noperands; j++)
			s->reader[at[maker_of(s, s->op[i], j)]++] = s->op[i];
}

static void
set_up(struct sampler *s, struct ir_block *b)
{
	s->ops = ir_numbering_create(s->run->scratch, s->m, b);
	s->n = s->ops->n;
	s->op = s->ops->op;
	struct alike *alike = alike_create(NULL, s->m, b);
	s->table = fuse_table_create(s->run->scratch, s->m, b, alike);
	talloc_free(alike);
	s->group = ARRAY_NEW(s->run->scratch, struct group *, s->n + 1u);
	for (uint32_t i = 0; i < s->n; i++) {
		struct group *g = NEW(s->run->scratch, struct group);
		g->n = 1;
		g->op = NEW_ARRAY(g, uint32_t, 1);
		g->op[0] = i;
		s->group[i] = g;
	}
	list_readers(s);
	s->order = apart_create(s->run->scratch, s->n,
		&(struct apart_graph){s, visit_readers, visit_operands, FAR});
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct sampler s = {.run = run, .m = m, .state = run->seed};
	struct ir_block *b = &ir_func_find(m, "main")->body;

	set_up(&s, b);
	const uint32_t most = (uint32_t)(pass_float(run, "tries") * s.n) + 1;
	for (uint32_t tries = s.n ? 1 + below(&s, most) : 0; tries > 0; tries--)
		try_one(&s);
	for (uint32_t i = 0; i < s.n; i++)
		if (s.group[i]->n > 1 && s.group[i]->op[0] == i)
			make_fuse(&s, s.group[i]);
	order_block(&s, b);
	return true;
}

static const struct pass_option options[] = {
	{"tries", PASS_FLOAT, "4",
		"number of random pairs of kernels to try, as a multiple of the number of ops",
		NULL, 0, 1000},
	{0},
};

const struct pass pass_random_fuse = {
	.name = "random-fuse",
	.family = "fusion",
	.summary = "fuse ops at random, to measure kernels for an estimator",
	.options = options,
	.needs = "no-calls",
	.provides = "fused",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
