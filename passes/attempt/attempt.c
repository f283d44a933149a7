/* Pipelines on copies of a step: see attempt.h. */
#include "passes/attempt/attempt.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/memory.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* A step is kept if computing it took this many times as long as copying it (0.5 us per op); after the
 * last pass, where few pipelines go on, or the best one is made again, if it took much longer. */
static const double worth = 4, worth_at_end = 40, seconds_of_copy = 5e-7;

/* Maximum ops of all kept steps: some hundreds of megabytes. */
enum { MOST_OPS = 1 << 20 };

struct kept {
	const char *key; /* the passes that made it, owned by the module */
	const char
		*rest; /* those that follow, as far as one of the passes depends on them; or NULL */
	int looked;    /* of all entries, these decide */
	bool budgeted; /* a pass has asked for the budget: */
	uint64_t budget;
	struct ir_module *m;
	uint64_t ops;
	uint64_t used;   /* number of the last attempt that used it */
	uint64_t effort; /* as attempt_result.effort, so far */
};

struct attempts {
	struct pass_manager *manager; /* a silent copy */
	const struct ir_module *base;
	struct VEC(struct kept) kept;
	uint64_t ops, tries;
	attempts_watcher *watch;
	void *data; /* of watch */
};

/* A copy of the manager that reports nothing. */
static struct pass_manager *
silent(const void *owner, const struct pass_manager *manager)
{
	struct pass_manager *copy = COPY_ARRAY(owner, struct pass_manager, manager, 1);

	copy->counter = NULL;
	copy->ncounters = 0;
	copy->remark = NULL;
	copy->nremarks = 0;
	copy->progress = NULL;
	copy->explain = NULL;
	copy->keep_remarks = copy->show_remarks = copy->verify_each = false;
	return copy;
}

static uint64_t
count_ops(const struct ir_module *m)
{
	const struct ir_func *main = ir_func_find(m, "main");
	uint64_t n = 0;

	if (main)
		IR_FOR_OPS (op, &main->body)
			n++;
	return n;
}

/* --- the time of a step ----------------------------------------------------------------------- */

static void
measure_time(const struct cost_model *model, const struct ir_module *m, struct attempt_result *r)
{
	void *scratch = alloc_scratch(NULL);
	const struct cost_step *step = model ? cost_step_create(scratch, model, m) : NULL;

	r->seconds = step ? replay_seconds(step->r.makespan) : model ? INFINITY : 0;
	talloc_free(scratch);
}

static void
measure_memory(const struct attempts *a, const struct ir_module *m, struct attempt_result *r)
{
	struct storage *s = storage_create(
		NULL, m, ir_func_find(m, "main"), cost_model_storage(a->manager->cost), NULL);
	struct memory_report memory;

	memory_report_of(s, &memory);
	if (a->watch)
		a->watch(a->data, s);
	talloc_free(s);
	r->peak = memory.peak;
	r->host = memory.host;
	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time && m->axis[i].size > 1)
			r->axis[r->naxes++] = m->axis[i].size;
}

static bool
has_calls(const struct ir_module *m)
{
	const struct ir_func *main = ir_func_find(m, "main");

	if (main)
		IR_FOR_OPS (op, &main->body)
			if (op->code == OP_call)
				return true;
	return false;
}

static bool
read_passes(struct pass_pipeline *p, struct pass_manager *manager, const struct ir_module *m,
	const char *passes)
{
	return pass_pipeline_parse(p, manager, "pipeline that is tried", passes) &&
	       pass_pipeline_check(p, manager, m) &&
	       (!has_calls(m) || pass_pipeline_require(p, manager, m, "no-calls"));
}

void
attempt_on(const struct pass_manager *manager, const struct cost_model *model, struct ir_module *m,
	const char *passes, struct attempt_result *r)
{
	struct pass_pipeline *p = pass_pipeline_create(NULL);
	struct pass_manager *inner = silent(p, manager);
	const bool muted = diag_mute(inner->ctx->diag, true);

	*r = (struct attempt_result){.seconds = INFINITY};
	if (read_passes(p, inner, m, passes) && pass_pipeline_run(p, inner, &m, NULL) == PASS_DONE)
		measure_time(model, m, r);
	talloc_free(p);
	diag_mute(manager->ctx->diag, muted);
}

/* --- from kept steps -------------------------------------------------------------------------- */

struct attempts *
attempts_create(const void *owner, const struct pass_manager *manager, const struct ir_module *m)
{
	struct attempts *a = NEW(owner, struct attempts);

	a->manager = silent(a, manager);
	a->base = m;
	return a;
}

/* The entries from `first` to before `end`. */
static char *
passes_text(const void *owner, const struct pass_pipeline *p, int first, int end)
{
	char *text = text_copy(owner, "");

	for (int i = first; i < end; i++)
		text = text_append(text, "%s,", p->entry[i].text);
	return text;
}

/* The entries from `first` to before `end`, with a mark if they are all that follow. */
static char *
rest_text(const void *owner, const struct pass_pipeline *p, int first, int end)
{
	char *text = passes_text(owner, p, first, end < p->n ? end : p->n);

	return end == INT_MAX ? text_append(text, ";") : text;
}

/* The step that was kept after the entries before `end`, and holds for those that follow. */
static struct kept *
find_kept(struct attempts *a, const struct pass_pipeline *p, int end)
{
	void *scratch = alloc_scratch(NULL);
	const char *key = passes_text(scratch, p, 0, end),
		   *rest = rest_text(scratch, p, end, INT_MAX);
	struct kept *found = NULL;

	for (int64_t i = 0; i < a->kept.n && !found; i++) {
		struct kept *k = &a->kept.at[i];
		if (!strcmp(k->key, key) &&
			(!k->rest || !strncmp(k->rest, rest, strlen(k->rest))) &&
			(!k->budgeted || k->budget == a->manager->budget))
			found = k;
	}
	talloc_free(scratch);
	return found;
}

/* The longest kept prefix; *first: the entry after it. */
static struct kept *
longest_kept(struct attempts *a, const struct pass_pipeline *p, int *first)
{
	for (*first = p->n; *first > 0; --*first) {
		struct kept *k = find_kept(a, p, *first);
		if (k)
			return k;
	}
	return NULL;
}

static void
drop_oldest(struct attempts *a)
{
	int64_t oldest = 0;

	for (int64_t i = 1; i < a->kept.n; i++)
		if (a->kept.at[i].used < a->kept.at[oldest].used)
			oldest = i;
	a->ops -= a->kept.at[oldest].ops;
	talloc_free(a->kept.at[oldest].m);
	a->kept.at[oldest] = VEC_POP(&a->kept);
}

/* What the step depends on, apart from the passes before it. */
struct depends {
	int rest; /* before this entry; INT_MAX: all */
	bool budget;
};

static void
keep(struct attempts *a, const struct pass_pipeline *p, int end, struct depends on, uint64_t effort,
	const struct ir_module *m)
{
	if (find_kept(a, p, end))
		return;
	struct ir_module *copy = ir_module_clone(a, m);
	const struct kept k = {.key = passes_text(copy, p, 0, end),
		.rest = on.rest > end ? rest_text(copy, p, end, on.rest) : NULL,
		.looked = on.rest,
		.budgeted = on.budget,
		.budget = a->manager->budget,
		.m = copy,
		.ops = count_ops(m),
		.used = a->tries,
		.effort = effort};
	while (a->kept.n && a->ops + k.ops > MOST_OPS)
		drop_oldest(a);
	a->ops += k.ops;
	VEC_PUSH(a, &a->kept, k);
}

/* Runs the passes on a copy, starting from a kept step. NULL: one of them failed. */
static struct ir_module *
run_kept(struct attempts *a, const struct pass_pipeline *p, struct attempt_result *r)
{
	int first;
	struct kept *k = longest_kept(a, p, &first);
	struct ir_module *m = ir_module_clone(NULL, k ? k->m : a->base);
	struct depends on = {k && k->rest ? k->looked : 0, k && k->budgeted};
	double since = 0;

	if (k) {
		k->used = a->tries;
		r->effort = k->effort;
	}
	a->manager->looked_ahead = &on.rest;
	a->manager->asked_budget = &on.budget;
	for (int i = first; i < p->n; i++) {
		const double start = clock_seconds();
		const uint64_t ops = count_ops(m);
		r->effort += ops;
		if (pass_pipeline_run_part(p, i, i + 1, a->manager, &m, NULL) != PASS_DONE) {
			talloc_free(m);
			m = NULL;
			break;
		}
		since += clock_seconds() - start;
		if (since > (i + 1 < p->n ? worth : worth_at_end) * seconds_of_copy * (double)ops) {
			keep(a, p, i + 1, on, r->effort, m);
			since = 0;
		}
	}
	a->manager->looked_ahead = NULL;
	a->manager->asked_budget = NULL;
	return m;
}

void
attempts_limit(struct attempts *a, uint64_t budget)
{
	a->manager->budget = budget;
}

/* The step of the pipeline; NULL: it is refused. */
static struct ir_module *
make(struct attempts *a, const char *passes, struct attempt_result *r)
{
	struct diag *d = a->manager->ctx->diag;
	struct diag_trial *trial = diag_trial_begin(d);
	struct pass_pipeline *p = pass_pipeline_create(a);
	struct ir_module *m = NULL;

	*r = (struct attempt_result){.seconds = INFINITY};
	a->tries++;
	if (read_passes(p, a->manager, a->base, passes))
		m = run_kept(a, p, r);
	talloc_free(p);
	r->why = diag_trial_end(d, trial, a);
	return m;
}

void
attempts_watch(struct attempts *a, attempts_watcher *watch, void *data)
{
	a->watch = watch;
	a->data = data;
}

void
attempts_run(struct attempts *a, const char *passes, struct attempt_result *r)
{
	struct diag *d = a->manager->ctx->diag;
	const bool muted = diag_mute(d, true);
	struct ir_module *m = make(a, passes, r);

	if (m && ir_func_find(m, "main"))
		measure_time(a->manager->cost, m, r);
	if (isfinite(r->seconds))
		measure_memory(a, m, r);
	talloc_free(m);
	diag_mute(d, muted);
}

struct ir_module *
attempts_step(struct attempts *a, const void *owner, const char *passes)
{
	struct attempt_result r;

	return talloc_steal(owner, make(a, passes, &r));
}
