/* Messages, and the wording of syntax errors: expected and found tokens. */
#include "ir/base/alloc.h"
#include "parser/base/message.h"
#include "parser/stablehlo/mlir/parser.h"

#include <stdarg.h>
#include <string.h>
#include <talloc.h>

void
mlir_error(struct mlir_parser *p, struct ir_loc loc, const char *format, ...)
{
	va_list args;

	if (p->stop)
		return;
	va_start(args, format);
	char *text = text_vprint(p, format, args);
	va_end(args);
	diag_error(p->ctx->diag, loc, "%s", text);
	talloc_free(text);
	if (++p->errors == MLIR_MAX_ERRORS) {
		diag_error(p->ctx->diag, loc, "too many errors; the rest of the file is skipped");
		p->stop = true;
	}
}

void
mlir_note(struct mlir_parser *p, struct ir_loc loc, const char *text)
{
	if (!p->stop)
		diag_note(p->ctx->diag, loc, "%s", text);
}

static bool
is_among(const char *word, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

void
mlir_message_syntax(struct mlir_parser *p, struct ir_loc loc, const char *const *expected, int n)
{
	const struct mlir_frame *f = &VEC_LAST(&p->frame);
	const struct scan *s = &p->lex.scan;
	const bool end = scan_is_end(s, loc);
	char *found = message_token(NULL, s, loc, "the end of the text");

	if (end && p->frame.n > 1 && is_among("'}'", expected, n)) {
		mlir_error(p, loc, "expected '}', found %s", found);
		mlir_note(p, f->loc, "to match this");
	} else if (*mlir_text_at(p, loc) == '^') {
		mlir_error(p, loc, "%s: only regions with a single block are supported", found);
	} else if (n > MESSAGE_MAX_EXPECTED && is_among("':'", expected, n)) {
		mlir_error(p, loc, "expected ':' and types%s, found %s",
			end || scan_begins_line(s, mlir_text_at(p, loc)) ? " of the op above"
									 : ", or an item",
			found);
	} else {
		mlir_error(p, loc, "%s", message_expected(found, expected, n, found));
	}
	talloc_free(found);
	mlir_lexer_recover(p);
}
