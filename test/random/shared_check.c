/* Random programs: properties and reports. See check.h. */
#include "test/random/check.h"
#include "parser/parse.h"

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
trial_create(const void *owner)
{
	struct trial *t = talloc_zero(owner, struct trial);
	t->ctx = ir_context_create(t);
	t->text = talloc_strdup(t, "");
	diag_set_handler(t->ctx->diag, keep_messages, t);
	return t;
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
		if (!op_is(op, PARALLEL))
			continue;
		for (int i = 0; i < op->nresults; i++)
			ir_replace_uses(&op->result[i], ir_operand(op, i));
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

static long
number(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? atol(text) : otherwise;
}

typedef bool checker(struct trial *t, uint64_t seed, int steps, struct ir_module **made);

static bool
is_right(checker *check, uint64_t seed, int steps)
{
	struct trial *t = trial_create(NULL);
	struct ir_module *m;
	const bool right = check(t, seed, steps, &m);
	talloc_free(t);
	return right;
}

static void
report(checker *check, uint64_t seed, int most)
{
	int steps = 1;
	while (steps < most && is_right(check, seed, steps))
		steps++;
	struct trial *t = trial_create(NULL);
	struct ir_module *m;
	check(t, seed, steps, &m);
	fprintf(stderr, "seed %llu, %d steps: %s", (unsigned long long)seed, steps, t->text);
	ir_print(stderr, m);
	talloc_free(t);
}

int
trial_run(int count, int steps, checker *check)
{
	const long first = number("DOPT_RANDOM_SEED", 0);
	const long last = first + number("DOPT_RANDOM_COUNT", count);
	int wrong = 0;
	for (long seed = first; seed < last && wrong < MOST_REPORTS; seed++)
		if (!is_right(check, (uint64_t)seed, steps)) {
			report(check, (uint64_t)seed, steps);
			wrong++;
		}
	return wrong;
}
