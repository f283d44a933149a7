/* The table of units. */
#include "ir/unit.h"

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
