/* Text and numbers of timelines and reports. */
#include "passes/tools/report/report.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <string.h>

/* The length of the UTF-8 character at s; 0: invalid (RFC 3629: no surrogates, none overlong).
 */
static int
utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high; /* of the first byte; of the second */
		int length;
	} rows[] = {{0x00, 0x7f, 0, 0, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (*s < rows[i].first || *s > rows[i].last)
			continue;
		for (int k = 1; k < rows[i].length; k++)
			if (s[k] < (k == 1 ? rows[i].low : 0x80) ||
				s[k] > (k == 1 ? rows[i].high : 0xbf))
				return 0;
		return rows[i].length;
	}
	return 0;
}

/* One character of text unchanged, or U+FFFD. Returns the number of bytes read. */
static int
put_character(FILE *out, const char *s)
{
	int n = utf8_length((const unsigned char *)s);

	if (n == 0)
		fputs("\xef\xbf\xbd", out);
	else
		fwrite(s, 1, (size_t)n, out);
	return n ? n : 1;
}

void
text_json(FILE *out, const char *s)
{
	fputc('"', out);
	while (*s) {
		unsigned char c = (unsigned char)*s;
		/* "<" too: the page has JSON in a script element, which "</script" would end. */
		if (c < ' ' || c == '<' || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else {
			s += put_character(out, s);
			continue;
		}
		s++;
	}
	fputc('"', out);
}

void
text_html(FILE *out, const char *s)
{
	while (*s) {
		switch (*s) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default:
			if ((unsigned char)*s < ' ') {
				fputc(' ', out);
				break;
			}
			s += put_character(out, s);
			continue;
		}
		s++;
	}
}

char *
text_pattern(const void *owner, const char *name)
{
	char *text = text_copy(owner, name), *to = text;

	for (const char *at = name; *at; at++) {
		const bool digit = isdigit((unsigned char)*at);
		if (digit && at > name && isdigit((unsigned char)at[-1]))
			continue;
		*to++ = (char)(digit ? '*' : *at);
	}
	*to = 0;
	return text;
}
