/* Traces: see runtime/trace.h. The format is that of Chrome's trace viewer: complete events
 * ("ph":"X") with times in microseconds, process = rank, thread 0 = compute, 1 = communication. */
#include "runtime/trace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct record {
	int64_t begin, end, posted, detail;
	int32_t index;
	enum rt_event_kind kind;
};

struct track {
	struct record *records; /* [room], a ring */
	uint64_t count;         /* of all that were added */
};

struct rt_trace {
	const struct rt_program *prog;
	int rank;
	int64_t coord[RT_MAX_AXES];
	size_t room;
	struct track tracks[RT_TRACKS];
};

struct rt_trace *
rt_trace_new(const struct rt_program *prog, int rank, const int64_t *coord, size_t events)
{
	struct rt_trace *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	*t = (struct rt_trace){.prog = prog, .rank = rank, .room = events};
	memcpy(t->coord, coord, sizeof t->coord);
	for (int i = 0; i < RT_TRACKS; i++) {
		t->tracks[i].records = malloc(events * sizeof(struct record));
		if (!t->tracks[i].records) {
			rt_trace_free(t);
			return NULL;
		}
	}
	return t;
}

void
rt_trace_free(struct rt_trace *t)
{
	if (!t)
		return;
	for (int i = 0; i < RT_TRACKS; i++)
		free(t->tracks[i].records);
	free(t);
}

void
rt_trace_add(struct rt_trace *t, enum rt_track track, enum rt_event_kind kind, int32_t index,
	int64_t begin, int64_t end, int64_t posted, int64_t detail)
{
	struct track *to = &t->tracks[track];
	to->records[to->count++ % t->room] =
		(struct record){begin, end, posted, detail, index, kind};
}

static void
put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s; s++) {
		if (*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	}
	fputc('"', out);
}

static const char *const coll_names[] = {
	[RT_ALLREDUCE] = "allreduce",
	[RT_REDUCE] = "reduce",
	[RT_BROADCAST] = "broadcast",
	[RT_ALLGATHER] = "allgather",
	[RT_GATHER] = "gather",
	[RT_SCATTER] = "scatter",
	[RT_REDUCESCATTER] = "reducescatter",
	[RT_ALLTOALL] = "alltoall",
	[RT_SEND] = "send",
};

static void
put_args(FILE *out, const struct rt_program *p, const struct record *r)
{
	switch (r->kind) {
	case RT_EVENT_KERNEL:
		fputs("\"op\":", out);
		put_string(out, p->kernels[r->index].op);
		fprintf(out, ",\"kernel\":%d,\"flops\":%.17g,\"bytes\":%.17g,\"step\":%" PRId64,
			r->index, p->kernels[r->index].flops, p->kernels[r->index].bytes,
			r->detail);
		break;
	case RT_EVENT_COLLECTIVE: {
		const struct rt_coll *c = &p->colls[r->index];
		fprintf(out, "\"kind\":\"%s\",\"axis\":", coll_names[c->kind]);
		put_string(out, p->axes[c->axis].name);
		fprintf(out,
			",\"bytes\":%zu,\"coll\":%d,\"op\":%d,\"sequence\":%" PRId64
			",\"posted\":%.3f",
			c->bytes, r->index, c->op, r->detail, (double)r->posted / 1e3);
		break;
	}
	case RT_EVENT_WAIT:
		fprintf(out, "\"coll\":%d,\"step\":%" PRId64, r->index, r->detail);
		break;
	case RT_EVENT_STEP: fprintf(out, "\"step\":%" PRId64, r->detail); break;
	}
}

static void
put_record(FILE *out, const struct rt_trace *t, int track, const struct record *r)
{
	static const char *const categories[] = {"kernel", "wait", "collective", "step"};
	const char *name = r->kind == RT_EVENT_KERNEL ? t->prog->kernels[r->index].name
			   : r->kind == RT_EVENT_STEP ? "step"
						      : t->prog->colls[r->index].name;
	fputs(",\n{\"name\":", out);
	put_string(out, name);
	fprintf(out,
		",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,\"tid\":%d,"
		"\"args\":{",
		categories[r->kind], (double)r->begin / 1e3, (double)(r->end - r->begin) / 1e3,
		t->rank, track);
	put_args(out, t->prog, r);
	fputs("}}", out);
}

static void
put_trace(FILE *out, const struct rt_trace *t)
{
	static const char *const names[] = {"compute", "communication"};
	const struct rt_program *p = t->prog;
	uint64_t dropped = 0;
	fprintf(out,
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank "
		"%d\"}}",
		t->rank, t->rank);
	for (int i = 0; i < RT_TRACKS; i++)
		fprintf(out,
			",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
			"\"args\":{\"name\":\"%s\"}}",
			t->rank, i, names[i]);
	for (int i = 0; i < RT_TRACKS; i++) {
		const struct track *track = &t->tracks[i];
		const uint64_t lost = track->count > t->room ? track->count - t->room : 0;
		dropped += lost;
		for (uint64_t n = lost; n < track->count; n++)
			put_record(out, t, i, &track->records[n % t->room]);
	}
	fputs("\n],\"otherData\":{\"program\":", out);
	put_string(out, p->name);
	fprintf(out, ",\"rank\":%d,\"predicted_us\":%.17g,\"dropped\":%" PRIu64 ",\"axes\":[",
		t->rank, p->predicted * 1e6, dropped);
	for (int a = 0; a < p->naxes; a++) {
		fprintf(out, "%s{\"name\":", a ? "," : "");
		put_string(out, p->axes[a].name);
		fprintf(out, ",\"size\":%" PRId64 ",\"time\":%s,\"place\":%" PRId64 "}",
			p->axes[a].size, p->axes[a].is_time ? "true" : "false", t->coord[a]);
	}
	fputs("]}}\n", out);
}

bool
rt_trace_write(const struct rt_trace *t, const char *dir, struct rt_status *st)
{
	const size_t length = strlen(dir) + 40;
	char *path = malloc(length);
	if (!path)
		return rt_fail_memory(st, length, "a file name");
	snprintf(path, length, "%s/rank-%d.json", dir, t->rank);
	FILE *out = fopen(path, "w");
	bool ok = out != NULL;
	if (ok) {
		put_trace(out, t);
		ok = !ferror(out);
		ok = !fclose(out) && ok;
	}
	if (!ok)
		rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", path, strerror(errno));
	if (out && !ok)
		unlink(path); /* half of a trace is none */
	free(path);
	return ok;
}
