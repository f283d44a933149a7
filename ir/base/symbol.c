/* See symbol.h. */
#include "ir/base/symbol.h"

#include "ir/base/arena.h"

struct symbol *
symbols_chunk(struct symbols *t, uint32_t number)
{
	while (t->chunk.n <= number / SYMBOLS_CHUNK)
		VEC_PUSH(t->owner, &t->chunk, NULL);
	struct symbol **chunk = &t->chunk.at[number / SYMBOLS_CHUNK];
	if (!*chunk)
		*chunk = ARENA_ARRAY(t->arena, struct symbol, SYMBOLS_CHUNK);
	return *chunk;
}

uint32_t
scope_open(struct symbols *t)
{
	const uint32_t outer = t->scope;

	t->scope = ++t->last_scope;
	return outer;
}

void
scope_close(struct symbols *t, uint32_t outer, int64_t undo)
{
	while (t->undo.n > undo) {
		const struct symbol_undo *u = &VEC_POP(&t->undo);
		*u->symbol = u->before;
	}
	t->scope = outer;
}
