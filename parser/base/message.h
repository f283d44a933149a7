/* The words that syntax errors of all our parsers share. */
#ifndef PARSER_MESSAGE_H
#define PARSER_MESSAGE_H

#include <stddef.h>

enum message_limit {
	MESSAGE_MAX_EXPECTED = 5, /* a longer list helps nobody */
	MESSAGE_MAX_TOKEN = 30,   /* bytes of the text shown */
};

/* The start of a text of that length in quotes, up to the end of its line; owned by `owner`. */
char *message_token(const void *owner, const char *text, size_t length);

/* Joins "a", "b", "c" to "a, b or c"; owned by `owner`. */
char *message_join(const void *owner, const char *const *name, int n);

#endif
