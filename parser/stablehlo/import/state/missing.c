/*
 * Messages, and unsupported ops: one message for each op name and reason, at its first place, with
 * the number of occurrences, even if a program uses an op a thousand times.
 */
#include "parser/stablehlo/import/state/state.h"

#include "ir/base/alloc.h"

#include <stdarg.h>
#include <talloc.h>

struct import_missing {
	int n;
	bool more; /* some were left out */
	struct missing {
		const char *name, *why; /* interned; why: NULL or a reason */
		const char *place;      /* of the op, in the user's files; or NULL */
		struct ir_loc loc;
		uint32_t count;
	} item[IMPORT_MAX_MISSING];
};

struct import_missing *
import_missing_create(const void *owner)
{
	struct import_missing *m = NEW(owner, struct import_missing);

	return m;
}

bool
import_unsupported(struct import *im, const struct mlir_op *op, const char *why)
{
	struct import_missing *m = im->missing;

	im->failed = true;
	if (why)
		why = ir_name(im->module->ctx, why);
	for (int i = 0; i < m->n; i++)
		if (m->item[i].name == op->name && m->item[i].why == why) {
			m->item[i].count++;
			return false;
		}
	if (m->n < IMPORT_MAX_MISSING)
		m->item[m->n++] = (struct missing){
			op->name, why, op->place ? op->place : im->caller, op->loc, 1};
	else
		m->more = true;
	return false;
}

static char *
format_text(const char *format, va_list args)
{
	char *text = text_vprint(NULL, format, args);

	return text;
}

bool
import_unsupported_form(struct import *im, const struct mlir_op *op, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = format_text(format, args);
	va_end(args);
	import_unsupported(im, op, text);
	talloc_free(text);
	return false;
}

bool
import_error(struct import *im, const struct mlir_op *op, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = format_text(format, args);
	va_end(args);
	im->failed = true;
	diag_error(im->diag, op->loc, "%s: %s", op->name, text);
	talloc_free(text);
	return false;
}

void
import_missing_report(struct import *im)
{
	const struct import_missing *m = im->missing;

	for (int i = 0; i < m->n; i++) {
		const struct missing *x = &m->item[i];
		char often[40] = "";
		if (x->count > 1)
			snprintf(often, sizeof often, " (%u times, first here)", x->count);
		diag_error(im->diag, x->loc, "%s is not supported%s%s%s", x->name,
			x->why ? ": " : "", x->why ? x->why : "", often);
		if (x->place)
			diag_note(im->diag, LOC_NONE, "the op comes from %s", x->place);
	}
	if (m->more)
		diag_note(im->diag, LOC_NONE,
			"more than %d kinds of ops are not supported; these were the first",
			IMPORT_MAX_MISSING);
}
