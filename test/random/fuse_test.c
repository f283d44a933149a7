/*
 * Random sets of ops of random programs: a set that fuse_check accepts as one kernel verifies as a
 * fuse, means the same as the ops, is compiled, and computes the interpreter's results; split into
 * ops again it means the same. test/lower/cuda/random_fuse_test.c is the same for kernels of the
 * cuda target.
 */
#include "ir/numbering.h"
#include "ir/ops/alike.h"
#include "passes/fuse/fuse.h"
#include "runtime/kernel/rng.h"
#include "test/lower/program.h"
#include "test/random/check.h"

enum {
	COUNT = 400,
	SANITIZED_COUNT = 20, /* compilers are many times slower there */
	STEPS = 30,
	AT_ONCE = 50,
	SETS = 6,     /* drawn in each program, one after the other */
	TRIES = 25,   /* ops drawn for each set */
	MOST_OPS = 9, /* of a set; random programs are small */
};

static void
options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 3 != 0;
	o->program = true;
	o->wide = seed % 5 != 0;
	o->padded = seed % 6 == 5;
}

static const struct trial_test programs = {
	.count = COUNT, .steps = STEPS, .options = options, .check = NULL};

struct draw {
	uint64_t state;
	struct ir_numbering *ops;
	struct ir_op **op; /* by number */
	uint32_t nops;
	bool *behind; /* by number: reads from the set, perhaps indirectly, and is not in it */
	struct fuse_table *table;
	uint32_t set[MOST_OPS], n; /* ascending */
};

static uint32_t
below(struct draw *d, uint32_t n)
{
	d->state += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(rt_mix64(d->state) % n);
}

static bool
has(const struct draw *d, uint32_t op)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->set[i] == op)
			return true;
	return false;
}

/* Marks ops outside of the set that read from it, perhaps indirectly; false: one of them is read by
 * the set. */
static bool
mark_behind(struct draw *d)
{
	for (uint32_t i = 0; i < d->nops; i++) {
		bool from_set = false, behind = false;
		for (int j = 0; j < d->op[i]->noperands; j++) {
			const struct ir_op *maker = ir_operand(d->op[i], j)->op;
			from_set |= has(d, ir_number(d->ops, maker));
			behind |= d->behind[ir_number(d->ops, maker)];
		}
		if (has(d, i) && behind)
			return false;
		d->behind[i] = !has(d, i) && (from_set || behind);
	}
	return true;
}

static void
insert(struct draw *d, uint32_t op)
{
	uint32_t at = d->n++;
	for (; at > 0 && d->set[at - 1] > op; at--)
		d->set[at] = d->set[at - 1];
	d->set[at] = op;
}

/* An op for the set: mostly one that reads from it or is read by it. */
static uint32_t
draw_op(struct draw *d)
{
	const struct ir_op *from = d->n ? d->op[d->set[below(d, d->n)]] : NULL;
	if (from && below(d, 4) && from->noperands && below(d, 2))
		return ir_number(d->ops, ir_operand(from, (int)below(d, from->noperands))->op);
	if (from && below(d, 4) && from->result[0].uses)
		return ir_number(d->ops, from->result[0].uses->op);
	return below(d, d->nops);
}

static void
draw_set(struct draw *d)
{
	const uint32_t most = 2 + below(d, MOST_OPS - 1);
	d->n = 0;
	for (int i = 0; i < TRIES && d->n < most; i++) {
		const struct draw before = *d;
		const uint32_t op = draw_op(d);
		if (!fuse_may(d->table, op) || has(d, op))
			continue;
		insert(d, op);
		if (fuse_check(d->table, d->set, d->n, false) == FUSE_POSSIBLE && mark_behind(d))
			continue;
		memcpy(d->set, before.set, sizeof d->set);
		d->n = before.n;
	}
}

/* Replaces the set by a fuse at the position of its last op; ops that read from it move after the
 * fuse. */
static void
fuse_set(struct draw *d, struct ir_module *m)
{
	struct ir_op *op[MOST_OPS];
	bool out[MOST_OPS], any = false;
	mark_behind(d);
	for (uint32_t i = 0; i < d->n; i++) {
		op[i] = d->op[d->set[i]];
		out[i] = false;
		IR_FOR_USES (u, &op[i]->result[0])
			out[i] |= !has(d, ir_number(d->ops, u->op));
		any |= out[i];
	}
	if (!any)
		return;
	struct ir_op *fuse = fuse_make(m, op, d->n, out, FUSE_LOOK), *at = fuse;
	ir_insert_after(op[d->n - 1], fuse);
	for (uint32_t i = d->set[0]; i < d->set[d->n - 1]; i++)
		if (d->behind[i]) {
			ir_op_unlink(d->op[i]);
			ir_insert_after(at, d->op[i]);
			at = d->op[i];
		}
	for (uint32_t i = 0, r = 0; i < d->n; i++)
		if (out[i])
			ir_replace_uses(&op[i]->result[0], &fuse->result[r++]);
	for (uint32_t i = d->n; i-- > 0;)
		ir_op_erase(op[i]);
}

/* Fuses random sets of m; returns their number. */
static int
fuse_some(struct trial *t, struct ir_module *m, uint64_t seed)
{
	struct ir_block *b = &ir_func_find(m, "main")->body;
	struct draw d = {.state = seed};
	int made = 0;
	for (int i = 0; i < SETS; i++) {
		d.ops = ir_numbering_create(t, m, b);
		d.op = d.ops->op;
		d.nops = d.ops->n;
		d.behind = talloc_zero_array(t, bool, d.nops + 1);
		d.table = fuse_table_create(t, m, b, alike_create(t, m, b));
		draw_set(&d);
		if (d.n > 1) {
			fuse_set(&d, m);
			made++;
		}
	}
	return made;
}

static void
undo_all(struct ir_module *m)
{
	IR_FOR_OPS_SAFE (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_fuse)
			assert_true(fuse_undo(m, op) > 0);
}

/* The fused program, or NULL: it is wrong, as described in t->text. */
static struct ir_module *
fused(struct trial *t, uint64_t seed, int *made)
{
	struct ir_module *before = trial_module(t, &programs, seed),
			 *after = ir_module_clone(t, before);
	*made = fuse_some(t, after, seed);
	if (!ir_verify(after) || !trial_is_fixed_point(t, after) ||
		!interp_check_modules(before, after, NULL))
		return NULL;
	struct ir_module *undone = ir_module_clone(t, after);
	undo_all(undone);
	return ir_verify(undone) && interp_check_modules(before, undone, NULL) ? after : NULL;
}

static void
check_range(const struct gen_table *table, uint64_t first, int count, int *made)
{
	struct batch *b = batch_create();
	struct trial *t[AT_ONCE];
	b->steps = 2;
	for (int k = 0; k < count; k++) {
		int sets = 0;
		random_try(first + (uint64_t)k, 1);
		t[k] = trial_create(NULL, table);
		struct ir_module *m = fused(t[k], first + (uint64_t)k, &sets);
		if (!m)
			fail_msg("seed %llu: %s", (unsigned long long)first + k, t[k]->text);
		*made += sets;
		if (sets &&
			!batch_try_module(b,
				talloc_asprintf(b, "seed %llu", (unsigned long long)first + k), m))
			fail_msg("seed %llu is not lowered: %s", (unsigned long long)first + k,
				t[k]->text);
	}
	random_try(first, count);
	assert_true(batch_try_build(b, "-O0"));
	for (int i = 0; i < b->n; i++) {
		const char *wrong = program_difference(b, i);
		if (wrong)
			fail_msg("%s: %s", b->program[i].what, wrong);
	}
	batch_end(b);
	for (int k = 0; k < count; k++)
		talloc_free(t[k]);
}

static void
what_is_possible_compiles_and_means_the_same(void **state)
{
	(void)state;
	const struct gen_table *table = gen_table_create(NULL);
	struct random_seeds range[RANDOM_RANGES];
	int count = 0, made = 0;
	random_seeds(SANITIZED ? SANITIZED_COUNT : COUNT, range);
	for (int r = 0; r < RANDOM_RANGES; count += range[r++].count)
		for (int k = 0; k < range[r].count; k += AT_ONCE)
			check_range(table, range[r].first + (uint64_t)k,
				range[r].count - k < AT_ONCE ? range[r].count - k : AT_ONCE, &made);
	printf("%d programs, %d kernels\n", count, made);
	assert_true(made >= count);
	talloc_free((void *)table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_possible_compiles_and_means_the_same)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
