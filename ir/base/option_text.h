/*
 * Reading the text of an option, -pass='grad,adam{lr=x}': the position of the reader, and messages
 * with a caret at bytes of the text.
 */
#ifndef IR_OPTION_TEXT_H
#define IR_OPTION_TEXT_H

#include "ir/base/diag.h"

struct option_text {
	const void *owner; /* of what is cut out */
	struct diag *diag;
	const char *text, *at; /* all of it; the next byte to be read */
	uint32_t base;         /* of the text, in the reporter's space */
	bool ok;               /* no fault so far */
};

/* A reader at the first byte of `text`, which messages call `source`; `text` must outlive it. */
struct option_text option_text_begin(
	const void *owner, struct diag *d, const char *source, const char *text);

/* The place of [begin, end), pointers into the text. */
struct ir_loc option_text_loc(const struct option_text *t, const char *begin, const char *end);

/* Reports an error at [begin, end), pointers into the text; returns false. printf-like. */
bool option_text_fault(struct option_text *t, const char *begin, const char *end,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Skips blanks and line ends. */
void option_text_skip_blanks(struct option_text *t);

/* A copy of [begin, end), owned by t->owner (talloc). */
char *option_text_slice(const struct option_text *t, const char *begin, const char *end);

#endif
