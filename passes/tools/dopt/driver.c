/*
 * dopt: reads a module, runs passes on it, writes it or builds a program.
 *
 *     command line -> text -> parts -> module -> passes -> module as text, program, or results
 */
#include "passes/tools/dopt/driver.h"

#include "dopt/version.h"
#include "ir/base/alloc.h"
#include "lower/lower.h"
#include "lower/stablehlo/stablehlo.h"
#include "passes/tools/dopt/checks.h"
#include "passes/tools/dopt/crash.h"
#include "passes/tools/input.h"
#include "passes/tools/report/report.h"
#include "passes/tools/dopt/trial.h"
#include "passes/tools/tools.h"
#include "passes/analysis/profile/profile.h"
#include "runtime/cuda/candidate.h"
#include "runtime/data/write_file.h"

#include <inttypes.h>
#include <signal.h>
#include <talloc.h>

static const char version[] = "0.1.0";

/* Is the result a view of the predicted step? */
static bool
emits_view(const struct driver_options *o)
{
	return o->emit == DRIVER_EMIT_TIMELINE || o->emit == DRIVER_EMIT_REPORT;
}

static bool
write_view(struct driver *t, struct ir_module *m, FILE *out)
{
	const struct cost_model *cost = t->whatif ? t->stats->whatif->model : t->cost;
	struct view *v = view_create(t->pipeline, cost, m);

	if (v && t->o->emit == DRIVER_EMIT_REPORT)
		driver_report_write(out, t->stats, t->manager, v);
	else if (v)
		driver_timeline_write(out, v);
	return v != NULL;
}

/* Are times predicted that a program can print? Those of `generic` are 30 to 60 times too long for
 * a GPU; for a host they are wrong by less, and the program says what they are of. */
static bool
knows_device(const struct driver_options *o)
{
	return o->target != DRIVER_TARGET_CUDA || o->cluster || o->profile;
}

static enum driver_exit transform_parts(
	const struct driver_options *o, const struct driver_input *in, FILE *out);

/* The candidate with the least measured time; that which the library recommends where it has not been
 * measured, or is not slower than by chance. */
static int
fastest_candidate(void *data, const char *call)
{
	const struct driver *t = data;
	char key[RT_CUDA_KEY];
	double least = 0;
	int best = 0;

	for (int i = 0; i < RT_CUDA_CANDIDATES; i++) {
		rt_cuda_candidate_key(key, call, i);
		const double s = cost_model_measured(t->cost, key);
		if (i == 0 && s <= 0)
			return 0;
		if (i == 0)
			least = s * (1 - PROFILE_PRECISION);
		if (i > 0 && s > 0 && s < least) {
			best = i;
			least = s;
		}
	}
	return best;
}

/* If the machine was not measured, the policies' programs are run as well: one of them may be
 * faster after all. */
static bool
write_program(struct driver *t, struct ir_module *m)
{
	const struct driver_options *o = t->o;
	struct cost_report report = {0};
	struct lower_options lo = {
		.target = o->target == DRIVER_TARGET_CUDA ? LOWER_CUDA : LOWER_HOST,
		.storage = t->storage,
		.without = o->without,
		.candidate = fastest_candidate,
		.candidate_data = t,
		.output = o->output,
		.cflags = o->cflags,
		.arch = o->arch,
		.library = o->algorithm == COLLECTIVE_MPI};

	if (o->first)
		m = driver_try_policies(t, m, transform_parts);
	if (!m || !cost_evaluate(t->cost, m, &report))
		return false;
	lo.predicted = knows_device(o) ? report.iteration : 0;
	lo.predicted_generic = !o->cluster && !o->profile;
	lo.predicted_bytes = (uint64_t)(report.peak_bytes - report.library_bytes);
	lo.predicted_host_bytes = (uint64_t)report.host_bytes;
	return lower_emit_program(m, &lo);
}

/* -diff: reads the other module. */
static bool
write_diff(struct driver *t, struct ir_module *m, FILE *out)
{
	struct driver_input in;

	if (!driver_input_read(t->pipeline, &in, t->o->diff))
		return false;
	struct ir_module *other = driver_read_module(t, &in);
	return other && driver_diff(t, other, m, out);
}

static bool
write_result(struct driver *t, struct ir_module *m, FILE *out)
{
	const struct driver_options *o = t->o;

	crash_doing(o->note, "after the passes, while writing the result");
	if (t->checks)
		return driver_checks_run(t->checks, m);
	if ((o->run ? !o->initial : o->emit == DRIVER_EMIT_PROGRAM) && !o->is_trial)
		driver_warn_zeros(t, m);
	if (o->run) {
		struct interp_options io = driver_interp_options(o);
		return interp_run_print(m, &io, out);
	}
	if (driver_measures(o))
		return driver_measure_result(t, m, out);
	if (o->emit == DRIVER_EMIT_PROGRAM)
		return write_program(t, m);
	if (emits_view(o))
		return write_view(t, m, out);
	if (o->diff)
		return write_diff(t, m, out);
	if (o->emit == DRIVER_EMIT_STABLEHLO)
		return stablehlo_write(out, m);
	if (o->emit != DRIVER_EMIT_NONE)
		ir_print(out, m);
	return true;
}

static bool
write_remarks(const struct driver *t)
{
	struct driver_output yaml;

	if (!t->o->remarks || !*t->o->remarks)
		return true;
	if (!driver_output_open(&yaml, t->o->remarks))
		return false;
	pass_remarks_yaml(yaml.file, t->manager);
	return driver_output_close(&yaml);
}

static void
write_stats(const struct driver *t)
{
	FILE *out = t->o->emit == DRIVER_EMIT_NONE ? stdout : stderr;

	if (t->stats && (t->o->stats || t->o->time))
		driver_stats_print(out, t->stats, t->o->stats ? t->cost : NULL,
			t->o->stats == DRIVER_STATS_JSON);
	else if (t->whatif)
		driver_whatif_print(out, t->stats->whatif);
}

/* Everything between a text and a result. */
static enum driver_exit
transform(struct driver *t, const struct driver_input *in, FILE *out)
{
	struct ir_module *m;
	enum driver_exit exit = driver_read(t, in, &m);

	if (exit != DRIVER_OK)
		return exit;
	if (t->o->emit == DRIVER_EMIT_PROGRAM || t->o->emit == DRIVER_EMIT_STABLEHLO ||
		emits_view(t->o) || driver_measures(t->o))
		pass_pipeline_require(t->pipeline, t->manager, m, "no-calls");
	exit = driver_passes_run(t, &m);
	if (exit == DRIVER_OK && t->o->explain && !*t->manager->explained) {
		driver_error("option -explain: no pass of this pipeline explains its choices; "
			     "parallelize does");
		exit = DRIVER_USAGE;
	}
	if (!write_remarks(t))
		return DRIVER_INPUT;
	if (exit != DRIVER_OK)
		return exit;
	if (t->whatif && !driver_whatif_run(t, m))
		return DRIVER_INPUT;
	write_stats(t);
	if (!driver_budget_check(t, m))
		return DRIVER_INPUT;
	/* With -verify-diagnostics only the messages count. */
	return t->o->verify_diagnostics || write_result(t, m, out) ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
transform_measured(const struct driver_options *o, const struct driver_input *in, FILE *out,
	struct driver_checks *checks)
{
	if (o->estimator == DRIVER_ESTIMATE_MEASURE && o->emit == DRIVER_EMIT_MEASURE)
		return driver_write_round(o, in) ? DRIVER_OK : DRIVER_INPUT;
	if (o->estimator == DRIVER_ESTIMATE_MEASURE && !driver_measure_rounds(o, in))
		return DRIVER_INPUT;
	void *scratch = alloc_scratch(NULL);
	struct driver t = driver_create(scratch, o);
	struct driver_expect *expect = NULL;

	t.manager->show_remarks = o->remarks && !*o->remarks;
	t.manager->keep_remarks = (o->remarks && *o->remarks) || o->emit == DRIVER_EMIT_REPORT;
	if (o->verify_diagnostics)
		expect = driver_expect_create(scratch, t.ctx->diag, in->name, in->text);
	if (checks)
		driver_checks_begin(t.checks = checks, t.ctx->diag, in->text);
	enum driver_exit exit = transform(&t, in, out);
	if (checks)
		exit = driver_checks_end(checks, out, exit);
	if (expect && exit != DRIVER_USAGE)
		exit = driver_expect_finish(expect) ? DRIVER_OK : DRIVER_INPUT;
	crash_diag(o->note, NULL);
	talloc_free(scratch);
	return exit;
}

static enum driver_exit
transform_part(const struct driver_options *o, const struct driver_input *in, FILE *out,
	struct driver_checks *checks)
{
	void *scratch = alloc_scratch(NULL);
	struct driver_options mine = *o;

	driver_measure_first(&mine, scratch);
	const enum driver_exit exit = transform_measured(&mine, in, out, checks);
	talloc_free(scratch);
	return exit;
}

static enum driver_exit
worse(enum driver_exit a, enum driver_exit b)
{
	return a > b ? a : b;
}

static enum driver_exit
transform_parts(const struct driver_options *o, const struct driver_input *in, FILE *out)
{
	enum driver_exit exit = DRIVER_OK;
	struct driver_checks *checks =
		o->expect ? driver_checks_create(array_context(in->text)) : NULL;
	struct driver_input part;
	size_t at = 0;

	if (!o->split)
		exit = transform_part(o, in, out, checks);
	for (bool first = true;
		o->split && driver_input_part(array_context(in->text), in, &at, &part);
		first = false) {
		if (!first && o->emit != DRIVER_EMIT_NONE && !o->verify_diagnostics && !checks)
			fputs("// -----\n", out);
		exit = worse(exit, transform_part(o, &part, out, checks));
		if (exit == DRIVER_USAGE || (exit != DRIVER_OK && o->reproducer))
			break;
	}
	if (checks)
		driver_checks_sum(checks, out);
	return exit;
}

/* Runs several plans and keeps the fastest. */
static enum driver_exit
transform_tried(const void *scratch, const struct driver_options *o, const struct driver_input *in,
	FILE *out)
{
	const struct driver_options rest = driver_trial_rest(o);
	struct driver_input best;
	enum driver_exit exit = driver_trial(scratch, o, in, transform_parts, &best);

	return exit == DRIVER_OK ? transform_parts(&rest, &best, out) : exit;
}

/* The program is written under the name in -o by the compiler, everything else by us. */
static bool
has_own_output(const struct driver_options *o)
{
	const bool measures = driver_measures(o) && o->emit != DRIVER_EMIT_MEASURE;

	return o->run || measures || o->expect ||
	       (o->emit != DRIVER_EMIT_PROGRAM && o->emit != DRIVER_EMIT_NONE &&
		       o->emit != DRIVER_EMIT_MEASURE);
}

static enum driver_exit
transform_file(const void *scratch, const struct driver_options *o)
{
	struct driver_output out;
	struct driver_input in;

	if (!driver_input_read(scratch, &in, o->input))
		return DRIVER_INPUT;
	const char *binary = driver_input_binary(&in);
	if (binary) {
		driver_error("'%s' is %s; expected a module as text: .dir or StableHLO", in.name,
			binary);
		return DRIVER_INPUT;
	}
	if (!driver_output_open(&out, has_own_output(o) ? o->output : NULL))
		return DRIVER_INPUT;
	struct driver_options largest;
	enum driver_exit exit = DRIVER_OK;
	if (o->largest && (exit = driver_largest(scratch, o, &in, &largest)) == DRIVER_OK)
		o = &largest;
	if (exit == DRIVER_OK)
		exit = o->trial.n ? transform_tried(scratch, o, &in, out.file)
				  : transform_parts(o, &in, out.file);
	if (exit == DRIVER_OK || out.file == stdout)
		return driver_output_close(&out) ? exit : worse(exit, DRIVER_INPUT);
	driver_output_discard(&out);
	return exit;
}

/* -help, -version and the lists: true if the command line requests one, with *exit set. */
static bool
answer(const void *scratch, const struct driver_options *o, enum driver_exit *exit)
{
	const char *topic = o->help && *o->help ? o->help : o->input;
	struct driver_output out;
	bool ok;

	if (!o->help && !o->version && !o->list_passes && !o->list_facts && !o->list_ops &&
		!o->list_clusters)
		return false;
	struct ir_context *ctx = ir_context_create(scratch);
	struct pass_manager *manager = pass_manager_create(scratch, ctx);
	ok = driver_load_plugins(o, manager->registry, ctx->diag);
	ok = ok && driver_output_open(&out, o->output);
	*exit = DRIVER_INPUT;
	if (!ok)
		return true;
	if (o->version)
		fprintf(out.file, "dopt %s, plugin interface %016" PRIx64 "\n", version,
			(uint64_t)DOPT_API_VERSION);
	else if (o->help && topic)
		ok = driver_help_topic(out.file, manager->registry, topic);
	else if (o->help)
		driver_options_help(out.file);
	else if (o->list_passes)
		driver_list_passes(out.file, manager->registry, o->list_passes == DRIVER_LIST_MD);
	else if (o->list_facts)
		driver_list_facts(out.file, manager->registry);
	else if (o->list_clusters)
		ok = driver_list_clusters(out.file, ctx, o);
	else
		driver_list_ops(out.file, o->list_ops == DRIVER_LIST_MD);
	*exit = ok ? DRIVER_OK : o->list_clusters ? DRIVER_INPUT : DRIVER_USAGE;
	if (!driver_output_close(&out))
		*exit = DRIVER_INPUT;
	return true;
}

static enum driver_exit
work(const void *scratch, const struct driver_options *o)
{
	enum driver_exit exit = DRIVER_USAGE;

	if (answer(scratch, o, &exit) || !driver_options_agree(o))
		return exit;
	if (o->reproducer)
		rt_write_remove(o->reproducer);
	return transform_file(scratch, o);
}

int
tool_dopt(int argc, char **argv)
{
	void *scratch = alloc_scratch(NULL);
	struct driver_options o;
	enum driver_exit exit = DRIVER_USAGE;

	/* If the reader of a pipe exits, writing fails with a message instead of a silent end. */
	signal(SIGPIPE, SIG_IGN);
	if (driver_options_read(scratch, &o, argc, argv))
		exit = crash_guarded(scratch, &o, work);
	talloc_free(scratch);
	return exit;
}
