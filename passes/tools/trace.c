/*
 * dopt-trace: analyses the traces of a program.
 *
 *     dopt-trace align TRACES             the clocks of the ranks
 *     dopt-trace merge TRACES -o FILE     one trace of all ranks, on one clock
 *     dopt-trace report TRACES            what bounds the step
 *     dopt-trace compare MODULE TRACES    measured and predicted times
 *     dopt-trace load MODULE TRACES       measured times into a profile
 */
#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "lower/lower.h"
#include "passes/analysis/trace/report/compare.h"
#include "passes/analysis/profile/derive.h"
#include "passes/analysis/trace/report/load.h"
#include "passes/analysis/trace/report/report.h"
#include "passes/manager/pipeline.h"
#include "passes/tools/command_line.h"
#include "passes/tools/input.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <limits.h>

struct tool {
	struct diag *diag;
	const char *output, *cluster, *profile;
	int transport; /* enum transport */
	int format;    /* enum trace_format */
	int clocks;    /* enum clocks */
	bool drift, help;
	struct driver_list file;
};

#define CLOCKS(ROW) ROW(CLOCKS_HOST, "host") ROW(CLOCKS_RANK, "rank")

enum clocks { CLOCKS(CHOICE_CODE) };

/* The executors of collectives, as named in profiles. */
#define TRANSPORTS(ROW)                                                                            \
	ROW(TRANSPORT_THREADS, "threads")                                                          \
	ROW(TRANSPORT_MPI, "mpi")                                                                  \
	ROW(TRANSPORT_LIBRARY, "mpi-library")                                                      \
	ROW(TRANSPORT_PEERS, "peers") ROW(TRANSPORT_NCCL, "nccl")

enum transport { TRANSPORTS(CHOICE_CODE) };

static const char *const transport_names[] = {
#define NAME(code, name) [code] = name,
	TRANSPORTS(NAME)
#undef NAME
};

static bool
read_traces(struct tool *t, int first, struct trace_set **s, struct trace_alignment **a)
{
	const struct trace_align_options o = {
		.by_rank = t->clocks == CLOCKS_RANK, .no_drift = !t->drift};

	*s = trace_set_read(t, t->diag, t->file.item + first, t->file.n - first);
	*a = *s ? trace_align(t, t->diag, *s, &o) : NULL;
	return *a;
}

static enum driver_exit
align(struct tool *t)
{
	struct driver_output out;
	struct trace_set *s;
	struct trace_alignment *a;

	if (!read_traces(t, 0, &s, &a) || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	trace_print_alignment(out.file, (enum trace_format)t->format, s, a);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
merge(struct tool *t)
{
	struct driver_output out;
	struct trace_set *s;
	struct trace_alignment *a;

	if (!read_traces(t, 0, &s, &a) || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	trace_print_merged(out.file, s, a);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
report(struct tool *t)
{
	struct driver_output out;
	struct trace_set *s;
	struct trace_alignment *a;

	struct trace_measured *m =
		read_traces(t, 0, &s, &a) ? trace_measure(t, t->diag, s, a) : NULL;
	if (!m || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	trace_report_print(out.file, (enum trace_format)t->format, s, a, m);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

/* The module without calls, as the program was built from it. */
static struct ir_module *
read_module(struct tool *t, struct ir_context *ctx, const char *path)
{
	struct driver_input in;
	struct parse_options po = {0};

	if (!driver_input_read(t, &in, path))
		return NULL;
	struct pass_manager *manager = pass_manager_create(t, ctx);
	struct pass_pipeline *pipeline = pass_pipeline_create(manager);
	struct ir_module *m = parse_module(manager, ctx, in.name, in.text, in.length, &po);
	if (!m || !ir_verify(m))
		return NULL;
	pass_pipeline_require(pipeline, manager, m, "no-calls");
	return pass_pipeline_run(pipeline, manager, &m, NULL) == PASS_FAILED ? NULL : m;
}

/* How the program placed memory and made kernels; NULL after reporting. */
static const struct storage_target *
storage_of_trace(struct tool *t, const struct trace *trace)
{
	const int target = trace->target ? lower_target_find(trace->target) : LOWER_HOST;
	struct storage_target *s = NEW(t, struct storage_target);

	if (target < 0) {
		diag_error(
			t->diag, LOC_NONE, "%s: unknown target '%s'", trace->path, trace->target);
		return NULL;
	}
	*s = *lower_storage_target((enum lower_target)target);
	return trace->without && *trace->without && !lower_without(t->diag, s, trace->without)
		       ? NULL
		       : s;
}

static struct trace_comparison *
compare_files(struct tool *t)
{
	struct ir_context *ctx = ir_context_create(t);
	struct trace_set *s;
	struct trace_alignment *a;

	struct ir_module *m = read_module(t, ctx, t->file.item[0]);
	struct cluster *cluster = t->cluster ? cluster_open(t, ctx, t->cluster) : NULL;
	if (!m || (t->cluster && !cluster))
		return NULL;
	if (!read_traces(t, 1, &s, &a))
		return NULL;
	const struct cost_options co = {.cluster = cluster,
		.profile = t->profile,
		.storage = storage_of_trace(t, s->trace[0])};
	struct cost_model *model = co.storage ? cost_model_create(t, ctx->diag, &co) : NULL;
	if (!model)
		return NULL;
	struct trace_measured *measured = trace_measure(t, t->diag, s, a);
	return measured ? trace_compare(t, t->diag, s, measured, model, m) : NULL;
}

static enum driver_exit
compare(struct tool *t)
{
	struct driver_output out;
	struct trace_comparison *c = compare_files(t);

	if (!c || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	trace_comparison_print(out.file, (enum trace_format)t->format, c);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

static bool
load_files(struct tool *t, struct profile *p, struct trace_loaded *loaded)
{
	struct trace_set *s;
	struct trace_alignment *a;

	struct ir_module *m = read_module(t, ir_context_create(t), t->file.item[0]);
	if (!m || !read_traces(t, 1, &s, &a))
		return false;
	struct trace_measured *measured = trace_measure(t, t->diag, s, a);
	const char *device = profile_this_device(t);
	for (uint32_t i = 0; measured && i < s->n; i++)
		if (!trace_check_build(t->diag, s->trace[i], m))
			return false;
	return measured &&
	       trace_load(p, device, transport_names[t->transport], measured, m, loaded) &&
	       profile_derive(p, device, true);
}

static enum driver_exit
load(struct tool *t)
{
	struct trace_loaded loaded;

	if (!t->profile) {
		driver_error("load: requires -profile=FILE: the times are written to it");
		return DRIVER_USAGE;
	}
	struct profile *p = profile_open(t, t->diag, t->profile, PROFILE_WRITE);
	if (!p)
		return DRIVER_INPUT;
	profile_select(p, profile_backend(false), NULL);
	if (!load_files(t, p, &loaded))
		return DRIVER_INPUT;
	printf("loaded: %s and %s\n", number_count(t, loaded.kernels, "kernel(s)"),
		number_count(t, loaded.collectives, "collective(s)"));
	return DRIVER_OK;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct choice formats[] = {
	CHOICE_ROW(TRACE_TEXT, "text") CHOICE_ROW(TRACE_JSON, "json")
		CHOICE_ROW(TRACE_MARKDOWN, "md"){.name = NULL},
};

static const struct flag flags[] = {
	{"Options", .kind = FLAG_GROUP},
	{"o", "FILE", "write to FILE atomically (temporary file, then rename); -: standard output",
		FLAG_TEXT, AT(output)},
	{"format", NULL, "output format (default: text)", FLAG_CHOICE, AT(format),
		.choice = formats},
	{"clocks", NULL,
		"whether the ranks of a host share one clock (default) or each has its own",
		FLAG_CHOICE, AT(clocks), .choice = CHOICES(CLOCKS)},
	{"drift", "0|1", "model clock drift as well as offset (default: 1)", FLAG_BOOL, AT(drift)},
	{"cluster", "NAME|FILE", "compare: devices and links that times are predicted for",
		FLAG_TEXT, AT(cluster)},
	{"profile", "FILE",
		"compare: measured times of ops, used in preference to estimates; load: where they "
		"are written",
		FLAG_TEXT, AT(profile)},
	{"transport", NULL, "load: what executed the collectives (default: threads)", FLAG_CHOICE,
		AT(transport), .choice = CHOICES(TRANSPORTS)},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command commands[] = {
	{"align", "TRACES", "show the offset of each host's clock and its uncertainty", 1, INT_MAX,
		align},
	{"merge", "TRACES", "write one Chrome trace of all ranks, on one clock", 1, INT_MAX, merge},
	{"report", "TRACES", "report what bounds the step and where the time of each rank goes", 1,
		INT_MAX, report},
	{"compare", "MODULE TRACES",
		"compare the measured time of each op with the time predicted for MODULE, the "
		"module that the program was built from, after all passes",
		2, INT_MAX, compare},
	{"load", "MODULE TRACES",
		"write the measured times of this machine's kernels and collectives to a profile, "
		"from which dopt -profile=FILE predicts",
		2, INT_MAX, load},
};

static const struct command_line line = {
	.head = "usage: dopt-trace COMMAND [options] FILES\n"
		"Analyzes the traces of a program. TRACES is the folder that "
		"the program wrote with -trace,\n"
		"or the files rank-N.json of one run.\n",
	.tail = "Exit status: 0 success; 1 invalid input, or a file cannot be read or written;\n"
		"2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.command = commands,
	.ncommands = sizeof commands / sizeof *commands,
	.words = FIELD(file),
};

int
tool_trace(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);

	t->diag = diag_create(t);
	t->drift = true;
	return command_line_main(&line, t, argc, argv);
}
