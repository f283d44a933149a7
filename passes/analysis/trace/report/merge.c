/*
 * Many ranks on one clock, as one Chrome trace. An arrow of a collective starts where its last
 * member begins it, and ends at the end of each other member, which waited for it.
 */
#include "ir/base/out.h"
#include "ir/base/alloc.h"
#include "passes/analysis/trace/report/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <talloc.h>

struct merge {
	struct out *out;
	const struct trace_set *s;
	const struct trace_alignment *a;
	double zero; /* us: the first event */
	uint32_t narrows;
};

static void
put_us(struct out *o, const char *key, double us)
{
	const int64_t ns = llround(us * 1e3);
	char text[OUT_NUMBER];

	snprintf(text, sizeof text, "%s%lld.%03d", ns < 0 ? "-" : "", llabs(ns) / 1000,
		(int)(llabs(ns) % 1000));
	out_text(o, key);
	out_text(o, text);
}

/* A JSON string: control characters by their numbers. */
static void
put_string(struct out *o, const char *text)
{
	char escape[OUT_NUMBER];

	out_char(o, '"');
	for (const char *s = text; *s; s++) {
		const unsigned char c = (unsigned char)*s;
		if (c >= 0x20 && c != '"' && c != '\\') {
			out_char(o, *s);
			continue;
		}
		snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
		out_text(o, escape);
	}
	out_char(o, '"');
}

static void
put_key(struct out *o, const char *key, int64_t value)
{
	out_text(o, key);
	out_int(o, value);
}

static void
put_args(struct out *o, const struct trace *t, const struct trace_event *e)
{
	put_key(o, ",\"args\":{\"step\":", e->step);
	if (e->kind == TRACE_KERNEL) {
		const struct trace_kernel *k = &t->kernel[e->index];
		put_key(o, ",\"op\":", k->op);
		out_text(o, ",\"bytes\":");
		out_float(o, k->bytes);
		out_text(o, ",\"flops\":");
		out_float(o, k->flops);
		out_text(o, ",\"text\":");
		put_string(o, k->text);
	} else if (e->kind == TRACE_COPY || e->kind == TRACE_COPY_WAIT) {
		const struct trace_copy *c = &t->copy[e->index];
		put_key(o, ",\"op\":", c->op);
		out_text(o, ",\"bytes\":");
		out_float(o, c->bytes);
	} else if (e->kind != TRACE_STEP) {
		const struct trace_collective *c = &t->collective[e->index];
		put_key(o, ",\"op\":", c->op);
		out_text(o, ",\"bytes\":");
		out_float(o, c->bytes);
		out_text(o, ",\"axis\":");
		put_string(o, t->axis[c->axis].name);
	}
	if (e->kind == TRACE_COLLECTIVE) {
		put_key(o, ",\"group\":", e->group);
		put_key(o, ",\"sequence\":", e->sequence);
	}
	out_text(o, "}}");
}

/* The thread of an event, as in the file of its rank. */
static int64_t
thread_of(const struct trace *t, const struct trace_event *e)
{
	if (e->kind == TRACE_COPY)
		return t->copy[e->index].to_host ? 2 : 3;
	return e->kind == TRACE_COLLECTIVE;
}

static void
put_event(struct merge *m, uint32_t i, const struct trace_event *e)
{
	static const char *const categories[TRACE_KINDS] = {
		"kernel", "wait", "collective", "step", "copy", "copy-wait"};
	const struct trace *t = m->s->trace[i];
	struct out *o = m->out;
	const double begin = trace_aligned(m->a, i, e->begin), end = trace_aligned(m->a, i, e->end);

	out_text(o, ",\n{\"name\":");
	put_string(o, trace_event_name(t, e));
	out_text(o, ",\"cat\":\"");
	out_text(o, categories[e->kind]);
	put_us(o, "\",\"ph\":\"X\",\"ts\":", begin - m->zero);
	put_us(o, ",\"dur\":", end - begin);
	put_key(o, ",\"pid\":", t->rank);
	put_key(o, ",\"tid\":", thread_of(t, e));
	put_args(o, t, e);
}

static void
put_arrow_end(struct merge *m, const char *phase, const struct trace_member *at, double us)
{
	struct out *o = m->out;

	out_text(o, ",\n{\"name\":\"last\",\"cat\":\"flow\",\"ph\":\"");
	out_text(o, phase);
	put_key(o, "\",\"id\":", m->narrows);
	put_us(o, ",\"ts\":", us - m->zero);
	put_key(o, ",\"pid\":", m->s->trace[at->trace]->rank);
	out_text(o, ",\"tid\":1}");
}

static double
begin_of(const struct merge *m, const struct trace_member *x)
{
	return trace_aligned(m->a, x->trace, trace_member_event(m->s, x)->begin);
}

static void
put_arrows(struct merge *m, const struct trace_instance *in)
{
	const struct trace_member *member = &m->s->member[in->first], *last = member;

	for (uint32_t k = 1; k < in->n; k++)
		if (begin_of(m, &member[k]) > begin_of(m, last))
			last = &member[k];
	for (uint32_t k = 0; k < in->n; k++) {
		if (&member[k] == last)
			continue;
		const double begin = begin_of(m, last);
		const double end = trace_aligned(
			m->a, member[k].trace, trace_member_event(m->s, &member[k])->end);
		if (end <= begin) /* nothing was copied in that direction */
			continue;
		m->narrows++;
		put_arrow_end(m, "s", last, begin);
		put_arrow_end(m, "f\",\"bp\":\"e", &member[k], end);
	}
}

static void
put_process(struct merge *m, uint32_t i)
{
	static const char *const streams[] = {
		"compute", "communication", "copy to host", "copy to device"};
	const struct trace *t = m->s->trace[i];
	struct out *o = m->out;

	put_key(o,
		i ? ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":"
		  : "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":",
		t->rank);
	put_key(o, ",\"args\":{\"name\":\"rank ", t->rank);
	out_text(o, "\"}}");
	for (int stream = 0; stream < (t->ncopies ? 4 : 2); stream++) {
		put_key(o, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", t->rank);
		put_key(o, ",\"tid\":", stream);
		out_text(o, ",\"args\":{\"name\":\"");
		out_text(o, streams[stream]);
		out_text(o, "\"}}");
	}
}

static void
find_zero(struct merge *m)
{
	m->zero = INFINITY;
	for (uint32_t i = 0; i < m->s->n; i++)
		for (uint32_t e = 0; e < m->s->trace[i]->nall; e++) {
			const double begin = trace_aligned(m->a, i, m->s->trace[i]->event[e].begin);
			m->zero = begin < m->zero ? begin : m->zero;
		}
}

void
trace_print_merged(FILE *out, const struct trace_set *s, const struct trace_alignment *a)
{
	struct merge m = {.s = s, .a = a};

	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"format\":\"dopt-trace-merged\","
	      "\"version\":1,\"program\":",
		out);
	rt_json_put(out, s->trace[0]->program);
	fputs(",\"build\":", out);
	rt_json_put(out, s->trace[0]->build);
	fputs(",\n", out);
	trace_put_clocks(out, a);
	fputs("},\n\"traceEvents\":[\n", out);
	m.out = NEW(NULL, struct out);
	m.out->file = out;
	find_zero(&m);
	for (uint32_t i = 0; i < s->n; i++)
		put_process(&m, i);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t e = 0; e < s->trace[i]->nall; e++)
			put_event(&m, i, &s->trace[i]->event[e]);
	for (uint32_t i = 0; i < s->ninstances; i++)
		put_arrows(&m, &s->instance[i]);
	out_text(m.out, "\n]}\n");
	out_flush(m.out);
	talloc_free(m.out);
}
