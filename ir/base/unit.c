/* The table of units. */
#include "ir/base/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	enum ir_unit_kind kind;
	double scale;
} unit[] = {
#define UNIT(name, text, kind, scale) {text, UNIT_##kind, scale},
	IR_UNITS(UNIT)
#undef UNIT
};

int
ir_unit_find(const char *text, size_t n)
{
	for (int u = 0; u < UNIT_COUNT; u++)
		if (strlen(unit[u].text) == n && memcmp(unit[u].text, text, n) == 0)
			return u;
	return -1;
}

const char *
ir_unit_text(enum ir_unit u)
{
	return unit[u].text;
}

double
ir_unit_scale(enum ir_unit u)
{
	return unit[u].scale;
}

enum ir_unit_kind
ir_unit_kind(enum ir_unit u)
{
	return unit[u].kind;
}

const char *
ir_quantity_read(const char *text, int kind, double *number)
{
	char *end;

	if (strspn(text, "+-.0123456789") == 0) /* no inf, no nan */
		return text;
	*number = strtod(text, &end);
	if (end == text || !isfinite(*number))
		return text;
	if (!*end)
		return kind < 0 || kind == UNIT_BYTES ? NULL : end;
	const int found = ir_unit_find(end, strlen(end));
	if (found < 0 || kind < 0 || (int)unit[found].kind != kind)
		return end;
	*number *= unit[found].scale;
	return isfinite(*number) ? NULL : text;
}
