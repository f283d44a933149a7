/* A comparison as text and as JSON: docs/traces.md has the fields of the JSON. */
#include "ir/base/alloc.h"
#include "passes/analysis/trace/report/compare.h"
#include "passes/analysis/trace/report/table.h"

#include "ir/base/number.h"
#include <inttypes.h>
#include <math.h>
#include <talloc.h>

/* JSON has no NaN: null. */
static void
put_number(FILE *out, const char *key, double x)
{
	if (isfinite(x))
		fprintf(out, ",\"%s\":%.9g", key, x);
	else
		fprintf(out, ",\"%s\":null", key);
}

static void
put_pair(FILE *out, const struct trace_pair *p)
{
	fprintf(out, "{\"op\":%" PRIu32 ",\"value\":", p->op);
	rt_json_put(out, p->value);
	fputs(",\"name\":", out);
	rt_json_put(out, p->name);
	fprintf(out, ",\"kind\":\"%s\"", p->communication ? "communication" : "compute");
	put_number(out, "predicted", p->predicted);
	put_number(out, "measured", p->measured);
	put_number(out, "low", isnan(p->measured) ? NAN : p->low);
	put_number(out, "high", isnan(p->measured) ? NAN : p->high);
	put_number(out, "ratio", p->measured / p->predicted);
	put_number(out, "count", p->count);
	put_number(out, "difference", p->difference);
	if (p->communication) {
		put_number(out, "exposed_predicted", p->exposed_predicted);
		put_number(out, "exposed_measured", p->exposed_measured);
	}
	fprintf(out, ",\"profiled\":%s,\"text\":", p->profiled ? "true" : "false");
	rt_json_put(out, p->text);
	fputc('}', out);
}

static void
print_json(FILE *out, const struct trace_comparison *c)
{
	fputs("{\"format\":\"dopt-trace-comparison\",\"version\":1,\"program\":", out);
	rt_json_put(out, c->program);
	fputs(",\"build\":", out);
	rt_json_put(out, c->build);
	fputs(",\"device\":", out);
	rt_json_put(out, c->device);
	fprintf(out,
		",\"ranks\":%" PRIu32 ",\"steps\":%" PRIu32
		",\n\"peak_bytes\":{\"predicted\":%.17g,\"measured\":%.17g},\n\"totals\":{",
		c->ranks, c->steps, c->peak_bytes, c->arena_bytes);
	for (int i = 0; i < TRACE_TOTALS; i++) {
		const struct trace_total *t = &c->total[i];
		fprintf(out, "%s\n\"%s\":{\"unit\":\"s\"", i ? "," : "", t->name);
		put_number(out, "predicted", t->predicted);
		put_number(out, "measured", t->measured.median);
		put_number(out, "low", t->measured.low);
		put_number(out, "high", t->measured.high);
		put_number(out, "ratio", t->measured.median / t->predicted);
		fputc('}', out);
	}
	fprintf(out,
		"},\n\"estimated\":{\"compute\":%" PRIu32 ",\"communication\":%" PRIu32
		"},\n\"ops\":[",
		c->predicted[0] - c->profiled[0], c->predicted[1] - c->profiled[1]);
	for (uint32_t i = 0; i < c->npairs; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_pair(out, &c->pair[i]);
	}
	fputs("]}\n", out);
}

/* "1.23", or nothing if there is no ratio. */
static char *
ratio_text(const void *owner, double measured, double predicted)
{
	const double ratio = measured / predicted;

	return isfinite(ratio) ? TEXT(owner, "%.2f", ratio) : "";
}

static char *
maybe_time(const void *owner, double x)
{
	return isnan(x) ? "-" : trace_time_text(owner, x);
}

static void
print_totals(FILE *out, enum trace_format format, const struct trace_comparison *c)
{
	struct trace_table *t =
		trace_table_create(NULL, "<per step|predicted|measured|ratio|quartiles|");

	for (int i = 0; i < TRACE_TOTALS; i++) {
		const struct trace_total *x = &c->total[i];
		trace_table_row(t, "%s|%s|%s|%s|%s|%s", x->name, trace_time_text(t, x->predicted),
			trace_time_text(t, x->measured.median),
			ratio_text(t, x->measured.median, x->predicted),
			trace_time_text(t, x->measured.low), trace_time_text(t, x->measured.high));
	}
	trace_table_row(t, "memory, MB|%.3f|%.3f|%s||", c->peak_bytes / 1e6, c->arena_bytes / 1e6,
		ratio_text(t, c->arena_bytes, c->peak_bytes));
	trace_table_print(out, format, t);
	talloc_free(t);
}

/* "3 of 17 kernels" */
static char *
estimated_text(const void *owner, const struct trace_comparison *c, bool communication)
{
	const uint32_t n = c->predicted[communication];

	return TEXT(owner, "%" PRIu32 " of %s", n - c->profiled[communication],
		number_count(owner, n, communication ? "collective(s)" : "kernel(s)"));
}

void
trace_comparison_print(FILE *out, enum trace_format format, const struct trace_comparison *c)
{
	if (format == TRACE_JSON) {
		print_json(out, c);
		return;
	}
	struct trace_table *t = trace_table_create(
		NULL, "<op|<name|predicted|measured|ratio|count|difference per step");
	fprintf(out, "%s, %" PRIu32 " rank%s, %" PRIu32 " step%s measured; predicted for %s\n",
		c->program, c->ranks, number_plural(c->ranks), c->steps, number_plural(c->steps),
		c->device);
	fprintf(out, "predicted times: %s and %s are estimates, the others of a profile\n\n",
		estimated_text(t, c, false), estimated_text(t, c, true));
	print_totals(out, format, c);
	for (uint32_t i = 0; i < c->npairs; i++) {
		const struct trace_pair *p = &c->pair[i];
		trace_table_row(t, "%s|%s|%s|%s|%s|%.4g|%s", p->value, p->name,
			maybe_time(t, p->predicted), maybe_time(t, p->measured),
			ratio_text(t, p->measured, p->predicted), p->count,
			trace_time_text(t, p->difference));
	}
	trace_table_print(out, format, t);
	talloc_free(t);
}
