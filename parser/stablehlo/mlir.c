/* Reading MLIR text, and finding things in the tree. */
#include "parser/stablehlo/mlir.h"

struct mlir_file *
mlir_read(const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n)
{
	(void)owner;
	(void)ctx;
	(void)name;
	(void)text;
	(void)n;
	return NULL;
}
