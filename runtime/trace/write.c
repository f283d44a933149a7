/* A trace as a file: docs/traces.md. The format is that of Chrome's trace viewer: complete events
 * ("ph":"X") with times in microseconds, process = rank, thread = track (enum rt_track); fields
 * that are the same for all events precede them in "otherData". */
#include "runtime/layout.h"
#include "runtime/trace/impl.h"
#include "runtime/data/json.h"
#include "runtime/data/write_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

static void
put_field(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":", key);
	rt_json_put(out, text);
}

/* ns as microseconds, exactly. */
static void
put_us(FILE *out, const char *key, int64_t ns)
{
	fprintf(out, "\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* A name shared by ranks whose clocks are the same: those of one boot of one machine. */
static void
put_clock(FILE *out, const struct rt_trace *t)
{
	char host[NAME_BYTES] = "", boot[NAME_BYTES] = "";
	gethostname(host, sizeof host - 1);
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (f) {
		if (fgets(boot, sizeof boot, f))
			boot[strcspn(boot, "\n")] = 0;
		fclose(f);
	}
	put_field(out, "host", host);
	put_field(out, "clock", *boot ? boot : host);
	fprintf(out,
		",\"anchor_ns\":%" PRId64 ",\"wall_ns\":%" PRId64 ",\"clock_error_ns\":%" PRId64,
		t->anchor_ns, t->wall_ns, t->clock_error_ns);
	fprintf(out, ",\"processors\":%d", t->processors);
}

static uint64_t
lost(const struct rt_trace *t, const struct track *track)
{
	return track->count > t->room ? track->count - t->room : 0;
}

static void
put_axes(FILE *out, const struct rt_trace *t)
{
	const struct rt_program *p = t->prog;
	fputs(",\n\"axes\":[", out);
	for (int a = 0; a < p->naxes; a++) {
		fprintf(out, "%s{\"name\":", a ? "," : "");
		rt_json_put(out, p->axes[a].name);
		fprintf(out, ",\"size\":%" PRId64 ",\"time\":%s,\"place\":%" PRId64 "}",
			p->axes[a].size, p->axes[a].is_time ? "true" : "false", t->coord[a]);
	}
	fputc(']', out);
}

static void
put_kernels(FILE *out, const struct rt_program *p)
{
	fputs(",\n\"kernels\":[", out);
	for (int i = 0; i < p->nkernels; i++) {
		const struct rt_kernel *k = &p->kernels[i];
		fprintf(out, "%s\n{\"op\":%d", i ? "," : "", k->order);
		put_field(out, "name", k->name);
		put_field(out, "text", k->op);
		fprintf(out, ",\"flops\":%.17g,\"bytes\":%.17g}", k->flops, k->bytes);
	}
	fputc(']', out);
}

static void
put_collectives(FILE *out, const struct rt_program *p)
{
	fputs(",\n\"collectives\":[", out);
	for (int i = 0; i < p->ncolls; i++) {
		const struct rt_coll *c = &p->colls[i];
		fprintf(out, "%s\n{\"op\":%d", i ? "," : "", c->op);
		put_field(out, "name", c->name);
		put_field(out, "text", c->text);
		put_field(out, "kind", rt_coll_name(c->kind));
		put_field(out, "axis", p->axes[c->axis].name);
		fprintf(out, ",\"bytes\":%zu,\"from\":%d,\"to\":%d}", c->bytes, c->from, c->to);
	}
	fputc(']', out);
}

/* Written only if the program has some. */
static void
put_transfers(FILE *out, const struct rt_program *p)
{
	if (!p->ntransfers)
		return;
	fputs(",\n\"transfers\":[", out);
	for (int i = 0; i < p->ntransfers; i++) {
		const struct rt_transfer *x = &p->transfers[i];
		fprintf(out, "%s\n{\"op\":%d", i ? "," : "", x->op);
		put_field(out, "name", x->name);
		put_field(out, "text", x->text);
		put_field(out, "to", x->to_host ? "host" : "device");
		fprintf(out, ",\"bytes\":%zu}", x->bytes);
	}
	fputc(']', out);
}

static void
put_header(FILE *out, const struct rt_trace *t)
{
	const struct rt_program *p = t->prog;
	uint64_t dropped = 0;
	for (int i = 0; i < RT_TRACKS; i++)
		dropped += lost(t, &t->tracks[i]);
	fprintf(out,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\n\"format\":\"dopt-trace\",\"version\":%d",
		RT_TRACE_VERSION);
	put_field(out, "program", p->name);
	put_field(out, "build", p->build);
	put_field(out, "target", p->without ? "cuda" : "host");
	if (p->without)
		put_field(out, "without", p->without);
	fprintf(out, ",\"run\":%" PRId64 ",\n\"rank\":%d,\"ranks\":%" PRId64, t->run, t->rank,
		rt_places(p));
	put_clock(out, t);
	fprintf(out, ",\n\"predicted_us\":%.17g,\"arena_bytes\":%zu,\"dropped\":%" PRIu64,
		p->predicted * 1e6, p->arena_bytes, dropped);
	put_axes(out, t);
	put_kernels(out, p);
	put_collectives(out, p);
	put_transfers(out, p);
	fputs("},\n", out);
}

static void
put_names(FILE *out, const struct rt_trace *t)
{
	static const char *const names[RT_TRACKS] = {
		"compute", "communication", "copy to host", "copy to device"};
	fprintf(out,
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}",
		t->rank, t->rank);
	for (int i = 0; i < rt_trace_tracks(t->prog); i++)
		fprintf(out,
			",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
			t->rank, i, names[i]);
}

/* The rank of place 0 of this rank's group on an axis. */
static int64_t
group_of(const struct rt_trace *t, int axis)
{
	if (t->prog->axes[axis].is_time)
		return t->rank;
	return t->rank - t->coord[axis] * rt_axis_stride(t->prog, axis);
}

static void
put_kernel_args(FILE *out, const struct rt_trace *t, const struct rt_trace_event *e)
{
	const struct rt_kernel *k = &t->prog->kernels[e->index];
	fprintf(out, ",\"kernel\":%d,\"op\":%d,\"bytes\":%.17g", e->index, k->order, k->bytes);
}

static void
put_collective_args(FILE *out, const struct rt_trace *t, const struct rt_trace_event *e)
{
	const struct rt_program *p = t->prog;
	const struct rt_coll *c = &p->colls[e->index];
	fprintf(out, ",\"collective\":%d,\"op\":%d,\"bytes\":%zu", e->index, c->op, c->bytes);
	if (c->parts > 1)
		fprintf(out, ",\"parts\":%d", c->parts);
	if (e->kind != RT_EVENT_COLLECTIVE)
		return;
	put_field(out, "axis", p->axes[c->axis].name);
	fprintf(out, ",\"group\":%" PRId64 ",\"sequence\":%" PRIu32 ",", group_of(t, c->axis),
		e->sequence);
	put_us(out, "posted", e->posted);
}

static void
put_transfer_args(FILE *out, const struct rt_trace *t, const struct rt_trace_event *e)
{
	const struct rt_transfer *x = &t->prog->transfers[e->index];
	fprintf(out, ",\"transfer\":%d,\"op\":%d,\"bytes\":%zu", e->index, x->op, x->bytes);
	if (e->kind != RT_EVENT_TRANSFER)
		return;
	fputc(',', out);
	put_us(out, "posted", e->posted);
}

/* The name of an event in the file, and its arguments. */
static const struct {
	const char *category;
	void (*args)(FILE *out, const struct rt_trace *t, const struct rt_trace_event *e);
} kinds[RT_EVENTS] = {
	[RT_EVENT_KERNEL] = {"kernel", put_kernel_args},
	[RT_EVENT_WAIT] = {"wait", put_collective_args},
	[RT_EVENT_COLLECTIVE] = {"collective", put_collective_args},
	[RT_EVENT_STEP] = {"step", NULL},
	[RT_EVENT_TRANSFER] = {"copy", put_transfer_args},
	[RT_EVENT_TRANSFER_WAIT] = {"copy-wait", put_transfer_args},
};

static const char *
name_of(const struct rt_program *p, const struct rt_trace_event *e)
{
	switch (e->kind) {
	case RT_EVENT_KERNEL: return p->kernels[e->index].name;
	case RT_EVENT_STEP: return "step";
	case RT_EVENT_TRANSFER:
	case RT_EVENT_TRANSFER_WAIT: return p->transfers[e->index].name;
	default: return p->colls[e->index].name;
	}
}

static void
put_event(FILE *out, const struct rt_trace *t, int track, const struct rt_trace_event *e)
{
	fputs(",\n{\"name\":", out);
	rt_json_put(out, name_of(t->prog, e));
	fprintf(out, ",\"cat\":\"%s\",\"ph\":\"X\",", kinds[e->kind].category);
	put_us(out, "ts", e->begin);
	fputc(',', out);
	put_us(out, "dur", e->end > e->begin ? e->end - e->begin : 0);
	fprintf(out, ",\"pid\":%d,\"tid\":%d,\"args\":{\"step\":%" PRId64, t->rank, track, e->step);
	if (kinds[e->kind].args)
		kinds[e->kind].args(out, t, e);
	fputs("}}", out);
}

static void
put_trace(FILE *out, const struct rt_trace *t)
{
	put_header(out, t);
	fputs("\"traceEvents\":[\n", out);
	put_names(out, t);
	for (int i = 0; i < RT_TRACKS; i++) {
		const struct track *track = &t->tracks[i];
		for (uint64_t n = lost(t, track); n < track->count; n++)
			put_event(out, t, i, &track->events[n % t->room]);
	}
	fputs("\n]}\n", out);
}

bool
rt_trace_write(const struct rt_trace *t, const char *dir, struct rt_status *st)
{
	struct rt_write out;
	char *path = NULL;
	if (asprintf(&path, "%s/rank-%d.json", dir, t->rank) < 0)
		return rt_fail_memory(st, strlen(dir), "a file name");
	bool ok = rt_write_open(&out, path);
	if (ok) {
		put_trace(out.file, t);
		ok = rt_write_close(&out, true);
	}
	if (!ok)
		rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", path, strerror(errno));
	free(path);
	return ok;
}
