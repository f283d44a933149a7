/*
 * JSON objects read into structs by tables of fields; errors are reported at their place in the
 * text. Unknown keys are skipped: other tools add some.
 */
#ifndef PASSES_ANALYSIS_TRACE_JSON_H
#define PASSES_ANALYSIS_TRACE_JSON_H

#include "ir/base/diag.h"
#include "runtime/data/json.h"

enum {
	TRACE_MAX_FIELDS = 22, /* of one kind of object: the header has most */
};

struct trace_reader {
	struct rt_json json;
	const void *owner; /* of texts */
	struct diag *diag;
	const char *path;
	bool failed; /* reported */
};

/* A string of the file, in place; one with escapes is empty. */
struct trace_span {
	const char *text;
	size_t length;
};

enum trace_field_kind {
	FIELD_TEXT,   /* const char *, owned by reader.owner */
	FIELD_SPAN,   /* struct trace_span */
	FIELD_INT,    /* int64_t */
	FIELD_TIME,   /* int64_t in ns, written in us */
	FIELD_REAL,   /* double */
	FIELD_BOOL,   /* bool */
	FIELD_OBJECT, /* fields of its own in the same struct: `sub` */
	FIELD_ITEMS,  /* an array: `item` is called for each of its values */
};

struct trace_field {
	const char *key;
	enum trace_field_kind kind;
	size_t at; /* offset in the struct */
	const struct trace_fields *sub;
	bool (*item)(struct trace_reader *r, void *base);
};

struct trace_fields {
	const char *what; /* "a kernel", for messages */
	const struct trace_field *field;
	unsigned n;
	size_t where; /* offset of a const char *[n]: each value's place in the text; NULL: none */
};

/* Reports at a position in the text, once per reader, and returns false. */
bool trace_fail(struct trace_reader *r, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads an object into *base. */
bool trace_read_fields(struct trace_reader *r, const struct trace_fields *f, void *base);

/* Fails unless the fields of the set (bits) are present. */
bool trace_need(struct trace_reader *r, const struct trace_fields *f, const void *base,
	uint32_t set, const char *at);

bool trace_span_is(const struct trace_span *s, const char *text);

#endif
