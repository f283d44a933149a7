/* libFuzzer: any bytes are a .dir text: a module that verifies and prints as itself, or messages.
 */
#include "parser/parse.h"

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
check(struct ir_context *ctx, struct ir_module *m)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!ir_verify(m))
		abort();
	ir_print(out, m);
	fclose(out);
	struct ir_module *again = parse_module(ctx, ctx, "printed", text, n, NULL);
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
	struct ir_module *m = parse_module(ctx, ctx, "fuzz", (const char *)data, size, NULL);
	if (m)
		check(ctx, m);
	else if (diag_errors(ctx->diag) == errors)
		abort();
	talloc_free(m);
	return 0;
}
