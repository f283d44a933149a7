/* JSON tokens: see json.h. */
#include "runtime/data/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most nested values: the files that we read have at most five. */
#define DEPTH 64
/* Characters of a number: a double has 24. */
#define NUMBER_BYTES 64
/* Below it ten times a number plus a digit still fits 64 bits. */
#define FIXED_LIMIT (INT64_MAX / 10 - 1)

void
rt_json_put(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s; s++) {
		if (*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	}
	fputc('"', out);
}

static void
skip_space(struct rt_json *j)
{
	while (j->at < j->end &&
		(*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
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

/* The character after "\u", with its second half if it needs one; -1 if it is invalid, or zero. */
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

/* The character that an escape stands for; the cursor is after the backslash. */
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
	/* No escape is shorter than the character that it stands for. */
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

bool
rt_json_span(struct rt_json *j, const char **text, size_t *length)
{
	if (!rt_json_take(j, '"'))
		return false;
	const char *s = j->at;
	while (s < j->end && *s != '"' && *s != '\\' && (unsigned char)*s >= 0x20)
		s++;
	if (s == j->end || *s != '"') {
		j->at = s;
		return false;
	}
	*text = j->at;
	*length = (size_t)(s - j->at);
	j->at = s + 1;
	return true;
}

/* Digits; at least one. */
static bool
skip_digits(struct rt_json *j)
{
	const char *start = j->at;
	while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
		j->at++;
	return j->at > start;
}

/* Skips a number in the grammar of JSON; false: it is invalid. */
static bool
skip_number(struct rt_json *j)
{
	if (j->at < j->end && *j->at == '-')
		j->at++;
	const char *start = j->at;
	if (!skip_digits(j) || (*start == '0' && j->at - start > 1))
		return false;
	if (j->at < j->end && *j->at == '.') {
		j->at++;
		if (!skip_digits(j))
			return false;
	}
	if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
		j->at++;
		if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
			j->at++;
		return skip_digits(j);
	}
	return true;
}

bool
rt_json_number(struct rt_json *j, double *out)
{
	char text[NUMBER_BYTES];
	skip_space(j);
	const char *start = j->at;
	if (!skip_number(j) || j->at - start >= NUMBER_BYTES)
		return false;
	memcpy(text, start, (size_t)(j->at - start));
	text[j->at - start] = 0;
	*out = strtod(text, NULL);
	return isfinite(*out);
}

bool
rt_json_fixed(struct rt_json *j, int digits, int64_t *out)
{
	skip_space(j);
	const char *start = j->at;
	const bool minus = rt_json_take(j, '-');
	int64_t x = 0;
	int decimals = -1; /* digits after the point; -1: no point yet */
	for (; j->at < j->end && decimals < digits; j->at++) {
		if (*j->at == '.' && decimals < 0 && j->at > start + minus)
			decimals = 0;
		else if (*j->at >= '0' && *j->at <= '9' && x < FIXED_LIMIT) {
			x = 10 * x + (*j->at - '0');
			decimals += decimals >= 0;
		} else
			break;
	}
	const bool more = j->at < j->end && memchr("0123456789.eE", *j->at, 13);
	if (!more && j->at > start + minus && decimals) {
		for (decimals = decimals < 0 ? 0 : decimals; decimals < digits && x < FIXED_LIMIT;
			decimals++)
			x *= 10;
		*out = minus ? -x : x;
		return decimals == digits;
	}
	/* Not written by us: more digits, or an exponent. */
	double value, unit = 1;
	for (int i = 0; i < digits; i++)
		unit *= 10;
	j->at = start;
	if (!rt_json_number(j, &value) || fabs(value * unit) >= (double)FIXED_LIMIT)
		return false;
	*out = (int64_t)llround(value * unit);
	return true;
}

static bool
skip_word(struct rt_json *j, const char *word)
{
	const size_t n = strlen(word);
	if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0)
		return false;
	j->at += n;
	return true;
}

/* Skips a string without copying it. */
static bool
skip_string(struct rt_json *j)
{
	rt_json_take(j, '"');
	while (j->at < j->end && *j->at != '"') {
		const char c = *j->at++;
		if ((unsigned char)c < 0x20 || (c == '\\' && escape(j) < 0))
			return false;
	}
	return rt_json_take(j, '"');
}

static bool skip_value(struct rt_json *j, int depth);

/* Skips the content of brackets, whose first one has been consumed. */
static bool
skip_items(struct rt_json *j, char close, int depth)
{
	if (rt_json_take(j, close))
		return true;
	do {
		if (close == '}' &&
			(!rt_json_next(j, '"') || !skip_string(j) || !rt_json_take(j, ':')))
			return false;
		if (!skip_value(j, depth))
			return false;
	} while (rt_json_take(j, ','));
	return rt_json_take(j, close);
}

static bool
skip_value(struct rt_json *j, int depth)
{
	skip_space(j);
	if (j->at == j->end || depth == 0)
		return false;
	switch (*j->at) {
	case '"': return skip_string(j);
	case '{': j->at++; return skip_items(j, '}', depth - 1);
	case '[': j->at++; return skip_items(j, ']', depth - 1);
	case 't': return skip_word(j, "true");
	case 'f': return skip_word(j, "false");
	case 'n': return skip_word(j, "null");
	default: return skip_number(j);
	}
}

bool
rt_json_skip(struct rt_json *j)
{
	return skip_value(j, DEPTH);
}

bool
rt_json_bool(struct rt_json *j, bool *out)
{
	skip_space(j);
	*out = skip_word(j, "true");
	return *out || skip_word(j, "false");
}
