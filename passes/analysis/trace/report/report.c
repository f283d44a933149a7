/* Text and JSON of dopt-trace report: docs/traces.md has the fields of the JSON. */
#include "passes/analysis/trace/report/report.h"

#include "ir/base/number.h"
#include "passes/analysis/trace/report/table.h"

#include <inttypes.h>
#include <talloc.h>

static const char *const bound_names[TRACE_BOUNDS] = {"compute", "transfer", "waiting", "idle"};

static void
put_middle(FILE *out, const char *key, const struct trace_middle *x)
{
	fprintf(out, ",\n\"%s\":{\"unit\":\"s\",\"median\":%.9g,\"low\":%.9g,\"high\":%.9g}", key,
		x->median, x->low, x->high);
}

static void
put_ranks(FILE *out, const struct trace_measured *m)
{
	fputs(",\n\"by_rank\":[", out);
	for (uint32_t i = 0; i < m->nranks; i++) {
		const struct trace_rank_time *r = &m->rank[i];
		fprintf(out,
			"%s\n{\"rank\":%" PRIu32 ",\"iteration\":%.9g,\"compute\":%.9g"
			",\"communication\":%.9g,\"exposed\":%.9g,\"waiting\":%.9g,\"idle\":%.9g"
			",\"collectives\":%" PRIu32 ",\"last\":%" PRIu32 ",\"late\":%.9g}",
			i ? "," : "", r->rank, r->iteration, r->compute, r->communication,
			r->exposed, r->waiting, r->idle, r->meets, r->last, r->late);
	}
	fputc(']', out);
}

static void
put_op(FILE *out, uint32_t i, const struct trace_op_time *o)
{
	fprintf(out, "%s\n{\"op\":%" PRIu32 ",\"value\":", i ? "," : "", o->op);
	rt_json_put(out, o->value);
	fputs(",\"name\":", out);
	rt_json_put(out, o->name);
}

static void
put_copies(FILE *out, const struct trace_measured *m)
{
	fputs(",\n\"copies\":[", out);
	for (uint32_t i = 0; i < m->ncopies; i++) {
		const struct trace_op_time *o = &m->copy[i];
		put_op(out, i, o);
		fprintf(out,
			",\"to\":\"%s\",\"bytes\":%.17g,\"count\":%.9g,\"median\":%.9g"
			",\"low\":%.9g,\"high\":%.9g,\"exposed\":%.9g}",
			o->to_host ? "host" : "device", o->bytes, o->count, o->time.median,
			o->time.low, o->time.high, o->exposed);
	}
	fputc(']', out);
}

static void
put_ops(FILE *out, const struct trace_measured *m)
{
	fputs(",\n\"ops\":[", out);
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct trace_op_time *o = &m->op[i];
		put_op(out, i, o);
		fprintf(out,
			",\"kind\":\"%s\",\"bytes\":%.17g,\"count\":%.9g,\"median\":%.9g"
			",\"low\":%.9g,\"high\":%.9g",
			o->communication ? "communication" : "compute", o->bytes, o->count,
			o->time.median, o->time.low, o->time.high);
		if (o->communication)
			fprintf(out, ",\"exposed\":%.9g,\"waiting\":%.9g", o->exposed, o->waiting);
		fputc('}', out);
	}
	fputc(']', out);
}

static void
print_json(FILE *out, const struct trace_set *s, const struct trace_measured *m,
	const struct trace_diagnosis *d)
{
	fputs("{\"format\":\"dopt-trace-report\",\"version\":1,\"program\":", out);
	rt_json_put(out, s->trace[0]->program);
	fputs(",\"build\":", out);
	rt_json_put(out, s->trace[0]->build);
	fprintf(out, ",\"ranks\":%" PRIu32 ",\"steps\":%" PRIu32, s->trace[0]->ranks, m->steps);
	put_middle(out, "iteration", &m->iteration);
	put_middle(out, "compute", &m->compute);
	put_middle(out, "communication", &m->communication);
	put_middle(out, "exposed", &m->exposed);
	fputs(",\n\"shares\":{", out);
	for (int b = 0; b < TRACE_BOUNDS; b++)
		fprintf(out, "%s\"%s\":%.6g", b ? "," : "", bound_names[b], d->share[b]);
	fprintf(out, "},\n\"bottleneck\":\"%s\",\"sentence\":", bound_names[d->bound]);
	rt_json_put(out, d->sentence);
	fputs(",\"facts\":[", out);
	for (int i = 0; i < d->nfacts; i++) {
		fputs(i ? ",\n" : "", out);
		rt_json_put(out, d->fact[i]);
	}
	fputc(']', out);
	put_ranks(out, m);
	put_ops(out, m);
	if (m->ncopies)
		put_copies(out, m);
	fputs("}\n", out);
}

static void
print_ranks(FILE *out, enum trace_format format, const struct trace_measured *m)
{
	struct trace_table *t = trace_table_create(
		NULL, "rank|iteration|compute|exposed|of which waiting|idle|hidden|last in|by");

	for (uint32_t i = 0; i < m->nranks; i++) {
		const struct trace_rank_time *r = &m->rank[i];
		const double hidden = r->communication + r->waiting - r->exposed;
		trace_table_row(t, "%" PRIu32 "|%s|%s|%s|%s|%s|%s|%.0f %%|%s", r->rank,
			trace_time_text(t, r->iteration), trace_time_text(t, r->compute),
			trace_time_text(t, r->exposed), trace_time_text(t, r->waiting),
			trace_time_text(t, r->idle), trace_time_text(t, hidden > 0 ? hidden : 0),
			r->meets ? 100.0 * r->last / r->meets : 0, trace_time_text(t, r->late));
	}
	trace_table_print(out, format, t);
	talloc_free(t);
}

static void
print_collectives(FILE *out, enum trace_format format, const struct trace_measured *m)
{
	struct trace_table *t = trace_table_create(
		NULL, "<op|<collective|count|MB|time each|exposed per step|of which waiting");
	bool any = false;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct trace_op_time *o = &m->op[i];
		if (!o->communication)
			continue;
		any = true;
		trace_table_row(t, "%s|%s|%.4g|%.4g|%s|%s|%s", o->value, o->name, o->count,
			o->bytes / 1e6, trace_time_text(t, o->time.median),
			trace_time_text(t, o->exposed), trace_time_text(t, o->waiting));
	}
	if (any)
		trace_table_print(out, format, t);
	talloc_free(t);
}

static void
print_copies(FILE *out, enum trace_format format, const struct trace_measured *m)
{
	struct trace_table *t =
		trace_table_create(NULL, "<op|<copy|<to|count|MB|time each|GB/s|exposed per step");

	for (uint32_t i = 0; i < m->ncopies; i++) {
		const struct trace_op_time *o = &m->copy[i];
		const double seconds = o->time.median;
		trace_table_row(t, "%s|%s|%s|%.4g|%.4g|%s|%.3g|%s", o->value, o->name,
			o->to_host ? "host" : "device", o->count, o->bytes / 1e6,
			trace_time_text(t, seconds), seconds > 0 ? o->bytes / seconds / 1e9 : 0,
			trace_time_text(t, o->exposed));
	}
	if (m->ncopies)
		trace_table_print(out, format, t);
	talloc_free(t);
}

void
trace_report_print(FILE *out, enum trace_format format, const struct trace_set *s,
	const struct trace_alignment *a, const struct trace_measured *m)
{
	struct trace_diagnosis *d = trace_diagnose(NULL, s, a, m);

	if (format == TRACE_JSON) {
		print_json(out, s, m, d);
		talloc_free(d);
		return;
	}
	fprintf(out,
		"%s, %" PRIu32 " rank%s, %" PRIu32
		" step%s: %s per step (half of them %s to %s)\n\n",
		s->trace[0]->program, s->trace[0]->ranks, number_plural(s->trace[0]->ranks),
		m->steps, number_plural(m->steps), trace_time_text(d, m->iteration.median),
		trace_time_text(d, m->iteration.low), trace_time_text(d, m->iteration.high));
	fprintf(out, "%s\n", d->sentence);
	for (int i = 0; i < d->nfacts; i++)
		fprintf(out, "- %s\n", d->fact[i]);
	fputc('\n', out);
	print_ranks(out, format, m);
	print_collectives(out, format, m);
	print_copies(out, format, m);
	talloc_free(d);
}
