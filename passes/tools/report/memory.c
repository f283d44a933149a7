/* Memory on the page: the curve, live bytes at the peak by kind, and the largest buffers there. */
#include "passes/tools/report/impl.h"

#include <inttypes.h>
#include <string.h>

static void
put_curve(FILE *out, const struct report *r)
{
	fputs("<p class=\"legend\">", out);
	for (int k = 0; k < MEMORY_NKINDS; k++)
		fprintf(out, "<span><i class=\"m%d\"></i>%s</span> ", k,
			memory_kind_name((enum memory_kind)k));
	fprintf(out,
		"</p>\n"
		"<div class=\"s chart\"><svg id=\"curve\" role=\"img\" aria-label=\"Memory over "
		"time by kind; the tables below show its peak\" viewBox=\"0 0 %d %d\" "
		"style=\"aspect-ratio:%d/%d\">\n",
		REPORT_COLUMNS, REPORT_CURVE, REPORT_COLUMNS, REPORT_CURVE);
	report_svg_memory(out, r);
	fputs("</svg></div>\n", out);
}

static void
put_kinds(FILE *out, const struct report *r)
{
	const struct memory_curve *c = r->v->memory;
	const struct memory_point *peak = &c->point[c->peak];

	html_table(out, "Memory at the peak by kind", "kind|>bytes|>share");
	for (int k = 0; k < MEMORY_NKINDS; k++) {
		html_row(out);
		html_text(out, memory_kind_name((enum memory_kind)k));
		html_bytes(out, (double)peak->bytes[k]);
		html_share(out, (double)peak->bytes[k], (double)peak->live);
		fputs("</tr>", out);
	}
	html_row(out);
	html_text(out, "gaps between buffers");
	html_bytes(out, (double)(c->allocated - peak->live));
	html_text(out, "");
	fputs("</tr>", out);
	html_table_end(out);
}

static const char *
position_name(const struct report *r, uint32_t position, char text[VIEW_NAME])
{
	const struct memory_curve *c = r->v->memory;
	const struct ir_op *op = position < c->n ? c->point[position].op : NULL;

	if (position == 0 || !op)
		return op ? "the start" : "the end";
	view_value(r->v, op, text);
	if (!*text)
		snprintf(text, VIEW_NAME, "%s", op_name((enum op_code)op->code));
	return text;
}

static void
put_buffers(FILE *out, const struct report *r)
{
	const struct memory_curve *c = r->v->memory;
	uint32_t shown = c->nheld < REPORT_BUFFERS ? c->nheld : REPORT_BUFFERS;
	char text[VIEW_NAME];

	html_table(out, "Largest buffers at the peak", "buffer|kind|>bytes|from|to");
	for (uint32_t i = 0; i < shown; i++) {
		const struct memory_held *h = &c->held[i];
		html_row(out);
		html_code(out, h->name);
		html_text(out, memory_kind_one(h->kind));
		html_bytes(out, (double)h->bytes);
		html_code(out, position_name(r, h->first, text));
		html_code(out, position_name(r, h->last, text));
		fputs("</tr>", out);
	}
	html_table_end(out);
	html_cut(out, shown, c->nheld, "buffers");
}

void
report_memory(FILE *out, const struct report *r)
{
	const struct memory_curve *c = r->v->memory;
	char allocated[NUMBER_TEXT], live[NUMBER_TEXT], at[VIEW_NAME];

	html_section(out, "memory", "Memory",
		"Memory in use on one device during the step; the "
		"time axis is that of the timeline.");
	fputs("<p>A program allocates ", out);
	html_unit(out, number_bytes(allocated, (double)c->allocated));
	fputs(". The peak is ", out);
	html_unit(out, number_bytes(live, (double)c->point[c->peak].live));
	fputs(", first reached at <code>", out);
	text_html(out, position_name(r, c->peak, at));
	fputs("</code>.</p>\n", out);
	put_curve(out, r);
	put_kinds(out, r);
	put_buffers(out, r);
	fputs("</section>\n", out);
}
