/*
 * Schedules for pass pipeline: by name, as a table, or searched.
 *
 * What is searched for is the shortest iteration by the replay of the step as it will be, with gradients and Adam. Candidates
 * are the schedules that have a name, and what schedule_search makes of the times of F, I and W in each stage, taken
 * from a replay too; so the result is not slower than any that has a name. Those that need more memory than there is do not
 * count. A cut of the model that is made for little memory is not balanced, and may be for less than the step needs: several
 * are tried.
 */
#include "passes/parallel/pipeline_schedule.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/memory/issue.h"
#include "passes/analysis/cost/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* What follows the pass. */
static const char training[] = "grad,adam";

/* A schedule that divides B into I and W, so that a replay tells their times apart. */
static const enum schedule_name divided = SCHEDULE_ZB1P;

/* The search counts what forwards leave for backwards; gaps between buffers come on top. So it may be asked again, for less
 * memory: at most TRIES times, each time for so much of what it was. */
enum { TRIES = 6 };
static const double less = 0.85;

static bool
complain(const struct pipeline_step *s, const char *text)
{
	diag_error(s->run->ctx->diag, pass_option_loc(s->run, "schedule"), "pipeline: %s", text);
	return false;
}

static int
count_ranks(const struct pipeline_step *s)
{
	return s->m->axis[s->axis].size;
}

static int
count_steps(const struct pipeline_step *s)
{
	return s->m->axis[s->time].size;
}

/* A line for each rank, as text of the IR. */
static const char *
cells_text(const struct pipeline_step *s, const struct schedule *made)
{
	char *text = NULL;
	size_t length;
	FILE *out = made ? open_memstream(&text, &length) : NULL;

	if (!out)
		return NULL;
	schedule_write(out, made);
	fclose(out);
	while (length && text[length - 1] == '\n')
		text[--length] = 0;
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ';' : *at;
	const char *result = ir_name(s->run->ctx, text);
	free(text);
	return result;
}

/* The IR has names of its own for gpipe and 1f1b, whose order follows from the numbers of stages and micro-batches; of
 * others it has the cells. */
static const char *
text_of_name(const struct pipeline_step *s, enum schedule_name name)
{
	if (name == SCHEDULE_GPIPE || name == SCHEDULE_1F1B)
		return schedule_name_text(name);
	return cells_text(s, schedule_make(s->run->scratch, s->run->ctx->diag, name, count_ranks(s),
				     1, count_steps(s)));
}

/* ---- the search ------------------------------------------------------------------------------ */

struct search {
	const struct pipeline_step *step;
	struct ir_module *trained; /* a copy of the step as it will be */
	struct schedule_stage *piece;
	int cut;
	struct pipeline_found *found;
};

static bool
fits(const struct pipeline_step *s, const struct pipeline_candidate *c)
{
	return c->peak <= s->memory;
}

/* Keeps the shorter one, or where neither fits, the smaller one. */
static void
keep_better(
	const struct search *f, struct pipeline_candidate *best, const struct pipeline_candidate *c)
{
	const bool good = fits(f->step, c), before = best->text && fits(f->step, best);

	if (!best->text || (good && (!before || c->seconds < best->seconds)) ||
		(!good && !before && c->peak < best->peak))
		*best = *c;
}

static struct pipeline_candidate
replay(const struct search *f, const char *text)
{
	struct pipeline_candidate c = {text, f->cut, INFINITY, INFINITY};
	struct cost_report report;

	f->trained->axis[f->step->time].schedule = text;
	if (text && cost_evaluate(f->step->run->cost, f->trained, &report)) {
		c.seconds = report.iteration;
		c.peak = report.peak_bytes;
	}
	return c;
}

static int
stage_of(const struct search *f, const struct ir_op *op)
{
	const struct ir_state s =
		op->nresults ? op->result[0].type->axis[f->step->axis] : (struct ir_state){0};

	return s.kind == IR_SINGLE ? s.order : -1;
}

/* What kernels and messages of the first micro-batch take. */
static void
add_times(struct search *f, const struct issue *o, const struct cost_timeline *t)
{
	int32_t *device = ARRAY_NEW(NULL, int32_t, f->trained->op_ids); /* whose events count */

	for (uint32_t i = 0; i < f->trained->op_ids; i++)
		device[i] = -1;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct cost_event *e = &t->event[i];
		const int stage = stage_of(f, e->op);
		struct cell_message m;
		if (e->turn || stage < 0 || !issue_loop_of(o, e->op)->cells)
			continue;
		if (device[e->op->id] < 0)
			device[e->op->id] = e->device;
		if (device[e->op->id] != e->device)
			continue;
		struct schedule_stage *p = &f->piece[stage];
		if (issue_message(o, e->op, &m)) {
			double *longest = &f->piece[m.from < m.to ? m.from : m.to].message;
			*longest = fmax(*longest, e->end - e->start);
			continue;
		}
		*(issue_phase(o, e->op) == CELL_FORWARD          ? &p->forward
			: issue_phase(o, e->op) == CELL_BACKWARD ? &p->input
								 : &p->weight) += e->end - e->start;
	}
	array_free(device);
}

/* What forwards leave for backwards, as a share of what the memory of a device has room for. */
static void
add_memory(struct search *f, const struct issue *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		for (int r = 0; r < o->op[i]->nresults; r++) {
			const struct ir_value *v = &o->op[i]->result[r];
			const int stage = stage_of(f, o->op[i]);
			bool crosses = false;
			if (stage < 0 || !issue_loop_of(o, o->op[i])->cells ||
				issue_phase(o, o->op[i]) != CELL_FORWARD)
				continue;
			issue_ring(o, v, &crosses);
			f->piece[stage].live +=
				crosses ? (double)ir_type_local_bytes(f->trained, v->type) : 0;
		}
	for (int k = 0; k < count_ranks(f->step); k++) {
		struct schedule_stage *p = &f->piece[k];
		const double room = f->step->memory - f->step->fixed[k];
		/* INFINITY: nothing is live as far as the search goes. */
		p->live = room > p->live ? p->live / room : 1;
		p->kept = 1;
	}
}

/* Times and memory of each stage, from a replay. False: reported, or there is none. */
static bool
measure(struct search *f)
{
	const struct pipeline_step *s = f->step;
	const struct ir_block *main = &ir_func_find(f->trained, "main")->body;

	f->trained->axis[s->time].schedule = text_of_name(s, divided);
	f->piece = ARRAY_ZERO(s->run->scratch, struct schedule_stage, count_ranks(s));
	struct cost_timeline *t = cost_timeline(s->run->scratch, s->run->cost, f->trained);
	struct issue *o = t ? issue_create(t, f->trained, main) : NULL;
	if (!o || o->why)
		return false;
	add_times(f, o, t);
	add_memory(f, o);
	talloc_free(t);
	return true;
}

/* Shorter ones, within the memory. */
static void
try_searched(struct search *f)
{
	const struct pipeline_step *s = f->step;
	struct schedule_request q = {.nranks = count_ranks(s),
		.nsteps = count_steps(s),
		.per_rank = 1,
		.piece = f->piece,
		.npieces = count_ranks(s),
		.memory = 1};
	const bool muted = diag_mute(s->run->ctx->diag, true);

	for (int i = 0; i < TRIES; i++, q.memory *= less) {
		struct schedule_found *found =
			schedule_search(s->run->scratch, s->run->ctx->diag, &q);
		if (!found)
			break;
		const struct pipeline_candidate c = replay(f, cells_text(s, found->schedule));
		keep_better(f, &f->found->best, &c);
		if (fits(s, &c))
			break;
	}
	diag_mute(s->run->ctx->diag, muted);
}

bool
pipeline_search(const struct pipeline_step *s, int cut, struct pipeline_found *found)
{
	struct search f = {.step = s, .cut = cut, .found = found};

	if (!s->run->cost)
		return complain(s, "schedule=search needs a cost model");
	f.trained = ir_module_clone(s->run->scratch, s->m);
	if (!pass_try(s->run, f.trained, training))
		return complain(s,
			"schedule=search predicts the step with its gradients, but pass grad fails on it");
	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		if (schedule_per_rank((enum schedule_name)i) != 1)
			continue;
		const struct pipeline_candidate c =
			replay(&f, text_of_name(s, (enum schedule_name)i));
		keep_better(&f, &found->named[i], &c);
		keep_better(&f, &found->best, &c);
	}
	if (measure(&f))
		try_searched(&f);
	return true;
}

static void
tell(const struct pipeline_step *s, const struct pipeline_found *found)
{
	char number[NUMBER_TEXT];
	const char *chosen = NULL;
	char *others = text_copy(s->run->scratch, "");

	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		const struct pipeline_candidate *c = &found->named[i];
		if (!c->text)
			continue;
		const char *name = schedule_name_text((enum schedule_name)i);
		if (c->text == found->best.text)
			chosen = name;
		others = text_append(others, "%s%s %s%s", *others ? ", " : "", name,
			number_seconds(number, c->seconds),
			fits(s, c) ? "" : " (needs more memory than there is)");
	}
	pass_remark(s->run, NULL, PASS_APPLIED,
		"schedule %s: an iteration with grad and adam takes %s; by name: %s",
		chosen ? chosen : "found by search", number_seconds(number, found->best.seconds),
		others);
	if (!fits(s, &found->best))
		pass_remark(s->run, NULL, PASS_MISSED,
			"no schedule has the memory that it needs: the one that needs least takes %s",
			number_bytes(number, found->best.peak));
}

/* ---- the option ------------------------------------------------------------------------------ */

/* As text of the IR; NULL: reported. */
static const char *
find_text(const struct pipeline_step *s, const char *text)
{
	for (enum schedule_name name = 0; name < SCHEDULE_NNAMES; name++) {
		if (strcmp(text, schedule_name_text(name)) != 0)
			continue;
		if (schedule_per_rank(name) == 1)
			return text_of_name(s, name);
		complain(s, TEXT(s->run->scratch,
				    "in schedule %s each rank has several stages; here it has one: "
				    "expected gpipe, 1f1b, zb1p, zb2p or search",
				    text));
		return NULL;
	}
	return text;
}

bool
pipeline_is_searched(const struct pass_run *run)
{
	return strcmp(pass_string(run, "schedule"), "search") == 0;
}

bool
pipeline_set_schedule(const struct pipeline_step *s, const struct pipeline_found *found)
{
	const char *text = pass_string(s->run, "schedule"), *why = NULL;

	if (!*text || count_ranks(s) == 1)
		return true;
	text = found->best.text ? found->best.text : find_text(s, text);
	if (!text)
		return false;
	if (found->best.text)
		tell(s, found);
	if (!cells_create(s->run->scratch, text, (uint32_t)count_ranks(s), (uint32_t)count_steps(s),
		    &why))
		return complain(s, why);
	s->m->axis[s->time].schedule = ir_name(s->run->ctx, text);
	return true;
}
