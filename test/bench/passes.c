/*
 * What the compiler takes for each op of a step, by pass and by query, on steps of the sizes that
 * are given: a pass that is linear has one figure in all columns.
 *
 *     passes [-ROW] TRIES FILE...     layers.dir with `let L` set by the caller, or any module
 *
 * Prints a line a row: its name, then ns an op for each file, the least of so many tries; of
 * processor time, so that other work on the machine matters little. Where libdopt counts its work
 * (Inputs/growth/count.c), that instead: what Inputs/growth/growth.py reads. Ops are those of
 * @main before the row or after it, whichever is more; passes are not verified here, `verify` is a row.
 */
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/memory.h"
#include "passes/manager/pipeline.h"
#include "passes/search/search.h"
#include "test/bench/module.h"
#include "ir/base/alloc.h"

#include <limits.h>
#include <malloc.h>
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
	memory_evaluate(m, ir_func_find(m, "main"), NULL, &r);
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
	const char *before; /* passes that this row alone needs, not counted */
	double budget;      /* of what the step takes at its peak; 0: none */
};

#define SHARDED .before = "shard{axis=dp}"

static const struct row rows[] = {
	{"", "inline", .pass = "inline"},
	{"inline", "canonicalize", .pass = "canonicalize"},
	{NULL, "cse", .pass = "cse"},
	{NULL, "hoist", .pass = "hoist"},
	{NULL, "dce", .pass = "dce"},
	{NULL, "sink-transpose", .pass = "sink-transpose"},
	{NULL, "channels-last", .pass = "channels-last{policy=all}"},
	{NULL, "rewrite", .pass = "rewrite"},
	{NULL, "rewrite{policy=search}", .pass = "rewrite{policy=search,evaluations=8}"},
	{NULL, "amp", .pass = "amp"},
	{NULL, "propagate", .pass = "propagate"},
	{NULL, "spatial", .pass = "spatial{axis=dp}"},
	{NULL, "accumulate", .pass = "accumulate{steps=2}"},
	{NULL, "pipeline", .pass = "pipeline{stages=4,steps=2}"},
	{NULL, "scatter-sends", .pass = "scatter-sends{axis=dp}",
		.before = "pipeline{stages=4,steps=2}"},
	{NULL, "merge-replica-dim", .pass = "merge-replica-dim"},
	{NULL, "grad", .pass = "grad"},
	{"grad", "recompute", .pass = "recompute"},
	{NULL, "recompute{policy=budget}", .pass = "recompute{policy=budget}", .budget = 0.7},
	{NULL, "sgd", .pass = "sgd"},
	{NULL, "sgd{clip=1}", .pass = "sgd{clip=1}"},
	{NULL, "momentum", .pass = "momentum"},
	{NULL, "adam", .pass = "adam"},
	{NULL, "adamw", .pass = "adamw"},
	{NULL, "lamb", .pass = "lamb"},
	{NULL, "nadam", .pass = "nadam"},
	{NULL, "radam", .pass = "radam"},
	{NULL, "adafactor", .pass = "adafactor"},
	{NULL, "adamax", .pass = "adamax"},
	{NULL, "rmsprop{momentum=0.9,centered=true}",
		.pass = "rmsprop{momentum=0.9,centered=true}"},
	{NULL, "adagrad", .pass = "adagrad"},
	{NULL, "adadelta", .pass = "adadelta"},
	{NULL, "rprop", .pass = "rprop"},
	{NULL, "asgd", .pass = "asgd"},
	{NULL, "lion", .pass = "lion"},
	{NULL, "muon", .pass = "muon"},
	{"adam", "canonicalize: a step", .pass = "canonicalize"},
	{NULL, "cse: a step", .pass = "cse"},
	{NULL, "dce: a step", .pass = "dce"},
	{NULL, "sink-transpose: a step", .pass = "sink-transpose"},
	{NULL, "propagate: a step", .pass = "propagate"},
	{NULL, "parallelize", .pass = "parallelize"},
	{NULL, "plan", .pass = "plan{evaluations=4,summary=false,devices=4}"},
	{NULL, "dp", .pass = "dp{axis=dp}"},
	{"canonicalize,cse,dce,dp{axis=dp}", "shard", .pass = "shard{axis=dp}"},
	{NULL, "prefetch", .pass = "prefetch", SHARDED, .budget = 1.2},
	{NULL, "unshard", .pass = "unshard", SHARDED, .budget = 1.2},
	{NULL, "offload", .pass = "offload", SHARDED, .budget = 0.8},
	{NULL, "prefetch: short of memory", .pass = "prefetch", SHARDED, .budget = 1.02},
	{NULL, "unshard: short of memory", .pass = "unshard", SHARDED, .budget = 1.02},
	{NULL, "opfuse: short of memory", .pass = "opfuse", .budget = 0.9},
	{NULL, "opfuse", .pass = "opfuse"},
	{NULL, "opfuse{policy=xla}", .pass = "opfuse{policy=xla}"},
	{NULL, "random-fuse", .pass = "random-fuse"},
	{NULL, "tensorfuse", .pass = "tensorfuse"},
	{NULL, "tensorfuse{policy=ddp}", .pass = "tensorfuse{policy=ddp}"},
	{NULL, "tensorfuse{policy=horovod}", .pass = "tensorfuse{policy=horovod}"},
	{NULL, "overlap", .pass = "overlap"},
	{NULL, "tensorpart{policy=byteps}", .pass = "tensorpart{policy=byteps}"},
	{NULL, "tensorpart{policy=fixed}", .pass = "tensorpart{policy=fixed}"},
	{NULL, "tensorpart", .pass = "tensorpart"},
	{NULL, "joint", .pass = "joint{evaluations=8}"},
	{NULL, "verify", .query = verify},
	{NULL, "clone", .query = clone},
	{NULL, "print", .query = print},
	{NULL, "memory", .query = memory},
	{NULL, "-stats", .query = stats},
	{NULL, "timeline", .query = timeline},
	{NULL, "plan of a search", .query = plan},
	{"opfuse,tensorfuse", "opfuse{undo}", .pass = "opfuse{undo=true}"},
	{NULL, "cse: fused", .pass = "cse"},
	{NULL, "dce: fused", .pass = "dce"},
	{NULL, "verify: fused", .query = verify},
	{NULL, "memory: fused", .query = memory},
	{NULL, "-stats: fused", .query = stats},
	{NULL, "plan: fused", .query = plan},
};

enum { NROWS = sizeof rows / sizeof *rows };

/* Blocks of libdopt that have been entered, where they are counted. */
__attribute__((weak)) uint64_t work_done(void);

/* In units of ns an op: work where it is counted, else time. */
static double
spent(void)
{
	struct timespec t;
	if (work_done)
		return 1e-9 * (double)work_done();
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

static uint64_t
peak(const struct ir_module *m)
{
	struct memory_report r;
	memory_evaluate(m, ir_func_find(m, "main"), NULL, &r);
	return r.peak;
}

/* The module after the passes, or NULL, reported; it is freed or given back. */
static struct ir_module *
run(struct bench *b, const char *passes, struct ir_module *m, double *seconds)
{
	struct pass_pipeline *p = pass_pipeline_create(b->ctx);
	const char *source = "passes";
	bool good = pass_pipeline_parse(p, b->manager, source, passes) &&
		    pass_pipeline_check(p, b->manager, m);
	const double start = spent();
	good = good && pass_pipeline_run(p, b->manager, &m, NULL) == PASS_DONE;
	*seconds = spent() - start;
	talloc_free(p);
	return good ? m : NULL;
}

/* Seconds of one row on the module, which stays as it is, and ops; NAN: it failed, reported. */
static double
measure(struct bench *b, const struct row *row, const struct ir_module *m, uint32_t *nops)
{
	struct ir_module *copy = ir_module_clone(b->ctx, m);
	double seconds;
	*nops = 1; /* no division by 0 where a pass fails */
	if (row->before && !(copy = run(b, row->before, copy, &seconds)))
		return NAN;
	b->manager->budget = row->budget == 0 ? 0 : (uint64_t)(row->budget * (double)peak(copy));
	*nops = count_ops(copy);
	if (row->pass) {
		copy = run(b, row->pass, copy, &seconds);
		*nops = copy && count_ops(copy) > *nops ? count_ops(copy) : *nops;
	} else {
		const double start = spent();
		row->query(b, copy);
		seconds = spent() - start;
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
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as the tools do */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
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
		if (wanted && only)
			break;
	}
	for (int f = 0; f < nfiles; f++)
		talloc_free(b[f].ctx);
	talloc_free(b);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
