/*
 * -verify-diagnostics: messages must be exactly those that comments of the input announce.
 *
 *     %y = relu(%x)  // expected-error {{unknown value}}       on this line
 *     // expected-error@+1 {{...}}   @-2   @above   @below     that many lines away
 *     // expected-note@unknown {{...}}                          without a line in this text
 *
 * The text in braces is a part of the message. Each comment stands for one message.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct expected {
	enum diag_level level;
	unsigned line; /* 0: a message without a line in this text */
	unsigned at;   /* line of the comment */
	const char *text;
	bool seen;
};

struct driver_expect {
	struct diag *diag;
	const char *name;
	struct expected *expected; /* talloc array */
	int n;
	bool ok;
};

static void complain(struct driver_expect *e, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void
complain(struct driver_expect *e, unsigned line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, line ? "%s:%u: error: " : "%s: error: ", e->name, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	e->ok = false;
}

static void
take_message(void *data, const struct diag_message *m)
{
	struct driver_expect *e = data;
	bool here = m->file && !strcmp(m->file, e->name);
	unsigned line = here ? m->line : 0;

	for (int i = 0; i < e->n; i++) {
		struct expected *x = &e->expected[i];
		if (x->seen || x->level != m->level || x->line != line || !strstr(m->text, x->text))
			continue;
		x->seen = true;
		return;
	}
	complain(e, line, "unexpected %s: %s", diag_level_name(m->level), m->text);
}

static bool
skip_word(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n))
		return false;
	*at += n;
	return true;
}

/* The line that a comment on line `at` means: "", "@+1", "@-1", "@above", "@below", "@unknown". */
static bool
read_where(const char **at, unsigned here, unsigned *line)
{
	char *end;

	*line = here;
	if (!skip_word(at, "@"))
		return true;
	if (skip_word(at, "above")) {
		*line = here - 1;
	} else if (skip_word(at, "below")) {
		*line = here + 1;
	} else if (skip_word(at, "unknown")) {
		*line = 0;
	} else {
		long by = strtol(*at, &end, 10);
		if (end == *at || (**at != '+' && **at != '-') || (long)here + by < 1)
			return false;
		*at = end;
		*line = (unsigned)((long)here + by);
	}
	return true;
}

static bool
read_level(const char **at, enum diag_level *level)
{
	for (*level = DIAG_ERROR; *level <= DIAG_NOTE; ++*level)
		if (skip_word(at, diag_level_name(*level)))
			return true;
	return false;
}

/* Parses a comment after "expected-", on line `here`. */
static void
read_expected(struct driver_expect *e, const char *at, unsigned here)
{
	struct expected x = {.at = here};

	if (!read_level(&at, &x.level) || !read_where(&at, here, &x.line)) {
		complain(e, here,
			"malformed expectation: write expected-error, -warning, -remark or -note, "
			"alone or followed by @+N, @-N, @above, @below or @unknown");
		return;
	}
	at += strspn(at, " \t");
	const char *close = skip_word(&at, "{{") ? strstr(at, "}}") : NULL;
	const char *line_end = at + strcspn(at, "\n");
	if (!close || close > line_end) {
		complain(e, here, "malformed expectation: the message is written {{text}}");
		return;
	}
	x.text = text_copy_n(e, at, (size_t)(close - at));
	LIST_PUSH(e, e->expected, e->n, x);
}

struct driver_expect *
driver_expect_create(const void *owner, struct diag *d, const char *name, const char *text)
{
	static const char mark[] = "expected-";
	struct driver_expect *e = NEW(owner, struct driver_expect);
	unsigned line = 1;

	e->diag = d;
	e->name = name;
	e->ok = true;
	bool comment = false;
	for (const char *s = text; *s; s++) {
		if (*s == '\n') {
			line++;
			comment = false;
		}
		comment |= s[0] == '/' && s[1] == '/';
		if (comment && !strncmp(s, mark, sizeof mark - 1))
			read_expected(e, s + sizeof mark - 1, line);
	}
	diag_set_handler(d, take_message, e);
	return e;
}

bool
driver_expect_finish(struct driver_expect *e)
{
	diag_set_handler(e->diag, NULL, NULL);
	for (int i = 0; i < e->n; i++) {
		const struct expected *x = &e->expected[i];
		if (!x->seen)
			complain(e, x->at, "expected %s was not reported: %s",
				diag_level_name(x->level), x->text);
	}
	return e->ok;
}
