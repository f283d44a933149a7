/* Files, folders and command lines of the lowering. Failures are reported. */
#ifndef LOWER_BUILD_H
#define LOWER_BUILD_H

#include "ir/base/diag.h"

#include <stdbool.h>
#include <stdio.h>

/* The file that a program is linked to, in the folder of its sources, until it gets its name. */
#define LOWER_PROGRAM "program"

/* Where the headers and the runtime library are: of the build tree, or installed. */
char *lower_include_dir(const void *owner);
char *lower_lib_dir(const void *owner);

/* Creates a folder if it is not there. */
bool lower_make_dir(struct diag *d, const char *path);

/* folder/name for writing; NULL after a report. */
FILE *lower_open(struct diag *d, const char *folder, const char *name);

/* Closes it; false, after a report, if not all of it has been written. */
bool lower_close(struct diag *d, const char *folder, const char *name, FILE *f);

/* s as one word of the shell: in quotes where it needs them. */
char *lower_quote(const void *owner, const char *s);

#endif
