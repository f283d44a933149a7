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
	ctx->intern = NEW(ctx, struct ir_intern);
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

/* The head of the name that begins at this unit. */
static struct name_head *
name_at(const struct ir_intern *t, uint32_t units)
{
	return t->page.at[units / NAME_PAGE] + units % NAME_PAGE;
}

static bool
is_text(const char *name, const char *s, size_t n)
{
	return name_length(name) == n && text_equal(name, s, n);
}

static bool
same_name(const void *list, uint32_t units, const void *key)
{
	const struct text *t = key;

	return is_text((const char *)(name_at(list, units) + 1), t->text, t->n);
}

/* Allocates units contiguously; returns the first. If they do not fit into the current page, the
 * rest of that page stays unused. */
static uint32_t
name_room(struct ir_context *ctx, size_t units)
{
	struct ir_intern *t = ctx->intern;

	if (t->units % NAME_PAGE == 0 || t->units % NAME_PAGE + units > NAME_PAGE) {
		const size_t pages = (units + NAME_PAGE - 1) / NAME_PAGE;
		if (pages > UINT32_MAX / NAME_PAGE - (size_t)t->page.n)
			out_of_memory_for(units, NAME_UNIT, "names");
		struct name_head *room = ARRAY_NEW(ctx, struct name_head, pages * NAME_PAGE);
		t->units = (uint32_t)t->page.n * NAME_PAGE;
		for (size_t i = 0; i < pages; i++)
			VEC_PUSH(ctx, &t->page, room + i * NAME_PAGE);
	}
	const uint32_t at = t->units;
	t->units += (uint32_t)units;
	return at;
}

static uint32_t
name_add(struct ir_context *ctx, const char *s, size_t n)
{
	struct ir_intern *t = ctx->intern;
	const uint32_t at = name_room(ctx, 1 + n / NAME_UNIT + 1);
	struct name_head *head = name_at(t, at);

	*head = (struct name_head){t->names++, (uint32_t)n};
	memset(head + 1 + n / NAME_UNIT, 0, NAME_UNIT);
	memcpy(head + 1, s, n);
	return at;
}

const char *
name_intern(struct ir_context *ctx, const char *s, size_t n, uint64_t hash)
{
	struct ir_intern *t = ctx->intern;
	struct name_recent *recent = &t->recent[hash % NAME_RECENT];

	if (recent->hash == (uint32_t)hash && recent->name && is_text(recent->name, s, n))
		return recent->name;
	struct map_slot *slot =
		map_slot_for(ctx, &t->name_map, hash, same_name, t, &(struct text){s, n});
	if (!slot->number)
		map_fill(&t->name_map, slot, hash, name_add(ctx, s, n));
	const char *name = (const char *)(name_at(t, slot->number - 1) + 1);
	*recent = (struct name_recent){(uint32_t)hash, name};
	return name;
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
