/* A module from a file, for benchmarks. */
#ifndef TEST_BENCH_MODULE_H
#define TEST_BENCH_MODULE_H

#include "parser/dir/parse.h"
#include "test/file.h"

/* NULL where it cannot be read, which is reported but for a file that is not there. */
static inline struct ir_module *
read_module(struct ir_context *ctx, const char *path)
{
	size_t n;
	char *text = read_file(ctx, path, &n);
	return text ? parse_module(ctx, ctx, path, text, n, NULL) : NULL;
}

#endif
