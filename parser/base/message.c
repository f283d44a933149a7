/* The words that syntax errors share: see message.h. */
#include "parser/base/message.h"

#include "ir/base/alloc.h"

char *
message_token(const void *owner, const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && n < MESSAGE_MAX_TOKEN && text[n] != '\n')
		n++;
	return TEXT(owner, "'%.*s%s'", (int)n, text, n == MESSAGE_MAX_TOKEN ? "..." : "");
}

char *
message_join(const void *owner, const char *const *name, int n)
{
	char *s = text_copy(owner, "");

	for (int i = 0; i < n; i++)
		s = text_append(s, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name[i]);
	return s;
}
