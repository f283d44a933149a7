/*
 * What a pass is, what it gets and what it may ask for. docs/writing-a-pass.md walks through one.
 *
 *     pipeline text   "grad,adam{lr=3e-4},dp{axis=dp}"
 *         |  pass_pipeline_parse     every error has its caret in the text
 *     struct pass_pipeline           passes with typed options; providers that were missing put in
 *         |  pass_pipeline_run       run, verify, next
 *     module                         plus remarks and statistics, one row a pass
 *
 * A pass is one file passes/NAME.c that ends in `const struct pass pass_NAME`, one row PASS(NAME)
 * in passes/passes.def and one test test/passes/NAME.dir. All state lives in its struct pass_run or
 * on the stack: nothing outlives a run.
 */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/ir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Changes whenever a plugin built against an older pass.h or ir.h would no longer work. */
#define DOPT_API_VERSION 3

struct cost_model;   /* passes/analysis/cost/cost.h */
struct pass_manager; /* passes/manager/pipeline.h */

enum pass_option_type {
	PASS_INT,    /* 12, -3 */
	PASS_FLOAT,  /* 3e-4 */
	PASS_SIZE,   /* bytes: 25MB, 4GiB, 512 */
	PASS_TIME,   /* seconds: 3us, 2ms */
	PASS_BOOL,   /* true, false; the name alone means true */
	PASS_STRING, /* a word, or anything in "quotes" */
	PASS_ENUM,   /* one of `choices` */
	PASS_AXIS,   /* an axis of the module */
	PASS_AXES,   /* one or more: dp or [dp,mb] */
};

/* One option; an array of them ends with {0}. Units are those of attributes: 1KB is 1000 bytes. */
struct pass_option {
	const char *name;
	enum pass_option_type type;
	const char *fallback; /* default as text; "": none (0, -1 for an axis); NULL: required */
	const char *help;     /* half a sentence without a full stop */
	const char *choices;  /* PASS_ENUM: "a,b,c" */
	double min, max;      /* allowed range of a number, both included; both 0: any */
};

struct pass_run;

/*
 * A pass. `needs`, `provides`, `conflicts` are comma-separated facts; NULL is none. A fact in
 * `needs` must hold before the pass, one in `conflicts` must not; one in `provides` holds after it,
 * `!fact` no longer does. Facts hold for a module, too: passes/manager/facts.c lists those that are read
 * off it, and which pass is put in by itself where one is missing. A pass that declares axes
 * provides "axes".
 */
struct pass {
	const char *name;
	const char *family;  /* prepare train parallelize sharded fusion memory order */
	const char *summary; /* one sentence without a full stop */
	const struct pass_option *options; /* NULL: none */
	const char *needs, *provides, *conflicts;
	/* Changes the module. False: it reported an error and the module is not to be used. */
	bool (*run)(struct pass_run *run, struct ir_module *m);
	/* A PASS_BOOL option with which the pass takes back what it provides: those facts hold no
	 * longer then, and nothing is in conflict. NULL: none. */
	const char *undo;
	/*
	 * Whatever the module computed before, it computes to the bit: the pass moves, repeats,
	 * drops, adds and lays out ops, and evaluates only as the op itself would. `dopt -check`
	 * holds it to that. False: rounding may differ, and results are compared within the
	 * tolerance of their type. A pass that keeps bits but for the order of some sums says
	 * pass_reorders there.
	 */
	bool keeps_bits;
};

/* One run of a pass on a module. */
struct pass_run {
	const struct pass *pass;
	struct ir_context *ctx;
	struct ir_loc loc;        /* of the pass in the pipeline text */
	struct cost_model *cost;  /* NULL where no cluster or profile was given: decide without */
	uint64_t seed;            /* of everything random: same seed, same result */
	void *scratch;            /* talloc context that ends with the run */
	bool bug;                 /* set by pass_bug */
	bool changed;             /* set by pass_count, pass_remark(PASS_APPLIED), or by hand */
	bool reordered;           /* set by pass_reorders */
	struct pass_value *value; /* of the options, in their order: use the getters */
	struct pass_manager *manager;
};

/*
 * Options by name. The manager has checked type and range and filled in defaults; a name that the
 * pass does not have, or of another type, is a bug of the pass and ends the program.
 */
int64_t pass_int(const struct pass_run *run, const char *option);
double pass_float(const struct pass_run *run, const char *option);
int64_t pass_size(const struct pass_run *run, const char *option); /* bytes */
double pass_time(const struct pass_run *run, const char *option);  /* seconds */
bool pass_bool(const struct pass_run *run, const char *option);
const char *pass_string(
	const struct pass_run *run, const char *option);       /* "" for none; lives as the run */
int pass_enum(const struct pass_run *run, const char *option); /* position in the choices */
int pass_axis(const struct pass_run *run, const char *option); /* -1: none given */
int pass_axes(const struct pass_run *run, const char *option, int axis[IR_MAX_AXES]); /* how many */
/* Did the pipeline text give this option? Else it is its default. */
bool pass_given(const struct pass_run *run, const char *option);
/* Where its value stands in the pipeline text, for errors about it; else the pass itself. */
struct ir_loc pass_option_loc(const struct pass_run *run, const char *option);

/*
 * Reports that the pass made a module which it must not make, at that op, and returns false for
 * `run` to return: dopt ends as it does where a pass is found to be wrong, with status 3.
 */
bool pass_bug(struct pass_run *run, const struct ir_op *op, const char *what);

/*
 * Remarks say what a pass did or did not do and why, at an op (or at none: NULL). One sentence with
 * names and numbers: "allgather of h3.wq not moved above %42: 1.2GB over the budget".
 */
enum pass_remark_kind { PASS_APPLIED, PASS_MISSED };

void pass_remark(struct pass_run *run, const struct ir_op *op, enum pass_remark_kind kind,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds n to the statistic of that name, "ops fused"; n > 0 means that the module changed. */
void pass_count(struct pass_run *run, const char *what, int64_t n);

/*
 * Says that this run puts terms of a sum in another order, which `keeps_bits` would not allow: its
 * results are compared within the tolerance, not to the bit.
 */
void pass_reorders(struct pass_run *run);

/* Bytes that the step may take on a device in the end, as `dopt -budget` says; 0: any number. */
uint64_t pass_budget(const struct pass_run *run);

/* Seconds that a search may take, as `dopt -time-limit` says; 0: any. */
double pass_time_limit(const struct pass_run *run);

/* Replays that a search may take, where the pass does not say; 0: any. */
uint64_t pass_evaluations(const struct pass_run *run);

/* Where a search says how far it is; NULL: nowhere. */
FILE *pass_progress(const struct pass_run *run);

/* Runs other passes, as pipeline text, inside this one and verifies after each. False: reported. */
bool pass_apply(struct pass_run *run, struct ir_module *m, const char *pipeline);
/* The same, without verifying, to see what they would make: remarks, statistics and errors go
 * nowhere. */
bool pass_try(struct pass_run *run, struct ir_module *m, const char *pipeline);

/*
 * A plugin: a shared library that defines `const struct dopt_plugin dopt_plugin`, built against the
 * installed headers and linked with libdopt, loaded with `dopt -load=FILE`.
 */
struct dopt_plugin {
	int api_version; /* DOPT_API_VERSION of the headers; first in every version */
	const char *name;
	const struct pass *const *passes; /* ends with NULL */
};

#endif
