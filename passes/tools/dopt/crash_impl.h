/* What the files on crashes share. */
#ifndef PASSES_DRIVER_CRASH_IMPL_H
#define PASSES_DRIVER_CRASH_IMPL_H

#include "ir/base/diag.h"

#include <stdbool.h>

enum { CRASH_TEXT = 256 }; /* bytes of a text; longer ones are cut */

/* In memory that parent and child share. */
struct crash_note {
	bool done; /* the child has ended by itself */
	char doing[CRASH_TEXT];
	/* The current op; empty: unknown. */
	char op[CRASH_TEXT], value[CRASH_TEXT], file[CRASH_TEXT];
	unsigned line, column;
	/* Used by the child only. */
	const struct diag *diag;
	int probe[2]; /* a pipe: crash_op.c */
};

/* Makes crashes of this process record the current op. */
void crash_watch_ops(struct crash_note *n);

#endif
