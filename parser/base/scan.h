/*
 * A text that a flex scanner goes over, and where in it reading goes on after an error: what the
 * lexers of all grammars share. A text is scanned where it stands:
 *
 *     text ....│token│...........│\0\0│      flex puts a zero behind the token at hand; who asks
 *              last  last_end    n           for the next one, or reports an error, takes it away
 */
#ifndef PARSER_SCAN_H
#define PARSER_SCAN_H

#include "ir/base/diag.h"

struct scan;

/* The scanner goes on at text[at], in its first state. */
typedef void scan_move(struct scan *s, size_t at);

struct scan {
	void *scanner; /* flex's */
	scan_move *move;
	char *text, *own; /* `own`: text is a copy, of a part of another text */
	size_t n;
	uint32_t base;           /* location of text[0] */
	uint32_t last, last_end; /* of the last token */
	bool recovering;         /* the next token is SYNC, at the next place to go on at */
	uint32_t sync_from;      /* end of the last thing that was fine, or resumed at */
	uint32_t last_sync;      /* where reading went on last time, plus 1 */
};

/* What a language says of places where reading can go on. */
struct scan_sync {
	void *data;
	/* Can it, at text[at]? `fresh`: nothing but blanks so far on this line; `tried`: nothing so
	 * far since the last thing that was fine, so that this is what has the error. */
	bool (*here)(void *data, size_t at, bool fresh, bool tried);
	/* Passes over what stands at text[at]: counts braces. */
	void (*pass)(void *data, size_t at, bool fresh);
	bool (*word_char)(char c);
};

/*
 * Begins to scan n bytes at `text`, the whole of a source (diag_source_text), whose first has
 * location `base`. With an owner they are a part of one, which is copied; scan_close frees that.
 */
void scan_open(struct scan *s, const void *owner, const char *text, size_t n, uint32_t base,
	void *scanner, scan_move *move);
void scan_close(struct scan *s);

/* Something that ends at `loc` is done, well or badly. */
static inline void
scan_done(struct scan *s, struct ir_loc loc)
{
	if (loc.end > s->base)
		s->sync_from = loc.end - s->base;
}

/* Notes a token. At the end of the text its place is there. */
static inline void
scan_token(struct scan *s, struct ir_loc *loc, bool is_end)
{
	if (is_end)
		loc->begin = loc->end = s->base + (uint32_t)s->n;
	s->last = loc->begin - s->base;
	s->last_end = loc->end - s->base;
}

/* Where the last token begins: the place of what has no text. */
static inline struct ir_loc
scan_here(const struct scan *s)
{
	return (struct ir_loc){s->base + s->last, s->base + s->last};
}

/* The text of a place. */
static inline const char *
scan_text(const struct scan *s, struct ir_loc loc)
{
	return s->text + (loc.begin - s->base);
}

/* Is it behind the last byte? */
static inline bool
scan_is_end(const struct scan *s, struct ir_loc loc)
{
	return loc.begin - s->base >= s->n;
}

/* Are there only blanks before this place of the text on its line? */
bool scan_begins_line(const struct scan *s, const char *at);

/* Moves the scanner to the next place where reading can go on; the end of the text is one. */
size_t scan_recover(struct scan *s, const struct scan_sync *how);

/* The end of a word; texts end in a zero byte, which is no character of one. */
const char *scan_skip_word(const char *s, bool (*word_char)(char c));
const char *scan_skip_blanks(const char *s);

#endif
