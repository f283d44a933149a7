/* Files, folders and command lines of the lowering. All functions report their failures. */
#ifndef LOWER_BUILD_H
#define LOWER_BUILD_H

#include "ir/base/diag.h"

#include <stdbool.h>
#include <stdio.h>

/* The name of the linked program in the folder of its sources, until it gets its final name. */
#define LOWER_PROGRAM "program"

/* Where the headers and the runtime library are: in the build tree, or as installed. */
char *lower_include_dir(const void *owner);
char *lower_lib_dir(const void *owner);

/* Creates a folder if it does not exist. */
bool lower_make_dir(struct diag *d, const char *path);

/* Opens folder/name for writing; NULL after a report. */
FILE *lower_open(struct diag *d, const char *folder, const char *name);

/* Closes the file; false, after a report, if not all of it was written. */
bool lower_close(struct diag *d, const char *folder, const char *name, FILE *f);

/* s as one word of the shell, quoted where necessary. */
char *lower_quote(const void *owner, const char *s);

#endif
