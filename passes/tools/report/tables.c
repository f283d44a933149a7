/* Tables of the whole step, the passes and the memory. */
#include "passes/tools/report/impl.h"

#include "passes/analysis/cost/whatif.h"

#include <inttypes.h>
#include <talloc.h>

/* `value` and the two texts below it may have units; those two may be NULL. */
static void
card(FILE *out, const char *id, const char *name, const char *value, const char *more,
	const char *whole)
{
	fprintf(out, "<div><dt>%s</dt><dd id=\"%s\">", name, id);
	html_unit(out, value);
	if (more) {
		fputs(" <small>", out);
		html_unit(out, more);
		if (whole) {
			fputs(" of ", out);
			html_unit(out, whole);
		}
		fputs("</small>", out);
	}
	fputs("</dd></div>\n", out);
}

static void
card_seconds(FILE *out, const char *id, const char *name, double s, double iteration)
{
	char text[NUMBER_TEXT], share[NUMBER_TEXT];

	snprintf(
		share, sizeof share, "%.1f%% of the step", iteration > 0 ? 100 * s / iteration : 0);
	card(out, id, name, number_seconds(text, s), iteration > 0 ? share : NULL, NULL);
}

/* Means over the distinguished devices. */
static struct cost_device
mean_device(const struct cost_timeline *line)
{
	struct cost_device mean = {0};

	for (uint32_t d = 0; d < line->ndevices; d++) {
		mean.compute += line->device[d].compute / line->ndevices;
		mean.communication += line->device[d].communication / line->ndevices;
		mean.exposed += line->device[d].exposed / line->ndevices;
		mean.idle += line->device[d].idle / line->ndevices;
	}
	return mean;
}

/* FLOP/s, as a share of the peak if that is known. */
static void
card_flops(FILE *out, const struct view *v, const char *id, const char *name, double flops)
{
	char value[NUMBER_TEXT], rate[NUMBER_TEXT], peak[NUMBER_TEXT];

	if (!(v->total.iteration > 0))
		return;
	number_flops(rate, flops / v->total.iteration);
	if (v->peak > 0) {
		snprintf(value, sizeof value, "%.1f%%", 100 * flops / v->total.iteration / v->peak);
		card(out, id, name, value, rate, number_flops(peak, v->peak));
	} else {
		card(out, id, name, rate, "peak unknown", NULL);
	}
}

void
report_totals(FILE *out, const struct report *r)
{
	const struct view *v = r->v;
	struct cost_device mean = mean_device(v->line);
	char peak[NUMBER_TEXT], persistent[NUMBER_TEXT], room[NUMBER_TEXT];

	html_section(out, "totals", "Totals",
		v->line->ndevices > 1 ? "Times are averages over the devices." : NULL);
	fputs("<dl>\n", out);
	card_seconds(out, "iteration", "iteration", v->total.iteration, 0);
	card_seconds(out, "compute", "compute", mean.compute, v->total.iteration);
	card_seconds(out, "communication", "communication", mean.communication, v->total.iteration);
	card_seconds(out, "exposed", "exposed", mean.exposed, v->total.iteration);
	card_seconds(out, "idle", "idle", mean.idle, v->total.iteration);
	card(out, "peak", v->total.fits ? "peak memory" : "peak memory: does not fit",
		number_bytes(peak, v->total.peak_bytes), number_bytes(room, v->room), NULL);
	card(out, "persistent", "params and states",
		number_bytes(persistent, v->total.persistent_bytes), NULL, NULL);
	card_flops(out, v, "hfu", "HFU", v->total.flops);
	card_flops(out, v, "mfu", "MFU", v->total.flops - v->line->repeated);
	fputs("</dl></section>\n", out);
}

static void
whatif_row(FILE *out, const char *name, double now, double then)
{
	html_row(out);
	html_text(out, name);
	html_seconds(out, now);
	html_seconds(out, then);
	if (now > 0)
		html_number(out, "%+.1f&nbsp;%%", 100 * (then / now - 1));
	else
		html_text(out, "");
	fputs("</tr>", out);
}

void
report_whatif(FILE *out, const struct report *r)
{
	const struct driver_whatif *w = r->stats->whatif;

	if (!w)
		return;
	html_section(out, "whatif", "What if", "This page shows the step with other costs:");
	fputs("<ul>", out);
	for (int i = 0; i < whatif_count(w->items); i++) {
		fputs("<li><code>", out);
		text_html(out, whatif_item_text(w->items, i));
		fputs("</code></li>", out);
	}
	fputs("</ul>", out);
	html_table(
		out, "The step with current costs and with these costs", "|>now|>what if|>change");
	whatif_row(out, "iteration", w->now.iteration, w->then.iteration);
	whatif_row(out, "compute", w->now.compute, w->then.compute);
	whatif_row(out, "communication", w->now.communication, w->then.communication);
	whatif_row(out, "exposed", w->now.exposed, w->then.exposed);
	html_table_end(out);
	fputs("</section>\n", out);
}

/* A line on the actions of a pass. */
static void
pass_notes(FILE *out, const struct driver_row *row)
{
	const char *gap = "";

	fputs("<td>", out);
	if (row->over) {
		fputs("over budget", out);
		gap = ", ";
	}
	if (row->dropped || (row->name && !row->changed)) {
		fprintf(out, "%s%s", gap, row->dropped ? "dropped" : "no change");
		gap = ", ";
	}
	for (int i = 0; i < row->ncounters; i++, gap = ", ") {
		char *text = number_count(NULL, row->counter[i].n, row->counter[i].what);
		fputs(gap, out);
		text_html(out, text);
		talloc_free(text);
	}
	fputs("</td>", out);
}

void
report_passes(FILE *out, const struct report *r)
{
	const struct driver_stats *s = r->stats;

	html_section(out, "passes", "Passes",
		"Each figure is the largest of all devices; exposed: the iteration minus compute.");
	html_table(out, "The step after each pass",
		"pass|>ops|>iteration|>compute|>communication|>exposed|>memory|>pass time|changes");
	for (int i = 0; i < s->n; i++) {
		const struct driver_row *row = &s->row[i];
		html_row(out);
		html_text(out, row->name ? row->name : "input");
		html_number(out, "%u", row->cost.ops);
		html_seconds(out, row->cost.iteration);
		html_seconds(out, row->cost.compute);
		html_seconds(out, row->cost.communication);
		html_seconds(out, row->cost.exposed);
		html_bytes(out, row->cost.peak_bytes);
		html_seconds(out, row->seconds);
		pass_notes(out, row);
		fputs("</tr>", out);
	}
	html_table_end(out);
	fputs("</section>\n", out);
}

void
report_devices(FILE *out, const struct report *r)
{
	const struct cost_timeline *line = r->v->line;

	if (line->ndevices < 2)
		return;
	html_section(out, "devices", "Devices",
		"Devices that do the same work are shown as one. Compute, exposed communication "
		"and idle time add up to the iteration.");
	html_table(out, "Time of each device in the step",
		">device|>compute|>communication|>exposed|>idle");
	for (uint32_t d = 0; d < r->ndevices; d++) {
		html_row(out);
		html_number(out, "%u", d);
		html_seconds(out, line->device[d].compute);
		html_seconds(out, line->device[d].communication);
		html_seconds(out, line->device[d].exposed);
		html_seconds(out, line->device[d].idle);
		fputs("</tr>", out);
	}
	html_table_end(out);
	html_cut(out, r->ndevices, line->ndevices, "devices");
	fputs("</section>\n", out);
}

static void
remark_place(FILE *out, const struct report *r, const struct pass_remark_record *remark)
{
	const char *file;
	unsigned line, column;

	fputs("<td>", out);
	if (diag_place(r->v->m->ctx->diag, remark->loc, &file, &line, &column)) {
		text_html(out, file);
		fprintf(out, ":%u", line);
	}
	fputs("</td>", out);
}

void
report_remarks(FILE *out, const struct report *r)
{
	const struct pass_manager *manager = r->manager;
	int n = manager->nremarks < REPORT_REMARKS ? manager->nremarks : REPORT_REMARKS;

	if (n == 0)
		return;
	html_section(out, "remarks", "Remarks", "What passes did and did not do, and why.");
	html_table(out, "Remarks", "pass|kind|op|location|remark");
	for (int i = 0; i < n; i++) {
		const struct pass_remark_record *remark = &manager->remark[i];
		html_row(out);
		html_text(out, remark->pass->name);
		html_text(out, remark->kind == PASS_APPLIED ? "applied" : "missed");
		html_text(out, remark->op ? remark->op : "");
		remark_place(out, r, remark);
		html_text(out, remark->text);
		fputs("</tr>", out);
	}
	html_table_end(out);
	html_cut(out, (uint32_t)n, (uint32_t)manager->nremarks, "remarks");
	fputs("</section>\n", out);
}
