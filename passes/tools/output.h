/* Files that a tool writes: there whole or not at all. */
#ifndef PASSES_TOOLS_OUTPUT_H
#define PASSES_TOOLS_OUTPUT_H

#include "runtime/data/write_file.h"

#include <stdbool.h>
#include <stdio.h>

/* A file being written, which is there whole or not at all; or stdout. */
struct driver_output {
	FILE *file;
	const char *path;
	struct rt_write out; /* where it is not stdout */
};

/* Opens `path` for writing (NULL or "-": stdout). Says on stderr why not and returns false. */
bool driver_output_open(struct driver_output *o, const char *path);

/* Ends writing and gives the file its name; says on stderr what failed and returns false. */
bool driver_output_close(struct driver_output *o);

/* Ends writing and removes what was written. */
void driver_output_discard(struct driver_output *o);

/* Has all that was printed reached stdout? Says on stderr why not and returns false. */
bool driver_stdout_flush(void);

#endif
