/*
 * When -measure and -estimator=measure measure, and what: the kernels of the result, or in rounds
 * those of what a search finds.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "lower/job.h"
#include "passes/search/joint.h"
#include "passes/tools/dopt/crash.h"
#include "passes/tools/dopt/measure.h"

#include <talloc.h>

bool
driver_measures(const struct driver_options *o)
{
	return o->measure || o->emit == DRIVER_EMIT_MEASURE;
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
 * -estimator=measure: one round. The passes run; the kernels of what they make, of which the best
 * plan of a search is one, are measured as far as the profile lacks them, or all of them again;
 * *stored receives how many these were. With `instead` searches run these passes.
 */
static bool
measure_round(const struct driver_options *o, const struct driver_input *in, const char *instead,
	bool again, int *stored)
{
	void *scratch = alloc_scratch(NULL);
	struct driver t = driver_create(scratch, o);
	struct ir_module *m;

	t.manager->instead = instead;
	bool good = driver_read(&t, in, &m) == DRIVER_OK;
	if (good) {
		pass_pipeline_require(t.pipeline, t.manager, m, "no-calls");
		good = driver_passes_run(&t, &m) == DRIVER_OK;
	}
	struct measure_options mo = options_of(&t);
	mo.again = again;
	mo.stored = stored;
	good = good && driver_measure(m, &mo, stderr);
	crash_diag(o->note, NULL);
	talloc_free(scratch);
	return good;
}

/*
 * What was measured changes what is best, and what is best then may have kernels that were not
 * measured: so again, until it has none, or until so many rounds are over. A search settles within
 * three or four in our steps; the rest of the time is better spent on searching.
 *
 * The kernels of the policies that a search starts from, and the ops alone, which estimates are made
 * from, are measured before the first search: it compares with them what it makes up.
 *
 * A search takes the kernels whose times came out low. So what it has chosen is measured again, by
 * another process, before it is believed; if it is still best, that is the end.
 */
enum { MEASURE_ROUNDS = 8, MEASURE_AGAIN = 2 };

static bool
measure_policies(const struct driver_options *o, const struct driver_input *in)
{
	const char *policy;
	int stored;

	for (unsigned i = 0; (policy = joint_kernel_policy(i)); i++)
		if (!measure_round(o, in, policy, false, &stored))
			return false;
	return true;
}

bool
driver_measure_rounds(const struct driver_options *o, const struct driver_input *in)
{
	int stored = 1, again = 0;

	if (!measure_policies(o, in))
		return false;
	for (int i = 0; i < MEASURE_ROUNDS; i++) {
		if (!measure_round(o, in, NULL, false, &stored))
			return false;
		if (stored)
			continue;
		if (again++ == MEASURE_AGAIN)
			return true;
		if (!measure_round(o, in, NULL, true, &stored))
			return false;
	}
	return true;
}

/* The first pass that searches for kernels, or NULL. What is wrong with the pipeline is said later;
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

/*
 * A search that knows no times of the machine finds what is fast on `generic`. If its program is
 * for this machine, as it is where neither a cluster nor a profile is given, it measures first.
 */
static bool
is_for_this_machine(const struct driver_options *o)
{
	return o->emit == DRIVER_EMIT_PROGRAM && o->target != DRIVER_TARGET_CUDA && !o->profile &&
	       !o->cluster && o->estimator == DRIVER_ESTIMATE_DEFAULT;
}

void
driver_measure_first(struct driver_options *o, void *scratch)
{
	const char *search = is_for_this_machine(o) ? find_search(o) : NULL;

	if (!search)
		return;
	struct ir_context *ctx = ir_context_create(scratch);
	struct job *job = job_create_temporary(scratch, ctx->diag, "dopt-times");
	if (!job)
		return;
	o->profile = TEXT(job, "%s/times.db", job_folder(job));
	o->estimator = DRIVER_ESTIMATE_MEASURE;
	fprintf(stderr,
		"dopt: note: %s has no profile, so kernels are measured on this machine first; "
		"-profile=FILE -estimator=measure keeps their times, -estimator=analytic searches "
		"with estimates for the device 'generic'\n",
		search);
}
