/*
 * When -measure and -estimator=measure measure, and which kernels: those of the result, those of
 * the step after each pass, or in rounds those of a search's result.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "lower/job.h"
#include "passes/search/joint.h"
#include "passes/tools/dopt/crash.h"
#include "passes/tools/dopt/measure.h"

#include <string.h>
#include <talloc.h>

bool
driver_measures(const struct driver_options *o)
{
	return (o->measure && o->measure != DRIVER_MEASURE_EACH) || o->emit == DRIVER_EMIT_MEASURE;
}

static struct measure_options
options_of(const struct driver *t)
{
	const struct driver_options *o = t->o;

	return (struct measure_options){.profile = o->profile,
		.mpi = o->measure_mpi,
		.rotate = o->measure_buffers == DRIVER_BUFFERS_ROTATE,
		.library = o->algorithm == COLLECTIVE_MPI,
		.limit = t->measure_limit,
		.cuda = o->target == DRIVER_TARGET_CUDA,
		.storage = t->storage};
}

/* Measuring first: measures kernels and collectives as the program will run, over the same link. */
static void
measure_as_run(struct measure_options *mo, const char *command, const void *scratch)
{
	const char *at = command ? strstr(command, "{}") : NULL;

	if (!command)
		return;
	if (!at || at > command)
		mo->mpi = at ? TEXT(scratch, "%.*s", (int)(at - command), command) : command;
	mo->arguments = at ? at + 2 : NULL;
}

bool
driver_measure_result(const struct driver *t, struct ir_module *m, FILE *out)
{
	struct measure_options mo = options_of(t);

	mo.program = t->o->emit == DRIVER_EMIT_MEASURE ? t->o->output : NULL;
	mo.all = t->o->measure == DRIVER_MEASURE_ALL;
	mo.again = t->o->measure == DRIVER_MEASURE_AGAIN;
	return driver_measure(m, &mo, out);
}

/*
 * The inner loop of DeepCompile: each pass decides by times that were measured on the result of the
 * passes before it. Equal kernels have equal keys, so only new ones are measured.
 */
bool
driver_measure_each(struct driver *t, struct ir_module *m, const char *name)
{
	struct measure_options mo = options_of(t);
	void *scratch = alloc_scratch(t->pipeline);

	if (!t->quality)
		t->quality = NEW(t->pipeline, struct measure_quality);
	mo.quality = t->quality;
	mo.when = name ? TEXT(scratch, "after %s", name) : "before the passes";
	struct ir_module *flat = driver_without_calls(scratch, t, m);
	const bool good = flat && driver_measure(flat, &mo, stderr) && driver_cost_create(t);
	talloc_free(scratch);
	return good;
}

/* -estimator=measure, for one input. */
struct rounds {
	const struct driver_options *o;
	const struct driver_input *in;
	struct measure_quality quality; /* of all rounds */
};

static double
ends(const struct rounds *r)
{
	return r->o->first ? r->o->first->until : 0;
}

static bool
is_over(const struct rounds *r)
{
	return ends(r) > 0 && clock_seconds() >= ends(r);
}

/*
 * One round: runs the passes and measures the kernels of the result, which contains the best plan
 * of a search, if the profile lacks them, or all of them again; *stored receives how many were
 * measured. With `instead` searches run these passes.
 */
static bool
measure_round(struct rounds *r, const char *instead, bool again, int *stored)
{
	const bool remote = r->o->emit == DRIVER_EMIT_MEASURE;
	void *scratch = alloc_scratch(NULL);
	struct driver_options o = *r->o;
	struct ir_module *m;

	o.instead = instead;
	struct driver t = driver_create(scratch, &o);
	bool good = driver_read(&t, r->in, &m) == DRIVER_OK;
	if (good) {
		pass_pipeline_require(t.pipeline, t.manager, m, "no-calls");
		good = driver_passes_run(&t, &m) == DRIVER_OK;
	}
	struct measure_options mo = options_of(&t);
	mo.again = again;
	mo.stored = stored;
	mo.until = ends(r);
	mo.program = remote ? o.output : NULL;
	mo.lacking = remote;
	mo.quality = &r->quality;
	if (o.first)
		measure_as_run(&mo, o.trial_run, scratch);
	if (good && !driver_measure(m, &mo, remote ? stdout : stderr)) {
		good = false;
		if (o.first)
			o.first->failed = true;
	}
	crash_diag(o.note, NULL);
	talloc_free(scratch);
	return good;
}

/*
 * Measurements change which plan is best, and that plan may have kernels without measurements: so
 * rounds are repeated until it has none, up to this many. A search settles within three or four in
 * our steps; the rest of the time is better spent on searching.
 *
 * The kernels of the policies that a search starts from, and the single ops on which estimates are
 * based, are measured before the first search, which compares its candidates with them.
 *
 * A search prefers kernels whose measured times happen to be low. So the kernels of its result are
 * measured again, by another process, before they are trusted; if the plan is still best, rounds
 * end.
 */
enum { MEASURE_ROUNDS = 8, MEASURE_AGAIN = 2 };

static bool
measure_policies(struct rounds *r)
{
	const char *policy;
	int stored;

	for (unsigned i = 0; (policy = joint_kernel_policy(i)) && !is_over(r); i++)
		if (!measure_round(r, policy, false, &stored))
			return false;
	return true;
}

static bool
measure_searched(struct rounds *r)
{
	int stored = 1, again = 0;

	for (int i = 0; i < MEASURE_ROUNDS && !is_over(r); i++) {
		if (!measure_round(r, NULL, false, &stored))
			return false;
		if (stored)
			continue;
		if (again++ == MEASURE_AGAIN || is_over(r))
			return true;
		if (!measure_round(r, NULL, true, &stored))
			return false;
	}
	return true;
}

/* -emit=measure: one round of those above, whose program runs on another machine: the first that lacks
 * something. What it measured is in the profile when dopt is called again. */
bool
driver_write_round(const struct driver_options *o, const struct driver_input *in)
{
	struct rounds r = {.o = o, .in = in};
	const char *policy = "";
	int lacks = 0;

	for (unsigned i = 0; policy && !lacks; i++) {
		policy = joint_kernel_policy(i);
		if (!measure_round(&r, policy, false, &lacks))
			return false;
	}
	if (!lacks)
		printf("%s has all that the best plan needs: nothing is left to measure\n",
			o->profile);
	return true;
}

static void
tell_estimates(const char *search)
{
	fprintf(stderr, "dopt: note: %s continues with estimates for what could not be measured\n",
		search);
}

/* Unless measuring was requested, a machine on which nothing can be measured is not an error. */
static bool
may_go_on(const struct rounds *r)
{
	if (!r->o->first || !r->o->first->failed)
		return false;
	tell_estimates(r->o->first->search);
	return true;
}

bool
driver_measure_rounds(const struct driver_options *o, const struct driver_input *in)
{
	struct rounds r = {.o = o, .in = in};
	void *scratch = alloc_scratch(NULL);
	const bool good = measure_policies(&r) && measure_searched(&r);

	driver_measure_warn(diag_create(scratch), &r.quality, !o->first);
	talloc_free(scratch);
	return good || may_go_on(&r);
}

/* The first pass that searches for kernels, or NULL. Errors in the pipeline are reported later;
 * plugins are not loaded for this. */
static const char *
find_search(const struct driver_options *o)
{
	void *scratch = alloc_scratch(NULL);
	struct ir_context *ctx = ir_context_create(scratch);
	struct pass_manager *manager = pass_manager_create(scratch, ctx);
	struct pass_pipeline *p = pass_pipeline_create(scratch);
	const char *name = NULL;
	bool ok = true;

	diag_mute(ctx->diag, true);
	for (int i = 0; i < o->pass.n && ok; i++)
		ok = pass_pipeline_parse(p, manager, "pipeline", o->pass.item[i]);
	for (int i = 0; i < p->n && ok && !name; i++)
		if (pass_entry_searches(&p->entry[i]))
			name = p->entry[i].pass->name;
	talloc_free(scratch);
	return name;
}

/* Does a search for this machine have no source of times, such as a cluster or a profile? */
static bool
knows_nothing(const struct driver_options *o)
{
	return o->target != DRIVER_TARGET_CUDA && !o->profile && !o->cluster &&
	       o->estimator == DRIVER_ESTIMATE_DEFAULT;
}

static bool
writes_module(const struct driver_options *o)
{
	return o->output && strcmp(o->output, "-") && !o->run && !o->expect &&
	       (o->emit == DRIVER_EMIT_DEFAULT || o->emit == DRIVER_EMIT_DIR);
}

/*
 * Measuring was not requested, so it must be short. The kernels of the policies of a GPT of four
 * blocks take half a minute to compile and to measure; after a minute the rounds of a search rarely
 * find improvements. Searches of models end by themselves after a minute or more, and nearly all of
 * their gain comes in the first seconds.
 */
#define FIRST_SECONDS 60
#define FIRST_SEARCH "10s"

static void
measure_first(struct driver_options *o, const char *search, void *scratch)
{
	struct diag *d = diag_create(scratch);

	diag_mute(d, true);
	struct job *job = job_create_temporary(scratch, d, "dopt-times");
	if (!job) {
		fprintf(stderr,
			"dopt: note: %s has no profile and cannot measure without a temporary folder, "
			"so it searches with estimates for the device 'generic'\n",
			search);
		return;
	}
	o->first = NEW(scratch, struct driver_first);
	*o->first = (struct driver_first){search, clock_seconds() + FIRST_SECONDS, false};
	o->profile = TEXT(job, "%s/times.db", job_folder(job));
	o->estimator = DRIVER_ESTIMATE_MEASURE;
	if (!o->time_limit)
		o->time_limit = FIRST_SEARCH;
	fprintf(stderr,
		"dopt: note: %s has no profile, so kernels are measured on this machine first, for up "
		"to %d s, and its program is compared with those of opfuse; -profile=FILE "
		"-estimator=measure measures without a limit and keeps the times, "
		"-estimator=analytic measures nothing and searches with estimates for the device "
		"'generic'\n",
		search, FIRST_SECONDS);
}

/*
 * A search without times of the machine finds what is fast on `generic`. If its program is for this
 * machine, which is so if neither a cluster nor a profile is given, it measures first. If the
 * output is a module, it may be for any machine, and no compiler is started for it.
 */
void
driver_measure_first(struct driver_options *o, void *scratch)
{
	const bool is_written = o->emit == DRIVER_EMIT_PROGRAM || writes_module(o);
	const char *search = o->pass.n && is_written && knows_nothing(o) ? find_search(o) : NULL;

	if (search && o->emit == DRIVER_EMIT_PROGRAM)
		measure_first(o, search, scratch);
	else if (search)
		fprintf(stderr,
			"dopt: note: %s has no profile and no cluster, so it searches with estimates "
			"for the device 'generic', and its programs may be slower than those of "
			"opfuse; -cluster=NAME describes the machine, -profile=FILE -estimator=measure "
			"measures this one\n",
			search);
}
