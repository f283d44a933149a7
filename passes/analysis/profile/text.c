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

/* " name=number" */
static void
put_number(FILE *out, const char *name, double x)
{
	char text[32];
	profile_number(x, text);
	fprintf(out, " %s=%s", name, text);
}

static void
put_time(FILE *out, int64_t seconds)
{
	char text[32] = "";
	time_t t = (time_t)seconds;
	struct tm utc;
	if (gmtime_r(&t, &utc))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	fprintf(out, " time=%s", text);
}

void
profile_text_op(FILE *out, const struct profile_op *op)
{
	fprintf(out, "op ranks=%d buffers=%s", op->ranks, profile_buffers_name(op->buffers));
	put_number(out, "median", op->median);
	put_number(out, "spread", op->spread);
	fprintf(out, " runs=%d", op->runs);
	put_number(out, "flops", op->flops);
	put_number(out, "bytes", op->bytes);
	put_time(out, op->time);
	fprintf(out, " key=%s\n", op->key);
}

/* The fields that identify a message. */
static void
put_message(FILE *out, const char *what, const char *transport, enum rt_coll_kind kind, int places,
	int nodes)
{
	fprintf(out, "%s transport=%s kind=%s places=%d nodes=%d", what, transport,
		rt_coll_name(kind), places, nodes ? nodes : 1);
}

void
profile_text_collective(FILE *out, const struct profile_collective *c)
{
	put_message(out, "collective", c->transport, c->kind, c->places, c->nodes);
	put_number(out, "bytes", c->bytes);
	put_number(out, "median", c->median);
	put_number(out, "spread", c->spread);
	fprintf(out, " runs=%d", c->runs);
	put_time(out, c->time);
	fputc('\n', out);
}

void
profile_text_link(FILE *out, const struct profile_link *l)
{
	put_message(out, "link", l->transport, l->kind, l->places, l->nodes);
	put_number(out, "alpha", l->alpha);
	put_number(out, "beta", l->beta);
	put_number(out, "error", l->error);
	put_time(out, l->time);
	fputc('\n', out);
}

void
profile_text_field(FILE *out, const struct profile_field *f)
{
	fprintf(out, "field");
	if (f->transport && *f->transport)
		fprintf(out, " transport=%s", f->transport);
	fprintf(out, " name=%s", f->name);
	put_number(out, "value", f->value);
	put_time(out, f->time);
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
take_time(struct reading *r)
{
	struct word *w = take(r, "time", true);
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
take_kind(struct reading *r)
{
	struct word *w = take(r, "kind", true);
	const enum rt_coll_kind kind = w ? rt_coll_find(w->value, w->nvalue) : RT_COLL_KINDS;

	if (kind != RT_COLL_KINDS)
		return kind;
	if (w)
		complain(r, w->value, w->nvalue, "%s: '%.*s' is not a kind of collective", r->what,
			(int)w->nvalue, w->value);
	return RT_ALLREDUCE;
}

static enum profile_buffers
take_buffers(struct reading *r)
{
	struct word *w = take(r, "buffers", true);
	for (int b = 0; w && b < PROFILE_NBUFFERS; b++) {
		const char *name = profile_buffers_name((enum profile_buffers)b);
		if (w->nvalue == strlen(name) && memcmp(name, w->value, w->nvalue) == 0)
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
read_op(struct reading *r, struct profile_line *line)
{
	struct profile_op *op = &line->op;
	op->ranks = take_int(r, "ranks");
	op->buffers = take_buffers(r);
	op->median = take_number(r, "median");
	op->spread = take_number(r, "spread");
	op->runs = take_int(r, "runs");
	op->flops = take_number(r, "flops");
	op->bytes = take_number(r, "bytes");
	op->time = take_time(r);
	op->key = take_text(r, "key", true);
	finish(r, r->wrong ? NULL : profile_op_fault(op));
}

static void
read_collective(struct reading *r, struct profile_line *line)
{
	struct profile_collective *c = &line->collective;
	c->transport = take_text(r, "transport", true);
	c->kind = take_kind(r);
	c->places = take_int(r, "places");
	c->nodes = take_int(r, "nodes");
	c->bytes = take_number(r, "bytes");
	c->median = take_number(r, "median");
	c->spread = take_number(r, "spread");
	c->runs = take_int(r, "runs");
	c->time = take_time(r);
	finish(r, r->wrong ? NULL : profile_collective_fault(c));
}

static void
read_link(struct reading *r, struct profile_line *line)
{
	struct profile_link *l = &line->link;
	l->transport = take_text(r, "transport", true);
	l->kind = take_kind(r);
	l->places = take_int(r, "places");
	l->nodes = take_int(r, "nodes");
	l->alpha = take_number(r, "alpha");
	l->beta = take_number(r, "beta");
	l->error = take_number(r, "error");
	l->time = take_time(r);
	finish(r, r->wrong ? NULL : profile_link_fault(l));
}

static void
read_field(struct reading *r, struct profile_line *line)
{
	struct profile_field *f = &line->field;
	f->transport = take_text(r, "transport", false);
	f->name = take_text(r, "name", true);
	f->value = take_number(r, "value");
	f->time = take_time(r);
	finish(r, r->wrong ? NULL : profile_field_fault(f));
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
	static const struct {
		const char *name;
		enum profile_kind kind;
		void (*read)(struct reading *r, struct profile_line *line);
	} kinds[] = {{"op", PROFILE_OP, read_op},
		{"collective", PROFILE_COLLECTIVE, read_collective},
		{"link", PROFILE_LINK, read_link}, {"field", PROFILE_FIELD, read_field},
		{"device", PROFILE_DEVICE, NULL}, {"dopt-profile", PROFILE_NOTHING, NULL}};
	struct reading r = {owner, d, at, text, text + length, "", {{0}}, 0, false};
	struct profile_line line = {.kind = PROFILE_NOTHING};
	while (r.end > text && (r.end[-1] == '\r' || r.end[-1] == ' '))
		r.end--;
	if (r.end == text || *text == '#')
		return line;
	size_t n = 0;
	while (text + n < r.end && text[n] != ' ')
		n++;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strlen(kinds[i].name) != n || memcmp(kinds[i].name, text, n) != 0)
			continue;
		r.what = kinds[i].name;
		line.kind = kinds[i].kind;
		if (kinds[i].read) {
			read_words(&r, text + n);
			kinds[i].read(&r, &line);
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
	switch (line->kind) {
	case PROFILE_OP: return profile_put_op(p, device, &line->op);
	case PROFILE_COLLECTIVE: return profile_put_collective(p, device, &line->collective);
	case PROFILE_LINK: return profile_put_link(p, device, &line->link);
	case PROFILE_FIELD: return profile_put_field(p, device, &line->field);
	default: return true;
	}
}
