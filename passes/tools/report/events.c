/* Tables of single events: the critical path, and exposed collectives. */
#include "passes/tools/report/impl.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct list {
	const struct cost_event **event;
	uint32_t n;
};

static struct list
critical_events(const struct report *r)
{
	const struct cost_timeline *line = r->v->line;
	struct list l = {.event = ARRAY_NEW(r, const struct cost_event *, line->n + 1)};

	for (uint32_t i = 0; i < line->n; i++)
		if (line->event[i].critical)
			l.event[l.n++] = &line->event[i];
	return l;
}

/* Equal ones by their order in the array of events. */
ORDER_POINTERS_BY(
	longer, struct cost_event, ORDER_UP(y->end - y->start, x->end - x->start), ORDER_UP(x, y))

ORDER_POINTERS_BY(earlier, struct cost_event, UP(start), ORDER_UP(x, y))

/* "%h = matmul" */
static void
put_op(FILE *out, const struct report *r, const struct ir_op *op)
{
	char text[VIEW_NAME + REPORT_NAME];

	view_value(r->v, op, text);
	text[REPORT_NAME] = 0;
	size_t n = strlen(text);
	snprintf(
		text + n, sizeof text - n, "%s%s", n ? " = " : "", op_name((enum op_code)op->code));
	html_code(out, text);
}

static void
put_device(FILE *out, const struct report *r, const struct cost_event *e)
{
	if (r->v->line->ndevices > 1)
		html_number(out, "%d", (int)e->device);
}

/* The op that computes a value, looking through views. */
static const struct ir_op *
worker(const struct report *r, const struct ir_value *v)
{
	for (const struct ir_value *of; (of = cost_viewed(r->v->m, v));)
		v = of;
	return v->op;
}

static bool
is_operand(const struct report *r, const struct cost_event *e, const struct ir_op *op)
{
	for (int i = 0; i < e->op->noperands; i++)
		if (worker(r, ir_operand(e->op, i)) == op)
			return true;
	return false;
}

/* The event whose end let the device start e: an operand, or else the collective before it.
 */
static const struct cost_event *
waited_for(const struct report *r, const struct cost_event *e)
{
	const struct cost_event *first = r->v->line->event, *before = NULL;
	double tolerance = 1e-12;

	for (const struct cost_event *p = e; p-- > first && e->start > 0;) {
		if (p->device != e->device || p->end < e->start - tolerance ||
			p->end > e->start + tolerance)
			continue;
		if (is_operand(r, e, p->op))
			return p;
		if (p->communication && !before)
			before = p;
	}
	return before;
}

static void
put_waited_for(FILE *out, const struct report *r, const struct cost_event *e)
{
	const struct cost_event *p = waited_for(r, e);

	if (p)
		put_op(out, r, p->op);
	else
		html_text(out, e->start > 0 ? "other devices" : "nothing");
}

/* The first later op that reads the result and does work. */
static const struct ir_op *
reader(const struct report *r, const struct ir_op *op, const struct ir_op *best)
{
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i]) {
			const struct ir_op *user = u->op;
			if (user->block != op->block)
				continue;
			if (cost_op_kind(r->v->m, user) == COST_NONE && user->nresults)
				best = reader(r, user, best);
			else if (!best || ir_number(r->v->ops, user) < ir_number(r->v->ops, best))
				best = user;
		}
	return best;
}

/* A collective over all iterations and devices; seconds are means over the devices. */
struct exposed_op {
	const struct cost_event *worst;
	uint32_t n;
	double seconds, exposed;
};

ORDER_BY(more_exposed, struct exposed_op, DOWN(exposed), UP(worst))

/* The exposed ones, the longest first; their number in *n. talloc, owned by the report. */
static struct exposed_op *
exposed_ops(const struct report *r, uint32_t *n)
{
	const struct cost_timeline *line = r->v->line;
	struct exposed_op *all = ARRAY_ZERO(r, struct exposed_op, (size_t)r->v->total.ops + 1);

	for (uint32_t i = 0; i < line->n; i++) {
		const struct cost_event *e = &line->event[i];
		struct exposed_op *o = &all[view_op(r->v, e)];
		if (!e->communication)
			continue;
		if (!o->worst || e->exposed > o->worst->exposed)
			o->worst = e;
		o->n++;
		o->seconds += (e->end - e->start) / line->ndevices;
		o->exposed += e->exposed / line->ndevices;
	}
	*n = 0;
	for (uint32_t i = 0; i < r->v->total.ops; i++)
		if (all[i].exposed > 0)
			all[(*n)++] = all[i];
	qsort(all, *n, sizeof *all, more_exposed);
	return all;
}

static void
put_exposed(FILE *out, const struct report *r, const struct exposed_op *all, uint32_t shown)
{
	html_table(out, "Collectives by exposed time; shares are of the iteration",
		"op|axis|>events|>bytes|>time|>exposed|>share|waits for|first used by");
	for (const struct exposed_op *o = all; o < all + shown; o++) {
		const struct cost_event *e = o->worst;
		const struct ir_op *user = reader(r, e->op, NULL);
		html_row(out);
		put_op(out, r, e->op);
		html_text(out, view_axis(r->v, e) ? view_axis(r->v, e) : "");
		html_number(out, "%" PRIu32, o->n);
		html_bytes(out, e->bytes);
		html_seconds(out, o->seconds);
		html_seconds(out, o->exposed);
		html_share(out, o->exposed, r->v->line->iteration);
		put_waited_for(out, r, e);
		if (user)
			put_op(out, r, user);
		else
			html_text(out, "nothing");
		fputs("</tr>", out);
	}
	html_table_end(out);
}

void
report_exposed(FILE *out, const struct report *r)
{
	uint32_t n, shown;
	struct exposed_op *all = exposed_ops(r, &n);

	shown = n < REPORT_COLLECTIVES ? n : REPORT_COLLECTIVES;
	html_section(out, "exposed-collectives", "Most exposed collectives",
		"Exposed time: the time of a collective in which its device computes nothing. A "
		"collective starts after the event that it waits for.");
	if (n == 0)
		fputs("<p>None.</p>", out);
	else
		put_exposed(out, r, all, shown);
	html_cut(out, shown, n, "exposed collectives");
	fputs("</section>\n", out);
	array_free(all);
}

static void
put_critical(FILE *out, const struct report *r, const struct cost_event **event, uint32_t shown)
{
	double iteration = r->v->line->iteration;

	html_table(out, "Events of the critical path in order of time; shares are of the iteration",
		r->v->line->ndevices > 1 ? "op|>device|>start|>time|>share"
					 : "op|>start|>time|>share");
	for (uint32_t i = 0; i < shown; i++) {
		const struct cost_event *e = event[i];
		html_row(out);
		put_op(out, r, e->op);
		put_device(out, r, e);
		html_seconds(out, e->start);
		html_seconds(out, e->end - e->start);
		html_share(out, e->end - e->start, iteration);
		fputs("</tr>", out);
	}
	html_table_end(out);
}

void
report_critical(FILE *out, const struct report *r)
{
	struct list l = critical_events(r);
	uint32_t shown = l.n < REPORT_ROWS ? l.n : REPORT_ROWS;
	double iteration = r->v->line->iteration, sum = 0;
	char text[NUMBER_TEXT];

	for (uint32_t i = 0; i < l.n; i++)
		sum += l.event[i]->end - l.event[i]->start;
	html_section(out, "critical", "Critical path",
		"Each event starts when the one before it ends: the step gets "
		"shorter only if this path does.");
	fprintf(out, "<p><span id=\"path\">%u</span> events take %s", l.n,
		number_seconds(text, sum));
	if (iteration > 0)
		fprintf(out, ", %.1f %% of the iteration", 100 * sum / iteration);
	fputs(sum < iteration * (1 - 1e-9) ? "; the rest is start-up, posting and waiting.</p>\n"
					   : ".</p>\n",
		out);
	report_critical_kinds(out, r);
	qsort(l.event, l.n, sizeof *l.event, longer);
	qsort(l.event, shown, sizeof *l.event, earlier);
	put_critical(out, r, l.event, shown);
	html_cut(out, shown, l.n, "events (the longest)");
	fputs("</section>\n", out);
	array_free(l.event);
}
