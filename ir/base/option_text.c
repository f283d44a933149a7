/* Texts of options: position of the reader, and messages about it. */
#include "ir/base/option_text.h"

#include "ir/base/alloc.h"

#include <stdarg.h>
#include <string.h>
#include <talloc.h>

struct option_text
option_text_begin(const void *owner, struct diag *d, const char *source, const char *text)
{
	return (struct option_text){.owner = owner,
		.diag = d,
		.text = text,
		.at = text,
		.base = diag_add_source(d, source, text, strlen(text)),
		.ok = true};
}

struct ir_loc
option_text_loc(const struct option_text *t, const char *begin, const char *end)
{
	return (struct ir_loc){
		t->base + (uint32_t)(begin - t->text), t->base + (uint32_t)(end - t->text)};
}

bool
option_text_fault(
	struct option_text *t, const char *begin, const char *end, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *message = text_vprint(t->owner, format, args);
	va_end(args);
	diag_error(t->diag, option_text_loc(t, begin, end), "%s", message);
	talloc_free(message);
	t->ok = false;
	return false;
}

void
option_text_skip_blanks(struct option_text *t)
{
	t->at += strspn(t->at, " \t\r\n");
}

char *
option_text_slice(const struct option_text *t, const char *begin, const char *end)
{
	char *s = text_copy_n(t->owner, begin, (size_t)(end - begin));

	return s;
}
