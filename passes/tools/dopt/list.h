/* What list.c and ops.c share. */
#ifndef PASSES_DRIVER_LIST_H
#define PASSES_DRIVER_LIST_H

#include "passes/tools/dopt/driver.h"

enum { NAME_COLUMN = 18, OPTION_COLUMN = 26 }; /* wide enough for most names */

/* Text for a cell of a Markdown table, in which a bar would end the cell; as code, with no output
 * for an empty text. */
void driver_md_cell(FILE *out, const char *s);
void driver_md_code(FILE *out, const char *s);

/* One op for -help. */
void driver_help_op(FILE *out, int code);

#endif
