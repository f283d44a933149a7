/* -mesh 'dp=2,tp=4': axes that a module lacks, so that passes can distribute it over them. */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
is_name(const char *text, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return n && strspn(text, letters) && strspn(text, more) == n;
}

/* Adds the axis NAME=N at the start of `text`; *end: the text after it. */
static bool
add_axis(struct ir_module *m, const char *text, const char **end)
{
	const size_t n = strcspn(text, "=,"), whole = strcspn(text, ",");
	char *after = NULL;
	const long long size = text[n] == '=' && text[n + 1] >= '0' && text[n + 1] <= '9'
				       ? strtoll(text + n + 1, &after, 10)
				       : 0;

	if (!is_name(text, n) || after != text + whole) {
		driver_error("option -mesh: expected NAME=N, found '%.*s'", (int)whole, text);
		return false;
	}
	const char *name = ir_name(m->ctx, text_copy_n(m, text, n));
	if (ir_axis_find(m, name) >= 0)
		driver_error("option -mesh: the module already has an axis '%s'", name);
	else if (ir_let_find(m, name))
		driver_error("option -mesh: '%s' is a `let` of the module", name);
	else if (size < 1 || size > IR_MAX_AXIS)
		driver_error("option -mesh: the size of an axis must be 1 to %d, not %lld",
			IR_MAX_AXIS, size);
	else if (m->naxes == IR_MAX_AXES || ir_places(m) * size > IR_MAX_PLACES)
		driver_error("option -mesh: at most %d axes of %d devices together", IR_MAX_AXES,
			IR_MAX_PLACES);
	else {
		m->axis[m->naxes++] =
			(struct ir_axis){.name = name, .size = (int32_t)size, .loc = LOC_NONE};
		*end = text + whole + (text[whole] == ',');
		return true;
	}
	return false;
}

bool
driver_mesh_add(struct ir_module *m, const char *text)
{
	do
		if (!add_axis(m, text, &text))
			return false;
	while (*text);
	return true;
}
