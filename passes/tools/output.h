/* Output files of a tool, written atomically. */
#ifndef PASSES_TOOLS_OUTPUT_H
#define PASSES_TOOLS_OUTPUT_H

#include "runtime/data/write_file.h"

#include <stdbool.h>
#include <stdio.h>

/* A file being written, which appears complete or not at all; or stdout. */
struct driver_output {
	FILE *file;
	const char *path;
	struct rt_write out; /* unless it is stdout */
};

/* Opens `path` for writing (NULL or "-": stdout). Reports errors on stderr and returns false. */
bool driver_output_open(struct driver_output *o, const char *path);

/* Ends writing and renames the file into place; reports errors on stderr and returns false. */
bool driver_output_close(struct driver_output *o);

/* Ends writing and removes the file. */
void driver_output_discard(struct driver_output *o);

/* Has all output reached stdout? Reports errors on stderr and returns false. */
bool driver_stdout_flush(void);

#endif
