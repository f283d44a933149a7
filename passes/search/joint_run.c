/* See joint.h. */
#include "passes/search/joint_impl.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/memory.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Limit on replays of a step that has to be built for each: at a few milliseconds each, a few
 * seconds. */
enum { WHOLE_EVALUATIONS = 2000 };

/* Limit on collectives times nodes for which the bound on issue orders is computed, for a remark:
 * some tenths of a second. */
enum { BOUND_WORK = 100000000 };

static const struct cost_model *
model_of(struct pass_run *run)
{
	const struct cost_options generic = {0};

	return run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
}

static void
count_nodes(struct pass_run *run, const struct plan *p)
{
	for (uint32_t i = 0; i < plan_count(p); i++) {
		struct plan_node n = plan_node(p, plan_at(p, i));
		if (n.kind == PLAN_KERNEL && n.nops > 1) {
			pass_count(run, "op(s) fused", n.nops);
			pass_count(run, "kernel(s)", 1);
		}
		if (n.kind == PLAN_MESSAGE && n.nops > 1)
			pass_count(run, "collective(s) fused", n.nops);
		if (n.kind == PLAN_MESSAGE && n.parts > 1)
			pass_count(run, "collective(s) chunked", 1);
	}
}

static const char *
end_text(enum search_end e)
{
	switch (e) {
	case SEARCH_FINISHED: return "";
	case SEARCH_EVALUATIONS: return ", stopped at the limit of evaluations";
	case SEARCH_TIME: return ", stopped at the time limit";
	case SEARCH_INTERRUPTED: return ", interrupted";
	}
	return "";
}

static void
tell(struct pass_run *run, struct plan *p, const struct search_options *o,
	const struct search_result *r)
{
	const double ms = 1e3, before = replay_seconds(r->before), after = replay_seconds(r->after);

	pass_remark(run, NULL, r->after < r->before ? PASS_APPLIED : PASS_MISSED,
		"%s: the step takes %.6g ms, %.6g ms before; kernels take %.6g ms, "
		"collectives %.6g ms; %llu evaluations%s",
		search_engine_name(o->engine), after * ms, before * ms,
		replay_seconds(plan_compute(p)) * ms, replay_seconds(plan_communication(p)) * ms,
		(unsigned long long)r->evaluations, end_text(r->end));
}

/* Reports how far the plan is from the bound on issue orders of its kernels and collectives. */
static void
tell_bounds(struct pass_run *run, const struct plan *p)
{
	const double ms = 1e3;
	uint64_t messages = 0;

	if (!pass_remarks_wanted(run))
		return;
	for (uint32_t i = 0; i < plan_count(p); i++)
		messages += plan_node(p, plan_at(p, i)).kind == PLAN_MESSAGE;
	if (plan_is_whole(p) || !messages || messages * plan_count(p) > BOUND_WORK)
		return;
	pass_remark(run, NULL, PASS_MISSED,
		"no issue order of these kernels and collectives takes less than %.6g ms, with "
		"full overlap they take %.6g ms",
		replay_seconds(search_order_bound(p)) * ms,
		replay_seconds(search_full_overlap(p)) * ms);
}

/* Reports the sources of the kernel times used. */
static void
tell_sources(struct pass_run *run, const struct plan *p)
{
	const struct estimator_counts c = plan_estimates(p);

	pass_remark(run, NULL, PASS_MISSED,
		"kernel times were requested %llu times: %llu measured, "
		"%llu by the network, %llu analytic",
		(unsigned long long)(c.measured + c.network + c.analytic),
		(unsigned long long)c.measured, (unsigned long long)c.network,
		(unsigned long long)c.analytic);
}

bool
joint_fits(const struct joint_room *room, const struct ir_module *m)
{
	return !room->bytes || memory_peak(m, room->target, room->bytes) <= room->bytes;
}

static bool
fits(const void *data, struct plan *p)
{
	const struct joint_room *room = data;
	struct ir_module *m = ir_module_clone(NULL, room->m);
	bool small = plan_apply(p, m, NULL) && joint_fits(room, m);

	talloc_free(m);
	*room->refused += !small;
	return small;
}

static void
tell_refused(struct pass_run *run, const struct joint_room *room)
{
	char bytes[NUMBER_TEXT];

	if (*room->refused)
		pass_remark(run, NULL, PASS_MISSED,
			"%s rejected: more than %s of memory on a device",
			number_count(run->scratch, *room->refused, "faster plan(s)"),
			number_bytes(bytes, (double)room->bytes));
}

struct search_options
joint_moves(unsigned moves)
{
	struct search_options o = search_defaults();

	o.moves = moves;
	return o;
}

/* Options that the pass takes from the command line. */
static void
fill_in(struct pass_run *run, const struct plan *p, struct search_options *o)
{
	o->seed = run->seed;
	if (o->time_limit <= 0)
		o->time_limit = pass_time_limit(run);
	if (!o->evaluations)
		o->evaluations = pass_evaluations(run);
	if (plan_is_whole(p) && o->time_limit <= 0 && !o->evaluations)
		o->evaluations = WHOLE_EVALUATIONS;
	o->progress = pass_progress(run);
	o->keyboard = true;
}

static void
tell_policy(struct pass_run *run, const struct joint_starts *starts, replay_time searched)
{
	pass_remark(run, NULL, PASS_APPLIED,
		"%s leads to a step of %.6g ms, the search from the original step to one of %.6g "
		"ms; the search continues from the former",
		starts->text, replay_seconds(starts->time) * 1e3, replay_seconds(searched) * 1e3);
}

/*
 * Share of the evaluations and the time that is reserved for a second search, from a policy's
 * result. Its kernels stay: only messages and the order change, so it needs less.
 */
enum { KEPT = 4 };

/* The limits that the first search has left over; at least one evaluation. */
static struct search_options
rest_of(const struct search_options *o, const struct search_result *first)
{
	struct search_options rest = *o;

	rest.start = NULL;
	rest.nstarts = 0;
	if (o->evaluations)
		rest.evaluations = first->evaluations < o->evaluations
					   ? o->evaluations - first->evaluations
					   : 1;
	if (o->time_limit > 0)
		rest.time_limit = fmax(o->time_limit - first->seconds, 1e-3);
	return rest;
}

/*
 * Searches twice: from the plans of the step, and then from the better of that result and of what
 * the policies' passes make of the module itself. NULL: a bug in these passes.
 */
static struct plan *
search_twice(struct pass_run *run, struct ir_module *m, const struct cost_model *model,
	struct plan *p, const struct joint_starts *starts, const struct search_options *o,
	struct search_result *r)
{
	struct search_options most = *o;
	struct search_result first;

	most.evaluations -= o->evaluations / KEPT;
	most.time_limit -= o->time_limit / KEPT;
	search_run(p, &most, &first);
	const struct search_options rest = rest_of(o, &first);
	if (starts->time < first.after) {
		tell_policy(run, starts, first.after);
		p = pass_try(run, m, starts->text) ? plan_create(run->scratch, model, m) : NULL;
	}
	if (!p)
		return NULL;
	search_run(p, &rest, r);
	r->before = first.before;
	r->evaluations += first.evaluations;
	return p;
}

static bool
finish(struct pass_run *run, struct ir_module *m, struct plan *p, const struct joint_room *room,
	const struct search_options *o, const struct search_result *r)
{
	const struct ir_op *wrong;

	tell(run, p, o, r);
	tell_bounds(run, p);
	tell_refused(run, room);
	joint_remarks(run, p);
	tell_sources(run, p);
	count_nodes(run, p);
	return r->after == r->before || plan_apply(p, m, &wrong) ||
	       pass_bug(run, wrong, "the plan does not issue this op after all of its operands");
}

static bool
is_fused(const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_fuse)
			return true;
	return false;
}

/* Runs the passes given in place of the search, as far as its moves allow them. */
static bool
run_instead(struct pass_run *run, struct ir_module *m, const struct search_options *o)
{
	const unsigned kernels = SEARCH_FUSE | SEARCH_COPY;
	char *text = TEXT(run->scratch, "%s", pass_instead(run)), *pass;
	const bool fuses = (o->moves & kernels) == kernels && !is_fused(m);

	while ((pass = strsep(&text, ","))) {
		const bool may =
			strncmp(pass, "opfuse", strlen("opfuse")) ? o->moves & SEARCH_PACK : fuses;
		if (*pass && may && !pass_try(run, m, pass))
			return false;
	}
	return true;
}

bool
joint_run(struct pass_run *run, struct ir_module *m, struct search_options o)
{
	if (pass_instead(run))
		return run_instead(run, m, &o);
	const struct cost_model *model = model_of(run);
	struct plan *p = model ? plan_create(run->scratch, model, m) : NULL;
	uint32_t refused = 0;
	struct joint_room room = {m, cost_model_storage(model), 0, &refused};
	struct joint_starts starts = {0};
	struct search_result r;

	if (!p)
		return false;
	if (pass_budget(run)) {
		room.bytes = memory_room(m, room.target, pass_budget(run));
		o.fits = fits;
		o.fits_data = &room;
	}
	fill_in(run, p, &o);
	joint_find_starts(run, model, m, p, &o, &room, &starts);
	o.start = starts.plan;
	o.nstarts = starts.n;
	if (starts.text)
		p = search_twice(run, m, model, p, &starts, &o, &r);
	else
		search_run(p, &o, &r);
	if (!p)
		return false;
	return finish(run, m, p, &room, &o, &r);
}
