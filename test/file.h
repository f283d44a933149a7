/* Whole files as text, for tests and benchmarks. */
#ifndef TEST_FILE_H
#define TEST_FILE_H

#include <stdio.h>
#include <talloc.h>

/*
 * The file, owned by `owner`, with two NULs behind it; its length goes to *length, which may be NULL.
 * NULL: it cannot be read.
 */
static inline char *
read_file(const void *owner, const char *path, size_t *length)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END))
		return NULL;
	char *text = talloc_size(owner, (size_t)ftell(f) + 2);
	rewind(f);
	const size_t n = fread(text, 1, talloc_get_size(text) - 2, f);
	text[n] = text[n + 1] = '\0';
	fclose(f);
	if (length)
		*length = n;
	return text;
}

#endif
