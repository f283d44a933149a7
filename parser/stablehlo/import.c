/* From StableHLO to a module: functions, arguments and results, the table of ops, what is
 * unsupported. */
#include "parser/stablehlo/import_ops.h"
#include "parser/stablehlo/spmd.h"

#include <stdarg.h>
#include <string.h>
#include <talloc.h>

static const struct import_row {
	const char *name;
	import_function *function;
	int numbers, bools; /* of POINT: ops of ours */
} rows[] = {
#define POINT(name, numbers, bools) {name, NULL, OP_##numbers, OP_##bools},
#define IMPORT(name, function) {name, function, OP_NCODES, OP_NCODES},
#include "parser/stablehlo/import.def"
#undef POINT
#undef IMPORT
};

import_function *
import_find(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].function;
	return NULL;
}

bool
import_unsupported(struct import *im, const struct mlir_op *op, const char *why)
{
	diag_error(im->diag, op->loc, "%s is not supported%s%s", op->name, why ? ": " : "",
		why ? why : "");
	return false;
}

bool
import_error(struct import *im, const struct mlir_op *op, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = talloc_vasprintf(NULL, format, args);
	va_end(args);
	if (!text)
		out_of_memory();
	diag_error(im->diag, op->loc, "%s: %s", op->name, text);
	talloc_free(text);
	return false;
}

struct ir_module *
stablehlo_import(
	const void *owner, const struct mlir_file *file, const struct import_options *options)
{
	(void)owner;
	(void)file;
	(void)options;
	return NULL;
}
