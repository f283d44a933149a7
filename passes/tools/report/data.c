/*
 * The data that the script of the page draws: bars, lane by lane, in whole ticks of time, each
 * relative to the end of the previous one; their ops; the memory curve. Keys are short, since this
 * is most of a page.
 */
#include "passes/tools/report/impl.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* Ticks are powers of ten of a picosecond, at most a billion of them: they and their sums are exact
 * in the doubles that scripts use. */
static double
tick_of(double iteration)
{
	double tick = 1e-12;

	while (iteration / tick > 1e9)
		tick *= 10;
	return tick;
}

/* The type of the first result, cut. */
static void
put_type(FILE *out, const struct view *v, const struct ir_op *op)
{
	char *text = op->nresults ? ir_type_text(NULL, v->m, op->result[0].type) : NULL;

	if (text && strlen(text) > REPORT_NAME)
		strcpy(text + REPORT_NAME - 3, "...");
	text_json(out, text ? text : "");
	talloc_free(text);
}

static void
put_op(FILE *out, const struct view *v, const struct cost_event *e)
{
	char value[VIEW_NAME];
	const char *axis = view_axis(v, e);

	view_value(v, e->op, value);
	value[REPORT_NAME] = 0;
	fputc('[', out);
	text_json(out, op_name((enum op_code)e->op->code));
	fputc(',', out);
	text_json(out, value);
	fputc(',', out);
	put_type(out, v, e->op);
	fprintf(out, ",%.6g,%.6g,", e->bytes, view_flops(v, e));
	text_json(out, axis ? axis : "");
	fputc(']', out);
}

/* Numbers of ops in the data by op->id, in the order of their first bars; -1: no bar. */
static int64_t *
put_ops(FILE *out, const struct report *r)
{
	const uint32_t nids = r->v->m->op_ids;
	int64_t *number = ARRAY_NEW(NULL, int64_t, nids), n = 0;

	memset(number, 0xff, sizeof *number * nids);
	fputs("\"ops\":[", out);
	for (uint32_t d = 0; d < r->ndevices; d++)
		for (int s = 0; s < r->nlanes; s++)
			for (uint32_t i = 0; i < r->device[d].lane[s].n; i++) {
				const struct cost_event *e = r->device[d].lane[s].bar[i].event;
				if (number[e->op->id] >= 0)
					continue;
				fputs(n ? ",\n" : "\n", out);
				put_op(out, r->v, e);
				number[e->op->id] = n++;
			}
	fputs("],\n", out);
	return number;
}

/* An array of one number per bar. */
#define PUT_BARS(out, key, lane, format, value)                                                    \
	do {                                                                                       \
		fprintf(out, ",\"%s\":[", key);                                                    \
		for (uint32_t i = 0; i < (lane)->n; i++) {                                         \
			const struct report_bar *bar = &(lane)->bar[i];                            \
			fprintf(out, "%s" format, i ? "," : "", value);                            \
		}                                                                                  \
		fputc(']', out);                                                                   \
	} while (0)

static void
put_lane(FILE *out, const struct report_lane *lane, const int64_t *number, double tick)
{
	double at = 0;

	fprintf(out, "{\"n\":%" PRIu32 ",\"g\":[", lane->n);
	for (uint32_t i = 0; i < lane->n; i++) {
		double start = rint(lane->bar[i].start / tick);
		fprintf(out, "%s%.0f", i ? "," : "", start - at);
		at = rint(lane->bar[i].end / tick);
	}
	fputc(']', out);
	PUT_BARS(out, "d", lane, "%.0f", rint(bar->end / tick) - rint(bar->start / tick));
	PUT_BARS(out, "o", lane, "%" PRId64, number[bar->event->op->id]);
	PUT_BARS(out, "k", lane, "%" PRIu32, bar->n);
	PUT_BARS(out, "b", lane, "%.0f", rint(bar->busy / tick));
	PUT_BARS(out, "s", lane, "%.0f", rint(bar->event->slack / tick));
	PUT_BARS(out, "x", lane, "%.0f", rint(bar->event->exposed / tick));
	PUT_BARS(out, "t", lane, "%" PRIu32, bar->event->iteration);
	fputs(",\"c\":\"", out);
	for (uint32_t i = 0; i < lane->n; i++)
		fputc(lane->bar[i].critical ? '1' : '0', out);
	fputs("\"}", out);
}

static void
put_exposed(FILE *out, const struct report_device *d, double tick)
{
	double at = 0;

	fputs(",\"e\":[", out);
	for (uint32_t i = 0; i < d->nexposed; i++) {
		double start = rint(d->exposed[i].start / tick);
		double end = rint(d->exposed[i].end / tick);
		fprintf(out, "%s%.0f,%.0f", i ? "," : "", start - at, end - start);
		at = end;
	}
	fputs("]}", out);
}

static void
put_memory(FILE *out, const struct report *r, double tick)
{
	fputs("\"memory\":{\"t\":[", out);
	for (uint32_t i = 0; i < r->nlevels; i++)
		fprintf(out, "%s%.0f", i ? "," : "", rint(r->level[i].time / tick));
	fputs("],\"b\":[", out);
	for (int k = 0; k < MEMORY_NKINDS; k++) {
		fputs(k ? ",\n[" : "\n[", out);
		for (uint32_t i = 0; i < r->nlevels; i++)
			fprintf(out, "%s%" PRIu64, i ? "," : "", r->level[i].point->bytes[k]);
		fputc(']', out);
	}
	fprintf(out, "],\"room\":%.0f}", isfinite(r->v->room) ? r->v->room : 0);
}

void
report_data(FILE *out, const struct report *r)
{
	double tick = tick_of(r->v->line->iteration);

	fprintf(out, "{\"tick\":%.0e,\"end\":%.0f,\n", tick, rint(r->v->line->iteration / tick));
	int64_t *number = put_ops(out, r);
	fputs("\"devices\":[", out);
	for (uint32_t d = 0; d < r->ndevices; d++) {
		fputs(d ? ",\n{\"lanes\":[" : "\n{\"lanes\":[", out);
		for (int s = 0; s < r->nlanes; s++) {
			fputs(s ? "," : "", out);
			put_lane(out, &r->device[d].lane[s], number, tick);
		}
		fputc(']', out);
		put_exposed(out, &r->device[d], tick);
	}
	fputs("],\n", out);
	put_memory(out, r, tick);
	fputs("}\n", out);
	array_free(number);
}
