/* The wording of syntax errors: what was expected, what was found. */
#include "parser/base/message.h"
#include "ir/base/alloc.h"
#include "parser/stablehlo/mlir/parser.h"

#include <string.h>
#include <talloc.h>

/* The start of the text of a token, up to the end of its line. */
static char *
token_text(const void *owner, const struct mlir_parser *p, struct ir_loc loc)
{
	if (loc.begin - p->lex.base >= p->lex.n)
		return text_copy(owner, "the end of the text");
	return message_token(owner, mlir_text_at(p, loc), loc.end - loc.begin);
}

static bool
is_among(const char *word, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* The token is first on its line, or the text is at its end. */
static bool
begins_line(const struct mlir_parser *p, struct ir_loc loc)
{
	const char *s = mlir_text_at(p, loc);

	if (loc.begin - p->lex.base >= p->lex.n)
		return true;
	while (s > p->lex.text && (s[-1] == ' ' || s[-1] == '\t'))
		s--;
	return s == p->lex.text || s[-1] == '\n';
}

void
mlir_message_syntax(struct mlir_parser *p, struct ir_loc loc, const char *const *expected, int n)
{
	const struct mlir_frame *f = &VEC_LAST(&p->frame);
	char *found = token_text(NULL, p, loc);

	if (loc.begin - p->lex.base >= p->lex.n && p->frame.n > 1 && is_among("'}'", expected, n)) {
		mlir_error(p, loc, "expected '}', found %s", found);
		mlir_note(p, f->loc, "to match this");
	} else if (*mlir_text_at(p, loc) == '^') {
		mlir_error(p, loc, "%s: only regions with a single block are supported", found);
	} else if (n > MESSAGE_MAX_EXPECTED && is_among("':'", expected, n)) {
		mlir_error(p, loc, "expected ':' and types%s, found %s",
			begins_line(p, loc) ? " of the op above" : ", or an item", found);
	} else if (n == 0 || n > MESSAGE_MAX_EXPECTED) {
		mlir_error(p, loc, "%s is not expected here", found);
	} else {
		char *names = message_join(found, expected, n);
		mlir_error(p, loc, "expected %s, found %s", names, found);
	}
	talloc_free(found);
	mlir_lexer_recover(p);
}
