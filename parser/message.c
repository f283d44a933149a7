/* The wording of syntax errors: what was expected, what was found. */
#include "parser/parser.h"

#include <string.h>
#include <talloc.h>

enum {
	MESSAGE_MAX_EXPECTED = 5, /* a longer list helps nobody */
	MESSAGE_MAX_TOKEN = 30,   /* bytes of the text shown */
};

/* The start of the text of a token, up to the end of its line. */
static char *
token_text(const void *owner, const struct parser *p, struct ir_loc loc)
{
	const char *text = text_at(p, loc);
	size_t n = 0;

	if (loc.begin - p->lex->base >= p->lex->n)
		return talloc_strdup(
			owner, p->lex->is_type ? "the end of the type" : "the end of the text");
	while (n < loc.end - loc.begin && n < MESSAGE_MAX_TOKEN && text[n] != '\n')
		n++;
	return talloc_asprintf(
		owner, "'%.*s%s'", (int)n, text, n == MESSAGE_MAX_TOKEN ? "..." : "");
}

/* Joins "a", "b", "c" to "a, b or c". */
static char *
join_names(const void *owner, const char *const *name, int n)
{
	char *s = talloc_strdup(owner, "");

	for (int i = 0; i < n; i++)
		s = talloc_asprintf_append(s, "%s%s",
			i == 0       ? ""
			: i + 1 == n ? " or "
				     : ", ",
			name[i]);
	return s;
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
		char *names = join_names(found, expected, n);
		PARSE_ERROR(p, loc, "expected %s, found %s", names, found);
	}
	talloc_free(found);
	lexer_recover(p);
}
