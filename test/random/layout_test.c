/*
 * Random programs: by layout they are what they mean, and so are they with the parallelization ops
 * erased; printed and parsed they are the same text. DOPT_RANDOM_SEED and DOPT_RANDOM_COUNT run
 * others than the default ones.
 */
#include "ir/interp.h"
#include "parser/parse.h"
#include "test/random/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	COUNT = 3000, /* programs: some seconds */
	STEPS = 30,   /* tries of a program: about twenty ops */
};

struct log {
	char *text; /* messages since checks began */
	bool keep;
};

static void
keep_messages(void *data, const struct diag_message *m)
{
	struct log *log = data;
	if (log->keep)
		log->text = talloc_asprintf_append(
			log->text, "%s: %s\n", diag_level_name(m->level), m->text);
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

/* The same program by meaning: every type copied, parallelization ops gone. */
static struct ir_module *
erased(const void *owner, const struct ir_module *m)
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

/* Does the printed text parse to a module that prints the same? */
static bool
is_fixed_point(
	const void *owner, struct log *log, struct ir_context *ctx, const struct ir_module *m)
{
	const char *text = printed(owner, m);
	const struct ir_module *again =
		parse_module(owner, ctx, "random.dir", text, strlen(text), NULL);
	if (!again)
		return false;
	const char *second = printed(owner, again);
	if (strcmp(text, second) == 0)
		return true;
	log->text = talloc_asprintf_append(log->text, "parsed and printed again:\n%s", second);
	return false;
}

/* One program through all checks; what went wrong, or NULL. */
static char *
check_program(const void *owner, uint64_t seed, int steps, struct ir_module **made)
{
	struct log *log = talloc_zero(owner, struct log);
	struct ir_context *ctx = ir_context_create(log);
	log->text = talloc_strdup(log, "");
	diag_set_handler(ctx->diag, keep_messages, log);
	struct ir_module *m = random_module(log, ctx, seed, &(struct random_options){steps, true});
	*made = m;
	log->keep = true;
	if (ir_verify(m) && is_fixed_point(log, log, ctx, m) && interp_check_layout(m, NULL)) {
		struct ir_module *plain = erased(log, m);
		const struct interp_options once = {.f64 = true, .perturb = true, .steps = 2};
		if (ir_verify(plain) && interp_check_modules(plain, m, &once))
			return NULL;
	}
	return log->text;
}

static bool
is_wrong(uint64_t seed, int steps)
{
	void *scratch = talloc_new(NULL);
	struct ir_module *m;
	const bool wrong = check_program(scratch, seed, steps, &m) != NULL;
	talloc_free(scratch);
	return wrong;
}

static void
report(uint64_t seed)
{
	int steps = 1;
	while (steps < STEPS && !is_wrong(seed, steps))
		steps++;
	struct ir_module *m;
	void *scratch = talloc_new(NULL);
	const char *text = check_program(scratch, seed, steps, &m);
	fprintf(stderr, "seed %llu, %d steps: %s", (unsigned long long)seed, steps,
		text ? text : "(not again)\n");
	ir_print(stderr, m);
	talloc_free(scratch);
}

static long
number(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? atol(text) : otherwise;
}

static void
layout_equals_meaning(void **state)
{
	(void)state;
	const long first = number("DOPT_RANDOM_SEED", 0),
		   count = number("DOPT_RANDOM_COUNT", COUNT);
	int wrong = 0;
	for (long seed = first; seed < first + count && wrong < 5; seed++)
		if (is_wrong((uint64_t)seed, STEPS)) {
			report((uint64_t)seed);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layout_equals_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
