/* JSON objects read by tables: see json.h. */
#include "passes/analysis/trace/json.h"

#include "ir/base/alloc.h"
#include "passes/analysis/trace/trace.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

bool
trace_fail(struct trace_reader *r, const char *at, const char *format, ...)
{
	va_list args;

	if (r->failed)
		return false;
	r->failed = true;
	va_start(args, format);
	char *text = text_vprint(NULL, format, args);
	va_end(args);
	trace_report(r->diag, DIAG_ERROR, r->path, (uint32_t)(at - r->json.begin), "%s", text);
	talloc_free(text);
	return false;
}

/* Reports that the text at the cursor is not the expected one. */
static bool
unexpected(struct trace_reader *r, const char *expected)
{
	const struct rt_json *j = &r->json;

	if (j->at >= j->end)
		return trace_fail(r, j->end, "the file is cut off here: expected %s", expected);
	return trace_fail(r, j->at, "expected %s", expected);
}

bool
trace_span_is(const struct trace_span *s, const char *text)
{
	return strlen(text) == s->length && memcmp(s->text, text, s->length) == 0;
}

/* A string, in place or, if it has escapes, as a copy in *copy. */
static bool
read_string(struct trace_reader *r, struct trace_span *span, char **copy)
{
	struct rt_json before;

	*copy = NULL;
	if (!rt_json_next(&r->json, '"'))
		return unexpected(r, "a string");
	before = r->json;
	if (rt_json_span(&r->json, &span->text, &span->length))
		return true;
	const char *wrong = r->json.at;
	r->json = before;
	*copy = rt_json_string(&r->json);
	if (!*copy) {
		r->json.at = r->json.at > wrong ? r->json.at : wrong;
		return unexpected(r, "the rest of a string");
	}
	*span = (struct trace_span){"", 0};
	return true;
}

static bool
read_text(struct trace_reader *r, const char **out)
{
	struct trace_span span;
	char *copy;

	if (!read_string(r, &span, &copy))
		return false;
	*out = copy ? text_copy(r->owner, copy) : text_copy_n(r->owner, span.text, span.length);
	free(copy);
	return true;
}

static bool
read_span(struct trace_reader *r, struct trace_span *out)
{
	char *copy;

	if (!read_string(r, out, &copy))
		return false;
	free(copy);
	return true;
}

static bool
read_items(struct trace_reader *r, const struct trace_field *f, void *base)
{
	if (!rt_json_take(&r->json, '['))
		return unexpected(r, "'['");
	if (rt_json_take(&r->json, ']'))
		return true;
	do {
		if (!f->item(r, base))
			return false;
	} while (rt_json_take(&r->json, ','));
	return rt_json_take(&r->json, ']') || unexpected(r, "',' or ']'");
}

static bool
read_value(struct trace_reader *r, const struct trace_field *f, void *base)
{
	void *to = (char *)base + f->at;

	switch (f->kind) {
	case FIELD_TEXT: return read_text(r, to);
	case FIELD_SPAN: return read_span(r, to);
	case FIELD_INT: return rt_json_fixed(&r->json, 0, to) || unexpected(r, "a whole number");
	case FIELD_TIME:
		return rt_json_fixed(&r->json, 3, to) || unexpected(r, "a time in microseconds");
	case FIELD_REAL: return rt_json_number(&r->json, to) || unexpected(r, "a number");
	case FIELD_BOOL: return rt_json_bool(&r->json, to) || unexpected(r, "true or false");
	case FIELD_OBJECT: return trace_read_fields(r, f->sub, base);
	case FIELD_ITEMS: return read_items(r, f, base);
	}
	return false;
}

static const struct trace_field *
find_field(const struct trace_fields *f, const struct trace_span *key)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->field[i].key[0] == *key->text && trace_span_is(key, f->field[i].key))
			return &f->field[i];
	return NULL;
}

static bool
read_member(struct trace_reader *r, const struct trace_fields *f, void *base)
{
	const char **where = (const char **)(void *)((char *)base + f->where);
	struct trace_span key;

	if (!rt_json_next(&r->json, '"'))
		return unexpected(r, "a key in quotes");
	if (!read_span(r, &key))
		return false;
	if (!rt_json_take(&r->json, ':'))
		return unexpected(r, "':'");
	const struct trace_field *field = key.length ? find_field(f, &key) : NULL;
	if (!field)
		return rt_json_skip(&r->json) || unexpected(r, "a value");
	rt_json_next(&r->json, ' ');
	if (where[field - f->field])
		return trace_fail(r, key.text - 1, "%s has a second \"%s\"", f->what, field->key);
	where[field - f->field] = r->json.at;
	return read_value(r, field, base);
}

bool
trace_read_fields(struct trace_reader *r, const struct trace_fields *f, void *base)
{
	memset((char *)base + f->where, 0, f->n * sizeof(char *));
	if (!rt_json_take(&r->json, '{'))
		return unexpected(r, "'{'");
	if (rt_json_take(&r->json, '}'))
		return true;
	do {
		if (!read_member(r, f, base))
			return false;
	} while (rt_json_take(&r->json, ','));
	return rt_json_take(&r->json, '}') || unexpected(r, "',' or '}'");
}

bool
trace_need(struct trace_reader *r, const struct trace_fields *f, const void *base, uint32_t set,
	const char *at)
{
	const char *const *where =
		(const char *const *)(const void *)((const char *)base + f->where);

	for (unsigned i = 0; i < f->n; i++)
		if ((set >> i & 1) && !where[i])
			return trace_fail(r, at, "%s without \"%s\"", f->what, f->field[i].key);
	return true;
}
