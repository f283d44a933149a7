/* libFuzzer: any bytes are a StableHLO text that is read, or messages; what is read prints and
 * reads again. */
#include "parser/stablehlo/mlir_print.h"

#include <stdlib.h>
#include <talloc.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CONTEXT_LIFE = 200
}; /* texts that a context sees: making one takes longer than a small text */

static void
ignore(void *data, const struct diag_message *m)
{
	(void)data;
	(void)m;
}

static void
check(struct ir_context *ctx, const struct mlir_file *f)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	mlir_print(out, f);
	fclose(out);
	struct mlir_file *again = mlir_read(ctx, ctx, "printed", text, n);
	if (!again)
		abort();
	talloc_free(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ir_context *ctx;
	static int texts;

	if (texts++ % CONTEXT_LIFE == 0) {
		talloc_free(ctx);
		ctx = ir_context_create(NULL);
		diag_set_handler(ctx->diag, ignore, NULL);
	}
	unsigned errors = diag_errors(ctx->diag);
	mlir_is_text((const char *)data, size);
	struct mlir_file *f = mlir_read(ctx, ctx, "fuzz", (const char *)data, size);
	if (f)
		check(ctx, f);
	else if (diag_errors(ctx->diag) == errors)
		abort();
	talloc_free(f);
	return 0;
}
