/* Passes that run inside another pass. */
#include "passes/manager/pipeline.h"

#include "ir/base/alloc.h"

#include <talloc.h>

/* A manager that does not record the statistics of inner passes under the name of the outer one. */
static struct pass_manager *
inner_manager(struct pass_run *run)
{
	struct pass_manager *inner = COPY_ARRAY(run->scratch, struct pass_manager, run->manager, 1);

	inner->counter = NULL;
	inner->ncounters = 0;
	return inner;
}

/* If an inner pass changes bits, so does the outer one. */
static bool
note_bits(void *data, const struct pass_run *inner, const struct pass_entry *e,
	struct ir_module *input, struct ir_module *m, double seconds, bool *drop)
{
	struct pass_run *outer = data;

	(void)e, (void)input, (void)m, (void)seconds, (void)drop;
	outer->redefined = outer->redefined || inner->redefined;
	outer->rounded = outer->rounded || inner->rounded;
	outer->reordered = outer->reordered || inner->reordered || !inner->pass->keeps_bits;
	return true;
}

static bool
apply(struct pass_run *run, struct pass_manager *inner, struct ir_module *m, const char *text,
	const char *then)
{
	const struct pass_hooks hooks = {.data = run, .after = note_bits};
	struct pass_pipeline *p = pass_pipeline_create(run->scratch);
	p->then = then;
	char *source = TEXT(p, "pipeline of %s", run->pass->name);
	struct ir_module *result = m;

	bool ok = pass_pipeline_parse(p, inner, source, text) && pass_pipeline_check(p, inner, m) &&
		  pass_pipeline_run(p, inner, &result, &hooks) == PASS_DONE;
	talloc_free(p);
	return ok;
}

bool
pass_apply_before(struct pass_run *run, struct ir_module *m, const char *text, const char *then)
{
	struct pass_manager *inner = inner_manager(run);
	bool ok = apply(run, inner, m, text, then);

	run->manager->remark = talloc_steal(run->manager, inner->remark);
	run->manager->nremarks = inner->nremarks;
	talloc_free(inner);
	return ok;
}

bool
pass_apply(struct pass_run *run, struct ir_module *m, const char *text)
{
	return pass_apply_before(run, m, text, NULL);
}

bool
pass_try(struct pass_run *run, struct ir_module *m, const char *text)
{
	struct pass_manager *inner = inner_manager(run);
	const bool muted = diag_mute(run->ctx->diag, true);

	inner->keep_remarks = inner->show_remarks = inner->verify_each = false;
	bool ok = apply(run, inner, m, text, NULL);
	diag_mute(run->ctx->diag, muted);
	talloc_free(inner);
	return ok;
}
