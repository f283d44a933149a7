/* The wording of syntax errors, shared by all parsers. */
#ifndef PARSER_MESSAGE_H
#define PARSER_MESSAGE_H

#include "parser/base/scan.h"

#include <stdbool.h>

enum message_limit {
	MESSAGE_MAX_EXPECTED = 5, /* a longer list does not help */
	MESSAGE_MAX_TOKEN = 30,   /* bytes of the text shown */
};

/* The token there, for a message: the start of its text in quotes, up to the end of its line; after
 * the last byte, `end`. Owned by `owner`. */
char *message_token(const void *owner, const struct scan *s, struct ir_loc loc, const char *end);

/* "expected a, b or c, found `found`", or, if the list is empty or too long, that `found` is not
 * expected; owned by `owner`. */
char *message_expected(const void *owner, const char *const *name, int n, const char *found);

#endif
