/*
 * A text that a flex scanner reads, and where reading resumes after an error: shared by the lexers
 * of all grammars. A text is scanned in place:
 *
 *     text ....│token│...........│\0\0│      flex puts a zero after the current token; it is
 *              last  last_end    n           removed for the next token and for an error report
 */
#ifndef PARSER_SCAN_H
#define PARSER_SCAN_H

#include "ir/base/diag.h"

struct scan;

/* Moves the scanner to text[at], in its initial state. */
typedef void scan_move(struct scan *s, size_t at);

struct scan {
	void *scanner; /* flex's */
	scan_move *move;
	char *text, *own; /* own: not NULL if `text` is a copy, a part of another text */
	size_t n;
	uint32_t base;           /* location of text[0] */
	uint32_t last, last_end; /* of the last token */
	bool recovering;         /* the next token is SYNC, at the next place to resume at */
	uint32_t sync_from;      /* end of the last valid statement, or where reading resumed */
	uint32_t last_sync;      /* where reading last resumed, plus 1 */
};

/* Defines the places at which a language can resume. */
struct scan_sync {
	void *data;
	/* Can reading resume at text[at]? `fresh`: only blanks precede it on its line; `tried`:
	 * nothing is between it and the last valid statement, so the error is here. */
	bool (*here)(void *data, size_t at, bool fresh, bool tried);
	/* Called for each text[at] that is skipped: counts braces. */
	void (*pass)(void *data, size_t at, bool fresh);
	bool (*word_char)(char c);
};

/*
 * Begins to scan n bytes at `text`, a whole source (diag_source_text), whose first byte has
 * location `base`. With an owner, it is a part of a source and is copied; scan_close frees that.
 */
void scan_open(struct scan *s, const void *owner, const char *text, size_t n, uint32_t base,
	void *scanner, scan_move *move);
void scan_close(struct scan *s);

/* A statement that ends at `loc` is finished, valid or not. */
static inline void
scan_done(struct scan *s, struct ir_loc loc)
{
	if (loc.end > s->base)
		s->sync_from = loc.end - s->base;
}

/* Notes a token. The token at the end of the text gets the location of the end. */
static inline void
scan_token(struct scan *s, struct ir_loc *loc, bool is_end)
{
	if (is_end)
		loc->begin = loc->end = s->base + (uint32_t)s->n;
	s->last = loc->begin - s->base;
	s->last_end = loc->end - s->base;
}

/* The begin of the last token: the location of constructs without text. */
static inline struct ir_loc
scan_here(const struct scan *s)
{
	return (struct ir_loc){s->base + s->last, s->base + s->last};
}

/* The text at location `loc`. */
static inline const char *
scan_text(const struct scan *s, struct ir_loc loc)
{
	return s->text + (loc.begin - s->base);
}

/* Is the location after the last byte? */
static inline bool
scan_is_end(const struct scan *s, struct ir_loc loc)
{
	return loc.begin - s->base >= s->n;
}

/* Are there only blanks before `at` on its line? */
bool scan_begins_line(const struct scan *s, const char *at);

/* Moves the scanner to the next place to resume at, at the latest the end of the text. */
size_t scan_recover(struct scan *s, const struct scan_sync *how);

/* The end of a word; texts end in a zero byte, which is not a word character. */
const char *scan_skip_word(const char *s, bool (*word_char)(char c));
const char *scan_skip_blanks(const char *s);

#endif
