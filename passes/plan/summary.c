/* What plan has chosen, on one screen: the command, what is where, what takes most time, and how much better it could be. */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/plan/plan.h"

void
plan_summary(struct planner *p, const struct plan_candidate *best, const struct ir_module *m)
{
	char seconds[NUMBER_TEXT], peak[NUMBER_TEXT], limit[NUMBER_TEXT];
	struct diag *d = p->run->ctx->diag;

	(void)m;
	if (!pass_bool(p->run, "summary"))
		return;
	diag_note(d, LOC_NONE, "plan: %s, %s of %s on each device; the best of %s, from: %s",
		number_seconds(seconds, best->r.seconds), number_bytes(peak, (double)best->r.peak),
		number_bytes(limit, p->limit),
		number_count(p->run->scratch, (uint64_t)p->candidate.n, "pipeline(s)"), best->from);
	diag_note(d, LOC_NONE, "plan: %s", plan_command(p, best));
}
