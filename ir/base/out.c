/* Buffered text. */
#include "ir/base/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
out_flush(struct out *o)
{
	fwrite(o->buffer, 1, o->used, o->file);
	o->used = 0;
}

void
out_overflow(struct out *o, const char *s, size_t n)
{
	while (n > OUT_BUFFER - o->used) {
		size_t part = OUT_BUFFER - o->used;
		memcpy(o->buffer + o->used, s, part);
		o->used += part;
		s += part;
		n -= part;
		out_flush(o);
	}
	out_bytes(o, s, n);
}

size_t
number_of_int(char text[OUT_NUMBER], int64_t i)
{
	char digits[OUT_NUMBER];
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	size_t n = 0, at = 0;

	do
		digits[n++] = (char)('0' + u % 10);
	while (u /= 10);
	if (i < 0)
		text[at++] = '-';
	while (n)
		text[at++] = digits[--n];
	return at;
}

size_t
number_of_float(char text[OUT_NUMBER], double d)
{
	if (isnan(d))
		return (size_t)snprintf(text, OUT_NUMBER, "nan");
	if (isinf(d))
		return (size_t)snprintf(text, OUT_NUMBER, d < 0 ? "-inf" : "inf");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, OUT_NUMBER, "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
	if (!text[strcspn(text, ".e")])
		strcat(text, ".0");
	return strlen(text);
}

void
out_int(struct out *o, int64_t i)
{
	char text[OUT_NUMBER];

	out_bytes(o, text, number_of_int(text, i));
}

void
out_float(struct out *o, double d)
{
	char text[OUT_NUMBER];

	out_bytes(o, text, number_of_float(text, d));
}

size_t
number_of_quantity(char text[OUT_QUANTITY], double f, enum ir_unit unit)
{
	double scale = ir_unit_scale(unit), x = f / scale;

	/* A number x so that x * scale is exactly f; if there is none, f in the base unit. */
	for (int step = 0; step < 3 && x * scale != f; step++)
		x = step == 0 ? nextafter(f / scale, INFINITY) : nextafter(f / scale, -INFINITY);
	if (x * scale != f) {
		static const enum ir_unit base[] = {[UNIT_BYTES] = UNIT_B,
			[UNIT_SECONDS] = UNIT_s,
			[UNIT_RATE] = UNIT_B_s,
			[UNIT_FLOPS] = UNIT_FLOP_s};
		unit = base[ir_unit_kind(unit)];
		x = f;
	}
	size_t n = number_of_float(text, x);
	if (n > 2 && memcmp(text + n - 2, ".0", 2) == 0)
		n -= 2;
	strcpy(text + n, ir_unit_text(unit));
	return n + strlen(text + n);
}

void
out_quantity(struct out *o, double f, enum ir_unit unit)
{
	char text[OUT_QUANTITY];

	out_bytes(o, text, number_of_quantity(text, f, unit));
}

void
out_string(struct out *o, const char *s)
{
	out_char(o, '"');
	for (; *s; s++) {
		char escape[8];
		if (*s == '"' || *s == '\\')
			out_bytes(o, escape, (size_t)snprintf(escape, sizeof escape, "\\%c", *s));
		else if (*s == '\n' || *s == '\t')
			out_text(o, *s == '\n' ? "\\n" : "\\t");
		else if ((unsigned char)*s < ' ' || *s == 127)
			out_bytes(o, escape,
				(size_t)snprintf(
					escape, sizeof escape, "\\x%02x", (unsigned char)*s));
		else
			out_char(o, *s);
	}
	out_char(o, '"');
}

void
fput_quoted(FILE *file, const char *s)
{
	fputc('"', file);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', file);
		fputc(*s, file);
	}
	fputc('"', file);
}
