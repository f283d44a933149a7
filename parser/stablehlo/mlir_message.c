/* The wording of syntax errors: what was expected, what was found. */
#include "parser/stablehlo/mlir_parser.h"

#include <string.h>
#include <talloc.h>

enum {
	MESSAGE_MAX_EXPECTED = 5, /* a longer list helps nobody */
	MESSAGE_MAX_TOKEN = 30,   /* bytes of the text shown */
};

/* The start of the text of a token, up to the end of its line. */
static char *
token_text(const void *owner, const struct mlir_parser *p, struct ir_loc loc)
{
	const char *text = mlir_text_at(p, loc);
	size_t n = 0;

	if (loc.begin - p->lex.base >= p->lex.n)
		return talloc_strdup(owner, "the end of the text");
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
mlir_message_syntax(struct mlir_parser *p, struct ir_loc loc, const char *const *expected, int n)
{
	char *found = token_text(NULL, p, loc);

	if (n == 0 || n > MESSAGE_MAX_EXPECTED) {
		mlir_error(p, loc, "%s is not expected here", found);
	} else {
		char *names = join_names(found, expected, n);
		mlir_error(p, loc, "expected %s, found %s", names, found);
	}
	talloc_free(found);
	mlir_lexer_recover(p);
}
