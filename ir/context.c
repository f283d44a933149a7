/* The context: interned names and types, the reporter, the parsed op table. */
#include "ir/ir.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/intern.h"
#include "ir/ops/form.h"
#include "ir/ops/row.h"

#include <string.h>

struct ir_context *
ir_context_create(const void *owner)
{
	struct ir_context *ctx = NEW(owner, struct ir_context);

	ctx->arena = arena_create(ctx);
	ctx->diag = diag_create(ctx);
	ctx->intern = ARENA_NEW(ctx->arena, struct ir_intern);
	ctx->row = ir_rows_parse(ctx);
	ctx->derivative = fn_parse_derivatives(ctx);
	return ctx;
}

struct text {
	const char *text;
	size_t n;
};

static bool
same_name(const void *list, uint32_t i, const void *key)
{
	const struct intern_table *names = list;
	const struct text *t = key;
	const char *name = names->item.at[i];

	return strncmp(name, t->text, t->n) == 0 && name[t->n] == '\0';
}

const char *
ir_name_n(struct ir_context *ctx, const char *s, size_t n)
{
	struct intern_table *t = &ctx->intern->names;
	const uint32_t i =
		map_add(ctx, &t->map, mix_bytes(0, s, n), same_name, t, &(struct text){s, n});

	if (i == t->item.n)
		VEC_PUSH(ctx, &t->item, arena_strndup(ctx->arena, s, n));
	return t->item.at[i];
}

const char *
ir_name(struct ir_context *ctx, const char *s)
{
	return ir_name_n(ctx, s, strlen(s));
}
