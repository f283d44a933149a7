/*
 * The tool `dopt`: options, and what its parts share.
 *
 *     driver_options.c   the command line, from one table
 *     driver.c           main: every part of the input, one after another
 *     driver_passes.c    runs the pipeline: prints, checks, keeps what is better, counts
 *     driver_stats.c     one row a pass
 *     driver_measure.c   -measure: times kernels and messages for a profile;
 *     driver_measure_source.c writes the program that does
 *     driver_expect.c    -verify-diagnostics
 *     driver_list.c      -list-passes, -list-ops, -help
 *     driver_output.c    files that are there whole or not at all
 */
#ifndef PASSES_DRIVER_H
#define PASSES_DRIVER_H

#include "ir/interp.h"
#include "passes/analysis/cost.h"
#include "passes/pipeline.h"

#include <stdio.h>

/* What dopt ends with; -help lists them. */
enum driver_exit {
	DRIVER_OK = 0,
	DRIVER_INPUT = 1, /* the input is wrong, or a file cannot be read or written */
	DRIVER_USAGE = 2, /* the command line is */
	DRIVER_BUG = 3,   /* a pass is: it crashed, broke the module or changed its meaning */
};

struct driver_list {
	const char **item;
	int n;
};

/* Choices count from 1, in the order of the option's table row; 0: not given. */
enum { DRIVER_EMIT_DIR = 1, DRIVER_EMIT_PROGRAM, DRIVER_EMIT_NONE };
enum { DRIVER_KEEP_ALL = 1, DRIVER_KEEP_BETTER };
enum { DRIVER_MEASURE_MISSING = 1, DRIVER_MEASURE_ALL };
enum { DRIVER_STATS_TABLE = 1, DRIVER_STATS_JSON };
enum { DRIVER_LIST_TEXT = 1, DRIVER_LIST_MD };

struct driver_options {
	const char *input, *output;
	int emit, target, stats, keep, measure, list_passes, list_ops;
	struct driver_list pass, load, define;
	const char *print_before, *print_after; /* names, comma-separated */
	const char *remarks;                    /* "": as messages; else a file for YAML */
	const char *reproducer, *device, *profile, *data, *save, *help;
	bool verify_each, split, verify_diagnostics, run, check, time, f64, layout, version;
	int64_t steps, seed;
};

/*
 * Reads the command line into *o, texts owned by `owner` or argv. Returns false after saying on
 * stderr what is wrong with it.
 */
bool driver_options_read(const void *owner, struct driver_options *o, int argc, char **argv);

/* Prints what -help prints: usage, the options by group, the exit codes. */
void driver_options_help(FILE *out);

/* A file being written: under another name, until it is done; or stdout. */
struct driver_output {
	FILE *file;
	const char *path, *temporary; /* temporary NULL: written in place */
};

/* Opens `path` for writing (NULL or "-": stdout). Says on stderr why not and returns false. */
bool driver_output_open(const void *owner, struct driver_output *o, const char *path);

/* Ends writing and gives the file its name; says on stderr what failed and returns false. */
bool driver_output_close(struct driver_output *o);

/* Ends writing and removes what was written. */
void driver_output_discard(struct driver_output *o);

/* One row of -stats: the module after a pass, or the input. */
struct driver_row {
	const char *name; /* NULL: the input */
	bool automatic, changed, dropped;
	double seconds; /* what the pass took */
	struct cost_report cost;
	struct pass_counter *counter;
	int ncounters;
};

struct driver_stats {
	struct driver_row *row; /* talloc array */
	int n;
};

/* The rows as a table or as JSON. */
void driver_stats_print(
	FILE *out, const struct driver_stats *s, const struct cost_model *cost, bool json);

/* The state of one run over one part of the input. */
struct driver {
	const struct driver_options *o;
	struct ir_context *ctx;
	struct pass_manager *manager;
	struct pass_pipeline *pipeline;
	struct cost_model *cost;
	struct driver_stats *stats; /* NULL where nothing asks for it */
	const char *before; /* text of the module before the pass, for -print-after=changed */
	bool bug;           /* a check found one */
};

/* Evaluates m and adds a row; run and e are NULL for the input. False: reported. */
bool driver_stats_add(struct driver *t, struct ir_module *m, const struct pass_run *run,
	const struct pass_entry *e, double seconds);

/* What -run and -check tell the interpreter. */
struct interp_options driver_interp_options(const struct driver_options *o);

/* Runs the pipeline on *m as the options say. */
enum driver_exit driver_passes_run(struct driver *t, struct ir_module **m);

/* The module as text; talloc. */
char *driver_module_text(const void *owner, const struct ir_module *m);

/* Expected messages of one part of the input. */
struct driver_expect;

/* Reads the `expected-error {{...}}` comments of a text and takes over its reporter. */
struct driver_expect *driver_expect_create(
	const void *owner, struct diag *d, const char *name, const char *text);

/* Says on stderr which expected messages did not come and which unexpected did; were there none? */
bool driver_expect_finish(struct driver_expect *e);

void driver_list_passes(FILE *out, const struct pass_registry *r, bool markdown);
void driver_list_ops(FILE *out, bool markdown);
/* What there is to know about one pass or op. False, with a message on stderr, if it is neither. */
bool driver_help_topic(FILE *out, const struct pass_registry *r, const char *topic);

/* "dopt: error: ..." on stderr. */
void driver_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
