/* Text into a file through a buffer of our own: the printer's. */
#ifndef IR_OUT_H
#define IR_OUT_H

#include "ir/base/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum out_limit {
	OUT_BUFFER =
		32 << 10,  /* large enough that fwrite does not show, small enough for the stack */
	OUT_QUANTITY = 48, /* a number with a unit */
	OUT_NUMBER = 32,   /* longest number: -1.7976931348623157e+308 and an int64 fit */
};

struct out {
	FILE *file;
	size_t used;
	char buffer[OUT_BUFFER];
};

/* Writes what is in the buffer to the file. */
void out_flush(struct out *o);

/* For bytes that do not fit in the rest of the buffer. */
void out_overflow(struct out *o, const char *s, size_t n);

/* memcpy for what is mostly one word, without a function call. */
static inline void
copy_word(char *to, const char *s, size_t n)
{
	if (n > 16) {
		memcpy(to, s, n);
	} else if (n >= 8) {
		memcpy(to, s, 8);
		memcpy(to + n - 8, s + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, s, 4);
		memcpy(to + n - 4, s + n - 4, 4);
	} else if (n) {
		to[0] = s[0];
		to[n / 2] = s[n / 2];
		to[n - 1] = s[n - 1];
	}
}

static inline void
out_bytes(struct out *o, const char *s, size_t n)
{
	if (n > OUT_BUFFER - o->used) {
		out_overflow(o, s, n);
		return;
	}
	copy_word(o->buffer + o->used, s, n);
	o->used += n;
}

static inline void
out_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

static inline void
out_char(struct out *o, char c)
{
	out_bytes(o, &c, 1);
}

void out_int(struct out *o, int64_t i);

/* A short decimal that reads back to the same bits, with a point or an exponent; inf, nan. */
void out_float(struct out *o, double d);

/* In the unit, such that reading it gives the same bits; if no number does, in the base unit. */
void out_quantity(struct out *o, double f, enum ir_unit unit);

/* In quotes, with escapes for quotes, backslashes and control characters. */
void out_string(struct out *o, const char *s);

/* Directly into a file: in quotes, with a backslash before quotes and backslashes. Without control
 * characters this is a valid string in C and in profiles. */
void fput_quoted(FILE *file, const char *s);

/* The text of out_int or out_float in `text`; returns its length. */
size_t number_of_int(char text[OUT_NUMBER], int64_t i);
size_t number_of_float(char text[OUT_NUMBER], double d);

/* The text of out_quantity, zero-terminated. */
size_t number_of_quantity(char text[OUT_QUANTITY], double f, enum ir_unit unit);

#endif
