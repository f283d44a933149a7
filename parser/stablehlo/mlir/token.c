/* Tokens that hold numbers. */
#include "parser/stablehlo/mlir/parser.h"

#include "parser/stablehlo/mlir/mlir.tab.h"
#include "parser/stablehlo/mlir/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mlir_lex_number(
	struct mlir_parser *p, struct ir_loc loc, const char *text, size_t n, MLIR_STYPE *value);
int mlir_lex_value(struct mlir_parser *p, struct ir_loc loc, const char *text, size_t n, char mark,
	MLIR_STYPE *value);
bool mlir_lex_begins_op(const struct mlir_parser *p, const char *text, size_t n);
const char *mlir_lex_unclosed(int token);

/* Is the value first on its line and followed by `=`? Then the op before it has ended. */
bool
mlir_lex_begins_op(const struct mlir_parser *p, const char *text, size_t n)
{
	const char *end = text + n;

	if (end[0] != '=' && (end[0] != ' ' || end[1] != '='))
		return false;
	return scan_begins_line(&p->lex.scan, text);
}

/* The message for a bracketed text without an end. */
const char *
mlir_lex_unclosed(int token)
{
	switch (token) {
	case TYPE: return "the type has no closing bracket";
	case LOC: return "the location has no closing bracket";
	default: return "the attribute has no closing bracket";
	}
}

/* An integer is kept in 64 bits: from -2^63 to 2^64 - 1. */
int
mlir_lex_number(
	struct mlir_parser *p, struct ir_loc loc, const char *text, size_t n, MLIR_STYPE *value)
{
	struct mlir_number_text number = mlir_number_read(text, n);

	if (number.overflow) {
		mlir_error(p, loc, "the number does not fit in 64 bits");
		return MLIR_error;
	}
	value->number.is_float = number.is_float;
	if (number.is_float)
		value->number.number.f = number.f;
	else
		value->number.number.i = (int64_t)number.bits;
	return NUMBER;
}

/* `%r:2` (mark ':') and `%r#1` (mark '#'). */
int
mlir_lex_value(struct mlir_parser *p, struct ir_loc loc, const char *text, size_t n, char mark,
	MLIR_STYPE *value)
{
	const char *digits = memchr(text, mark, n);
	size_t name = (size_t)(digits - text);

	errno = 0;
	unsigned long long number = strtoull(digits + 1, NULL, 10);
	if (errno || number > MLIR_MAX_LIST || (mark == ':' && !number)) {
		mlir_error(p, loc, "the number of results must be 1 to %d", MLIR_MAX_LIST);
		return MLIR_error;
	}
	value->value = (struct mlir_named){ir_name_n(p->ctx, text + 1, name - 1), (uint32_t)number};
	return mark == ':' ? VALUES : VALUE;
}
