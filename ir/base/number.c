/* See number.h. */
#include "ir/base/number.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

static const char *
scaled(char text[NUMBER_TEXT], double x, const char *const *unit)
{
	while (unit[1] && x < 1 && x > 0) {
		x *= 1e3;
		unit++;
	}
	snprintf(text, NUMBER_TEXT, "%.3g%s", x, x > 0 ? *unit : "");
	/* Three digits, and no exponent if there are four before the point. */
	if (x >= 999.5)
		snprintf(text, NUMBER_TEXT, "%.0f%s", x, *unit);
	return text;
}

const char *
number_seconds(char text[NUMBER_TEXT], double seconds)
{
	static const char *const unit[] = {"s", "ms", "us", "ns", NULL};

	return scaled(text, seconds, unit);
}

const char *
number_bytes(char text[NUMBER_TEXT], double bytes)
{
	static const char *const unit[] = {"TB", "GB", "MB", "KB", "B", NULL};

	return scaled(text, bytes / 1e12, unit);
}

const char *
number_flops(char text[NUMBER_TEXT], double rate)
{
	static const char *const unit[] = {
		"PFLOP/s", "TFLOP/s", "GFLOP/s", "MFLOP/s", "KFLOP/s", "FLOP/s", NULL};

	return scaled(text, rate / 1e15, unit);
}

const char *
number_large(char text[NUMBER_TEXT], double n)
{
	static const char *const unit[] = {"T", "G", "M", "k", "", NULL};

	return scaled(text, n / 1e12, unit);
}

const char *
number_seconds_column(char text[NUMBER_TEXT], double seconds)
{
	static const char *const unit[] = {"s", "ms", "us", "ns"};
	double x = seconds;
	size_t i = 0;

	snprintf(text, NUMBER_TEXT, "%s", seconds > 0 ? "inf" : "-inf");
	if (!isfinite(seconds))
		return text;
	for (; i + 1 < sizeof unit / sizeof *unit && fabs(x) < 0.9995; i++)
		x *= 1e3;
	const double size = fabs(x);
	snprintf(text, NUMBER_TEXT, "%.*f%s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, x, unit[i]);
	if (fabs(seconds) < 0.5e-11) /* nothing is left of it in any unit */
		snprintf(text, NUMBER_TEXT, "0");
	return text;
}

const char *
number_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* The end in parentheses at `open` for one (before the slash) or many (after it). */
static char *
noun_end(char *text, const char *open, const char *close, bool one)
{
	const char *slash = memchr(open, '/', (size_t)(close - open));
	const char *from = slash && !one ? slash + 1 : open + 1;
	const char *to = slash && one ? slash : close;

	if (!slash && one)
		to = from;
	return text_append(text, "%.*s", (int)((size_t)(to - from)), from);
}

char *
number_noun(const void *owner, int64_t n, const char *noun)
{
	const char *open = strchr(noun, '('), *close = open ? strchr(open, ')') : NULL;
	char *text = text_copy_n(owner, noun, close ? (size_t)(open - noun) : strlen(noun));

	if (text && close)
		text = noun_end(text, open, close, n == 1);
	if (text && close)
		text = text_append(text, "%s", close + 1);
	return text;
}

char *
number_count(const void *owner, int64_t n, const char *noun)
{
	char *words = number_noun(NULL, n, noun);
	char *text = TEXT(owner, "%" PRId64 " %s", n, words);

	talloc_free(words);
	return text;
}
