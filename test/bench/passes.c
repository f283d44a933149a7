/*
 * What the compiler takes for each op of a step, by pass and by query, on steps of the sizes that
 * are given: a pass that is linear has one figure in all columns.
 *
 *     passes TRIES FILE...     layers.dir with `let L` set by the caller, or any module
 *
 * Prints a line a row: its name, then ns an op for each file, the least of so many tries; of
 * processor time, so that other work on the machine matters little. Ops are those of
 * @main before the row or after it, whichever is more; passes are not verified here, `verify` is a row.
 */
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/memory.h"
#include "passes/manager/pipeline.h"
#include "passes/search/search.h"
#include "test/bench/module.h"
#include "ir/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <time.h>

struct bench {
	struct ir_context *ctx;
	struct pass_manager *manager;
	struct ir_module *m; /* as the row has it */
};

/* --- queries: what is asked of a module, or made of it --- */

static void
verify(struct bench *b, struct ir_module *m)
{
	(void)b;
	ir_verify(m);
}

static void
clone(struct bench *b, struct ir_module *m)
{
	(void)b;
	talloc_free(ir_module_clone(NULL, m));
}

static void
print(struct bench *b, struct ir_module *m)
{
	FILE *out = fopen("/dev/null", "w");
	(void)b;
	ir_print(out, m);
	fclose(out);
}

static void
memory(struct bench *b, struct ir_module *m)
{
	struct memory_report r;
	(void)b;
	memory_evaluate(m, ir_func_find(m, "main"), NULL, NULL, &r);
}

static void
stats(struct bench *b, struct ir_module *m)
{
	struct cost_report r;
	cost_evaluate(b->manager->cost, m, &r);
}

static void
timeline(struct bench *b, struct ir_module *m)
{
	talloc_free(cost_timeline(NULL, b->manager->cost, m));
}

/* A plan of a search, and a replay of it. */
static void
plan(struct bench *b, struct ir_module *m)
{
	struct plan *p = plan_create(NULL, b->manager->cost, m);
	if (p)
		plan_replay(p);
	talloc_free(p);
}

/* --- rows --- */

/* A row works on what the passes of its stage make of the one before. */
struct row {
	const char *stage; /* NULL: that of the row before */
	const char *name;
	const char *pass;
	void (*query)(struct bench *b, struct ir_module *m); /* where pass is NULL */
};

static const struct row rows[] = {
	{"", "inline", "inline", NULL},
	{"inline", "canonicalize", "canonicalize", NULL},
	{NULL, "cse", "cse", NULL},
	{NULL, "dce", "dce", NULL},
	{NULL, "sink-transpose", "sink-transpose", NULL},
	{NULL, "amp", "amp", NULL},
	{NULL, "propagate", "propagate", NULL},
	{NULL, "spatial", "spatial{axis=dp}", NULL},
	{NULL, "accumulate", "accumulate{steps=2}", NULL},
	{NULL, "merge-replica-dim", "merge-replica-dim", NULL},
	{NULL, "grad", "grad", NULL},
	{"grad", "sgd", "sgd", NULL},
	{NULL, "sgd{clip=1}", "sgd{clip=1}", NULL},
	{NULL, "momentum", "momentum", NULL},
	{NULL, "adam", "adam", NULL},
	{NULL, "adamw", "adamw", NULL},
	{NULL, "lamb", "lamb", NULL},
	{"adam", "canonicalize: a step", "canonicalize", NULL},
	{NULL, "cse: a step", "cse", NULL},
	{NULL, "dce: a step", "dce", NULL},
	{NULL, "sink-transpose: a step", "sink-transpose", NULL},
	{NULL, "propagate: a step", "propagate", NULL},
	{NULL, "dp", "dp{axis=dp}", NULL},
	{"canonicalize,cse,dce,dp{axis=dp}", "shard", "shard{axis=dp}", NULL},
	{NULL, "opfuse", "opfuse", NULL},
	{NULL, "opfuse{policy=xla}", "opfuse{policy=xla}", NULL},
	{NULL, "random-fuse", "random-fuse", NULL},
	{NULL, "tensorfuse", "tensorfuse", NULL},
	{NULL, "tensorfuse{policy=ddp}", "tensorfuse{policy=ddp}", NULL},
	{NULL, "tensorfuse{policy=horovod}", "tensorfuse{policy=horovod}", NULL},
	{NULL, "tensorpart{policy=byteps}", "tensorpart{policy=byteps}", NULL},
	{NULL, "tensorpart{policy=fixed}", "tensorpart{policy=fixed}", NULL},
	{NULL, "verify", NULL, verify},
	{NULL, "clone", NULL, clone},
	{NULL, "print", NULL, print},
	{NULL, "memory", NULL, memory},
	{NULL, "-stats", NULL, stats},
	{NULL, "timeline", NULL, timeline},
	{NULL, "plan of a search", NULL, plan},
	{"opfuse,tensorfuse", "opfuse{undo}", "opfuse{undo=true}", NULL},
	{NULL, "cse: fused", "cse", NULL},
	{NULL, "dce: fused", "dce", NULL},
	{NULL, "verify: fused", NULL, verify},
	{NULL, "memory: fused", NULL, memory},
	{NULL, "-stats: fused", NULL, stats},
	{NULL, "plan: fused", NULL, plan},
};

enum { NROWS = sizeof rows / sizeof *rows };

static double
processor_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t
count_ops(const struct ir_module *m)
{
	uint32_t n = 0;
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		n++;
	return n;
}

/* The module after the passes, or NULL, reported; it is freed or given back. */
static struct ir_module *
run(struct bench *b, const char *passes, struct ir_module *m, double *seconds)
{
	struct pass_pipeline *p = pass_pipeline_create(b->ctx);
	const char *source = "passes";
	bool good = pass_pipeline_parse(p, b->manager, source, passes) &&
		    pass_pipeline_check(p, b->manager, m);
	const double start = processor_seconds();
	good = good && pass_pipeline_run(p, b->manager, &m, NULL) == PASS_DONE;
	*seconds = processor_seconds() - start;
	talloc_free(p);
	return good ? m : NULL;
}

/* Seconds of one row on the module, which stays as it is, and ops; NAN: it failed, reported. */
static double
measure(struct bench *b, const struct row *row, const struct ir_module *m, uint32_t *nops)
{
	struct ir_module *copy = ir_module_clone(b->ctx, m);
	double seconds;
	*nops = count_ops(m);
	if (row->pass) {
		copy = run(b, row->pass, copy, &seconds);
		*nops = copy && count_ops(copy) > *nops ? count_ops(copy) : *nops;
	} else {
		const double start = processor_seconds();
		row->query(b, copy);
		seconds = processor_seconds() - start;
	}
	talloc_free(copy);
	return copy ? seconds : NAN;
}

/* Reads the module and prepares what works on it; false: reported. */
static bool
open_file(struct bench *b, const char *path)
{
	b->ctx = ir_context_create(NULL);
	b->m = read_module(b->ctx, path);
	b->manager = pass_manager_create(b->ctx, b->ctx);
	b->manager->verify_each = false;
	b->manager->cost = cost_model_create(b->manager, b->ctx->diag, &(struct cost_options){0});
	return b->m != NULL;
}

/* ns an op of a row, the least of all tries; NAN: it failed, reported. */
static double
least(struct bench *b, const struct row *row, int tries)
{
	double ns = NAN;
	for (int t = 0; t < tries; t++) {
		uint32_t nops;
		const double seconds = measure(b, row, b->m, &nops);
		ns = fmin(ns, seconds * 1e9 / nops);
	}
	return ns;
}

int
main(int argc, char **argv)
{
	const char *only = argc > 2 && argv[1][0] == '-' ? argv[1] + 1 : NULL;
	argc -= only != NULL;
	argv += only != NULL;
	if (argc < 3) {
		fputs("usage: passes [-ROW] TRIES FILE...\n", stderr);
		return 2;
	}
	const int nfiles = argc - 2;
	struct bench *b = ZERO_ARRAY(NULL, struct bench, nfiles);
	bool good = true;
	for (int f = 0; f < nfiles && good; f++)
		good = open_file(&b[f], argv[f + 2]);
	for (int i = 0; i < NROWS && good; i++) {
		const bool wanted = !only || strcmp(only, rows[i].name) == 0;
		double unused;
		if (wanted)
			printf("%s:", rows[i].name);
		for (int f = 0; f < nfiles && good; f++) {
			if (rows[i].stage && *rows[i].stage)
				b[f].m = run(&b[f], rows[i].stage, b[f].m, &unused);
			good = b[f].m != NULL;
			if (wanted && good)
				printf(" %.0f", least(&b[f], &rows[i], atoi(argv[1])));
			fflush(stdout);
		}
		if (wanted)
			putchar('\n');
	}
	for (int f = 0; f < nfiles; f++)
		talloc_free(b[f].ctx);
	talloc_free(b);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
