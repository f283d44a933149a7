/* Numbers as MLIR texts write them, and the bits of element types. */
#ifndef PARSER_STABLEHLO_MLIR_NUMBER_H
#define PARSER_STABLEHLO_MLIR_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that was read. */
struct mlir_number_text {
	size_t used;                            /* bytes; 0: no number */
	bool is_float, negative, hex, overflow; /* overflow: beyond -2^63 ... 2^64 - 1 */
	uint64_t bits;                          /* two's complement */
	double f;                               /* of an integer too */
};

/* The number at the begin of the n bytes at `text`, which must be followed by a zero or another
 * byte that is not part of a number. */
struct mlir_number_text mlir_number_read(const char *text, size_t n);

enum mlir_element_kind {
	ELEMENT_OTHER, /* tuple, quantized, index ... */
	ELEMENT_FLOAT,
	ELEMENT_INT, /* signed or signless */
	ELEMENT_UINT,
	ELEMENT_BOOL,
};

/* What a float has in addition to numbers. */
enum mlir_special {
	SPECIAL_IEEE, /* infinities, NaN, two zeros */
	SPECIAL_FN,   /* two zeros; numbers with all bits set are NaN */
	SPECIAL_FNUZ, /* one zero; that with a sign is the only NaN */
};

/* The format of numbers of an element type, given by name: "f32", "ui4", "i1". */
struct mlir_element {
	enum mlir_element_kind kind;
	unsigned bits;
	unsigned exponent, mantissa; /* of a float with known bits; else 0 */
	int bias;
	enum mlir_special special;
};

struct mlir_element mlir_element_of(const char *name);

/* The number with those bits. NaN if the format is not known. */
double mlir_float_of_bits(const struct mlir_element *e, uint64_t bits);

/* The largest number of a float with known bits; x rounded to such a float, ties to even: beyond the
 * largest it is infinite, or NaN where there are no infinities. */
double mlir_float_largest(const struct mlir_element *e);
double mlir_float_round(const struct mlir_element *e, double x);

#endif
