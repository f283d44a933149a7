/*
 * What would make a step fit its budget: passes that reduce memory are tried, each by itself and
 * then in combinations, and notes report the resulting memory. Among those that fit, the fastest by
 * prediction is chosen.
 *
 *     pipeline        grad,adam,opfuse
 *     attempts        accumulate{steps=8},grad,adam,opfuse
 *                     grad,recompute,adam,opfuse
 *                     dp{axis=dp},grad,shard{axis=dp},adam,opfuse
 *     combinations    if none of them is enough: of two, of three ..., except those that
 *                     contain one that fits, as another pass takes time
 *     offload         if no combination is enough either: alone and with the others
 *
 * An attempt runs the whole pipeline from the input again, with the passes at their usual
 * positions, so that its memory is that of the result and not an estimate. A pass that fails there
 * is not suggested.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "passes/attempt/attempt.h"
#include "passes/attempt/edit.h"
#include "passes/analysis/cost/cost.h"
#include "passes/search/joint.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* No attempt begins later than this: notes on an error should not take longer than the passes of a
 * large model. */
#define ADVISE_SECONDS 10
/* A pass that reduces the peak by a smaller share is not mentioned. */
#define ADVISE_LEAST 0.01
/* Single attempts: one for each device axis of the largest meshes, and three more. */
enum { ADVISE_MOST = IR_MAX_AXES + 3 };
/* Maximum number of micro-batch counts considered: the divisors of most batches. */
enum { ADVISE_DIVISORS = 64 };

/* Passes that an attempt adds, and the memory of its result. */
struct attempt {
	int64_t steps;  /* accumulate{steps=}; 0: none */
	bool recompute; /* recompute */
	int axis;       /* shard{axis=}; -1: none */
	bool dp;        /* the batch is split over that axis first */
	bool offload;   /* offload */
	uint64_t peak;
	bool host_fits; /* its host memory fits */
	double seconds; /* predicted, of the step */
};

struct advisor {
	struct driver *t;
	const struct ir_module *m; /* the result of the pipeline */
	void *scratch;
	struct pass_list list;     /* the original pipeline */
	struct attempts *attempts; /* from the input, read again */
	double ends;               /* of clock_seconds */
	int64_t rows;              /* rows of the batch on one device in all micro-batches; 0:
				      unknown */
	uint64_t peak;             /* of the current step */
	bool over;                 /* an attempt was skipped for lack of time */
	int told;                  /* number of attempts that help by themselves */
};

/* --- the pipeline of an attempt --------------------------------------------------------------- */

/*
 * Passes that attempts add, in the order in which messages list them; attempt/edit.h decides their
 * positions.
 */
static const char *const added[] = {"accumulate", "dp", "recompute", "shard", "offload"};

enum { ADDED = sizeof added / sizeof *added };

/* The text of that pass in an attempt; NULL: it is not added. */
static const char *
text_of(const struct advisor *a, const struct attempt *try, const char *pass)
{
	const char *axis = try->axis >= 0 ? a->m->axis[try->axis].name : NULL;

	if (!strcmp(pass, "accumulate") && try->steps)
		return TEXT(a->scratch, "accumulate{steps=%" PRId64 "}", try->steps);
	if (!strcmp(pass, "dp") && axis && try->dp)
		return TEXT(a->scratch, "dp{axis=%s}", axis);
	if (!strcmp(pass, "recompute") && try->recompute)
		return "recompute";
	if (!strcmp(pass, "offload") && try->offload)
		return "offload";
	return !strcmp(pass, "shard") && axis ? TEXT(a->scratch, "shard{axis=%s}", axis) : NULL;
}

static char *
pipeline_of(const struct advisor *a, const struct attempt *try)
{
	struct pass_list list = a->list;

	for (int k = 0; k < ADDED; k++) {
		const char *pass = text_of(a, try, added[k]);
		if (pass)
			list = pass_list_put(a->scratch, &list, a->t->manager->registry, pass);
	}
	return pass_list_text(a->scratch, &list);
}

/* --- an attempt ------------------------------------------------------------------------------- */

/* The first pass that searches over kernels, or NULL. */
static const struct pass_entry *
search_of(const struct pass_pipeline *p)
{
	for (int i = 0; i < p->n; i++)
		if (pass_entry_searches(&p->entry[i]))
			return &p->entry[i];
	return NULL;
}

/* The policy of opfuse that attempts use instead of a search. */
enum { INSTEAD = 1 };

/* The options of the run except its passes and output. A search over kernels takes long: a policy
 * is run instead of it. */
static struct driver_options
options_of(const struct advisor *a)
{
	struct driver_options o = *a->t->o;

	o.pass = (struct driver_list){0};
	o.emit = DRIVER_EMIT_NONE;
	o.print_before = o.print_after = o.remarks = o.reproducer = o.whatif = NULL;
	o.stats = o.measure = 0;
	o.check = o.time = false;
	o.progress = DRIVER_PROGRESS_NEVER;
	o.note = NULL;
	o.instead = search_of(a->t->pipeline) ? joint_kernel_policy(INSTEAD) : o.instead;
	return o;
}

/* False if a pass fails or there is no time left. */
static bool
run_attempt(struct advisor *a, struct attempt *try)
{
	struct attempt_result r;

	if (clock_seconds() >= a->ends) {
		a->over = true;
		return false;
	}
	attempts_run(a->attempts, pipeline_of(a, try), &r);
	const uint64_t host = driver_host_limit(a->t);
	try->peak = r.peak;
	try->host_fits = !host || r.host <= host;
	try->seconds = r.seconds;
	return isfinite(r.seconds);
}

/* --- micro-batches ---------------------------------------------------------------------------- */

/* Rows of the first input that has any, on one device, in all micro-batches together. */
static int64_t
rows_of(const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		const struct ir_type *t = op->result[0].type;
		if (op->code != OP_input || !t->rank)
			continue;
		int64_t rows = t->dim[0];
		for (int i = 0; i < m->naxes; i++)
			if (!m->axis[i].time && t->axis[i].kind == IR_SPLIT && !t->axis[i].dim)
				rows /= m->axis[i].size;
		return rows;
	}
	return 0;
}

/* Numbers of micro-batches above one, ascending: divisors of the rows on a device. */
static int
divisors_of(const struct advisor *a, const struct attempt *try, int64_t divisor[ADVISE_DIVISORS])
{
	const int64_t parts = try->dp ? a->m->axis[try->axis].size : 1, rows = a->rows / parts;
	int n = 0;

	if (a->rows % parts)
		return 0;
	for (int64_t d = 2; d * d <= rows && n < ADVISE_DIVISORS / 2 - 1; d++)
		if (rows % d == 0)
			divisor[n++] = d;
	for (int i = n; i-- > 0;)
		if (divisor[i] * divisor[i] != rows)
			divisor[n++] = rows / divisor[i];
	if (rows > 1)
		divisor[n++] = rows;
	return n;
}

static bool
fits(const struct advisor *a, const struct attempt *try)
{
	return try->host_fits && try->peak <= a->t->manager->budget;
}

/* With the fewest micro-batches that fit, by bisection; with the most, if none do. */
static bool
run_accumulated(struct advisor *a, struct attempt *try)
{
	int64_t divisor[ADVISE_DIVISORS];
	int low = 0, high = divisors_of(a, try, divisor) - 1;

	if (high < 0)
		return false;
	try->steps = divisor[high];
	if (!run_attempt(a, try))
		return false;
	while (low < high && fits(a, try)) {
		const int middle = (low + high) / 2;
		struct attempt fewer = *try;
		fewer.steps = divisor[middle];
		if (run_attempt(a, &fewer) && fits(a, &fewer)) {
			*try = fewer;
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return true;
}

/* --- messages --------------------------------------------------------------------------------- */

/* "accumulate{steps=4}, recompute and shard{axis=dp}" */
static char *
passes_text(const struct advisor *a, const struct attempt *try)
{
	const char *pass[ADDED];
	char *text = text_copy(a->scratch, "");
	int n = 0;

	for (int k = 0; k < ADDED; k++)
		if ((pass[n] = text_of(a, try, added[k])))
			n++;
	for (int i = 0; i < n; i++)
		text = text_append(text, "%s%s", !i ? "" : i + 1 < n ? ", " : " and ", pass[i]);
	return text;
}

/* "12.1GB, still 2.1GB more than the budget" */
static char *
result_text(const struct advisor *a, const struct attempt *try)
{
	char peak[NUMBER_TEXT], over[NUMBER_TEXT];
	const double bytes = (double)try->peak;

	if (try->peak <= a->t->manager->budget)
		return TEXT(
			a->scratch, "%s, which is within the budget", number_bytes(peak, bytes));
	return TEXT(a->scratch, "%s, still %s more than the budget", number_bytes(peak, bytes),
		number_bytes(over, bytes - (double)a->t->manager->budget));
}

static bool
helps(const struct advisor *a, const struct attempt *try)
{
	return try->host_fits && (double)try->peak < (double)a->peak * (1 - ADVISE_LEAST);
}

static void
tell(const struct advisor *a, const struct attempt *try)
{
	diag_note(a->t->ctx->diag, LOC_NONE, "%s would reduce it to %s: -pass='%s'",
		passes_text(a, try), result_text(a, try), pipeline_of(a, try));
}

/* --- which attempts --------------------------------------------------------------------------- */

/* As it is, and if that fails because the batch is not split, with dp first. */
static bool
run_sharded(struct advisor *a, struct attempt *try)
{
	if (run_attempt(a, try))
		return true;
	try->dp = true;
	return run_attempt(a, try);
}

/* Runs an attempt in the way that its passes need. */
static bool
run_any(struct advisor *a, struct attempt *try)
{
	return try->steps ? run_accumulated(a, try) : run_attempt(a, try);
}

/* Tries a single one, and reports it if it helps; false: it cannot be run. */
static bool
alone(struct advisor *a, struct attempt *try, bool shards)
{
	if (!(shards ? run_sharded(a, try) : run_any(a, try)))
		return false;
	if (helps(a, try)) {
		tell(a, try);
		a->told++;
	}
	return true;
}

/* Combines all of `list` whose bit is set; false: it would shard two axes. */
static bool
combine(const struct attempt *list, int n, unsigned bits, struct attempt *sum)
{
	*sum = (struct attempt){.axis = -1};
	for (int i = 0; i < n; i++) {
		if (!(bits >> i & 1))
			continue;
		if (list[i].axis >= 0 && sum->axis >= 0)
			return false;
		sum->axis = list[i].axis >= 0 ? list[i].axis : sum->axis;
		sum->dp |= list[i].dp;
		sum->recompute |= list[i].recompute;
		sum->offload |= list[i].offload;
		sum->steps = list[i].steps ? list[i].steps : sum->steps;
	}
	return true;
}

/* Is x better than y: only x fits, or it is faster, or needs less memory if neither fits? */
static bool
better(const struct advisor *a, const struct attempt *x, const struct attempt *y)
{
	if (fits(a, x) != fits(a, y))
		return fits(a, x);
	return fits(a, x) ? x->seconds < y->seconds : x->host_fits && x->peak < y->peak;
}

/* Combinations of two attempts, of three ..., all with the attempts of `must`; *best becomes the
 * best one. Supersets of a set that fits only take more time. */
static void
together(struct advisor *a, const struct attempt *list, int n, unsigned must, struct attempt *best)
{
	struct VEC(unsigned) fitting = {0};
	struct attempt sum;

	for (int size = 2; size <= n && !a->over; size++)
		for (unsigned bits = 0; bits < 1u << n && !a->over; bits++) {
			bool skip = __builtin_popcount(bits) != size || (bits & must) != must;
			for (int i = 0; i < fitting.n && !skip; i++)
				skip = (bits & fitting.at[i]) == fitting.at[i];
			if (skip || !combine(list, n, bits, &sum) || !run_any(a, &sum))
				continue;
			if (fits(a, &sum))
				VEC_PUSH(a->scratch, &fitting, bits);
			if (better(a, &sum, best))
				*best = sum;
		}
}

/* Combinations of list[from..n) with those before, if none of them is enough: reports the best one.
 * True: one fits. */
static bool
tell_together(struct advisor *a, const struct attempt *list, int from, int n)
{
	struct attempt best = {.axis = -1, .peak = UINT64_MAX};

	for (int i = 0; i < n; i++)
		if (better(a, &list[i], &best))
			best = list[i];
	if (!n || fits(a, &best))
		return n > 0;
	const struct attempt single = best;
	together(a, list, n, from ? 1u << from : 0, &best);
	if (better(a, &best, &single))
		tell(a, &best);
	return fits(a, &best);
}

/* Copies over the link to the host are slow, and slow to predict as well: if another combination
 * fits, offload is not tried. */
static void
attempts(struct advisor *a)
{
	struct attempt list[ADVISE_MOST];
	int n = 0;

	for (int i = 0; i < a->m->naxes; i++) {
		list[n] = (struct attempt){.axis = i};
		n += !a->m->axis[i].time && a->m->axis[i].size > 1 && alone(a, &list[n], true);
	}
	list[n] = (struct attempt){.axis = -1, .recompute = true};
	n += alone(a, &list[n], false);
	list[n] = (struct attempt){.axis = -1, .steps = 1};
	n += alone(a, &list[n], false);
	if (tell_together(a, list, 0, n))
		return;
	list[n] = (struct attempt){.axis = -1, .offload = true};
	if (alone(a, &list[n], false))
		tell_together(a, list, n, n + 1);
}

/* Reports devices of the cluster that the step leaves unused. */
static void
tell_unused(const struct advisor *a)
{
	const struct cluster *c = cost_model_cluster(a->t->cost);
	int64_t used = 1;

	for (int i = 0; i < a->m->naxes; i++)
		used *= a->m->axis[i].time ? 1 : a->m->axis[i].size;
	if (c && !c->boundless && used < c->ndevices)
		diag_note(a->t->ctx->diag, LOC_NONE,
			"the step uses %" PRId64
			" of the %u devices of %s: shard splits params and "
			"states over the devices of a mesh axis",
			used, c->ndevices, c->name);
}

/* Reads the input again for the attempts. False: it cannot be read twice. */
static bool
start(struct advisor *a, const struct driver_options *o, struct driver *again)
{
	struct ir_module *m;

	*again = driver_create(a->scratch, o);
	diag_mute(again->ctx->diag, true);
	if (driver_read(again, a->t->in, &m) != DRIVER_OK)
		return false;
	a->attempts = attempts_create(a->scratch, again->manager, m);
	for (int i = 0; i < a->t->pipeline->n; i++)
		if (!a->t->pipeline->entry[i].automatic)
			LIST_PUSH(
				a->scratch, a->list.pass, a->list.n, a->t->pipeline->entry[i].text);
	return true;
}

bool
driver_advise(struct driver *t, struct ir_module *m, uint64_t peak)
{
	struct advisor a = {.t = t, .m = m, .peak = peak, .rows = rows_of(m)};
	struct driver again;

	a.scratch = alloc_scratch(t->pipeline);
	a.ends = clock_seconds() + ADVISE_SECONDS;
	tell_unused(&a);
	const struct driver_options o = options_of(&a);
	if (start(&a, &o, &again))
		attempts(&a);
	const struct pass_entry *search = search_of(t->pipeline);
	if (a.told && search)
		diag_note(t->ctx->diag, search->loc,
			"these figures are with %s in place of %s, whose result may need more or less memory",
			joint_kernel_policy(INSTEAD), search->pass->name);
	if (a.over)
		diag_note(t->ctx->diag, LOC_NONE,
			"other ways to reduce it were not tried: the time limit of %d s was reached",
			ADVISE_SECONDS);
	talloc_free(a.scratch);
	return a.told > 0;
}
