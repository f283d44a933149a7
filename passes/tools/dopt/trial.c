/*
 * Trials, as in autotuners. A prediction orders plans by the times of their kernels, each measured
 * with an error; the plan of a search is the one of many whose errors happened to be low, so that
 * it takes longer than predicted. Here plans are run, and the measured times decide.
 *
 *     @main --passes--> candidates -> programs -> runs in turn -> medians -> the fastest
 *
 * Runs are interleaved, so that other load of the machine affects all alike. A program that is far
 * slower is dropped early; the others run all rounds, and those that are close then run more.
 */
#include "passes/tools/dopt/trial.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/unit.h"
#include "parser/dir/parse.h"
#include "passes/tools/dopt/trial_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

struct candidate {
	const char *name; /* as in -trial; NULL: only the passes of -pass */
	struct driver_input module;
	char *program;                  /* its path; NULL: it does not run */
	double predicted;               /* seconds; 0: the program has no prediction */
	double took[TRIAL_ROUNDS_MOST]; /* seconds of a step */
	int n;
	int64_t steps;
};

struct trial {
	const struct driver_options *o;
	driver_transform *transform;
	struct job *job; /* its folder has the programs */
	struct candidate *c;
	int n;
	double limit; /* seconds of a run */
	double until; /* of clock_seconds: no round begins after it; 0: never */
	int rounds;   /* complete rounds */
};

struct driver_options
driver_trial_rest(const struct driver_options *o)
{
	struct driver_options rest = *o;

	rest.pass.n = rest.trial.n = 0;
	rest.defined = true;
	rest.first = NULL;
	if (rest.estimator == DRIVER_ESTIMATE_MEASURE)
		rest.estimator = 0; /* its measurements are in the profile */
	return rest;
}

static struct trial *
start(const struct driver_options *o, driver_transform *transform)
{
	struct trial *t = NEW(NULL, struct trial);

	t->o = o;
	t->transform = transform;
	t->limit = TRIAL_RUN_SECONDS;
	if (o->trial_limit) /* the passes' driver reports what is wrong with it */
		ir_quantity_read(o->trial_limit, UNIT_SECONDS, &t->limit);
	return t;
}

static const char *
name_of(const struct candidate *c)
{
	return c->name ? c->name : "baseline";
}

/* --- candidates --- */

static bool
is_file(const char *name)
{
	const size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".dir");
}

/* The text of a module, under a name that is not taken for that of its StableHLO source. */
static struct driver_input
input_of(const struct trial *t, const struct driver_input *in, const char *text, size_t size)
{
	char *copy = array_create_zero(t, size + 2, 1, "the text of a module");

	memcpy(copy, text, size);
	return (struct driver_input){
		is_file(in->name) ? in->name : TEXT(t, "%s.dir", in->name), copy, size};
}

/* Runs the passes of the command line, then those of the candidate. */
static enum driver_exit
make_module(const struct trial *t, const struct driver_input *in, struct candidate *c)
{
	struct driver_options o = *t->o;
	char *text = NULL;
	size_t size = 0;

	if (c->name && is_file(c->name))
		return driver_input_read(t, &c->module, c->name) ? DRIVER_OK : DRIVER_INPUT;
	o.trial.n = 0;
	o.emit = DRIVER_EMIT_DIR;
	o.stats = o.measure = 0;
	o.run = false;
	if (c->name) {
		o.pass.item = NEW_ARRAY(t, const char *, o.pass.n + 1);
		for (int i = 0; i < o.pass.n; i++)
			o.pass.item[i] = t->o->pass.item[i];
		o.pass.item[o.pass.n++] = c->name;
	}
	FILE *f = text_stream(&text, &size);
	enum driver_exit exit = t->transform(&o, in, f);
	fclose(f);
	c->module = input_of(t, in, text, size);
	free(text);
	return exit;
}

static bool
is_same_module(const struct candidate *a, const struct candidate *b)
{
	return a->module.length == b->module.length && !strcmp(a->module.text, b->module.text);
}

/* An earlier candidate with the same module, or NULL. */
static const struct candidate *
same_module(const struct trial *t, const struct candidate *c)
{
	for (const struct candidate *d = t->c; d < c; d++)
		if (is_same_module(c, d))
			return d;
	return NULL;
}

/* Does an earlier candidate have the same module? Then that is reported. */
static bool
is_repeated(const struct trial *t, const struct candidate *c)
{
	const struct candidate *same = same_module(t, c);

	if (same)
		fprintf(stderr, "trial: '%s' and '%s' are the same plan\n", name_of(c),
			name_of(same));
	return same;
}

static enum driver_exit
build(struct trial *t, struct candidate *c)
{
	struct driver_options o = driver_trial_rest(t->o);

	o.emit = DRIVER_EMIT_PROGRAM;
	o.is_trial = true;
	o.run = o.check = false;
	o.measure = o.stats = 0;
	o.remarks = NULL;
	o.whatif = NULL;
	o.time = false;
	o.output = TEXT(t, "%s/%d", job_folder(t->job), (int)(c - t->c));
	const enum driver_exit exit = t->transform(&o, &c->module, stdout);
	if (exit == DRIVER_OK)
		c->program = TEXT(t, "%s", o.output);
	return exit;
}

static void
make_room(struct trial *t, int n)
{
	t->n = n;
	t->c = NEW_ARRAY(t, struct candidate, n);
	memset(t->c, 0, (size_t)n * sizeof *t->c);
}

static enum driver_exit
make_candidates(struct trial *t, const struct driver_input *in)
{
	enum driver_exit exit = DRIVER_OK;

	make_room(t, t->o->trial.n + 1);
	for (int i = 0; i < t->n && exit == DRIVER_OK; i++) {
		struct candidate *c = &t->c[i];
		c->name = i ? t->o->trial.item[i - 1] : NULL;
		exit = make_module(t, in, c);
		if (exit == DRIVER_OK && !is_repeated(t, c))
			exit = build(t, c);
	}
	return exit;
}

/* --- runs --- */

/* After which a run is considered hung. */
static int
most_seconds(const struct trial *t)
{
	return (int)fmin(fmax(TRIAL_SECONDS, TRIAL_TIMES * t->limit), TRIAL_SECONDS_MOST);
}

/* One run; a program that fails is not run again. */
static void
run_once(struct trial *t, struct candidate *c, int64_t steps, struct trial_run *run)
{
	char *why = NULL;
	char *command = trial_command(t, t->o->trial_run, c->program, steps);

	if (trial_start(t, t->job, command, most_seconds(t), run, &why))
		return;
	fprintf(stderr, "trial: '%s' failed: %s\n", name_of(c), why);
	c->program = NULL;
}

/* Finds the number of steps that fill the time of a run. */
static void
warm_up(struct trial *t, struct candidate *c)
{
	struct trial_run run = {0};

	run_once(t, c, TRIAL_STEPS, &run);
	if (!c->program)
		return;
	const double steps = t->limit / run.seconds;
	c->steps = steps > TRIAL_STEPS ? (int64_t)steps : TRIAL_STEPS;
	c->predicted = run.predicted;
}

static double
median_of(const struct candidate *c)
{
	double sorted[TRIAL_ROUNDS_MOST];

	memcpy(sorted, c->took, (size_t)c->n * sizeof *sorted);
	return trial_median(sorted, c->n);
}

/* The minimum of its times: a program that was disturbed may do better next time. */
static double
least_of(const struct candidate *c)
{
	double least = c->took[0];

	for (int i = 1; i < c->n; i++)
		least = c->took[i] < least ? c->took[i] : least;
	return least;
}

/* The fastest of those that have completed this many rounds and still run; NULL: none. */
static struct candidate *
fastest(const struct trial *t, int rounds)
{
	struct candidate *best = NULL;

	for (int i = 0; i < t->n; i++)
		if (t->c[i].program && t->c[i].n >= rounds && rounds > 0 &&
			(!best || median_of(&t->c[i]) < median_of(best)))
			best = &t->c[i];
	return best;
}

/* The limit to take part in this round, as a multiple of the fastest. */
static double
limit_of(int round)
{
	return round >= TRIAL_ROUNDS      ? TRIAL_CLOSE
	       : round > TRIAL_ROUNDS / 2 ? TRIAL_NEAR
					  : TRIAL_FAR;
}

/* Does it take part in this round, given that limit? */
static bool
takes_part(const struct candidate *c, int round, double most)
{
	if (!c->program || c->n < round)
		return false;
	return !c->n || (round < TRIAL_ROUNDS ? least_of(c) : median_of(c)) <= most;
}

/* False: no plans remain to be distinguished. */
static bool
run_round(struct trial *t, int round)
{
	const struct candidate *best = fastest(t, round);
	const double most = best ? median_of(best) * limit_of(round) : 0;
	int n = 0;

	for (int k = 0; k < t->n; k++)
		n += takes_part(&t->c[k], round, most);
	if ((round >= TRIAL_ROUNDS && n < 2) ||
		(round && t->until > 0 && clock_seconds() >= t->until))
		return false;
	for (int k = 0; k < t->n; k++) {
		/* Rotates the order, so that no program always runs after the same one. */
		struct candidate *c = &t->c[(k + round) % t->n];
		struct trial_run run;
		if (!takes_part(c, round, most))
			continue;
		run_once(t, c, c->steps, &run);
		if (c->program)
			c->took[c->n++] = run.seconds;
	}
	t->rounds = round + 1;
	return true;
}

static void
tell(const struct candidate *c)
{
	double sorted[TRIAL_ROUNDS_MOST];

	if (!c->n)
		return;
	memcpy(sorted, c->took, (size_t)c->n * sizeof *sorted);
	const double median = trial_median(sorted, c->n);
	char predicted[48] = "";
	if (c->predicted > 0)
		snprintf(predicted, sizeof predicted, "predicted %.6g us, ", c->predicted * 1e6);
	fprintf(stderr, "trial: '%s': %smeasured %.6g us (%.6g to %.6g, runs: %d)\n", name_of(c),
		predicted, median * 1e6, sorted[0] * 1e6, sorted[c->n - 1] * 1e6, c->n);
}

/* The plan to keep; NULL: none runs. */
static const struct candidate *
choose(struct trial *t)
{
	for (int i = 0; i < t->n; i++)
		if (t->c[i].program)
			warm_up(t, &t->c[i]);
	for (int round = 0; round < TRIAL_ROUNDS_MOST && run_round(t, round); round++)
		;
	for (int i = 0; i < t->n; i++)
		tell(&t->c[i]);
	/* A program that failed late has fewer runs, and so has one that was dropped. */
	const struct candidate *c = fastest(t, t->rounds < TRIAL_ROUNDS ? t->rounds : TRIAL_ROUNDS);
	if (c)
		fprintf(stderr, "trial: '%s' is the fastest and is kept\n", name_of(c));
	return c;
}

enum driver_exit
driver_trial(const void *owner, const struct driver_options *o, const struct driver_input *in,
	driver_transform *transform, struct driver_input *best)
{
	struct trial *t = start(o, transform);
	enum driver_exit exit = DRIVER_INPUT;

	t->job = job_create_temporary(t, diag_create(t), "dopt-trial");
	if (t->job) {
		exit = make_candidates(t, in);
		const struct candidate *c = exit == DRIVER_OK ? choose(t) : NULL;
		if (c) {
			*best = c->module;
			array_steal(owner, best->text);
			best->name = TEXT(owner, "%s", best->name);
		} else if (exit == DRIVER_OK) {
			driver_error("all %d plans failed to run", t->n);
			exit = DRIVER_INPUT;
		}
	}
	talloc_free(t);
	return exit;
}

/* --- references for a search without a profile --- */

/* Replacements for the search: the usual policies. If a step sends nothing they are the same. */
static const char *const policies[] = {"opfuse", "opfuse,tensorfuse"};
enum { POLICIES = sizeof policies / sizeof *policies };

/* The options without output that users have already seen. */
static struct driver_options
quiet(const struct driver_options *o)
{
	struct driver_options q = *o;

	q.estimator = 0; /* its measurements are in the profile */
	q.stats = q.measure = 0;
	q.run = q.check = q.time = false;
	q.remarks = q.print_before = q.print_after = q.whatif = q.budget = q.reproducer = NULL;
	q.first = NULL;
	q.note = NULL;
	return q;
}

static bool
fits(const struct driver *t, const struct driver *d, struct ir_module *m)
{
	struct cost_report report = {0};

	return cost_evaluate(d->cost, m, &report) &&
	       (!t->manager->budget || report.peak_bytes <= (double)t->manager->budget);
}

/* Runs the input with a policy instead of the search; false if it does not fit the budget. */
static bool
make_policy(struct trial *t, const struct driver *whose, struct candidate *c)
{
	void *scratch = alloc_scratch(NULL);
	struct driver_options o = quiet(t->o);
	struct ir_module *m;

	o.instead = c->name;
	struct driver d = driver_create(scratch, &o);
	bool good = driver_read(&d, whose->in, &m) == DRIVER_OK;
	if (good) {
		pass_pipeline_require(d.pipeline, d.manager, m, "no-calls");
		good = driver_passes_run(&d, &m) == DRIVER_OK && fits(whose, &d, m);
	}
	if (good) {
		const char *text = driver_module_text(scratch, m);
		c->module = input_of(t, whose->in, text, strlen(text));
	}
	talloc_free(scratch);
	return good;
}

/* The modules of the search and of the policies that differ from it and from each other. */
static void
make_policies(struct trial *t, const struct driver *whose, const struct ir_module *m)
{
	const char *text = driver_module_text(t, m);

	make_room(t, POLICIES + 1);
	t->c[0].name = t->o->first->search;
	t->c[0].module = input_of(t, whose->in, text, strlen(text));
	t->n = 1;
	for (int i = 0; i < POLICIES; i++) {
		struct candidate *c = &t->c[t->n];
		c->name = policies[i];
		t->n += make_policy(t, whose, c) && !is_repeated(t, c);
	}
}

/* Builds the programs of all of them. */
static bool
build_policies(struct trial *t)
{
	const struct driver_options *o = t->o, q = quiet(o);
	bool good = true;

	t->o = &q;
	for (int i = 0; i < t->n && good; i++)
		good = build(t, &t->c[i]) == DRIVER_OK;
	t->o = o;
	return good;
}

static struct ir_module *
read_again(struct driver *t, const struct driver_input *in)
{
	const struct parse_options po = {0};
	char *text = array_create_zero(t->manager, in->length + 2, 1, "the text of a module");

	memcpy(text, in->text, in->length);
	struct ir_module *m = parse_module(
		t->manager, t->ctx, TEXT(t->manager, "%s", in->name), text, in->length, &po);
	return m && ir_verify(m) ? m : NULL;
}

struct ir_module *
driver_try_policies(struct driver *d, struct ir_module *m, driver_transform *transform)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct trial *t = start(d->o, transform);
	const struct candidate *best = NULL;

	if (d->o->first->failed || ir_devices(m) > cores)
		fprintf(stderr, "dopt: note: programs are not compared: %s\n",
			d->o->first->failed
				? "times could not be measured here"
				: "the step has more devices than this machine processors");
	else if ((t->job = job_create_temporary(t, diag_create(t), "dopt-trial"))) {
		make_policies(t, d, m);
		if (t->n > 1 && build_policies(t)) {
			t->until = clock_seconds() + TRIAL_FIRST_SECONDS;
			best = choose(t);
		}
	}
	if (best && best != t->c)
		m = read_again(d, &best->module);
	talloc_free(t);
	return m;
}
