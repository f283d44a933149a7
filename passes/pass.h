/*
 * What a pass is, what it is given and what it may query. docs/writing-a-pass.md has an example.
 *
 *     pipeline text   "grad,adam{lr=3e-4},dp{axis=dp}"
 *         |  pass_pipeline_parse     errors with a caret into the text
 *     struct pass_pipeline           typed options; with the passes that provide missing facts
 *         |  pass_pipeline_run       run, verify, next
 *     module                         plus remarks and statistics, one row for each pass
 *
 * A pass is one file passes/FAMILY/NAME.c that ends in `const struct pass pass_NAME`, one row
 * PASS(NAME) in passes.def and one test test/passes/FAMILY/NAME.dir. Its state is in its struct
 * pass_run or on the stack: nothing outlives a run.
 */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/base/api.h"
#include "ir/ir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

DOPT_API_BEGIN

struct cost_model;    /* passes/analysis/cost/cost.h */
struct pass_manager;  /* passes/manager/pipeline.h */
struct pass_pipeline; /* likewise */

enum pass_option_type {
	PASS_INT,    /* 12, -3 */
	PASS_FLOAT,  /* 3e-4 */
	PASS_SIZE,   /* bytes: 25MB, 4GiB, 512 */
	PASS_TIME,   /* seconds: 3us, 2ms */
	PASS_BOOL,   /* true, false; the name alone means true */
	PASS_STRING, /* a word, or anything in "quotes" */
	PASS_ENUM,   /* one of `choices` */
	PASS_AXIS,   /* an axis of the module */
	PASS_AXES,   /* one or more: dp or [dp,mb]; the word in `choices`, if there is one: none */
};

/* One option; an array of them ends with {0}. Units are those of attributes: 1KB is 1000 bytes. */
struct pass_option {
	const char *name;
	enum pass_option_type type;
	const char *fallback; /* default as text; "": none (0, -1 for an axis); NULL: required */
	const char *help;     /* a phrase without a full stop */
	const char
		*choices; /* PASS_ENUM: "a,b,c"; PASS_AXES: a word that names no axis; else NULL */
	double min, max;  /* allowed range of a number, inclusive; both 0: any */
};

/*
 * Choices as rows, from which come an enum and the text of an option, so that the getter's position
 * is the enum's value:
 *
 *	#define POLICIES(ROW) ROW(GREEDY, "greedy") ROW(XLA, "xla")
 *	enum policy { POLICIES(CHOICE_CODE) };
 *	{"policy", PASS_ENUM, "greedy", "what to fuse", CHOICE_LIST(POLICIES), 0, 0}
 *	switch ((enum policy)pass_enum(run, "policy")) {
 */
#define CHOICE_CODE(code, ...) code,
#define CHOICE_NAME(code, name) name,
#define CHOICE_NEXT(code, name) "," name
#define CHOICE_LIST(rows) (&(rows(CHOICE_NEXT))[1])

struct pass_run;

/*
 * A pass. `needs`, `provides`, `conflicts` are comma-separated facts; NULL is none. A fact in
 * `needs` must hold before the pass, one in `conflicts` must not; one in `provides` holds after it,
 * `!fact` no longer does. manager/facts.c lists the facts that are computed from the module itself,
 * and for each which pass is inserted if it is needed and missing. A pass that declares axes
 * provides "axes".
 */
struct pass {
	const char *name;
	const char *family;  /* prepare train parallelize sharded fusion memory order */
	const char *summary; /* one sentence without a full stop */
	const struct pass_option *options; /* NULL: none */
	const char *needs, *provides, *conflicts;
	/* Changes the module. False: it reported an error and the module must not be used. */
	bool (*run)(struct pass_run *run, struct ir_module *m);
	/* A PASS_BOOL option with which the pass undoes what it provides: afterwards those facts no
	 * longer hold, and `conflicts` are not checked. NULL: none. */
	const char *undo;
	/* Where the pass searches for kernels with the cost model: "" always, "option=choice" if
	 * that PASS_ENUM option has that value. Programs of such passes depend on the times of
	 * kernels, so dopt measures them first where nothing is known of the machine. NULL: never.
	 */
	const char *searches;
	/*
	 * The module computes bitwise the same results as before: the pass moves, duplicates,
	 * removes and inserts ops and changes layouts, and evaluates constants exactly as the op
	 * would. `dopt -check` enforces it. False: rounding may differ, and results are compared
	 * within the tolerance of their type. A pass that keeps results bitwise except for the
	 * order of some sums calls pass_reorders there, one with an option that rounds otherwise
	 * pass_changes_rounding.
	 */
	bool keeps_bits;
};

/* One run of a pass on a module. */
struct pass_run {
	const struct pass *pass;
	struct ir_context *ctx;
	struct ir_loc loc;        /* of the pass in the pipeline text */
	struct cost_model *cost;  /* NULL where the manager has none; dopt always has one */
	uint64_t seed;            /* for all random choices: same seed, same result */
	void *scratch;            /* talloc context that is freed at the end of the run */
	bool bug;                 /* set by pass_bug */
	bool changed;             /* set by pass_count, pass_remark(PASS_APPLIED) or the pass */
	bool reordered;           /* set by pass_reorders */
	bool rounded;             /* set by pass_changes_rounding */
	bool redefined;           /* set by pass_redefines */
	struct pass_value *value; /* of the options, in order: use the getters */
	struct pass_manager *manager;
	const struct pass_pipeline *pipeline; /* in which it runs: use pass_rest */
	int at;                               /* which pass of it */
};

/*
 * Options by name. The manager has checked type and range and filled in defaults; asking for an
 * option that the pass does not have, or with the wrong type, is a bug and ends the program.
 */
int64_t pass_int(const struct pass_run *run, const char *option);
double pass_float(const struct pass_run *run, const char *option);
int64_t pass_size(const struct pass_run *run, const char *option); /* bytes */
double pass_time(const struct pass_run *run, const char *option);  /* seconds */
bool pass_bool(const struct pass_run *run, const char *option);
const char *pass_string(
	const struct pass_run *run, const char *option); /* "" if not given; valid during the run */
int pass_enum(const struct pass_run *run, const char *option); /* index among the choices */
int pass_axis(const struct pass_run *run, const char *option); /* -1: not given */
int pass_axes(const struct pass_run *run, const char *option, int axis[IR_MAX_AXES]); /* number */
/* Does the pipeline text set this option? If not, it has its default. */
bool pass_given(const struct pass_run *run, const char *option);
/* Location of its value in the pipeline text, for errors; of the pass if it is not given. */
struct ir_loc pass_option_loc(const struct pass_run *run, const char *option);

/*
 * Reports an internal error of the pass at that op, and returns false for `run` to return. dopt
 * then exits with status 3, as for any other pass that produced an invalid module.
 */
bool pass_bug(struct pass_run *run, const struct ir_op *op, const char *what);

/*
 * Remarks say what a pass did or did not do and why, at an op (NULL: at none). One sentence with
 * names and numbers: "allgather of h3.wq not moved above %42: 1.2GB over the budget".
 */
enum pass_remark_kind { PASS_APPLIED, PASS_MISSED };

void pass_remark(struct pass_run *run, const struct ir_op *op, enum pass_remark_kind kind,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Does anybody see them? What is computed for a remark alone asks first. */
bool pass_remarks_wanted(const struct pass_run *run);

/*
 * Adds n to the statistic of that name, "op(s) fused", as number_noun of ir/base/number.h reads it;
 * n > 0 means that the module changed.
 */
void pass_count(struct pass_run *run, const char *what, int64_t n);

/*
 * Declares that this run reorders the terms of a sum, which `keeps_bits` does not allow: results
 * are then compared within the tolerance, not bitwise.
 */
void pass_reorders(struct pass_run *run);

/*
 * Declares that this run computes something from other values than before, as an option of a pass
 * that else keeps bits asks for: results are compared in doubles, as those of a pass that does not.
 */
void pass_changes_rounding(struct pass_run *run);

/*
 * Declares that this run changed what the step computes because an option asks for that: `dopt -check` does
 * not compare its results with those before.
 */
void pass_redefines(struct pass_run *run);

/* Passes that a search over kernels is to run instead of searching, "" for none; NULL: it searches.
 * So the kernels of these passes can be measured before a search compares others with them. */
const char *pass_instead(const struct pass_run *run);

/*
 * Values and params whose treatment the user wants explained (`dopt -explain`), separated by commas, with * as in
 * names of files; NULL: none. For passes that choose among alternatives: what each would cost, on stderr.
 */
const char *pass_explain(const struct pass_run *run);

/* This pass and its options as in the pipeline, but for an option: "adam{lr=3e-4}". Of run->scratch. */
char *pass_without(const struct pass_run *run, const char *option);
/* The same without option `less` and with another one, of that value, whether it was given or not. */
char *pass_with(
	const struct pass_run *run, const char *less, const char *option, const char *value);

/* The passes that follow in the pipeline, to the first of the name `last` (NULL: all), as text, with `instead` for those that
 * search for kernels and without further runs of the same pass: to try a plan as the step will be in the end. "": none
 * follow, or not that one. Of run->scratch. */
char *pass_rest(const struct pass_run *run, const char *instead, const char *last);

/* Memory limit of a device for the final step, in bytes (`dopt -budget`); 0: none. */
uint64_t pass_budget(const struct pass_run *run);

/* Time limit of a search in seconds (`dopt -time-limit`); 0: none. */
double pass_time_limit(const struct pass_run *run);

/* Limit on the replays of a search, where the pass's options set none; 0: none. */
uint64_t pass_evaluations(const struct pass_run *run);

/* Where a search reports its progress; NULL: nowhere. */
FILE *pass_progress(const struct pass_run *run);

/* Runs other passes, as pipeline text, inside this one and verifies after each. False: reported. */
bool pass_apply(struct pass_run *run, struct ir_module *m, const char *pipeline);
/* The same for passes that use pass_rest, which then has the passes of `then` at its end. */
bool pass_apply_before(
	struct pass_run *run, struct ir_module *m, const char *pipeline, const char *then);
/* pass_apply without verifying, to try passes on a copy: remarks, statistics and errors are
 * discarded. */
bool pass_try(struct pass_run *run, struct ir_module *m, const char *pipeline);

/*
 * A plugin: a shared library that defines `const struct dopt_plugin dopt_plugin`, built against the
 * installed headers (dopt/dopt.h) and linked with libdopt, loaded with `dopt -load=FILE`.
 * DOPT_API_VERSION is a digest of those headers (dopt/version.h, written by the build): a plugin
 * that was built against other ones is refused.
 */
struct dopt_plugin {
	uint64_t api_version; /* DOPT_API_VERSION; first in every version */
	const char *name;
	const struct pass *const *passes; /* ends with NULL */
};

extern const struct dopt_plugin dopt_plugin;

DOPT_API_END

#endif
