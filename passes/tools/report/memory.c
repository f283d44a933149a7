/* Memory on the page: the curve, live bytes at the peak by kind, and the largest buffers there. */
#include "passes/tools/report/impl.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static void
put_curve(FILE *out)
{
	fputs("<p class=\"legend\">", out);
	for (int k = 0; k < MEMORY_NKINDS; k++)
		fprintf(out, "<span><i class=\"m%d\"></i>%s</span> ", k,
			memory_kind_name((enum memory_kind)k));
	fputs("</p>\n"
	      "<div class=\"s chart\"><svg id=\"curve\" role=\"img\" aria-label=\"Memory "
	      "over time by kind; the tables below show its peak\"></svg></div>\n",
		out);
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

/* Buffers of one size and kind whose names differ only in digits: those of equal blocks. */
struct equal_buffers {
	const char *name; /* with * for digits */
	const struct memory_held *first;
	uint32_t n;
};

struct alikes {
	struct VEC(struct equal_buffers);
};

MAP_SAME(is_alike, struct alikes, struct equal_buffers,
	list->at[i].first->kind == key->first->kind &&
		list->at[i].first->bytes == key->first->bytes &&
		!strcmp(list->at[i].name, key->name))

static double
bytes_of(const struct equal_buffers *a)
{
	return (double)a->n * (double)a->first->bytes;
}

/* The most bytes first; else as they are in the curve. */
ORDER_BY(larger, struct equal_buffers, ORDER_UP(bytes_of(y), bytes_of(x)), UP(first))

static struct alikes
group(void *owner, const struct memory_curve *c)
{
	struct alikes all = {0};
	struct map map = {0};

	for (uint32_t i = 0; i < c->nheld; i++) {
		const struct memory_held *h = &c->held[i];
		const struct equal_buffers a = {text_pattern(owner, h->name), h, 0};
		const uint64_t hash = mix_text(a.name, strlen(a.name));
		const uint32_t at = map_add(owner, &map, hash, is_alike, &all, &a);
		if (at == all.n)
			VEC_PUSH(owner, &all, a);
		all.at[at].n++;
	}
	if (all.n)
		qsort(all.at, (size_t)all.n, sizeof *all.at, larger);
	return all;
}

static void
put_buffers(FILE *out, const struct report *r)
{
	void *scratch = alloc_scratch(NULL);
	const struct alikes all = group(scratch, r->v->memory);
	const uint32_t n = (uint32_t)all.n, shown = n < REPORT_BUFFERS ? n : REPORT_BUFFERS;
	char text[VIEW_NAME];

	html_table(out, "Largest buffers at the peak; those of equal blocks are one row",
		"buffer|kind|>number|>bytes|from|to");
	for (uint32_t i = 0; i < shown; i++) {
		const struct equal_buffers *a = &all.at[i];
		html_row(out);
		html_code(out, a->n > 1 ? a->name : a->first->name);
		html_text(out, memory_kind_one(a->first->kind));
		html_number(out, "%u", a->n);
		html_bytes(out, bytes_of(a));
		html_code(out, position_name(r, a->first->first, text));
		html_code(out, position_name(r, a->first->last, text));
		fputs("</tr>", out);
	}
	html_table_end(out);
	html_cut(out, shown, n, "buffers");
	talloc_free(scratch);
}

void
report_memory(FILE *out, const struct report *r)
{
	const struct memory_curve *c = r->v->memory;
	char allocated[NUMBER_TEXT], host[NUMBER_TEXT], live[NUMBER_TEXT], at[VIEW_NAME];

	html_section(out, "memory", "Memory",
		"Memory in use on one device during the step; the "
		"time axis is that of the timeline.");
	fputs("<p>A program allocates ", out);
	html_unit(out, number_bytes(allocated, (double)c->allocated));
	if (r->v->total.host_bytes > 0) {
		fputs(", and ", out);
		html_unit(out, number_bytes(host, r->v->total.host_bytes));
		fputs(" of host memory for each device", out);
	}
	fputs(". The peak is ", out);
	html_unit(out, number_bytes(live, (double)c->point[c->peak].live));
	fputs(", first reached at <code>", out);
	text_html(out, position_name(r, c->peak, at));
	fputs("</code>.</p>\n", out);
	put_curve(out);
	put_kinds(out, r);
	put_buffers(out, r);
	fputs("</section>\n", out);
}
