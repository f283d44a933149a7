/*
 * What names mean while a text or a function is read: a symbol for each name, found by the
 * name's number, so that no hash is needed and names of one text are adjacent. A scope is a number:
 * opening one hides all values, and closing it restores what names meant before.
 */
#ifndef IR_SYMBOL_H
#define IR_SYMBOL_H

#include "ir/base/intern.h"

#include <stdbool.h>

struct arena;

struct symbol {
	void *value;
	uint32_t scope; /* in which `value` is defined; 0: none */
	uint32_t n;     /* for the caller: a number of values, the last suffix */
};

struct symbol_undo {
	struct symbol *symbol, before;
};

/* Empty if zeroed, except for the first two. */
struct symbols {
	const void *owner; /* of the lists */
	struct arena *arena;
	struct VEC(struct symbol *) chunk; /* NULL: none of its names was looked up yet */
	struct VEC(struct symbol_undo) undo;
	uint32_t scope, last_scope;
};

enum { SYMBOLS_CHUNK = 256 }; /* symbols allocated together */

/* Allocates the chunk of symbols that contains that number. */
struct symbol *symbols_chunk(struct symbols *t, uint32_t number);

/* The symbol of an interned name; its address does not change. */
static inline struct symbol *
symbol_of(struct symbols *t, const char *name)
{
	const uint32_t number = name_number(name), at = number / SYMBOLS_CHUNK;
	struct symbol *chunk = at < t->chunk.n ? t->chunk.at[at] : NULL;

	return (chunk ? chunk : symbols_chunk(t, number)) + number % SYMBOLS_CHUNK;
}

/* The same for a symbol that is known to exist. */
static inline const struct symbol *
symbol_known(const struct symbols *t, const char *name)
{
	const uint32_t number = name_number(name);

	return &t->chunk.at[number / SYMBOLS_CHUNK][number % SYMBOLS_CHUNK];
}

/* Opens a scope; it must be closed with what was returned, and the length of the undo list. */
uint32_t scope_open(struct symbols *t);
void scope_close(struct symbols *t, uint32_t outer, int64_t undo);

/* Binds the name in the current scope; `inner`: closing the scope restores its former meaning. */
static inline void
symbol_bind(struct symbols *t, struct symbol *s, void *value, uint32_t n, bool inner)
{
	if (inner)
		VEC_PUSH(t->owner, &t->undo, (struct symbol_undo){s, *s});
	*s = (struct symbol){value, t->scope, n};
}

#endif
