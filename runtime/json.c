/* JSON tokens: see runtime/json.h. */
#include "runtime/json.h"
#include <stdlib.h>
#include <string.h>

static void
skip_space(struct rt_json *j)
{
	while (j->at < j->end && memchr(" \t\r\n", *j->at, 4))
		j->at++;
}

bool
rt_json_next(struct rt_json *j, char c)
{
	skip_space(j);
	return j->at < j->end && *j->at == c;
}

bool
rt_json_take(struct rt_json *j, char c)
{
	if (!rt_json_next(j, c))
		return false;
	j->at++;
	return true;
}

/* Four hexadecimal digits, or -1. */
static int32_t
hex4(struct rt_json *j)
{
	static const char digits[] = "0123456789abcdef";
	int32_t x = 0;
	for (int i = 0; i < 4; i++, j->at++) {
		if (j->at == j->end || !*j->at)
			return -1;
		const int lower = *j->at >= 'A' && *j->at <= 'F' ? *j->at + 32 : *j->at;
		const char *digit = strchr(digits, lower);
		if (!digit)
			return -1;
		x = x << 4 | (int32_t)(digit - digits);
	}
	return x;
}

/* The character behind "\u", with its second half if it needs one; -1 if it is none, or zero. */
static int32_t
unicode(struct rt_json *j)
{
	const int32_t x = hex4(j);
	if (x <= 0 || (x >= 0xDC00 && x <= 0xDFFF))
		return -1;
	if (x < 0xD800 || x > 0xDBFF)
		return x;
	if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
		return -1;
	j->at += 2;
	const int32_t y = hex4(j);
	return y < 0xDC00 || y > 0xDFFF ? -1 : 0x10000 + ((x - 0xD800) << 10) + (y - 0xDC00);
}

static char *
put_utf8(char *to, int32_t x)
{
	if (x < 0x80) {
		*to++ = (char)x;
		return to;
	}
	if (x < 0x800) {
		*to++ = (char)(0xC0 | x >> 6);
	} else if (x < 0x10000) {
		*to++ = (char)(0xE0 | x >> 12);
		*to++ = (char)(0x80 | (x >> 6 & 0x3F));
	} else {
		*to++ = (char)(0xF0 | x >> 18);
		*to++ = (char)(0x80 | (x >> 12 & 0x3F));
		*to++ = (char)(0x80 | (x >> 6 & 0x3F));
	}
	*to++ = (char)(0x80 | (x & 0x3F));
	return to;
}

/* The character that an escape stands for; the cursor is behind the backslash. */
static int32_t
escape(struct rt_json *j)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	if (j->at == j->end || !*j->at)
		return -1;
	const char c = *j->at++;
	if (c == 'u')
		return unicode(j);
	const char *name = strchr(names, c);
	return name ? values[name - names] : -1;
}

char *
rt_json_string(struct rt_json *j)
{
	if (!rt_json_take(j, '"'))
		return NULL;
	/* No escape is shorter than what it stands for. */
	size_t room = 0;
	while (j->at + room < j->end && j->at[room] != '"')
		room += j->at[room] == '\\' ? 2 : 1;
	if (room >= (size_t)(j->end - j->at))
		return NULL;
	char *text = malloc(room + 1), *to = text;
	if (!text)
		return NULL;
	while (*j->at != '"') {
		int32_t x = (unsigned char)*j->at++;
		if (x >= 0x20 && x != '\\') {
			*to++ = (char)x;
			continue;
		}
		x = x == '\\' ? escape(j) : -1;
		if (x < 0) {
			free(text);
			return NULL;
		}
		to = put_utf8(to, x);
	}
	j->at++;
	*to = 0;
	return text;
}

bool
rt_json_count(struct rt_json *j, int64_t *out)
{
	skip_space(j);
	const char *start = j->at;
	int64_t x = 0;
	while (j->at < j->end && *j->at >= '0' && *j->at <= '9') {
		const int digit = *j->at - '0';
		if (x > (INT64_MAX - digit) / 10)
			return false;
		x = x * 10 + digit;
		j->at++;
	}
	*out = x;
	return j->at > start && !(j->at - start > 1 && *start == '0');
}
