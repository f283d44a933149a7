/*
 * -emit=report: one self-contained HTML page about the predicted step. Tables need no script; the
 * script (report.js) draws the pictures from the data at the end of the page.
 */
#include "passes/tools/report/impl.h"

#include "ir/base/alloc.h"
#include "ir/cluster/cluster.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

extern const char dopt_report_css[],
	dopt_report_js[]; /* from passes/tools/report/report.css, report.js */

static void
put_escaped(FILE *out, const char *tag, const char *s)
{
	fprintf(out, "<%s>", tag);
	text_html(out, s);
	fprintf(out, "</%s>", tag);
}

static const char *
module_name(const struct report *r)
{
	return r->v->m->name ? r->v->m->name : "main";
}

static void
put_head(FILE *out, const struct report *r)
{
	char text[NUMBER_TEXT];

	/* The policy: nothing may be fetched, even if a name in the module contains markup. */
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
		out);
	text_html(out, module_name(r));
	fprintf(out,
		": %s per step</title>\n"
		"<style>\n"
		"%s</style></head>\n"
		"<body>\n",
		number_seconds(text, r->v->total.iteration), dopt_report_css);
}

static void
put_mesh(FILE *out, const struct ir_module *m)
{
	for (int i = 0; i < m->naxes; i++) {
		fputs(i ? ", " : "; ", out);
		text_html(out, m->axis[i].name);
		fprintf(out, " = %d%s", m->axis[i].size, m->axis[i].time ? " micro-batches" : "");
	}
}

/* "4 fast and 4 slow of pair" */
static void
put_devices(FILE *out, const struct view *v)
{
	const struct cluster *c = cost_model_cluster(v->cost);
	const char *last = NULL;

	for (uint32_t k = 0; k < c->nkinds; k++) {
		if (v->places[k] == 0)
			continue;
		fprintf(out, "%s%" PRIu32 " ", last ? " and " : "", v->places[k]);
		put_escaped(out, "b", last = c->kind[k]->name);
	}
	if (c->name && last && strcmp(c->name, last) != 0) {
		fputs(" of ", out);
		put_escaped(out, "b", c->name);
	}
}

static void
put_title(FILE *out, const struct report *r)
{
	char *times = cost_report_header(NULL, r->v->cost, &r->v->total);

	fputs("<header>", out);
	put_escaped(out, "h1", module_name(r));
	fputs("<p>The predicted training step on ", out);
	put_devices(out, r->v);
	put_mesh(out, r->v->m);
	fputs(".</p><p class=\"q\">", out);
	text_html(out, times);
	fputs(".</p></header>\n<main>\n", out);
	talloc_free(times);
}

static void
put_merged(FILE *out, const struct report *r)
{
	char text[NUMBER_TEXT];

	if (r->merged > 0)
		fprintf(out,
			"<p class=\"q\">The timeline shows %" PRIu32 " bars for %" PRIu32
			" events: adjacent events shorter than %s are merged.</p>\n",
			r->nbars, r->v->line->n, number_seconds(text, r->merged));
	html_cut(out, r->ndevices, r->v->line->ndevices, "devices");
}

static void
put_legend(FILE *out)
{
	fputs("<p class=\"legend\"><span><i class=\"k\"></i>kernels</span> "
	      "<span><i class=\"c\"></i>communication, hidden</span> "
	      "<span><i class=\"x\"></i>communication, exposed</span> "
	      "<span><i class=\"p\"></i>critical path</span></p>\n",
		out);
}

static void
put_timeline(FILE *out, const struct report *r)
{
	html_section(out, "timeline", "Timeline", NULL);
	fputs("<noscript><p>The pictures of this page need scripts; its tables do "
	      "not.</p></noscript>\n",
		out);
	put_legend(out);
	fputs("<div class=\"tools\" hidden>"
	      "<button type=\"button\" id=\"in\" aria-label=\"zoom in\">+</button>"
	      "<button type=\"button\" id=\"out\" aria-label=\"zoom out\">&minus;</button>"
	      "<button type=\"button\" id=\"all\">whole step</button>"
	      "<button type=\"button\" id=\"back\" aria-label=\"previous event\">&lsaquo;</button>"
	      "<button type=\"button\" id=\"next\" aria-label=\"next event\">&rsaquo;</button>"
	      "<input type=\"search\" id=\"search\" placeholder=\"find an op\" "
	      "aria-label=\"find ops by kind, name or type; Enter goes to the next\">"
	      "<output id=\"matches\" for=\"search\" class=\"q\"></output>"
	      "<label><input type=\"checkbox\" id=\"bykind\">colors by kind</label>"
	      "<label id=\"batches\" hidden><input type=\"checkbox\" id=\"bybatch\">colors by micro-batch</label>"
	      "</div>\n<p class=\"legend\" id=\"kindlegend\"></p>\n"
	      "<div class=\"s chart\" id=\"chart\" tabindex=\"0\" role=\"group\" "
	      "aria-label=\"Timeline of the step; tables with the same events follow\" "
	      "aria-describedby=\"keys\"><svg id=\"lanes\" aria-hidden=\"true\"></svg></div>\n"
	      "<p id=\"detail\" role=\"status\" hidden></p>\n"
	      "<p class=\"q\" id=\"keys\" hidden>Drag to pan; pinch, or hold Ctrl and scroll, "
	      "to zoom. Keys: + and &minus; zoom, arrow keys pan, n and b select the next and "
	      "the previous event, up and down change lanes, 0 shows the whole step.</p>\n",
		out);
	put_merged(out, r);
	fputs("</section>\n", out);
}

static void
put_script(FILE *out, const struct report *r)
{
	fputs("<section id=\"compare\" hidden><h2>Another report</h2>\n<p class=\"tools\"><label>compare with <input type=\"file\" id=\"other\" "
	      "accept=\".html\"></label></p><div id=\"compared\"></div></section>\n",
		out);
	fputs("</main>\n<script type=\"application/json\" id=\"data\">", out);
	report_data(out, r);
	fprintf(out, "</script>\n<script>\n%s</script>\n</body></html>\n", dopt_report_js);
}

void
driver_report_write(FILE *out, const struct driver_stats *stats, const struct pass_manager *manager,
	struct view *v)
{
	struct report *r = NEW(v, struct report);

	r->stats = stats;
	r->manager = manager;
	r->v = v;
	v->nlevels = view_levels_reduce(v->level, v->nlevels, v->line->iteration, REPORT_LEVELS);
	r->level = v->level;
	r->nlevels = v->nlevels;
	report_lanes(r);
	put_head(out, r);
	put_title(out, r);
	report_totals(out, r);
	report_whatif(out, r);
	put_timeline(out, r);
	report_memory(out, r);
	report_passes(out, r);
	report_causes(out, r);
	report_exposed(out, r);
	report_kinds(out, r);
	report_critical(out, r);
	report_devices(out, r);
	report_remarks(out, r);
	put_script(out, r);
	talloc_free(r);
}
