/* The context: interned names and types, the reporter, the parsed op table. */
#include "ir/ir.h"

#include "ir/base/array.h"
#include "ir/base/intern.h"
#include "ir/ops/form.h"
#include "ir/ops/row.h"

#include <string.h>
#include <talloc.h>

enum { INTERN_FIRST_SIZE = 256 }; /* names of a small module; doubled when half full */

struct ir_context *
ir_context_create(const void *owner)
{
	struct ir_context *ctx = talloc_zero(owner, struct ir_context);

	if (!ctx)
		out_of_memory();
	ctx->arena = arena_create(ctx);
	ctx->diag = diag_create(ctx);
	ctx->intern = ARENA_NEW(ctx->arena, struct ir_intern);
	ctx->row = ir_rows_parse(ctx);
	ctx->derivative = fn_parse_derivatives(ctx);
	return ctx;
}

/* Two rounds, as low bits of a product know nothing of the high bits of its factors. */
static uint64_t
hash_mix(uint64_t hash)
{
	hash *= UINT64_C(0x9E3779B97F4A7C15);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xD6E8FEB86659FD93);
	return hash ^ hash >> 32;
}

uint64_t
intern_hash(uint64_t hash, const void *bytes, size_t n)
{
	const char *p = bytes;
	uint64_t word;

	for (hash ^= n; n >= sizeof word; n -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		hash = hash_mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, p, n);
	return hash_mix(hash ^ word);
}

static void
intern_grow(const void *owner, struct intern_table *t)
{
	struct intern_table bigger = {
		.size = t->size ? t->size * 2 : INTERN_FIRST_SIZE, .used = t->used};

	bigger.slot = ARRAY_ZERO(owner, struct intern_slot, bigger.size);
	for (size_t i = 0; i < t->size; i++) {
		if (!t->slot[i].item)
			continue;
		size_t at = t->slot[i].hash & (bigger.size - 1);
		while (bigger.slot[at].item)
			at = (at + 1) & (bigger.size - 1);
		bigger.slot[at] = t->slot[i];
	}
	array_free(t->slot);
	*t = bigger;
}

struct intern_slot *
intern_find(const void *owner, struct intern_table *t, uint64_t hash, intern_equal *equal,
	const void *key, size_t n)
{
	if (t->used * 2 >= t->size)
		intern_grow(owner, t);
	size_t at = hash & (t->size - 1);
	while (t->slot[at].item && !(t->slot[at].hash == hash && equal(t->slot[at].item, key, n)))
		at = (at + 1) & (t->size - 1);
	return &t->slot[at];
}

static bool
name_equal(const void *item, const void *key, size_t n)
{
	const char *name = item;

	return strncmp(name, key, n) == 0 && name[n] == '\0';
}

const char *
ir_name_n(struct ir_context *ctx, const char *s, size_t n)
{
	uint64_t hash = intern_hash(INTERN_SEED, s, n);
	struct intern_table *t = &ctx->intern->names;
	struct intern_slot *slot = intern_find(ctx, t, hash, name_equal, s, n);

	if (!slot->item) {
		*slot = (struct intern_slot){hash, arena_strndup(ctx->arena, s, n)};
		t->used++;
	}
	return slot->item;
}

const char *
ir_name(struct ir_context *ctx, const char *s)
{
	return ir_name_n(ctx, s, strlen(s));
}
