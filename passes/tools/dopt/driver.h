/*
 * The tool `dopt`: options, and what its parts share.
 *
 *     options.c     the command line of dopt: its table
 *     driver.c      main: every chunk of the input, one after another
 *     session.c     sets up what the options name, and reads the module
 *     passes.c      runs the pipeline: prints, checks, keeps what is better, counts
 *     cost.c        the cost model: cluster, profile, how collectives are replayed
 *     stats.c       one row for each pass
 *     budget.c      -budget: the memory that a step may take
 *     whatif.c      -whatif: the step with other costs
 *     diff.c        -diff: the step compared with that of another module
 *     measure.c     -measure: which kernels and collectives a profile lacks; measure_source.c
 *                   writes the program that times them, measure_run.c runs it
 *     rounds.c      when to measure: -measure, the rounds of -estimator=measure
 *     trial.c       -trial: plans that are run, of which the fastest is kept; trial_run.c runs one
 *     crash.c       the work in a child process, and what a crash reports; crash_op.c finds the op
 *                   that was being worked on
 *     expect.c      -verify-diagnostics
 *     checks.c      -expect: programs that say what they expect
 *     facts.c       -list-facts
 *     list.c        -list-passes, -list-ops, -help
 *
 * Shared with the other tools: ../command_line.h, command lines, each from one table; ../output.h,
 * files that are written atomically. ../report/report.h has -emit=timeline and -emit=report, and
 * ../stats.h what they and -stats show.
 */
#ifndef PASSES_DRIVER_H
#define PASSES_DRIVER_H

#include "ir/interp/interp.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/cost.h"
#include "passes/manager/pipeline.h"
#include "passes/tools/command_line.h"
#include "passes/tools/output.h"
#include "passes/tools/stats.h"

#include <stdio.h>

/* Choices of options, each a list of rows: the value and its name. 0: none was given. */
#define DRIVER_EMITS(ROW)                                                                          \
	ROW(DRIVER_EMIT_DIR, "dir")                                                                \
	ROW(DRIVER_EMIT_PROGRAM, "program",                                                        \
		.rule = {.excludes = "run,split-input-file", .needs = "o"})                        \
	ROW(DRIVER_EMIT_TIMELINE, "timeline",                                                      \
		.rule = {.excludes = "run,measure,split-input-file"})                              \
	ROW(DRIVER_EMIT_REPORT, "report", .rule = {.excludes = "run,measure,split-input-file"})    \
	ROW(DRIVER_EMIT_NONE, "none")                                                              \
	ROW(DRIVER_EMIT_MEASURE, "measure",                                                        \
		.rule = {.excludes = "run,split-input-file", .needs = "o"})                        \
	ROW(DRIVER_EMIT_STABLEHLO, "stablehlo")

enum driver_emit { DRIVER_EMIT_DEFAULT, DRIVER_EMITS(CHOICE_CODE) };

#define DRIVER_TARGETS(ROW) ROW(DRIVER_TARGET_HOST, "host") ROW(DRIVER_TARGET_CUDA, "cuda")

enum driver_target { DRIVER_TARGET_DEFAULT, DRIVER_TARGETS(CHOICE_CODE) };

#define DRIVER_KEEPS(ROW) ROW(DRIVER_KEEP_ALL, "all") ROW(DRIVER_KEEP_BETTER, "better")

enum driver_keep { DRIVER_KEEP_DEFAULT, DRIVER_KEEPS(CHOICE_CODE) };

#define DRIVER_MEASURES(ROW)                                                                       \
	ROW(DRIVER_MEASURE_MISSING, "missing", .rule = {.excludes = "emit=program"})               \
	ROW(DRIVER_MEASURE_ALL, "all", .rule = {.excludes = "emit=program"})                       \
	ROW(DRIVER_MEASURE_AGAIN, "again", .rule = {.excludes = "emit=program"})                   \
	ROW(DRIVER_MEASURE_EACH, "each")

enum driver_measure { DRIVER_MEASURE_DEFAULT, DRIVER_MEASURES(CHOICE_CODE) };

#define DRIVER_ESTIMATES(ROW)                                                                      \
	ROW(DRIVER_ESTIMATE_ANALYTIC, "analytic")                                                  \
	ROW(DRIVER_ESTIMATE_NETWORK, "network") ROW(DRIVER_ESTIMATE_MEASURE, "measure")

enum driver_estimate { DRIVER_ESTIMATE_DEFAULT, DRIVER_ESTIMATES(CHOICE_CODE) };

#define DRIVER_REPLAYS(ROW) ROW(DRIVER_REPLAY_COARSE, "coarse") ROW(DRIVER_REPLAY_FINE, "fine")

enum driver_replay { DRIVER_REPLAY_DEFAULT, DRIVER_REPLAYS(CHOICE_CODE) };

#define DRIVER_BUFFERS(ROW) ROW(DRIVER_BUFFERS_STEP, "step") ROW(DRIVER_BUFFERS_ROTATE, "rotate")

enum driver_buffers { DRIVER_BUFFERS_DEFAULT, DRIVER_BUFFERS(CHOICE_CODE) };

#define DRIVER_STATS(ROW) ROW(DRIVER_STATS_TABLE, "table") ROW(DRIVER_STATS_JSON, "json")

enum driver_stats_kind { DRIVER_STATS_DEFAULT, DRIVER_STATS(CHOICE_CODE) };

#define DRIVER_LISTS(ROW) ROW(DRIVER_LIST_TEXT, "text") ROW(DRIVER_LIST_MD, "md")

enum driver_list_kind { DRIVER_LIST_DEFAULT, DRIVER_LISTS(CHOICE_CODE) };

#define DRIVER_PROGRESSES(ROW)                                                                     \
	ROW(DRIVER_PROGRESS_AUTO, "auto")                                                          \
	ROW(DRIVER_PROGRESS_ALWAYS, "always") ROW(DRIVER_PROGRESS_NEVER, "never")

enum driver_progress { DRIVER_PROGRESS_DEFAULT, DRIVER_PROGRESSES(CHOICE_CODE) };

/* Default behaviour if a pass searches for a program for this machine and no times of the machine
 * are known: rounds.c, trial.c. */
struct driver_first {
	const char *search; /* the pass that searches */
	double until;       /* of clock_seconds: no kernel is measured after it */
	bool failed;        /* it could not be measured, which was reported */
};

struct driver_options {
	const char *input, *output;
	const char *transport;
	int algorithm; /* enum collective_algorithm */
	int replay;
	int framework; /* enum framework */
	int emit, target, stats, keep, measure, list_passes, list_ops;
	struct driver_list pass, load, define;
	struct driver_list files;               /* as given; `input` is the only one expected */
	const char *print_before, *print_after; /* names, comma-separated */
	const char *remarks;                    /* "": as messages; else a file for YAML */
	const char *arch, *cflags;
	const char *budget, *host_budget, *workspace, *without, *time_limit;
	int progress;
	const char *largest; /* the `let` whose value -largest finds */
	const char *reproducer, *cluster, *list_clusters, *profile, *whatif, *diff, *explain, *data,
		*initial, *save, *help;
	int measure_buffers, estimator;
	const char *estimator_weights;
	const char *measure_mpi, *measure_limit;
	struct driver_list trial; /* pipelines, and files of modules */
	const char *trial_run, *trial_limit;
	bool verify_each, split, verify_diagnostics, run, check, time, f64, subnormals, no_shuffle,
		layout, version, tf32;
	bool list_facts;
	int64_t steps, seed;
	const char *carry, *entry; /* of StableHLO: parser/stablehlo/import/import.h */
	int64_t replicas;
	const char *mesh;
	bool expect;
	/* Internal state, not options: */
	struct crash_note *note; /* where the current activity is recorded; NULL: nowhere */
	const char *instead;     /* passes that searches run instead; NULL: they search */
	bool defined;            /* -D only apply to the cluster: the module has their values
				    already */
	bool is_trial;           /* one of several programs of a module: warnings are given once */
	struct driver_first *first; /* measuring comes first, by default; NULL: it does not */
};

/*
 * Reads the command line into *o, texts owned by `owner` or argv. Returns false after reporting an
 * error on stderr.
 */
bool driver_options_read(const void *owner, struct driver_options *o, int argc, char **argv);

/* Are the options compatible? Reports those that are not on stderr and returns false. */
bool driver_options_agree(const struct driver_options *o);

/* Prints the -help text: usage, the options by group, the exit codes. */
void driver_options_help(FILE *out);

/* The rows as a table or as JSON. */
void driver_stats_print(
	FILE *out, const struct driver_stats *s, const struct cost_model *cost, bool json);

/* The state of one run over one part of the input. */
struct driver {
	const struct driver_options *o;
	const struct driver_input *in; /* as passed to driver_read */
	struct ir_context *ctx;
	struct pass_manager *manager;
	struct pass_pipeline *pipeline;
	struct parse_options reads;     /* options for reading the module */
	struct storage_target *storage; /* how programs of the target place tensors */
	struct cost_model *cost;
	double measure_limit;            /* seconds; 0: none was given */
	struct measure_quality *quality; /* of -measure=each; NULL: nothing was measured */
	struct whatif *whatif;           /* NULL: none */
	struct driver_stats *stats;      /* NULL if no option needs it */
	struct driver_checks *checks;    /* -expect, else NULL */
	const char *before; /* text of the module before the pass, for -print-after=changed */
	bool bug;           /* a check found one */
};

/* A driver for one text, owned by `scratch`. */
struct driver driver_create(void *scratch, const struct driver_options *o);

struct driver_input; /* ../input.h */

/* Everything before the passes: the pipeline, the cost model, the module. Errors are reported. */
enum driver_exit driver_read(struct driver *t, const struct driver_input *in, struct ir_module **m);

/* The plugins of -load. False: reported. */
bool driver_load_plugins(const struct driver_options *o, struct pass_registry *r, struct diag *d);

/* A module of .dir or StableHLO, verified, with the axes of -mesh. NULL: reported. */
struct ir_module *driver_read_module(struct driver *t, const struct driver_input *in);

/* Makes t->cost, the cost model that the options ask for. False: reported. */
bool driver_cost_create(struct driver *t);

/* The cost of m, which may contain calls; it also does not fit if -budget is exceeded. */
bool driver_evaluate(struct driver *t, struct ir_module *m, struct cost_report *report);

/* -largest: sets *with to the options with the largest value. Errors are reported. */
enum driver_exit driver_largest(const void *scratch, const struct driver_options *o,
	const struct driver_input *in, struct driver_options *with);

/* Evaluates m and adds a row; run and e are NULL for the input. False: reported. */
bool driver_stats_add(struct driver *t, struct ir_module *m, const struct pass_run *run,
	const struct pass_entry *e, double seconds);

/* -diff: writes how the costs and types of m differ from those of `other`. False: reported. */
bool driver_diff(struct driver *t, struct ir_module *other, struct ir_module *m, FILE *out);

/* The module with its calls inlined: itself if it has none, else a copy owned by `owner`. NULL:
 * reported. */
struct ir_module *driver_without_calls(const void *owner, struct driver *t, struct ir_module *m);

/* Reads -budget into t->manager. False: reported. */
bool driver_budget_read(struct driver *t);

/*
 * Makes t->storage, with the limits of -workspace, without the forms of -without. False: reported.
 */
bool driver_storage_create(struct driver *t);

/* Reads -time-limit and -progress into t->manager. False: reported. */
bool driver_search_read(struct driver *t);

/* A warning about trained params with several dims that have no `init`: zeros.c. */
void driver_warn_zeros(struct driver *t, const struct ir_module *m);

/* Does the step stay within the budget? False: reported, with the largest buffers. */
bool driver_budget_check(struct driver *t, struct ir_module *m);

/* Bytes of host memory for each device: -host-budget, or that of the cluster; 0: any. */
uint64_t driver_host_limit(const struct driver *t);

/*
 * Notes on passes that would reduce the memory of the step m, the result of the pipeline, which
 * needs `peak` bytes: the memory with each, and with all of them. Returns whether there are any.
 */
bool driver_advise(struct driver *t, struct ir_module *m, uint64_t peak);

/* -mesh: adds its axes to the module. False: reported. */
bool driver_mesh_add(struct ir_module *m, const char *text);

/* Reads -whatif into t->whatif. False: reported. */
bool driver_whatif_read(struct driver *t);

/*
 * Evaluates a module without calls as it is and with the costs changed by -whatif, into
 * t->stats->whatif. False: reported.
 */
bool driver_whatif_run(struct driver *t, struct ir_module *m);

/* Both side by side, as a table; as a row of the JSON of -stats. */
void driver_whatif_print(FILE *out, const struct driver_whatif *w);
void driver_whatif_json(FILE *out, const struct driver_whatif *w);

/* The interpreter options of -run and -check. */
struct interp_options driver_interp_options(const struct driver_options *o);

/* -measure, -emit=measure: is measuring the kernels of the result the only task? If so,
 * driver_measure_result does it and reports the measurements on `out`. False: reported. */
bool driver_measures(const struct driver_options *o);

/* -measure=each: measures kernels of m that the profile lacks, and recreates t->cost from it;
 * `name` is the pass that made m, NULL: none. False: reported. */
bool driver_measure_each(struct driver *t, struct ir_module *m, const char *name);
bool driver_measure_result(const struct driver *t, struct ir_module *m, FILE *out);

/* -estimator=measure: measures the kernels of the best plans until a search finds no new ones.
 * False: reported. */
bool driver_measure_rounds(const struct driver_options *o, const struct driver_input *in);

/* The same with -emit=measure: writes the program of the next round, to be run elsewhere, if one is
 * needed, and says so. False: reported. */
bool driver_write_round(const struct driver_options *o, const struct driver_input *in);

/* If a pass searches without times of this machine: changes the options to measure first, into a
 * profile that lives as long as `scratch`, and reports that. */
void driver_measure_first(struct driver_options *o, void *scratch);

/* Processes an input as the options say: driver.c, from a text to a result. */
typedef enum driver_exit driver_transform(
	const struct driver_options *o, const struct driver_input *in, FILE *out);

/*
 * Measuring first: builds and runs the program of the search's result m, and those of the policies
 * for the same input. Returns the module whose program is fastest: m, also if none can be run, or
 * another that lives as long as t. NULL: reported. Prints the times on stderr.
 */
struct ir_module *driver_try_policies(
	struct driver *t, struct ir_module *m, driver_transform *transform);

/* Runs the pipeline on *m as the options say. */
enum driver_exit driver_passes_run(struct driver *t, struct ir_module **m);

/* The module as text; talloc text. */
char *driver_module_text(const void *owner, const struct ir_module *m);

/* Expected messages of one part of the input. */
struct driver_expect;

/* Reads the `expected-error {{...}}` comments of a text and takes over its reporter. */
struct driver_expect *driver_expect_create(
	const void *owner, struct diag *d, const char *name, const char *text);

/* Reports on stderr missing and unexpected messages; returns whether there were none. */
bool driver_expect_finish(struct driver_expect *e);

void driver_list_passes(FILE *out, const struct pass_registry *r, bool markdown);
/* The facts that passes need, provide and conflict with. */
void driver_list_facts(FILE *out, const struct pass_registry *r);
void driver_list_ops(FILE *out, bool markdown);
/* Help on one pass, op or function of the prelude. False, with a message on
 * stderr, if it is none of these. */
bool driver_help_topic(FILE *out, const struct pass_registry *r, const char *topic);

/* The values set by -D; arrays are owned by `owner`. False: reported. */
bool driver_read_options(
	const void *owner, const struct driver_options *o, struct parse_options *reads);

/* The installed clusters; with a name that is not empty, the text of that cluster or of a file.
 * False: reported. */
bool driver_list_clusters(FILE *out, struct ir_context *ctx, const struct driver_options *o);

#endif
