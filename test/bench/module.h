/* A module from a file, for benchmarks. */
#ifndef TEST_BENCH_MODULE_H
#define TEST_BENCH_MODULE_H

#include "parser/dir/parse.h"

#include <stdio.h>
#include <talloc.h>

/* NULL where it cannot be read, which is reported but for a file that is not there. */
static inline struct ir_module *
read_module(struct ir_context *ctx, const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	char *text = talloc_size(ctx, n + 1);
	rewind(f);
	n = fread(text, 1, n, f);
	text[n] = 0;
	fclose(f);
	return parse_module(ctx, ctx, path, text, n, NULL);
}

#endif
