/* Random programs: properties and reports. See check.h. */
#include "test/random/check.h"
#include "parser/dir/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { MOST_REPORTS = 5 };

static void
keep_messages(void *data, const struct diag_message *m)
{
	struct trial *t = data;
	if (t->keep)
		t->text = talloc_asprintf_append(
			t->text, "%s: %s\n", diag_level_name(m->level), m->text);
}

struct trial *
trial_create(const void *owner, const struct gen_table *table)
{
	struct trial *t = talloc_zero(owner, struct trial);
	t->table = table;
	t->ctx = ir_context_create(t);
	t->text = talloc_strdup(t, "");
	diag_set_handler(t->ctx->diag, keep_messages, t);
	return t;
}

/* The replacement of result i of a parallelization op without places: its operand; for a sum with
 * -0 replaced by +0. */
static struct ir_value *
erased(struct ir_module *m, struct ir_op *op, int i)
{
	struct ir_value *v = ir_operand(op, i);
	if (!op_is(op, TRAIT_SUMS) || ir_dtype_class((enum ir_dtype)v->type->dtype) != IR_FLOAT)
		return v;
	struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};
	return ir_build2(&b, OP_add, v, ir_build_scalar(&b, (enum ir_dtype)v->type->dtype, 0));
}

static void
erase_block(struct ir_module *m, struct ir_block *b)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		b->arg[i].type = ir_type_meaning(m->ctx, b->arg[i].type);
	IR_FOR_OPS_SAFE (op, b) {
		if (op->body)
			erase_block(m, op->body);
		for (int i = 0; i < op->nresults; i++)
			op->result[i].type = ir_type_meaning(m->ctx, op->result[i].type);
		if (!op_is(op, TRAIT_PARALLEL))
			continue;
		for (int i = 0; i < op->nresults; i++)
			ir_replace_uses(&op->result[i], erased(m, op, i));
		ir_op_erase(op);
	}
}

struct ir_module *
trial_erased(const void *owner, const struct ir_module *m)
{
	struct ir_module *r = ir_module_clone(owner, m);
	erase_block(r, &ir_func_find(r, "main")->body);
	return r;
}

struct ir_module *
trial_single(const void *owner, const struct ir_module *m)
{
	struct ir_module *r = trial_erased(owner, m);
	r->naxes = 0;
	return r;
}

static char *
printed(const void *owner, const struct ir_module *m)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	ir_print(out, m);
	fclose(out);
	char *copy = talloc_strdup(owner, text);
	free(text);
	return copy;
}

bool
trial_is_fixed_point(struct trial *t, const struct ir_module *m)
{
	const char *text = printed(t, m);
	const struct ir_module *again =
		parse_module(t, t->ctx, "random.dir", text, strlen(text), NULL);
	if (!again)
		return false;
	const char *second = printed(t, again);
	if (strcmp(text, second) == 0)
		return true;
	t->text = talloc_asprintf_append(t->text, "parsed and printed again:\n%s", second);
	return false;
}

static struct ir_module *
module_of_steps(struct trial *t, const struct trial_test *test, uint64_t seed, int steps)
{
	struct random_options o = {.steps = steps, .table = t->table};
	test->options(seed, &o);
	struct ir_module *m = random_module(t, t->ctx, seed, &o);
	t->keep = true;
	return m;
}

struct ir_module *
trial_module(struct trial *t, const struct trial_test *test, uint64_t seed)
{
	return module_of_steps(t, test, seed, test->steps);
}

/* --- making a failure smaller -------------------------------------------------------------------
 */

/* The n-th op of the block, bodies of loops after the op of the loop; *n less their number if it has
 * fewer. */
static struct ir_op *
nth_op(const struct ir_block *b, int *n)
{
	IR_FOR_OPS (op, b) {
		if (!(*n)--)
			return op;
		struct ir_op *inner = op->code == OP_while ? nth_op(op->body, n) : NULL;
		if (inner)
			return inner;
	}
	return NULL;
}

/* Erases unused ops. */
static void
sweep(struct ir_block *b)
{
	for (struct ir_op *op = b->last, *prev; op; op = prev) {
		prev = op->prev;
		bool used = op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR);
		for (int i = 0; i < op->nresults; i++)
			used = used || op->result[i].uses;
		if (!used)
			ir_op_erase(op);
		else if (op->code == OP_while)
			sweep(op->body);
	}
}

/* Removes an op without results, or whose operand can replace its result. */
static bool
take_out(struct ir_op *op)
{
	if (op_is(op, TRAIT_TERMINATOR))
		return false;
	for (int r = 0; r < op->nresults; r++) {
		int j = 0;
		while (j < op->noperands && ir_operand(op, j)->type != op->result[r].type)
			j++;
		if (j == op->noperands)
			return false;
		ir_replace_uses(&op->result[r], ir_operand(op, j));
	}
	ir_op_erase(op);
	return true;
}

static bool
is_wrong(struct trial *t, const struct trial_test *test, struct ir_module *m, uint64_t seed)
{
	t->text = talloc_strdup(t, "");
	return !test->check(t, m, seed);
}

/* The module with as many ops removed as possible so that it still fails; returns the number of ops
 * removed. */
static int
shrink(struct trial *t, const struct trial_test *test, struct ir_module **m, uint64_t seed)
{
	int n = INT_MAX, dropped = 0;
	nth_op(&ir_func_find(*m, "main")->body, &n);
	for (int i = INT_MAX - n; i-- > 0;) {
		struct ir_module *less = ir_module_clone(t, *m);
		struct ir_block *main = &ir_func_find(less, "main")->body;
		int at = i;
		struct ir_op *op = nth_op(main, &at);
		if (!op || !take_out(op))
			continue;
		sweep(main);
		if (ir_verify(less) && is_wrong(t, test, less, seed)) {
			*m = less;
			dropped++;
		}
	}
	return dropped;
}

void
trial_report(const struct trial_test *test, const struct gen_table *table, uint64_t seed,
	const char *found)
{
	struct trial *t = NULL;
	struct ir_module *m = NULL;
	int steps = 0;
	/* First of all, as a failing seed may pass from now on, or end the test. */
	fprintf(stderr, "seed %llu is wrong: %s", (unsigned long long)seed, found);
	fflush(stderr);
	do {
		talloc_free(t);
		t = trial_create(NULL, table);
		m = module_of_steps(t, test, seed, ++steps);
	} while (!is_wrong(t, test, m, seed) && steps < test->steps);
	const int dropped = shrink(t, test, &m, seed);
	if (is_wrong(t, test, m, seed))
		fprintf(stderr, "seed %llu, %d steps without %d ops: %s", (unsigned long long)seed,
			steps, dropped, t->text);
	else
		fprintf(stderr, "seed %llu is right when it runs alone\n",
			(unsigned long long)seed);
	ir_print(stderr, m);
	fprintf(stderr, "again: DOPT_RANDOM_SEED=%llu DOPT_RANDOM_COUNT=1 %s\n",
		(unsigned long long)seed, program_invocation_name);
	talloc_free(t);
}

/* Checks some seeds; returns the number of failures, at most MOST_REPORTS. */
static int
run_seeds(const struct trial_test *test, const struct gen_table *table, struct random_seeds range)
{
	int wrong = 0;
	for (int k = 0; k < range.count && wrong < MOST_REPORTS; k++) {
		const uint64_t seed = range.first + (uint64_t)k;
		struct trial *t = trial_create(NULL, table);
		random_try(seed, 1);
		if (!test->check(t, trial_module(t, test, seed), seed)) {
			trial_report(test, table, seed, t->text);
			wrong++;
		}
		talloc_free(t);
	}
	return wrong;
}

int
trial_run(const struct trial_test *test)
{
	struct random_seeds range[RANDOM_RANGES];
	int wrong = 0;
	random_seeds(test->count, range);
	const struct gen_table *table = gen_table_create(NULL);
	for (int i = 0; i < TRIAL_FOUND && test->found[i]; i++)
		wrong += run_seeds(test, table, (struct random_seeds){test->found[i], 1});
	for (int r = 0; r < RANDOM_RANGES; r++)
		wrong += run_seeds(test, table, range[r]);
	talloc_free((void *)table);
	return wrong;
}
