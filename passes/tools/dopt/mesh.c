/* -mesh 'dp=2,tp=4': a mesh for a module that has none, so that passes can distribute it. */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static bool
is_name(const char *text, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return n && strspn(text, letters) && strspn(text, more) == n;
}

static bool
is_taken(const struct ir_module *m, const char *name)
{
	for (int i = 0; i < m->nlets; i++)
		if (!strcmp(m->let[i].name, name))
			return true;
	return ir_axis_find(m, name) >= 0;
}

/* Adds the axis NAME=N that `text` begins with; *end: what follows it. */
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
	char *name = text_copy_n(m, text, n);
	if (is_taken(m, name))
		driver_error("option -mesh: the name '%s' is taken", name);
	else if (size < 1 || size > IR_MAX_AXIS)
		driver_error("option -mesh: the size of an axis must be 1 to %d, not %lld",
			IR_MAX_AXIS, size);
	else if (m->naxes == IR_MAX_AXES || ir_places(m) * size > IR_MAX_PLACES)
		driver_error("option -mesh: at most %d axes of %d devices together", IR_MAX_AXES,
			IR_MAX_PLACES);
	else {
		m->axis[m->naxes++] = (struct ir_axis){
			.name = ir_name(m->ctx, name), .size = (int32_t)size, .loc = LOC_NONE};
		*end = text + whole + (text[whole] == ',');
		return true;
	}
	return false;
}

bool
driver_mesh_add(struct ir_module *m, const char *text)
{
	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time) {
			driver_error("option -mesh: the module has a mesh already, with axis %s",
				m->axis[a].name);
			return false;
		}
	do
		if (!add_axis(m, text, &text))
			return false;
	while (*text);
	return true;
}
