/*
 * The tables of a program as C: struct rt_program and all that hangs from it. Both targets write
 * the same tables.
 */
#ifndef LOWER_TABLES_H
#define LOWER_TABLES_H

#include "lower/lower.h"
#include "lower/plan/plan.h"

#include <stdio.h>

/*
 * Writes axes, tensors, kernels, collectives and `const struct rt_program NAME`, whose step
 * function is PREFIXstep; the names of all tables begin with `prefix`. Only the predictions are
 * function is PREFIXstep; the names of all tables begin with `prefix`. From the options it takes
 * the target, the flag library and the predictions.
 */
void tables_write(FILE *out, const struct lower_plan *p, const char *name, const char *prefix,
	const struct lower_options *o);

/* An op as one line of text without characters that would end a C comment; a talloc child of
 * `owner`. */
char *tables_op_text(const void *owner, const struct lower_plan *p, const struct ir_op *op);

#endif
