/* The wording of syntax errors: expected and found tokens. */
#include "parser/base/message.h"

#include "ir/base/alloc.h"

char *
message_token(const void *owner, const struct scan *s, struct ir_loc loc, const char *end)
{
	const char *text = scan_text(s, loc);
	size_t n = 0;

	if (scan_is_end(s, loc))
		return text_copy(owner, end);
	while (n < loc.end - loc.begin && n < MESSAGE_MAX_TOKEN && text[n] != '\n')
		n++;
	return TEXT(owner, "'%.*s%s'", (int)n, text, n == MESSAGE_MAX_TOKEN ? "..." : "");
}

char *
message_expected(const void *owner, const char *const *name, int n, const char *found)
{
	if (n == 0 || n > MESSAGE_MAX_EXPECTED)
		return TEXT(owner, "%s is not expected here", found);
	char *s = text_copy(owner, "expected ");
	for (int i = 0; i < n; i++)
		s = text_append(s, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name[i]);
	return text_append(s, ", found %s", found);
}
