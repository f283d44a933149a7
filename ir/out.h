/* Text into a file through a buffer of our own: the printer's. */
#ifndef IR_OUT_H
#define IR_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum out_limit {
	OUT_BUFFER =
		32 << 10, /* large enough that fwrite does not show, small enough for the stack */
	OUT_NUMBER = 32,  /* longest number: -1.7976931348623157e+308 and an int64 fit */
};

struct out {
	FILE *file;
	size_t used;
	char buffer[OUT_BUFFER];
};

/* Writes what is in the buffer to the file. */
void out_flush(struct out *o);

void out_bytes(struct out *o, const char *s, size_t n);

void out_text(struct out *o, const char *s);

void out_char(struct out *o, char c);

void out_int(struct out *o, int64_t i);

/* A short decimal that reads back to the same bits, with a point or an exponent; inf, nan. */
void out_float(struct out *o, double d);

/* In quotes, with escapes for quotes, backslashes and control characters. */
void out_string(struct out *o, const char *s);

/* The text of out_int or out_float in `text`; returns its length. */
size_t number_of_int(char text[OUT_NUMBER], int64_t i);
size_t number_of_float(char text[OUT_NUMBER], double d);

#endif
