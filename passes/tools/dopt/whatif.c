/*
 * -whatif: the finished module's step with other costs. The passes have run with the costs as they
 * are: the question is the time of this step, not the result of the passes for such a machine.
 *
 *     what if net.bandwidth*2:
 *                        now    what if    change
 *     iteration        671us      471us   -29.8 %
 *
 * For an item that changes ops, a line before the table names them.
 */
#include "passes/tools/dopt/driver.h"
#include "passes/tools/report/report.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/whatif.h"

bool
driver_whatif_read(struct driver *t)
{
	if (t->o->whatif)
		t->whatif = whatif_parse(t->manager, t->ctx->diag, "whatif", t->o->whatif);
	return t->whatif || !t->o->whatif;
}

bool
driver_whatif_run(struct driver *t, struct ir_module *m)
{
	struct driver_whatif *w = NEW(t->stats, struct driver_whatif);

	struct ir_module *flat = driver_without_calls(w, t, m);
	if (!flat || !whatif_bind(t->whatif, flat))
		return false;
	w->items = t->whatif;
	w->effect = NEW_ARRAY(w, char *, (size_t)whatif_count(w->items));
	for (int i = 0; i < whatif_count(w->items); i++)
		w->effect[i] = whatif_effect(w, w->items, i, flat);
	w->model = cost_model_whatif(t->manager, t->cost, t->whatif);
	t->stats->whatif = w;
	return cost_evaluate(t->cost, flat, &w->now) && cost_evaluate(w->model, flat, &w->then);
}

static void
print_row(FILE *out, const char *name, double now, double then)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	fprintf(out, "%-13s %10s %10s", name, number_seconds(a, now), number_seconds(b, then));
	if (now > 0)
		fprintf(out, " %+8.1f %%", 100 * (then / now - 1));
	fputc('\n', out);
}

void
driver_whatif_print(FILE *out, const struct driver_whatif *w)
{
	fputs("what if ", out);
	for (int i = 0; i < whatif_count(w->items); i++)
		fprintf(out, "%s%s", i ? ", " : "", whatif_item_text(w->items, i));
	fputs(":\n", out);
	for (int i = 0; i < whatif_count(w->items); i++)
		if (w->effect[i])
			fprintf(out, "  %s changes %s\n", whatif_item_text(w->items, i),
				w->effect[i]);
	fprintf(out, "%-13s %10s %10s %10s\n", "", "now", "what if", "change");
	print_row(out, "iteration", w->now.iteration, w->then.iteration);
	print_row(out, "compute", w->now.compute, w->then.compute);
	print_row(out, "communication", w->now.communication, w->then.communication);
	print_row(out, "exposed", w->now.exposed, w->then.exposed);
}

void
driver_whatif_json(FILE *out, const struct driver_whatif *w)
{
	fputs("  {\"whatif\": [", out);
	for (int i = 0; i < whatif_count(w->items); i++) {
		fputs(i ? ", " : "", out);
		text_json(out, whatif_item_text(w->items, i));
	}
	fputs("], \"now\": ", out);
	cost_report_json(out, w->model, &w->now);
	fputs(", \"cost\": ", out);
	cost_report_json(out, w->model, &w->then);
	fputs("}\n", out);
}
