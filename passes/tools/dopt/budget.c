/*
 * -workspace, -without, and -budget: limits of a step on each device. Exceeding the budget is an
 * error at the op with the most live bytes, with its three largest buffers, and the passes that
 * would reduce it (advise.c).
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "ir/base/unit.h"
#include "lower/lower.h"
#include "passes/analysis/cost/memory.h"
#include "passes/tools/report/report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>
#include <talloc.h>

enum { BUDGET_LARGEST = 3 }; /* buffers that the message names */

/* 2^62: a sum of two sizes must not overflow either, as for options of passes. */
#define BUDGET_MOST 0x1p62
#define TIME_LIMIT_MOST 1e6 /* seconds: more than a week is a typing error */

/* The value of an option that is a quantity. False: reported. */
static bool
read_quantity(struct driver *t, const char *option, const char *text, enum ir_unit_kind unit,
	const double range[2], const char *expected, double *value)
{
	const char *wrong = ir_quantity_read(text, unit, value);

	if (!wrong && (*value < range[0] || *value > range[1]))
		wrong = text;
	if (!wrong)
		return true;
	const uint32_t length = (uint32_t)strlen(text), begin = (uint32_t)(wrong - text);
	const uint32_t base = diag_add_source(t->ctx->diag, option, text, length);
	const struct ir_loc loc = {base + begin, base + (begin < length ? length : begin + 1)};
	diag_error(
		t->ctx->diag, loc, "option -%s: expected %s, found '%s'", option, expected, text);
	return false;
}

bool
driver_budget_read(struct driver *t)
{
	const double range[2] = {1, BUDGET_MOST};
	double bytes = 0;

	if (t->o->budget && !read_quantity(t, "budget", t->o->budget, UNIT_BYTES, range,
				    "a size such as 80GB", &bytes))
		return false;
	t->manager->budget = (uint64_t)(bytes + 0.5);
	bytes = 0;
	if (t->o->host_budget && !read_quantity(t, "host-budget", t->o->host_budget, UNIT_BYTES,
					 range, "a size such as 125GB", &bytes))
		return false;
	t->manager->host_budget = (uint64_t)(bytes + 0.5);
	return true;
}

/* "512MB", or "64MB..512MB". */
static bool
read_workspace(struct driver *t, struct storage_workspace *w)
{
	const double range[2] = {0, BUDGET_MOST};
	const char *text = t->o->workspace, *dots = strstr(text, "..");
	double least = 0, most = 0;

	if (dots && !read_quantity(t, "workspace",
			    text_copy_n(t->pipeline, text, (size_t)(dots - text)), UNIT_BYTES,
			    range, "a size such as 64MB before '..'", &least))
		return false;
	if (!read_quantity(t, "workspace", dots ? dots + 2 : text, UNIT_BYTES, range,
		    "a size such as 512MB, or a range such as 64MB..512MB", &most))
		return false;
	*w = (struct storage_workspace){(uint64_t)(least + 0.5), (uint64_t)(most + 0.5)};
	if (w->least <= w->most)
		return true;
	diag_error(t->ctx->diag, LOC_NONE,
		"option -workspace: '%s' is not a range: the lower limit comes first", text);
	return false;
}

bool
driver_storage_create(struct driver *t)
{
	t->storage = NEW(t->manager, struct storage_target);
	*t->storage =
		*lower_storage_target(t->o->target == DRIVER_TARGET_CUDA ? LOWER_CUDA : LOWER_HOST);
	return (!t->o->workspace || read_workspace(t, &t->storage->workspace)) &&
	       (!t->o->without || lower_without(t->ctx->diag, t->storage, t->o->without));
}

/* A time limit; *seconds is unchanged if the option is not given. */
static bool
read_time(struct driver *t, const char *option, const char *text, const char *expected,
	double *seconds)
{
	const double range[2] = {1e-6, TIME_LIMIT_MOST};

	return !text || read_quantity(t, option, text, UNIT_SECONDS, range, expected, seconds);
}

bool
driver_search_read(struct driver *t)
{
	double trial; /* trial.c reads it again: trials are made by no single driver */

	t->manager->progress = NULL;
	diag_show_progress(
		t->ctx->diag, t->o->progress != DRIVER_PROGRESS_NEVER && isatty(STDERR_FILENO));
	if (t->o->progress == DRIVER_PROGRESS_ALWAYS ||
		(t->o->progress <= DRIVER_PROGRESS_AUTO && isatty(STDERR_FILENO)))
		t->manager->progress = stderr;
	return read_time(t, "time-limit", t->o->time_limit, "a time such as 10s",
		       &t->manager->time_limit) &&
	       read_time(t, "measure-limit", t->o->measure_limit, "a time such as 100ms",
		       &t->measure_limit) &&
	       read_time(t, "trial-limit", t->o->trial_limit, "a time such as 400ms", &trial);
}

/* "activations 1.2GB, params 300MB": kinds that live at a point, the largest first. */
static char *
kinds_text(const void *owner, const struct memory_point *p)
{
	bool done[MEMORY_NKINDS] = {false};
	char *text = text_copy(owner, ""), number[NUMBER_TEXT];

	for (int n = 0; n < MEMORY_NKINDS; n++) {
		int most = -1;
		for (int k = 0; k < MEMORY_NKINDS; k++)
			if (!done[k] && (most < 0 || p->bytes[k] > p->bytes[most]))
				most = k;
		done[most] = true;
		if (p->bytes[most])
			text = text_append(text, "%s%s %s", *text ? ", " : "",
				memory_kind_name((enum memory_kind)most),
				number_bytes(number, (double)p->bytes[most]));
	}
	return text;
}

/* Rows of a step that are computed at one time: the first dimension of the inputs, if it is the
 * same for all and no time axis splits it; else 0. */
static int64_t
batch_of(const struct ir_module *m, const struct ir_func *main)
{
	int64_t batch = 0;

	for (const struct ir_op *op = main->body.first; op; op = op->next) {
		const struct ir_type *t = op->code == OP_input ? op->result[0].type : NULL;
		if (!t)
			continue;
		if (!t->rank || issue_axes(m, t) || (batch && t->dim[0] != batch))
			return 0;
		batch = t->dim[0];
	}
	return batch;
}

/* Bytes of activations at the peak whose first dimension counts rows of the batch. */
static uint64_t
rows_of_batch(const struct memory_curve *c, int64_t batch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->nheld; i++) {
		const struct memory_held *h = &c->held[i];
		const bool rows = batch > 1 && h->kind == MEMORY_ACTIVATION && h->value &&
				  h->value->type->rank && h->value->type->dim[0] % batch == 0;
		sum += rows ? h->bytes : 0;
	}
	return sum;
}

/* Are params and states too large, independent of the batch? */
static void
tell_kept(const struct driver *t, const struct memory_curve *c)
{
	const struct memory_point *p = &c->point[c->peak];
	const uint64_t kept = p->bytes[MEMORY_PARAM] + p->bytes[MEMORY_STATE];
	char number[NUMBER_TEXT];

	if (kept > t->manager->budget)
		diag_note(t->ctx->diag, LOC_NONE,
			"params and states alone take %s: a smaller batch does not help, "
			"splitting them over more devices does",
			number_bytes(number, (double)kept));
}

/* If no pass helps: would a smaller batch, judging by the live bytes at the peak? */
static void
tell_batch(const struct driver *t, const struct memory_curve *c, const struct ir_module *m,
	const struct ir_func *main)
{
	const struct memory_point *p = &c->point[c->peak];
	const uint64_t kept = p->bytes[MEMORY_PARAM] + p->bytes[MEMORY_STATE];
	const uint64_t rows = rows_of_batch(c, batch_of(m, main));
	char number[NUMBER_TEXT];

	if (kept <= t->manager->budget && rows > c->allocated - t->manager->budget)
		diag_note(t->ctx->diag, LOC_NONE,
			"activations of the whole batch take %s: micro-batches over a time axis "
			"or a smaller batch reduce them",
			number_bytes(number, (double)rows));
}

static void
report(const struct driver *t, const struct memory_curve *c)
{
	const struct memory_point *p = &c->point[c->peak];
	const struct ir_loc at = p->op ? p->op->loc : LOC_NONE;
	char needs[NUMBER_TEXT], over[NUMBER_TEXT], budget[NUMBER_TEXT], number[NUMBER_TEXT];
	struct diag *d = t->ctx->diag;

	diag_error(d, at,
		"the step needs %s on each device, %s more than "
		"the budget of %s; memory peaks at %s, with %s",
		number_bytes(needs, (double)c->allocated),
		number_bytes(over, (double)(c->allocated - t->manager->budget)),
		number_bytes(budget, (double)t->manager->budget), c->peak_name, kinds_text(c, p));
	for (uint32_t i = 0; i < c->nheld && i < BUDGET_LARGEST; i++) {
		const struct memory_held *h = &c->held[i];
		diag_note(d, h->op ? h->op->loc : LOC_NONE, "%s of that: %s (%s)",
			number_bytes(number, (double)h->bytes), h->name, memory_kind_one(h->kind));
	}
	if (c->allocated > p->live)
		diag_note(d, LOC_NONE, "%s of that are gaps between buffers",
			number_bytes(number, (double)(c->allocated - p->live)));
}

uint64_t
driver_host_limit(const struct driver *t)
{
	const double cluster = t->cost ? cost_model_host_memory(t->cost) : INFINITY;

	if (t->manager->host_budget)
		return t->manager->host_budget;
	return isfinite(cluster) ? (uint64_t)cluster : 0;
}

/* Does the data that the step keeps in host memory fit there? */
static bool
fits_host(const struct driver *t, const struct ir_module *m, struct ir_func *main)
{
	const uint64_t limit = driver_host_limit(t);
	char needs[NUMBER_TEXT], over[NUMBER_TEXT], most[NUMBER_TEXT];
	struct memory_report r;

	if (!limit)
		return true;
	memory_evaluate(m, main, t->storage, &r);
	if (r.host <= limit)
		return true;
	diag_error(t->ctx->diag, LOC_NONE,
		"the step needs %s of host memory for each device, %s more than the limit of %s",
		number_bytes(needs, (double)r.host), number_bytes(over, (double)(r.host - limit)),
		number_bytes(most, (double)limit));
	return false;
}

static bool
fits_device(struct driver *t, struct ir_module *m, struct ir_func *main, void *scratch)
{
	if (!t->manager->budget)
		return true;
	struct storage *s = storage_create_unplaced(scratch, m, main, t->storage, NULL);
	if (memory_needs(s, t->manager->budget) <= t->manager->budget)
		return true;
	const struct memory_curve *c = memory_curve_create(scratch, m, main, t->storage);
	report(t, c);
	tell_kept(t, c);
	if (!driver_advise(t, m, c->allocated))
		tell_batch(t, c, m, main);
	return false;
}

/* Is anything in host memory? */
static bool
uses_host(const struct ir_module *m)
{
	for (const struct ir_func *f = m->func; f; f = f->next)
		IR_FOR_OPS (op, &f->body)
			if (op_is(op, TRAIT_COPY))
				return true;
	return false;
}

bool
driver_budget_check(struct driver *t, struct ir_module *m)
{
	const bool host = uses_host(m);

	if (!t->manager->budget && !host)
		return true;
	void *scratch = alloc_scratch(t->pipeline);
	struct ir_module *flat = driver_without_calls(scratch, t, m);
	struct ir_func *main = flat ? ir_func_find(flat, "main") : NULL;
	if (flat && !main)
		diag_error(t->ctx->diag, LOC_NONE,
			"option -budget: the module has no @main, so its memory use is unknown");
	bool fits = main != NULL;
	if (main) {
		fits = fits_device(t, flat, main, scratch);
		if (host)
			fits &= fits_host(t, flat, main);
	}
	talloc_free(scratch);
	return fits;
}
