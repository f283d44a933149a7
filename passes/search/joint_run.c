/* See joint.h. */
#include "passes/search/joint.h"

#include "passes/analysis/memory.h"

#include <talloc.h>

/* Replays of a step that has to be put together for each, where nothing else limits them: at a few
 * milliseconds each that is some seconds. */
enum { WHOLE_EVALUATIONS = 2000 };

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
			pass_count(run, "ops fused", n.nops);
			pass_count(run, "kernels", 1);
		}
		if (n.kind == PLAN_MESSAGE && n.nops > 1)
			pass_count(run, "collectives fused", n.nops);
		if (n.kind == PLAN_MESSAGE && n.parts > 1)
			pass_count(run, "messages in parts", 1);
	}
}

static const char *
end_text(enum search_end e)
{
	switch (e) {
	case SEARCH_FINISHED: return "";
	case SEARCH_EVALUATIONS: return ", ended by its limit of evaluations";
	case SEARCH_TIME: return ", ended by the time limit";
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
		"%s: the step takes %.6g ms, %.6g before; %.6g ms of kernels and %.6g ms of "
		"messages; "
		"%llu evaluations%s",
		search_engine_name(o->engine), after * ms, before * ms,
		replay_seconds(plan_compute(p)) * ms, replay_seconds(plan_communication(p)) * ms,
		(unsigned long long)r->evaluations, end_text(r->end));
}

/* Where the times of the kernels that it asked about are from. */
static void
tell_sources(struct pass_run *run, const struct plan *p)
{
	const struct estimator_counts c = plan_estimates(p);

	pass_remark(run, NULL, PASS_MISSED,
		"times of kernels were asked for %llu times: %llu measured, %llu by the network, "
		"%llu analytic",
		(unsigned long long)(c.measured + c.network + c.analytic),
		(unsigned long long)c.measured, (unsigned long long)c.network,
		(unsigned long long)c.analytic);
}

/* What a step may take, where the command line says so. */
struct room {
	const struct ir_module *m;
	const struct storage_target *target;
	uint64_t bytes;
	uint32_t *refused; /* faster plans that need more */
};

static uint64_t
bytes_of(const struct room *room, struct ir_module *m)
{
	struct memory_report report;

	memory_evaluate(m, ir_func_find(m, "main"), room->target, &report);
	return report.peak;
}

static bool
fits(const void *data, struct plan *p)
{
	const struct room *room = data;
	struct ir_module *m = ir_module_clone(NULL, room->m);
	bool small = plan_apply(p, m, NULL) && bytes_of(room, m) <= room->bytes;

	talloc_free(m);
	*room->refused += !small;
	return small;
}

static void
tell_refused(struct pass_run *run, const struct room *room)
{
	if (*room->refused)
		pass_remark(run, NULL, PASS_MISSED,
			"%u plans that would have been faster need more than %.4g GB of memory on "
			"a "
			"device",
			*room->refused, (double)room->bytes / 1e9);
}

/* The budget, or what the step takes now, if that is more. */
static uint64_t
room_of(const struct room *room, uint64_t budget)
{
	struct ir_module *m = ir_module_clone(NULL, room->m);
	uint64_t now = bytes_of(room, m);

	talloc_free(m);
	return now > budget ? now : budget;
}

struct search_options
joint_moves(unsigned moves)
{
	struct search_options o = search_defaults();

	o.moves = moves;
	return o;
}

bool
joint_run(struct pass_run *run, struct ir_module *m, struct search_options o)
{
	const struct cost_model *model = model_of(run);
	struct plan *p = model ? plan_create(run->scratch, model, m) : NULL;
	uint32_t refused = 0;
	struct room room = {m, cost_model_storage(model), 0, &refused};
	struct search_result r;

	if (!p)
		return false;
	if (pass_budget(run)) {
		room.bytes = room_of(&room, pass_budget(run));
		o.fits = fits;
		o.fits_data = &room;
	}
	o.seed = run->seed;
	if (o.time_limit <= 0)
		o.time_limit = pass_time_limit(run);
	if (!o.evaluations)
		o.evaluations = pass_evaluations(run);
	if (plan_is_whole(p) && o.time_limit <= 0 && !o.evaluations)
		o.evaluations = WHOLE_EVALUATIONS;
	o.progress = pass_progress(run);
	o.keyboard = true;
	search_run(p, &o, &r);
	tell(run, p, &o, &r);
	tell_refused(run, &room);
	joint_remarks(run, p);
	tell_sources(run, p);
	count_nodes(run, p);
	const struct ir_op *wrong;
	return r.after == r.before || plan_apply(p, m, &wrong) ||
	       pass_bug(run, wrong, "its plan does not issue this op after all of its operands");
}
