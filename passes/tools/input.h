/* The input file and its parts. */
#ifndef PASSES_TOOLS_INPUT_H
#define PASSES_TOOLS_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct driver_input {
	const char *name, *text; /* name as in messages; the text is followed by two zeros */
	size_t length;
};

/* Reads a file, or standard input for "-". Reports errors on stderr and returns false. */
bool driver_input_read(const void *owner, struct driver_input *in, const char *path);

/* The type of a binary input, by its first bytes: "a safetensors file"; NULL: it may be text. */
const char *driver_input_binary(const struct driver_input *in);

/*
 * The next part of the text, up to a line `// -----`, as an input of its own in which every line
 * keeps its number. *at starts at 0; false after the last part.
 */
bool driver_input_part(
	const void *owner, const struct driver_input *in, size_t *at, struct driver_input *part);

#endif
