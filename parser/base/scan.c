/* See scan.h. */
#include "parser/base/scan.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <string.h>

void
scan_open(struct scan *s, const void *owner, const char *text, size_t n, uint32_t base,
	void *scanner, scan_move *move)
{
	*s = (struct scan){.scanner = scanner,
		.move = move,
		.text = (char *)(uintptr_t)text, /* restored when the scan ends */
		.n = n,
		.base = base};
	if (owner) {
		s->text = s->own = array_create(owner, n + 2, 1, "a copy of a part of the input");
		memcpy(s->own, text, n);
		s->own[n] = s->own[n + 1] = '\0'; /* as flex wants it */
	}
	move(s, 0);
}

void
scan_close(struct scan *s)
{
	array_free(s->own);
}

bool
scan_begins_line(const struct scan *s, const char *at)
{
	while (at > s->text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return at == s->text || at[-1] == '\n';
}

const char *
scan_skip_word(const char *s, bool (*word_char)(char c))
{
	while (word_char(*s))
		s++;
	return s;
}

const char *
scan_skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* The end of a string that begins at text[at], or of its line. */
static size_t
skip_string(const struct scan *s, size_t at)
{
	const char *text = s->text;

	for (at++; at < s->n && text[at] != '"' && text[at] != '\n'; at++)
		at += text[at] == '\\' && text[at + 1] != '\n';
	return at < s->n && text[at] == '"' ? at + 1 : at;
}

static bool
is_comment(const struct scan *s, size_t at)
{
	return s->text[at] == '/' && s->text[at + 1] == '/';
}

static size_t
skip_comment(const struct scan *s, size_t at)
{
	const char *end = memchr(s->text + at, '\n', s->n - at);

	return end ? (size_t)(end - s->text) : s->n;
}

/* Skips the construct at text[at]; returns where the next one starts. */
static size_t
step(const struct scan *s, const struct scan_sync *how, size_t at, bool *fresh)
{
	const char c = s->text[at];

	if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
		*fresh = *fresh || c == '\n';
		return at + 1;
	}
	if (is_comment(s, at))
		return skip_comment(s, at);
	how->pass(how->data, at, *fresh);
	*fresh = false;
	if (c == '"')
		return skip_string(s, at);
	const size_t word = (size_t)(scan_skip_word(s->text + at, how->word_char) - (s->text + at));
	return at + (word ? word : 1);
}

size_t
scan_recover(struct scan *s, const struct scan_sync *how)
{
	size_t at = s->sync_from;
	bool tried = true, fresh = s->sync_from == 0;

	while (at < s->n) {
		const bool blank = isspace((unsigned char)s->text[at]) || is_comment(s, at);
		if (!blank && how->here(how->data, at, fresh, tried))
			break;
		tried = tried && blank;
		at = step(s, how, at, &fresh);
	}
	if (at > s->n)
		at = s->n;
	s->last_sync = (uint32_t)at + 1;
	s->recovering = false;
	s->last_end = (uint32_t)at;
	s->move(s, at);
	return at;
}
