/* The clocks of an alignment, as a table or as JSON. */
#include "ir/base/alloc.h"
#include "passes/analysis/trace/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <talloc.h>

static const char *const link_names[] = {
	[TRACE_LINK_REFERENCE] = "reference",
	[TRACE_LINK_MESSAGES] = "messages",
	[TRACE_LINK_WALL] = "wall clock",
};

/* JSON has no infinity: null. */
static void
put_number(FILE *out, const char *key, double x)
{
	if (isfinite(x))
		fprintf(out, ",\"%s\":%.3f", key, x);
	else
		fprintf(out, ",\"%s\":null", key);
}

void
trace_put_clocks(FILE *out, const struct trace_alignment *a)
{
	fputs("\"clocks\":[", out);
	for (uint32_t c = 0; c < a->nclocks; c++) {
		const struct trace_clock *k = &a->clock[c];
		fprintf(out, "%s\n{\"name\":", c ? "," : "");
		rt_json_put(out, k->name);
		fprintf(out, ",\"ranks\":%" PRIu32 ",\"link\":\"%s\",\"offset_ns\":%" PRId64,
			k->nranks, link_names[k->link], k->offset);
		put_number(out, "low_ns", k->low);
		put_number(out, "high_ns", k->high);
		put_number(out, "drift_ppm", k->drift);
		put_number(out, "drift_low_ppm", k->drift_low);
		put_number(out, "drift_high_ppm", k->drift_high);
		fputc('}', out);
	}
	fputc(']', out);
}

static void
print_json(FILE *out, const struct trace_set *s, const struct trace_alignment *a)
{
	fputs("{\"format\":\"dopt-trace-clocks\",\"version\":1,\"program\":", out);
	rt_json_put(out, s->trace[0]->program);
	fprintf(out,
		",\"drift\":%s,\"collectives\":%" PRIu32 ",\"constraints\":%" PRIu32
		",\"outliers\":%" PRIu32 ",\"spread_before_us\":%.6g,\"spread_us\":%.6g,\n",
		a->drift ? "true" : "false", a->nmeets, a->nrows, a->noutliers, a->spread_before,
		a->spread_after);
	trace_put_clocks(out, a);
	fputs("}\n", out);
}

static char *
bound_text(const void *owner, double ns)
{
	char *time = trace_time_text(owner, ns * 1e-9);

	return TEXT(owner, "%s%s", ns > 0 ? "+" : "", time);
}

void
trace_print_alignment(FILE *out, enum trace_format format, const struct trace_set *s,
	const struct trace_alignment *a)
{
	if (format == TRACE_JSON) {
		print_json(out, s, a);
		return;
	}
	struct trace_table *t = trace_table_create(
		NULL, a->drift ? "<clock|ranks|<known by|offset us|low|high|drift ppm|low|high"
			       : "<clock|ranks|<known by|offset us|low|high");
	for (uint32_t c = 0; c < a->nclocks; c++) {
		const struct trace_clock *k = &a->clock[c];
		char *drift = !a->drift ? ""
			      : k->link == TRACE_LINK_MESSAGES
				      ? TEXT(t, "|%.2f|%+.2f|%+.2f", k->drift,
						k->drift_low - k->drift, k->drift_high - k->drift)
				      : "|0||";
		const bool fixed = k->link == TRACE_LINK_REFERENCE;
		trace_table_row(t, "%s|%" PRIu32 "|%s|%.3f|%s|%s%s", k->name, k->nranks,
			link_names[k->link], (double)k->offset / 1e3,
			fixed ? "" : bound_text(t, k->low), fixed ? "" : bound_text(t, k->high),
			drift);
	}
	trace_table_print(out, format, t);
	if (a->nmeets) {
		fprintf(out, "%" PRIu32 " collectives between clocks", a->nmeets);
		if (a->noutliers)
			fprintf(out, ", %" PRIu32 " outliers", a->noutliers);
		fprintf(out, "; durations of one collective vary by %s (%s before)\n",
			trace_time_text(t, a->spread_after * 1e-6),
			trace_time_text(t, a->spread_before * 1e-6));
	}
	talloc_free(t);
}
