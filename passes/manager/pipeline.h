/*
 * The pass manager: pipeline text to a checked list of passes, and running it.
 *
 *     grad,adam{lr=3e-4},tensorfuse{bucket=25MB}
 *     ^name     ^option  ^entry
 *
 * Checked before anything runs: names, types and ranges of options, and facts: from those that the
 * module has, through what each pass provides. If a missing fact has a provider (facts.c), the
 * provider is inserted before the pass that needs the fact: such an entry is `automatic`.
 */
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H

#include "passes/manager/options.h"
#include "passes/pass.h"
#include "passes/registry.h"

#include <stdio.h>

struct pass_entry {
	const struct pass *pass;
	struct ir_loc loc;        /* of its name; of the pass that needs it if automatic */
	struct pass_value *value; /* of its options */
	const char *text;         /* as in the pipeline: "adam{lr=3e-4}" */
	bool automatic;
};

/* Does it search for kernels? See pass.searches. */
bool pass_entry_searches(const struct pass_entry *e);

struct pass_pipeline {
	struct pass_entry *entry; /* talloc array */
	int n;
	const char *then; /* passes that follow it, if it runs inside another pass; NULL: none */
};

/* A remark, kept for a report. */
struct pass_remark_record {
	const struct pass *pass;
	enum pass_remark_kind kind;
	struct ir_loc loc;
	const char *op, *text; /* op: name of its code, or NULL */
};

/* A statistic of one pass. */
struct pass_counter {
	const char *what;
	int64_t n;
};

/* State shared by the runs of passes. The owner fills it in; a talloc parent for the members. */
struct pass_manager {
	struct ir_context *ctx;
	struct pass_registry *registry;
	struct cost_model *cost; /* may be NULL */
	uint64_t seed;
	uint64_t budget;      /* bytes that a step may use on a device; 0: any */
	uint64_t host_budget; /* bytes of host memory for each device; 0: as the cluster says */
	double time_limit;    /* seconds that a search may take; 0: any */
	uint64_t evaluations; /* replays that it may use, unless its pass says; 0: any */
	const char *instead;  /* passes that searches over kernels run instead of searching, "" for
				 none at all; NULL: they search */
	const char *explain;  /* values and params of -explain; NULL: none */
	bool *explained;      /* set if a pass asks for it; NULL: not wanted */
	int *looked_ahead; /* set to how many entries decide if a pass asks which follow, INT_MAX: all;
				 NULL: not wanted */
	bool *asked_budget; /* set if a pass asks for the budget; NULL: not wanted */
	struct parallel_memo
		*memo;     /* costs that runs of parallelize share; NULL: each has its own */
	FILE *progress;    /* where a search reports its progress; NULL: nowhere */
	bool verify_each;  /* verify after every pass */
	bool keep_remarks; /* collect remarks in `remark` */
	bool show_remarks; /* and report them as they come */
	struct pass_remark_record *remark;
	int nremarks;
	struct pass_counter *counter; /* of the running pass */
	int ncounters;
};

/* A manager with the built-in passes that verifies after every pass. Never NULL. */
struct pass_manager *pass_manager_create(const void *owner, struct ir_context *ctx);

/* An empty pipeline owned by `owner`. */
struct pass_pipeline *pass_pipeline_create(const void *owner);

/*
 * Adds the passes of a text, which is registered with the reporter under `source`. Reports every
 * fault with its place in the text and returns false.
 */
bool pass_pipeline_parse(struct pass_pipeline *p, struct pass_manager *manager, const char *source,
	const char *text);

/*
 * Checks needs and conflicts, starting from the facts of `m`, and inserts providers. Reports and
 * returns false on errors.
 */
bool pass_pipeline_check(
	struct pass_pipeline *p, struct pass_manager *manager, const struct ir_module *m);

/*
 * Ensures that the fact holds at the end of the pipeline: adds its provider if it does not.
 */
bool pass_pipeline_require(struct pass_pipeline *p, struct pass_manager *manager,
	const struct ir_module *m, const char *fact);

enum pass_status {
	PASS_DONE,
	PASS_FAILED, /* the input is at fault: reported */
	PASS_BUG,    /* a pass is at fault: reported */
};

/* Callbacks while a pipeline runs; each may be NULL. */
struct pass_hooks {
	void *data;
	/* A copy of each pass's input is kept and given to `after`. */
	bool keep_input;
	/* False: stop, reported. */
	bool (*before)(void *data, const struct pass_entry *e, struct ir_module *m);
	/*
	 * After the pass has run and its output was verified; `seconds` is what the pass took.
	 * `input` is NULL without keep_input. *drop = true: go on with the input. False: stop,
	 * reported.
	 */
	bool (*after)(void *data, const struct pass_run *run, const struct pass_entry *e,
		struct ir_module *input, struct ir_module *m, double seconds, bool *drop);
};

/*
 * Runs the pipeline on *m. The result is *m, or another module with the same owner if a pass was
 * dropped.
 */
enum pass_status pass_pipeline_run(const struct pass_pipeline *p, struct pass_manager *manager,
	struct ir_module **m, const struct pass_hooks *hooks);

/* The same for the entries from `first` to before `end`, on the result of earlier entries. */
enum pass_status pass_pipeline_run_part(const struct pass_pipeline *p, int first, int end,
	struct pass_manager *manager, struct ir_module **m, const struct pass_hooks *hooks);

/* The pipeline as text that parses to it; talloc. From entry `first` on. */
char *pass_pipeline_text(const void *owner, const struct pass_pipeline *p, int first);

/*
 * All remarks kept, as a stream of YAML documents in the form of LLVM's -fsave-optimization-record.
 */
void pass_remarks_yaml(FILE *out, const struct pass_manager *manager);

#endif
