/*
 * -emit=timeline: the predicted step in Chrome's trace format, which Perfetto opens. Names,
 * categories and arguments are those of the traces that programs write (runtime/trace/write.c), so
 * that both can be compared, and process numbers differ from all ranks, so that the events of both
 * can be in one file. docs/reports.md describes the fields.
 */
#include "passes/tools/report/report.h"

#include "ir/digest.h"

#include <inttypes.h>
#include <string.h>

enum {
	TIMELINE_VERSION = 1,
	PREDICTED_PID = 1 << 20, /* of device 0; ranks are counted from 0 and are fewer */
	THREAD_COMPUTE = 0,      /* as in runtime/trace/write.c */
	THREAD_COMMUNICATION = 1,
	THREAD_OFFLOAD = 2, /* copies to the host, and back: only if there are any */
	THREAD_RELOAD = 3,
};

/* Replay's times are whole picoseconds: six digits of a microsecond are exact. */
static void
put_us(FILE *out, const char *key, double seconds)
{
	fprintf(out, ",\"%s\":%.6f", key, seconds * 1e6);
}

static void
put_text(FILE *out, const char *key, const char *s)
{
	fprintf(out, ",\"%s\":", key);
	text_json(out, s);
}

static void
put_header(FILE *out, const struct view *v)
{
	char build[IR_DIGEST_DIGITS + 1];

	ir_digest(v->m, build);
	fprintf(out,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\n"
		"\"format\":\"dopt-timeline\",\"version\":%d",
		TIMELINE_VERSION);
	put_text(out, "program", v->m->name ? v->m->name : "main");
	put_text(out, "build", build);
	put_text(out, "device", cost_model_device(v->cost)->name);
	fprintf(out, ",\"devices\":%" PRIu32, v->line->ndevices);
	put_us(out, "predicted_us", v->total.iteration);
	put_us(out, "compute_us", v->total.compute);
	put_us(out, "communication_us", v->total.communication);
	put_us(out, "exposed_us", v->total.exposed);
	fprintf(out, ",\"peak_bytes\":%.0f,\"flops\":%.17g},\n\"traceEvents\":[\n",
		v->total.peak_bytes, v->total.flops);
}

static void
put_thread(FILE *out, int pid, int tid, const char *name)
{
	fprintf(out,
		",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
		"\"args\":{\"name\":\"%s\"}}",
		pid, tid, name);
}

static void
put_process(FILE *out, uint32_t device, bool copies)
{
	int pid = PREDICTED_PID + (int)device;

	fprintf(out,
		"%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"predicted "
		"device %" PRIu32 "\"}}",
		device ? ",\n" : "", pid, device);
	put_thread(out, pid, THREAD_COMPUTE, "compute");
	put_thread(out, pid, THREAD_COMMUNICATION, "communication");
	if (copies) {
		put_thread(out, pid, THREAD_OFFLOAD, "copies to the host");
		put_thread(out, pid, THREAD_RELOAD, "copies from the host");
	}
}

/* Named as by programs: the op, and its value if that has a name. */
static void
put_name(FILE *out, const struct ir_op *op)
{
	char text[VIEW_NAME];
	const char *value = op->nresults ? op->result[0].name : NULL;

	snprintf(text, sizeof text, "%s%s%s", op_name((enum op_code)op->code), value ? " " : "",
		value ? value : "");
	text_json(out, text);
}

static void
put_copy(FILE *out, const struct view *v, const struct cost_event *e)
{
	fputs(",\n{\"name\":", out);
	put_name(out, e->op);
	put_text(out, "cat", "copy");
	fputs(",\"ph\":\"X\"", out);
	put_us(out, "ts", e->start);
	put_us(out, "dur", e->end - e->start);
	fprintf(out,
		",\"pid\":%d,\"tid\":%d,\"args\":{\"step\":0,\"turn\":%" PRIu32 ",\"op\":%" PRIu32
		",\"bytes\":%.17g}}",
		PREDICTED_PID + (int)e->device,
		e->op->code == OP_offload ? THREAD_OFFLOAD : THREAD_RELOAD, e->iteration,
		view_op(v, e), e->bytes);
}

static void
put_event(FILE *out, const struct view *v, const struct cost_event *e)
{
	char value[VIEW_NAME];
	struct cost_collective c;
	bool collective = e->communication && cost_op_collective(v->m, e->op, &c);

	fputs(",\n{\"name\":", out);
	put_name(out, e->op);
	put_text(out, "cat", collective ? "collective" : "kernel");
	fputs(",\"ph\":\"X\"", out);
	put_us(out, "ts", e->start);
	put_us(out, "dur", e->end - e->start);
	fprintf(out,
		",\"pid\":%d,\"tid\":%d,\"args\":{\"step\":0,\"turn\":%" PRIu32 ",\"op\":%" PRIu32,
		PREDICTED_PID + (int)e->device,
		e->communication ? THREAD_COMMUNICATION : THREAD_COMPUTE, e->iteration,
		view_op(v, e));
	put_text(out, "value", view_value(v, e->op, value));
	put_text(out, "kind",
		collective ? rt_coll_name(c.kind) : op_name((enum op_code)e->op->code));
	fprintf(out, ",\"bytes\":%.17g", e->bytes);
	if (collective) {
		put_text(out, "axis", v->m->axis[c.axis].name);
		if (c.parts > 1)
			fprintf(out, ",\"parts\":%" PRIu32, c.parts);
		put_us(out, "exposed_us", e->exposed);
	} else {
		fprintf(out, ",\"flops\":%.17g", view_flops(v, e));
	}
	put_us(out, "slack_us", e->slack);
	fprintf(out, ",\"critical\":%s,\"measured\":%s}}", e->critical ? "true" : "false",
		e->measured ? "true" : "false");
}

/* Bytes by kind on one device, at each change. */
static void
put_memory(FILE *out, const struct view *v)
{
	for (uint32_t i = 0; i < v->nlevels; i++) {
		const struct memory_point *p = v->level[i].point;
		if (i && !memcmp(p->bytes, v->level[i - 1].point->bytes, sizeof p->bytes))
			continue;
		fprintf(out, ",\n{\"name\":\"memory\",\"ph\":\"C\",\"pid\":%d", PREDICTED_PID);
		put_us(out, "ts", v->level[i].time);
		fputs(",\"args\":{", out);
		for (int k = 0; k < MEMORY_NKINDS; k++)
			fprintf(out, "%s\"%s\":%" PRIu64, k ? "," : "",
				memory_kind_name((enum memory_kind)k), p->bytes[k]);
		fputs("}}", out);
	}
}

void
driver_timeline_write(FILE *out, const struct view *v)
{
	put_header(out, v);
	for (uint32_t d = 0; d < v->line->ndevices; d++)
		put_process(out, d, v->line->ncopies > 0);
	for (uint32_t i = 0; i < v->line->n; i++)
		put_event(out, v, &v->line->event[i]);
	for (uint32_t i = 0; i < v->line->ncopies; i++)
		put_copy(out, v, &v->line->copy[i]);
	put_memory(out, v);
	fputs("\n]}\n", out);
}
