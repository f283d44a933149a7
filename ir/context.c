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
	for (int code = 0; code < OP_NCODES; code++)
		ir_name(ctx, op_name((enum op_code)code));
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
	const struct ir_intern *names = list;
	const struct text *t = key;
	const char *name = names->name.at[i];

	return name_length(name) == t->n && memcmp(name, t->text, t->n) == 0;
}

const char *
name_intern(struct ir_context *ctx, const char *s, size_t n, uint64_t hash)
{
	struct ir_intern *t = ctx->intern;
	const uint32_t i = map_add(ctx, &t->name_map, hash, same_name, t, &(struct text){s, n});

	if (i == t->name.n) {
		struct name_head *head = arena_alloc(ctx->arena, sizeof *head + n + 1);
		*head = (struct name_head){i, (uint32_t)n};
		memcpy(head + 1, s, n);
		VEC_PUSH(ctx, &t->name, (const char *)(head + 1));
	}
	return t->name.at[i];
}

const char *
ir_name_n(struct ir_context *ctx, const char *s, size_t n)
{
	return name_intern(ctx, s, n, mix_text(s, n));
}

const char *
ir_name(struct ir_context *ctx, const char *s)
{
	return ir_name_n(ctx, s, strlen(s));
}
