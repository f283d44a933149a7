/*
 * The file of one rank, read in one go: nothing of its text is kept. A file that another tool has
 * rewritten, with other blanks or with the header after the events, is accepted too.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/trace/impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Positions in a file have 32 bits, as those of messages. */
static const long max_file = (long)1 << 30;

static bool
read_open(FILE *f, char **text, size_t *length)
{
	if (fseek(f, 0, SEEK_END))
		return false;
	const long size = ftell(f);
	if (size < 0 || size > max_file) {
		errno = size < 0 ? errno : EFBIG;
		return false;
	}
	rewind(f);
	*text = must_have(malloc((size_t)size + 1));
	*length = fread(*text, 1, (size_t)size, f);
	(*text)[*length] = 0;
	if (!ferror(f))
		return true;
	free(*text);
	return false;
}

/* The text of a file, from malloc; false with errno. */
static bool
read_file(const char *path, char **text, size_t *length)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	const bool ok = read_open(f, text, length);
	const int error = errno;
	fclose(f);
	errno = error;
	return ok;
}

void
trace_report(struct diag *d, enum diag_level level, const char *path, uint32_t at,
	const char *format, ...)
{
	char *source = NULL;
	size_t length = 0;
	va_list args;

	va_start(args, format);
	char *text = text_vprint(d, format, args);
	va_end(args);
	if (read_file(path, &source, &length)) {
		const uint32_t base = diag_add_source(d, path, source, length);
		if (at > length)
			at = (uint32_t)length;
		diag_report(d, level, (struct ir_loc){base + at, base + at + 1}, "%s", text);
		free(source);
	} else
		diag_report(d, level, LOC_NONE, "%s: %s", path, text);
	talloc_free(text);
}

/* Events before the header are only skipped, and read later. */
static bool
event_item(struct trace_reader *r, void *base)
{
	struct trace_file *f = base;

	if (!f->where[0]) {
		if (rt_json_skip(&r->json))
			return true;
		return trace_fail(r, r->json.at, "expected a value");
	}
	return (f->checked || trace_header_check(r, f)) && trace_event_read(r, f);
}

static const struct trace_field file_field[] = {
	{"otherData", FIELD_OBJECT, 0, &trace_header_fields, NULL},
	{"traceEvents", FIELD_ITEMS, 0, NULL, event_item},
};
static const struct trace_fields file_fields = {
	"a trace", file_field, 2, offsetof(struct trace_file, where)};

static bool
read_text(struct trace_reader *r, struct trace_file *f)
{
	if (!trace_read_fields(r, &file_fields, f))
		return false;
	rt_json_next(&r->json, ' ');
	if (r->json.at < r->json.end)
		return trace_fail(r, r->json.at, "unexpected text after the end");
	const bool skipped = !f->checked;
	if (skipped && !trace_header_check(r, f))
		return false;
	if (!trace_need(r, &file_fields, f, 1 << 1, r->json.begin))
		return false;
	if (skipped) {
		r->json.at = f->where[1];
		rt_json_take(&r->json, '[');
		while (!rt_json_take(&r->json, ']')) {
			if (!trace_event_read(r, f))
				return false;
			rt_json_take(&r->json, ',');
		}
	}
	return trace_events_finish(r, f);
}

struct trace *
trace_read(const void *owner, struct diag *d, const char *path)
{
	char *text;
	size_t length;

	if (!read_file(path, &text, &length)) {
		diag_error(d, LOC_NONE, "cannot read '%s': %s", path, strerror(errno));
		return NULL;
	}
	struct trace *t = NEW(owner, struct trace);
	struct trace_file f = {.trace = t};
	struct trace_reader r = {
		.json = {text, text, text + length}, .owner = t, .diag = d, .path = path};
	const bool ok = read_text(&r, &f);
	free(text);
	if (!ok) {
		talloc_free(t);
		return NULL;
	}
	*t = f.t;
	t->path = text_copy(t, path);
	return t;
}

const char *
trace_event_name(const struct trace *t, const struct trace_event *e)
{
	if (e->kind == TRACE_STEP)
		return "step";
	if (e->kind == TRACE_COPY || e->kind == TRACE_COPY_WAIT)
		return t->copy[e->index].name;
	return e->kind == TRACE_KERNEL ? t->kernel[e->index].name : t->collective[e->index].name;
}
