/* Forms of kernels that are switched off: -without. */
#include "lower/lower.h"

#include "ir/ir.h"

#include <string.h>

bool
lower_without(struct diag *d, struct storage_target *t, const char *list)
{
	bool bundles = true, rows = true;
	const struct {
		const char *name;
		bool *on;
	} form[] = {{"columns", &t->threads}, {"parts", &t->parts}, {"addresses", &t->addresses},
		{"online", &t->online}, {"joins", &t->joins}, {"rows", &rows},
		{"vectors", &t->vectors}, {"registers", &t->registers}, {"pitch", &t->pitch},
		{"bundles", &bundles}};

	for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
		const size_t n = strcspn(at, ",");
		bool known = false;
		end = at + n;
		for (size_t i = 0; i < sizeof form / sizeof *form; i++)
			if (strlen(form[i].name) == n && memcmp(form[i].name, at, n) == 0) {
				*form[i].on = false;
				known = true;
			}
		if (known)
			continue;
		diag_error(d, LOC_NONE,
			"option -without: unknown form '%.*s'; expected columns, parts, addresses, online, rows, vectors, registers, joins, pitch or bundles",
			(int)n, at);
		return false;
	}
	if (!bundles)
		t->bundles.members = 0;
	if (!rows)
		t->rows = 0;
	return true;
}
