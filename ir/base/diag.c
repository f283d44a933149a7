/* Messages with file:line:column, the source line and a caret. */
#include "ir/base/diag.h"

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/source.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

enum {
	DIAG_MAX_SHOWN = 200, /* errors, and also warnings: more than a user reads */
	DIAG_MAX_NAME =
		256, /* bytes of a name: longer than any that people write, also for files */
};

/* Calls have locations of their own below this; the rest is for texts. */
#define DIAG_LAST (UINT32_MAX / 2)

struct diag_source {
	const char *name, *text;
	uint32_t base, length;
	uint32_t seen;       /* the last byte whose line was looked up */
	uint32_t seen_start; /* where that line starts */
	unsigned seen_line;
	/* Of a call, whose function is elsewhere: how far, where the call is, and the function's name as `name`. */
	uint32_t shift;
	struct ir_loc call;
};

struct diag {
	struct diag_source *source; /* ascending by base */
	struct map calls;           /* sources of calls, by function and call */
	int nsources;
	uint32_t next_base;
	unsigned errors, warnings;
	uint32_t told; /* the source of a call at which the last message was, or 0 */
	bool muted;
	bool shows_progress, in_progress; /* there is a line of progress */
	bool hiding; /* the last error or warning was not shown, so its notes are not either */
	diag_handler *handler;
	void *handler_data;
};

static void
tell_hidden(unsigned n, const char *what)
{
	if (n > DIAG_MAX_SHOWN)
		fprintf(stderr, "dopt: note: %u more %s%s not shown\n", n - DIAG_MAX_SHOWN, what,
			n == DIAG_MAX_SHOWN + 1 ? " is" : "s are");
}

/* Only at the end is the number of hidden messages known. */
static int
diag_end(struct diag *d)
{
	if (!d->handler) {
		tell_hidden(d->errors, "error");
		tell_hidden(d->warnings, "warning");
	}
	return 0;
}

struct diag *
diag_create(const void *owner)
{
	struct diag *d = NEW(owner, struct diag);

	d->next_base = 1; /* 0 is nowhere */
	talloc_set_destructor(d, diag_end);
	return d;
}

void
diag_set_handler(struct diag *d, diag_handler *handler, void *data)
{
	d->handler = handler;
	d->handler_data = data;
}

bool
diag_mute(struct diag *d, bool muted)
{
	bool before = d->muted;

	d->muted = muted;
	return before;
}

/* What a trial replaces, and the first error of it. */
struct diag_trial {
	unsigned errors, warnings;
	bool muted, hiding;
	diag_handler *handler;
	void *handler_data;
	char *first;
};

static void
keep_first(void *data, const struct diag_message *m)
{
	struct diag_trial *t = data;

	if (m->level == DIAG_ERROR && !t->first)
		t->first = text_copy(t, m->text);
}

struct diag_trial *
diag_trial_begin(struct diag *d)
{
	struct diag_trial *t = NEW(d, struct diag_trial);

	t->errors = d->errors;
	t->warnings = d->warnings;
	t->muted = d->muted;
	t->hiding = d->hiding;
	t->handler = d->handler;
	t->handler_data = d->handler_data;
	d->muted = false;
	diag_set_handler(d, keep_first, t);
	return t;
}

const char *
diag_trial_end(struct diag *d, struct diag_trial *t, const void *owner)
{
	const char *first = talloc_steal(owner, t->first);

	d->errors = t->errors;
	d->warnings = t->warnings;
	d->muted = t->muted;
	d->hiding = t->hiding;
	diag_set_handler(d, t->handler, t->handler_data);
	talloc_free(t);
	return first;
}

uint32_t
diag_lend_source(struct diag *d, const char *name, const char *text, size_t length)
{
	d->source = RESIZE(d, d->source, struct diag_source, (size_t)d->nsources + 1);
	struct diag_source *s = &d->source[d->nsources++];
	*s = (struct diag_source){.name = text_copy(d, name),
		.text = text,
		.base = d->next_base,
		.length = (uint32_t)length,
		.seen_line = 1};
	d->next_base += s->length + 1; /* one more: the end of the text is a place too */
	return s->base;
}

uint32_t
diag_add_source(struct diag *d, const char *name, const char *text, size_t length)
{
	char *copy = array_create(d, length + 2, 1, "the text of the input");

	memcpy(copy, text, length); /* it may hold zero bytes */
	copy[length] = copy[length + 1] = '\0';
	return diag_lend_source(d, name, copy, length);
}

/* The source of an offset, or NULL. That of a call has no text: its offsets are `shift` above those of the function. */
static struct diag_source *
find_any(const struct diag *d, uint32_t offset)
{
	int below = 0, above = offset ? d->nsources : 0;

	while (below < above) {
		const int middle = (below + above) / 2;
		if (offset >= d->source[middle].base)
			below = middle + 1;
		else
			above = middle;
	}
	return below ? &d->source[below - 1] : NULL;
}

/* The source with the text of a location, which becomes one in it. */
static struct diag_source *
find_text(const struct diag *d, struct ir_loc *loc)
{
	struct diag_source *s = find_any(d, loc->begin);

	if (s && s->shift) {
		loc->end -= loc->end >= loc->begin ? s->shift : 0;
		loc->begin -= s->shift;
		s = find_any(d, loc->begin);
	}
	return s;
}

const char *
diag_source_text(const struct diag *d, uint32_t base)
{
	return find_any(d, base)->text;
}

/* A call of a function: offsets of their texts. */
struct call_key {
	uint32_t function, call;
};

MAP_SAME(same_call, struct diag_source, struct call_key,
	list[i].shift &&list[i].base - list[i].shift == key->function &&
		list[i].call.begin == key->call)

uint32_t
diag_add_call(struct diag *d, struct ir_loc function, const char *name, struct ir_loc call)
{
	const struct call_key key = {function.begin, call.begin};
	const uint32_t length = function.end - function.begin;

	if (!function.begin || function.end < function.begin || !call.begin ||
		length > DIAG_LAST - d->next_base)
		return 0;
	const uint64_t hash = mix_bytes(0, &key, sizeof key);
	struct map_slot *slot = map_slot_for(d, &d->calls, hash, same_call, d->source, &key);
	if (slot->number)
		return d->source[slot->number - 1].shift;
	/* Its text is that of the function. */
	const uint32_t base = diag_lend_source(d, name, NULL, length);
	struct diag_source *s = &d->source[d->nsources - 1];
	s->shift = base - function.begin;
	s->call = call;
	map_fill(&d->calls, slot, hash, (uint32_t)d->nsources - 1);
	return s->shift;
}

/*
 * Finds the line of byte `at`: seen_line, seen_start. Starts at the last look-up, as messages are
 * mostly in ascending order; within one line, which may be the whole text, the cost is the distance
 * between the bytes.
 */
static void
find_line(struct diag_source *s, uint32_t at)
{
	if (at < s->seen_start) {
		s->seen = s->seen_start = 0;
		s->seen_line = 1;
	}
	while (s->seen < at) {
		const char *end = memchr(s->text + s->seen, '\n', at - s->seen);
		if (!end)
			break;
		s->seen = s->seen_start = (uint32_t)(end - s->text) + 1;
		s->seen_line++;
	}
	s->seen = at;
}

bool
diag_place(const struct diag *d, struct ir_loc loc, const char **file, unsigned *line,
	unsigned *column)
{
	struct diag_source *s = find_text(d, &loc);

	if (!s)
		return false;
	uint32_t at = loc.begin - s->base;
	if (at > s->length)
		at = s->length;
	*file = s->name;
	find_line(s, at);
	*line = s->seen_line;
	*column = at - s->seen_start + 1;
	return true;
}

const char *
diag_level_name(enum diag_level level)
{
	static const char *const name[] = {"error", "warning", "remark", "note"};

	return name[level];
}

/* Of longer, machine-written lines only the part around the location is shown. */
enum { DIAG_LINE = 400, DIAG_BEFORE = 60, DIAG_BEHIND = 120 };

static bool
has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

/* Sequences of a terminal (ECMA-48, SGR): bold, red, magenta, cyan. */
static const char *const level_start[] = {[DIAG_ERROR] = "\033[1;31m",
	[DIAG_WARNING] = "\033[1;35m",
	[DIAG_REMARK] = "\033[1;36m",
	[DIAG_NOTE] = "\033[1;36m"};
static const char level_end[] = "\033[0m";

void
diag_write_level(enum diag_level level)
{
	const bool colour = has_colour();

	fprintf(stderr, "%s%s:%s ", colour ? level_start[level] : "", diag_level_name(level),
		colour ? level_end : "");
}

void
diag_show_progress(struct diag *d, bool shown)
{
	d->shows_progress = shown;
}

void
diag_progress(struct diag *d, const char *format, ...)
{
	if (d->in_progress)
		fputs("\r\033[K", stderr);
	d->in_progress = d->shows_progress && format;
	if (d->in_progress) {
		va_list args;
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
		fputc('\r', stderr);
		fflush(stderr);
	}
}

/* The source line and, under it, ^~~~ as far as the range reaches on that line. */
static void
diag_print_line(const struct diag *d, enum diag_level level, struct ir_loc loc)
{
	struct diag_source *s = find_text(d, &loc);
	uint32_t at = loc.begin - s->base;

	at = at > s->length ? s->length : at;
	find_line(s, at);
	uint32_t start = s->seen_start,
		 most = s->length - at < DIAG_LINE ? s->length - at : DIAG_LINE;
	const char *newline = memchr(s->text + at, '\n', most);
	uint32_t end = newline ? (uint32_t)(newline - s->text) : at + most;
	if (end - start > DIAG_LINE) {
		start = at - start > DIAG_BEFORE ? at - DIAG_BEFORE : start;
		end = end - at > DIAG_BEHIND ? at + DIAG_BEHIND : end;
	}
	fprintf(stderr, "  %.*s\n  ", (int)(end - start), s->text + start);
	for (uint32_t i = start; i < at; i++)
		fputc(s->text[i] == '\t' ? '\t' : ' ', stderr);
	const bool colour = has_colour();
	fprintf(stderr, "%s^", colour ? level_start[level] : "");
	for (uint32_t i = at + 1; i < end && i + s->base < loc.end; i++)
		fputc('~', stderr);
	fprintf(stderr, "%s\n", colour ? level_end : "");
}

/* Counts a message. False: the limit for its kind is reached, and there is no handler. */
static bool
is_shown(struct diag *d, enum diag_level level)
{
	unsigned *n = level == DIAG_ERROR     ? &d->errors
		      : level == DIAG_WARNING ? &d->warnings
					      : NULL;

	if (n)
		d->hiding = ++*n > DIAG_MAX_SHOWN;
	else if (level == DIAG_REMARK)
		d->hiding = false;
	return d->handler || !d->hiding;
}

static bool
is_name_byte(char c)
{
	return isalnum((unsigned char)c) || (c & 0x80) || strchr("_.-$", c);
}

enum { LONGEST_CHARACTER = 4 }; /* bytes of UTF-8 */

/* Shortens names of more than DIAG_MAX_NAME bytes, in place: none gets longer. */
static void
shorten_names(char *text)
{
	static const char more[] = "...";
	char *to = text;

	for (const char *at = text; *at;) {
		size_t n = 0;
		while (at[n] && is_name_byte(at[n]))
			n++;
		size_t keep = n;
		if (n > DIAG_MAX_NAME) {
			keep = DIAG_MAX_NAME - strlen(more);
			for (int i = 1; i < LONGEST_CHARACTER && (at[keep] & 0xc0) == 0x80; i++)
				keep--; /* not within a character */
		}
		memmove(to, at, keep);
		to += keep;
		if (keep < n) {
			memcpy(to, more, strlen(more));
			to += strlen(more);
		}
		at += n;
		if (*at)
			*to++ = *at++;
	}
	*to = '\0';
}

static void
emit(struct diag *d, enum diag_level level, struct ir_loc loc, const char *text)
{
	struct diag_message m = {.level = level, .loc = loc, .text = text};
	bool placed = diag_place(d, loc, &m.file, &m.line, &m.column);
	if (d->handler) {
		d->handler(d->handler_data, &m);
	} else {
		diag_progress(d, NULL);
		if (placed)
			fprintf(stderr, "%s:%u:%u: ", m.file, m.line, m.column);
		else
			fputs("dopt: ", stderr);
		diag_write_level(level);
		fprintf(stderr, "%s\n", text);
		if (placed)
			diag_print_line(d, level, loc);
	}
}

/* The calls that the function of a location was inlined from, unless the message before has told them. */
static void
tell_calls(struct diag *d, enum diag_level level, struct ir_loc loc)
{
	const struct diag_source *s = find_any(d, loc.begin);
	const uint32_t base = s && s->shift ? s->base : 0;
	const bool told = level == DIAG_NOTE && d->told == base;

	d->told = base;
	for (; !told && s && s->shift; s = find_any(d, s->call.begin)) {
		char *text = TEXT(d, "in this call of @%s", s->name);
		emit(d, DIAG_NOTE, s->call, text);
		talloc_free(text);
	}
}

void
diag_report(struct diag *d, enum diag_level level, struct ir_loc loc, const char *format, ...)
{
	va_list args;

	if (d->muted || !is_shown(d, level))
		return;
	va_start(args, format);
	char *text = text_vprint(d, format, args);
	va_end(args);
	if (strlen(text) > DIAG_MAX_NAME)
		shorten_names(text);

	emit(d, level, loc, text);
	talloc_free(text);
	tell_calls(d, level, loc);
}

unsigned
diag_errors(const struct diag *d)
{
	return d->errors;
}

struct ir_loc
loc_join(struct ir_loc a, struct ir_loc b)
{
	if (!a.begin)
		return b;
	if (!b.begin)
		return a;
	return (struct ir_loc){
		a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}
