/* Numbers: text to bits, bits to doubles. */
#include "parser/stablehlo/mlir/number.h"

#include "ir/base/hex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct mlir_number_text
read_hex(const char *text, size_t n, size_t i)
{
	struct mlir_number_text r = {.hex = true};

	for (; i < n && hex_digit(text[i]) >= 0; i++) {
		r.overflow = r.overflow || r.bits >> 60;
		r.bits = r.bits << 4 | (uint64_t)hex_digit(text[i]);
	}
	r.used = i;
	return r;
}

/* Decimal digits; `.overflow` where 64 bits are too few, for a float that does not matter. */
static void
read_digits(struct mlir_number_text *r, const char *text, size_t n, size_t *i)
{
	for (; *i < n && is_digit(text[*i]); ++*i) {
		unsigned digit = (unsigned)(text[*i] - '0');
		r->overflow = r->overflow || r->bits > (UINT64_MAX - digit) / 10;
		r->bits = r->bits * 10 + digit;
	}
}

/* The end of the fraction and exponent at text[i]; i if there are none. */
static size_t
float_end(const char *text, size_t n, size_t i)
{
	if (i < n && text[i] == '.')
		for (i++; i < n && is_digit(text[i]);)
			i++;
	if (i < n && (text[i] == 'e' || text[i] == 'E')) {
		size_t j = i + 1;
		j += j < n && (text[j] == '-' || text[j] == '+');
		if (j < n && is_digit(text[j])) {
			while (j < n && is_digit(text[j]))
				j++;
			i = j;
		}
	}
	return i;
}

struct mlir_number_text
mlir_number_read(const char *text, size_t n)
{
	struct mlir_number_text r = {0};
	size_t i = n && *text == '-';

	if (i >= n || !is_digit(text[i]))
		return r;
	bool negative = i > 0;
	if (i + 2 < n && text[i] == '0' && text[i + 1] == 'x' && hex_digit(text[i + 2]) >= 0)
		r = read_hex(text, n, i + 2);
	else
		read_digits(&r, text, n, &i);
	r.negative = negative;
	size_t end = r.hex ? r.used : float_end(text, n, i);
	r.is_float = !r.hex && end > i;
	r.used = end;
	if (r.is_float) {
		r.overflow = false;
		r.f = strtod(text, NULL);
		return r;
	}
	if (negative && r.bits > (uint64_t)1 << 63)
		r.overflow = true;
	r.f = negative ? -(double)r.bits : (double)r.bits;
	if (negative)
		r.bits = -r.bits;
	return r;
}

static const struct {
	const char *name;
	struct mlir_element element;
} floats[] = {
	{"f64", {ELEMENT_FLOAT, 64, 11, 52, 1023, SPECIAL_IEEE}},
	{"f32", {ELEMENT_FLOAT, 32, 8, 23, 127, SPECIAL_IEEE}},
	{"f16", {ELEMENT_FLOAT, 16, 5, 10, 15, SPECIAL_IEEE}},
	{"bf16", {ELEMENT_FLOAT, 16, 8, 7, 127, SPECIAL_IEEE}},
	{"tf32", {ELEMENT_FLOAT, 19, 0, 0, 0, SPECIAL_IEEE}},
	{"f8E4M3FN", {ELEMENT_FLOAT, 8, 4, 3, 7, SPECIAL_FN}},
	{"f8E3M4", {ELEMENT_FLOAT, 8, 3, 4, 3, SPECIAL_IEEE}},
	{"f8E4M3", {ELEMENT_FLOAT, 8, 4, 3, 7, SPECIAL_IEEE}},
	{"f8E5M2", {ELEMENT_FLOAT, 8, 5, 2, 15, SPECIAL_IEEE}},
	{"f8E4M3FNUZ", {ELEMENT_FLOAT, 8, 4, 3, 8, SPECIAL_FNUZ}},
	{"f8E5M2FNUZ", {ELEMENT_FLOAT, 8, 5, 2, 16, SPECIAL_FNUZ}},
	{"f8E4M3B11FNUZ", {ELEMENT_FLOAT, 8, 4, 3, 11, SPECIAL_FNUZ}},
};

struct mlir_element
mlir_element_of(const char *name)
{
	const char *s = name;

	for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
		if (!strcmp(floats[i].name, name))
			return floats[i].element;
	if (!strcmp(name, "index"))
		return (struct mlir_element){.kind = ELEMENT_INT, .bits = 64};
	bool is_unsigned = *s == 'u';
	s += is_unsigned || *s == 's';
	if (*s == 'i' && is_digit(s[1])) {
		unsigned bits = (unsigned)strtoul(s + 1, NULL, 10);
		return (struct mlir_element){.kind = is_unsigned ? ELEMENT_UINT
						     : bits == 1 ? ELEMENT_BOOL
								 : ELEMENT_INT,
			.bits = bits};
	}
	if (*name == 'f' && is_digit(name[1])) /* f6E2M3FN: numbers, but not their bits */
		return (struct mlir_element){
			.kind = ELEMENT_FLOAT, .bits = (unsigned)strtoul(name + 1, NULL, 10)};
	return (struct mlir_element){.kind = ELEMENT_OTHER};
}

double
mlir_float_of_bits(const struct mlir_element *e, uint64_t bits)
{
	if (!e->exponent)
		return (double)NAN;
	uint64_t mantissa = bits & (((uint64_t)1 << e->mantissa) - 1);
	int exponent = (int)(bits >> e->mantissa & (((uint64_t)1 << e->exponent) - 1));
	bool negative = bits >> (e->exponent + e->mantissa) & 1;
	int top = (1 << e->exponent) - 1;
	double f;

	if (e->special == SPECIAL_FN && exponent == top &&
		mantissa + 1 == (uint64_t)1 << e->mantissa)
		f = (double)NAN;
	else if (e->special == SPECIAL_FNUZ && negative && !exponent && !mantissa)
		f = (double)NAN;
	else if (e->special == SPECIAL_IEEE && exponent == top)
		f = mantissa ? (double)NAN : (double)INFINITY;
	else if (exponent)
		f = ldexp((double)(mantissa | (uint64_t)1 << e->mantissa),
			exponent - e->bias - (int)e->mantissa);
	else
		f = ldexp((double)mantissa, 1 - e->bias - (int)e->mantissa);
	return negative ? -f : f;
}

double
mlir_float_largest(const struct mlir_element *e)
{
	const uint64_t top = ((uint64_t)1 << (e->exponent + e->mantissa)) - 1;

	switch (e->special) {
	case SPECIAL_IEEE: return mlir_float_of_bits(e, top - ((uint64_t)1 << e->mantissa));
	case SPECIAL_FN: return mlir_float_of_bits(e, top - 1);
	case SPECIAL_FNUZ: break;
	}
	return mlir_float_of_bits(e, top);
}

double
mlir_float_round(const struct mlir_element *e, double x)
{
	int exponent;

	if (!isfinite(x))
		return e->special == SPECIAL_IEEE ? x : (double)NAN;
	frexp(x, &exponent);
	exponent = exponent - 1 > 1 - e->bias ? exponent - 1 : 1 - e->bias;
	const double last = ldexp(1, exponent - (int)e->mantissa), r = nearbyint(x / last) * last;
	if (fabs(r) <= mlir_float_largest(e))
		return r == 0 && e->special == SPECIAL_FNUZ ? 0 : r;
	return e->special == SPECIAL_IEEE ? copysign((double)INFINITY, x) : (double)NAN;
}
