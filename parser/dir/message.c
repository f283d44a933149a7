/* The wording of syntax errors: what was expected, what was found. */
#include "parser/base/message.h"

#include "ir/base/alloc.h"
#include "parser/dir/parser.h"

#include <string.h>
#include <talloc.h>

/* The start of the text of a token, up to the end of its line. */
static char *
token_text(const void *owner, const struct parser *p, struct ir_loc loc)
{
	if (loc.begin - p->lex->base >= p->lex->n)
		return text_copy(
			owner, p->lex->is_type ? "the end of the type" : "the end of the text");
	return message_token(owner, text_at(p, loc), loc.end - loc.begin);
}

void
message_syntax(struct parser *p, struct ir_loc loc, const char *const *expected, int n)
{
	static const char *const cluster[] = {"'cluster'"};
	char *found = token_text(NULL, p, loc);

	if (p->lex->is_cluster && !p->lex->sync_from && n == 1 && !strcmp(expected[0], "a name"))
		expected = cluster; /* its first word is no keyword, as modules may use it */
	if (p->func && lexer_at_line_start(p) && strcmp(found, "'func'") == 0) {
		PARSE_ERROR(p, loc, "expected '}' to end @%s, found %s", p->func->name, found);
	} else if (n == 0 || n > MESSAGE_MAX_EXPECTED) {
		PARSE_ERROR(p, loc, "%s is not expected here", found);
	} else {
		char *names = message_join(found, expected, n);
		PARSE_ERROR(p, loc, "expected %s, found %s", names, found);
	}
	talloc_free(found);
	lexer_recover(p);
}
