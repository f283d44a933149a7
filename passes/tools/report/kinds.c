/* Ops by kind, and the tables about them: causes of exposed communication, where the time goes. */
#include "passes/tools/report/impl.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/whatif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { FUSE_OR_NOT = 2, GROUPS = OP_NCODES * FUSE_OR_NOT * (IR_MAX_AXES + 1) };

/* The number of an op's kind, which is added if it is new. */
static int
kind_of(const struct view *v, struct view_kind *all, const struct ir_op *op)
{
	struct cost_collective c;
	int axis = cost_op_collective(v->m, op, &c) ? c.axis : -1;
	bool fuse = op->code == OP_fuse;
	enum op_code code = whatif_code(v->m, op);
	int number = ((int)code * FUSE_OR_NOT + fuse) * (IR_MAX_AXES + 1) + axis + 1;

	all[number].number = number;
	all[number].code = code;
	all[number].fuse = fuse;
	all[number].axis = axis >= 0 ? v->m->axis[axis].name : NULL;
	return number;
}

ORDER_BY(kind_longer, struct view_kind, DOWN(seconds), DOWN(count), UP(number))

ORDER_BY(kind_more_exposed, struct view_kind, DOWN(exposed), kind_longer(x, y))

struct view_kind *
view_kinds(const void *owner, const struct view *v, bool (*test)(const struct cost_event *),
	int (*order)(const void *, const void *))
{
	const struct cost_timeline *line = v->line;
	struct view_kind *all = ZERO_ARRAY(owner, struct view_kind, GROUPS + 1);

	int *number = ARRAY_NEW(all, int, (size_t)v->total.ops + 1); /* by number of the op */
	memset(number, 0xff, sizeof *number * ((size_t)v->total.ops + 1));
	for (uint32_t i = 0; i < line->n; i++) {
		const struct cost_event *e = &line->event[i];
		if (test && !test(e))
			continue;
		int *of = &number[view_op(v, e)];
		if (*of < 0)
			*of = kind_of(v, all, e->op);
		struct view_kind *g = &all[*of];
		g->count++;
		g->bytes += e->bytes / line->ndevices;
		g->flops += view_flops(v, e) / line->ndevices;
		g->seconds += (e->end - e->start) / line->ndevices;
		g->exposed += e->exposed / line->ndevices;
		g->waited += e->waited / line->ndevices;
	}
	uint32_t n = 0;
	for (int i = 0; i < GROUPS; i++)
		if (all[i].count)
			all[n++] = all[i];
	memset(&all[n], 0, sizeof *all * (GROUPS - n));
	qsort(all, n, sizeof *all, order ? order : kind_longer);
	return all;
}

char *
view_kind_text(const void *owner, const struct view_kind *g)
{
	return talloc_asprintf(owner, "%s%s%s%s", g->fuse ? "fuse: " : "", op_name(g->code),
		g->axis ? " along " : "", g->axis ? g->axis : "");
}

static void
put_kind(FILE *out, const struct view_kind *g)
{
	char *text = view_kind_text(NULL, g);

	html_text(out, text);
	talloc_free(text);
}

static void
put_cause(FILE *out, double exposed, double idle, double iteration)
{
	html_seconds(out, exposed);
	html_share(out, exposed, iteration);
	html_seconds(out, idle);
	html_share(out, idle, iteration);
	fputs("</tr>", out);
}

/* Seconds in which devices are idle without a cause: they have finished. */
static double
done_seconds(const struct report *r, const struct view_kind *all)
{
	const struct cost_timeline *line = r->v->line;
	double rest = 0;

	for (uint32_t d = 0; d < line->ndevices; d++)
		rest += line->device[d].idle / line->ndevices;
	for (const struct view_kind *g = all; g->count; g++)
		rest -= g->waited;
	/* Sums of picoseconds in doubles: a smaller remainder is rounding. */
	return rest > 1e-12 * line->iteration ? rest : 0;
}

void
report_causes(FILE *out, const struct report *r)
{
	struct view_kind *all = view_kinds(r, r->v, NULL, kind_more_exposed);
	double iteration = r->v->line->iteration, done = done_seconds(r, all);

	html_section(out, "causes", "Exposed communication by cause",
		"Exposed: a device communicates and computes nothing. Idle: it does neither, as "
		"the event that it waits for has not ended. Times are averages over the devices.");
	html_table(out,
		"What devices that compute nothing communicate or wait "
		"for; shares are of the iteration",
		"cause|>exposed|>share|>idle|>share");
	for (const struct view_kind *g = all; g->count; g++) {
		if (!(g->exposed > 0) && !(g->waited > 0))
			continue;
		html_row(out);
		put_kind(out, g);
		put_cause(out, g->exposed, g->waited, iteration);
	}
	html_row(out);
	html_text(out, "no work left");
	put_cause(out, 0, done, iteration);
	html_table_end(out);
	fputs("</section>\n", out);
	talloc_free(all);
}

/* A rate in a cell; nothing if it is 0. */
static void
put_rate(FILE *out, const char *text, const char *behind)
{
	fputs("<td class=\"n\">", out);
	if (strcmp(text, "0") != 0) {
		html_unit(out, text);
		fputs(behind, out);
	}
	fputs("</td>", out);
}

void
report_kinds(FILE *out, const struct report *r)
{
	struct view_kind *all = view_kinds(r, r->v, NULL, kind_longer);
	char text[NUMBER_TEXT];
	uint32_t shown = 0, n = 0;

	html_section(out, "kinds", "Where the time goes",
		"A fused kernel is listed under its op with the most arithmetic.");
	html_table(out, "Ops by kind; shares are of the iteration",
		"op|>events|>time|>share|>bytes|>bytes/s|>FLOP/s");
	for (const struct view_kind *g = all; g->count; g++) {
		if (++n > REPORT_ROWS)
			continue;
		shown++;
		html_row(out);
		put_kind(out, g);
		html_number(out, "%" PRIu32, g->count);
		html_seconds(out, g->seconds);
		html_share(out, g->seconds, r->v->line->iteration);
		html_bytes(out, g->bytes);
		put_rate(out, g->seconds > 0 ? number_bytes(text, g->bytes / g->seconds) : "0",
			"/s");
		put_rate(out, g->seconds > 0 ? number_flops(text, g->flops / g->seconds) : "0", "");
		fputs("</tr>", out);
	}
	html_table_end(out);
	html_cut(out, shown, n, "kinds of ops");
	fputs("</section>\n", out);
	talloc_free(all);
}

static bool
is_critical(const struct cost_event *e)
{
	return e->critical;
}

void
report_critical_kinds(FILE *out, const struct report *r)
{
	struct view_kind *all = view_kinds(r, r->v, is_critical, kind_longer);
	uint32_t devices = r->v->line->ndevices;

	html_table(out, "The critical path by kind of op; shares are of the iteration",
		"op|>events|>time|>share");
	for (const struct view_kind *g = all; g->count; g++) {
		html_row(out);
		put_kind(out, g);
		html_number(out, "%" PRIu32, g->count);
		html_seconds(out, g->seconds * devices);
		html_share(out, g->seconds * devices, r->v->line->iteration);
		fputs("</tr>", out);
	}
	html_table_end(out);
	talloc_free(all);
}
