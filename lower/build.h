/* Files, folders and commands of the lowering. Failures are reported. */
#ifndef LOWER_BUILD_H
#define LOWER_BUILD_H

#include "ir/diag.h"

#include <stdbool.h>
#include <stdio.h>

/* Where the headers and the runtime library are: of the build tree, or installed. */
char *lower_include_dir(const void *owner);
char *lower_lib_dir(const void *owner);

/* Runs a shell command; `verbose`: shows it first. */
bool lower_run_command(struct diag *d, const char *command, bool verbose);

/* Creates a folder if it is not there. */
bool lower_make_dir(struct diag *d, const char *path);

/* folder/name for writing; NULL after a report. */
FILE *lower_open(struct diag *d, const char *folder, const char *name);

/* Closes it; false, after a report, if not all of it has been written. */
bool lower_close(struct diag *d, const char *folder, const char *name, FILE *f);

/* s as one word of the shell. */
char *lower_quote(const void *owner, const char *s);

#endif
