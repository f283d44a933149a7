/* Lines of a profile as text: writing, and reading with the position of every fault. */
#include "passes/analysis/profile/text.h"

#include "ir/base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <time.h>

void
profile_number(double x, char *text)
{
	if (x >= 0 && x < 1e15 && x == (double)(int64_t)x) {
		snprintf(text, 32, "%.0f", x); /* a count */
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			return;
	}
}

/* The value of a column; `room` is for those that are no text. */
static const char *
value_text(const struct profile_column *c, const void *entry, char room[static 32])
{
	const void *at = (const char *)entry + c->at;
	const int count = c->type == COLUMN_COUNT || c->type == COLUMN_NODES ? *(const int *)at : 0;
	struct tm utc;

	*room = '\0';
	switch (c->type) {
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL: return *(const char *const *)at ? *(const char *const *)at : "";
	case COLUMN_COLLECTIVE: return rt_coll_name(*(const enum rt_coll_kind *)at);
	case COLUMN_BUFFERS: return profile_buffers_name(*(const enum profile_buffers *)at);
	case COLUMN_NUMBER: profile_number(*(const double *)at, room); break;
	case COLUMN_COUNT: snprintf(room, 32, "%d", count); break;
	case COLUMN_NODES: snprintf(room, 32, "%d", count ? count : 1); break;
	case COLUMN_TIME:
		if (gmtime_r(&(time_t){(time_t) * (const int64_t *)at}, &utc))
			strftime(room, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
	}
	return room;
}

void
profile_text_entry(FILE *out, enum profile_kind kind, const void *entry)
{
	const struct profile_table *t = profile_table(kind);
	char room[32];

	fputs(t->name, out);
	for (const struct profile_column *c = t->column; c->name; c++) {
		const char *text = value_text(c, entry, room);
		if (*text || c->type != COLUMN_OPTIONAL)
			fprintf(out, " %s=%s", c->name, text);
	}
	fputc('\n', out);
}

enum { MAX_WORDS = 12 }; /* more than any line has */

/* `name=value` with the places of both in the line. */
struct word {
	const char *name, *value;
	size_t nname, nvalue;
	bool used;
};

struct reading {
	const void *owner;
	struct diag *diag;
	struct ir_loc at; /* of the line's first byte */
	const char *line, *end;
	const char *what; /* its first word */
	struct word word[MAX_WORDS];
	int nwords;
	bool wrong;
};

static void complain(struct reading *r, const char *begin, size_t n, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void
complain(struct reading *r, const char *begin, size_t n, const char *format, ...)
{
	struct ir_loc loc = LOC_NONE;
	if (r->at.begin) {
		loc.begin = r->at.begin + (uint32_t)(begin - r->line);
		loc.end = loc.begin + (uint32_t)n;
	}
	va_list args;
	va_start(args, format);
	char *text = text_vprint(NULL, format, args);
	va_end(args);
	diag_error(r->diag, loc, "%s", text);
	talloc_free(text);
	r->wrong = true;
}

/* Splits the text after the first word. */
static void
read_words(struct reading *r, const char *p)
{
	while (p < r->end) {
		if (*p == ' ') {
			p++;
			continue;
		}
		const char *stop = memchr(p, ' ', (size_t)(r->end - p));
		stop = stop ? stop : r->end;
		const char *equals = memchr(p, '=', (size_t)(stop - p));
		if (!equals || r->nwords == MAX_WORDS) {
			complain(r, p, (size_t)(stop - p), "%s: expected name=value", r->what);
			return;
		}
		struct word *w = &r->word[r->nwords++];
		*w = (struct word){.name = p, .nname = (size_t)(equals - p), .value = equals + 1};
		if (w->nname == 3 && memcmp(p, "key", 3) == 0)
			stop = r->end; /* a key contains blanks */
		w->nvalue = (size_t)(stop - w->value);
		p = stop;
	}
}

static struct word *
take(struct reading *r, const char *name, bool needed)
{
	struct word *found = NULL;
	for (int i = 0; i < r->nwords; i++) {
		struct word *w = &r->word[i];
		if (w->nname != strlen(name) || memcmp(w->name, name, w->nname) != 0)
			continue;
		if (found)
			complain(r, w->name, w->nname, "%s: %s= is given twice", r->what, name);
		w->used = true;
		found = w;
	}
	if (!found && needed && !r->wrong)
		complain(r, r->line, (size_t)(r->end - r->line),
			"%s: %s= is missing; the line may be cut off", r->what, name);
	return found;
}

static char *
take_text(struct reading *r, const char *name, bool needed)
{
	struct word *w = take(r, name, needed);
	return w ? text_copy_n(r->owner, w->value, w->nvalue) : TEXT(r->owner, "%s", "");
}

static double
take_number(struct reading *r, const char *name)
{
	struct word *w = take(r, name, true);
	if (!w)
		return 0;
	char *text = text_copy_n(NULL, w->value, w->nvalue), *end;
	double x = strtod(text, &end);
	if (!*text || *end)
		complain(r, w->value, w->nvalue, "%s: expected a number after %s=", r->what, name);
	talloc_free(text);
	return x;
}

static int
take_int(struct reading *r, const char *name)
{
	struct word *w = take(r, name, true);
	if (!w)
		return 0;
	char *text = text_copy_n(NULL, w->value, w->nvalue), *end;
	errno = 0;
	long x = strtol(text, &end, 10);
	if (!*text || *end || errno || x < 0 || x > INT32_MAX)
		complain(r, w->value, w->nvalue, "%s: expected a count after %s=", r->what, name);
	talloc_free(text);
	return (int)x;
}

static int64_t
take_time(struct reading *r, const char *name)
{
	struct word *w = take(r, name, true);
	if (!w)
		return 0;
	struct tm t = {0};
	char *text = text_copy_n(NULL, w->value, w->nvalue);
	int n = 0, fields = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &t.tm_year, &t.tm_mon,
			   &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &n);
	if (fields != 6 || n == 0 || text[n])
		complain(r, w->value, w->nvalue, "%s: expected a time such as 2026-11-20T23:55:01Z",
			r->what);
	talloc_free(text);
	t.tm_year -= 1900;
	t.tm_mon--;
	return (int64_t)timegm(&t);
}

static enum rt_coll_kind
take_kind(struct reading *r, const char *name)
{
	struct word *w = take(r, name, true);
	const enum rt_coll_kind kind = w ? rt_coll_find(w->value, w->nvalue) : RT_COLL_KINDS;

	if (kind != RT_COLL_KINDS)
		return kind;
	if (w)
		complain(r, w->value, w->nvalue, "%s: '%.*s' is not a kind of collective", r->what,
			(int)w->nvalue, w->value);
	return RT_ALLREDUCE;
}

static enum profile_buffers
take_buffers(struct reading *r, const char *name)
{
	struct word *w = take(r, name, true);
	for (int b = 0; w && b < PROFILE_NBUFFERS; b++) {
		const char *buffers = profile_buffers_name((enum profile_buffers)b);
		if (w->nvalue == strlen(buffers) && !memcmp(buffers, w->value, w->nvalue))
			return (enum profile_buffers)b;
	}
	if (w)
		complain(r, w->value, w->nvalue,
			"%s: expected step or rotate after buffers=", r->what);
	return PROFILE_STEP;
}

/* Checks that every word is known and the values are valid. */
static void
finish(struct reading *r, const char *fault)
{
	for (int i = 0; i < r->nwords; i++)
		if (!r->word[i].used)
			complain(r, r->word[i].name, r->word[i].nname, "%s: unknown %.*s=", r->what,
				(int)r->word[i].nname, r->word[i].name);
	if (!r->wrong && fault)
		complain(r, r->line, (size_t)(r->end - r->line), "%s: %s", r->what, fault);
}

static void
read_entry(struct reading *r, enum profile_kind kind, void *entry)
{
	for (const struct profile_column *c = profile_table(kind)->column; c->name; c++) {
		void *at = (char *)entry + c->at;
		switch (c->type) {
		case COLUMN_TEXT:
		case COLUMN_OPTIONAL:
			*(const char **)at = take_text(r, c->name, c->type == COLUMN_TEXT);
			break;
		case COLUMN_COUNT:
		case COLUMN_NODES: *(int *)at = take_int(r, c->name); break;
		case COLUMN_NUMBER: *(double *)at = take_number(r, c->name); break;
		case COLUMN_COLLECTIVE: *(enum rt_coll_kind *)at = take_kind(r, c->name); break;
		case COLUMN_BUFFERS: *(enum profile_buffers *)at = take_buffers(r, c->name); break;
		case COLUMN_TIME: *(int64_t *)at = take_time(r, c->name); break;
		}
	}
	finish(r, r->wrong ? NULL : profile_fault(kind, entry));
}

/* A text in quotes, \ before a quote or \ in it, and the blanks before it; NULL: reported. */
static char *
read_quoted(struct reading *r, const char **p)
{
	while (*p < r->end && **p == ' ')
		(*p)++;
	const char *begin = *p;
	char *text = TEXT(r->owner, "%s", "");
	if (*p < r->end && *(*p)++ == '"')
		for (; *p < r->end; (*p)++) {
			if (**p == '"') {
				(*p)++;
				return text;
			}
			*p += **p == '\\' && *p + 1 < r->end;
			text = text_append_end(text, "%.*s", 1, *p);
		}
	complain(r, begin, (size_t)(r->end - begin), "device: expected a name in quotes");
	return NULL;
}

static void
read_device(struct reading *r, struct profile_line *line, const char *p)
{
	static const char word[] = " backend";
	line->device = read_quoted(r, &p);
	if (!line->device)
		return;
	if (r->end - p < (int)sizeof word || memcmp(p, word, sizeof word - 1) != 0) {
		complain(r, p, (size_t)(r->end - p), "device: expected backend \"...\"");
		return;
	}
	p += sizeof word - 1;
	line->backend = read_quoted(r, &p);
	if (line->backend && p != r->end)
		complain(r, p, (size_t)(r->end - p), "device: unexpected text");
}

static void
check_version(struct reading *r, const char *p)
{
	char want[16];
	snprintf(want, sizeof want, " %d", PROFILE_SCHEMA);
	if ((size_t)(r->end - p) != strlen(want) || memcmp(p, want, strlen(want)) != 0)
		complain(r, p, (size_t)(r->end - p), "expected version %d of the text format",
			PROFILE_SCHEMA);
}

struct profile_line
profile_text_line(
	const void *owner, struct diag *d, struct ir_loc at, const char *text, size_t length)
{
	static const char *const other[] = {"dopt-profile", "device"};
	struct reading r = {owner, d, at, text, text + length, "", {{0}}, 0, false};
	struct profile_line line = {.kind = PROFILE_NOTHING};
	while (r.end > text && (r.end[-1] == '\r' || r.end[-1] == ' '))
		r.end--;
	if (r.end == text || *text == '#')
		return line;
	size_t n = 0;
	while (text + n < r.end && text[n] != ' ')
		n++;
	for (int kind = 0; kind < PROFILE_WRONG; kind++) {
		r.what = kind < PROFILE_NENTRIES ? profile_table((enum profile_kind)kind)->name
						 : other[kind - PROFILE_NENTRIES];
		if (strlen(r.what) != n || memcmp(r.what, text, n) != 0)
			continue;
		line.kind = (enum profile_kind)kind;
		if (kind < PROFILE_NENTRIES) {
			read_words(&r, text + n);
			read_entry(&r, line.kind, &line.op);
		} else if (line.kind == PROFILE_DEVICE) {
			read_device(&r, &line, text + n);
		} else {
			check_version(&r, text + n);
		}
		line.kind = r.wrong ? PROFILE_WRONG : line.kind;
		return line;
	}
	complain(&r, text, n,
		"expected a line that begins with op, collective, "
		"link, field or device, found '%.*s'",
		(int)(n < 40 ? n : 40), text);
	line.kind = PROFILE_WRONG;
	return line;
}

bool
profile_text_store(struct profile *p, const char *device, const struct profile_line *line)
{
	return line->kind >= PROFILE_NENTRIES || profile_put(p, device, line->kind, &line->op);
}
