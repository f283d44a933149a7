/*
 * Unique names. A table by the name's number has the value that owns it, the first with this name;
 * the few values that do not own their name, or have none, are in a map, with the name that is used
 * instead.
 */
#include "ir/names.h"

#include "ir/base/mix.h"
#include "ir/base/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

struct called {
	const struct ir_value *v;
	const char *name; /* NULL: its number */
	uint32_t number;
};

struct names {
	struct symbols owner; /* of a name the value; n: the last suffix that was tried */
	struct map map;
	struct VEC(struct called) called;
	uint32_t next; /* number */
	bool clash;    /* a name is carried by several values */
	bool unnamed;  /* a value has none */
	struct ir_context *ctx;
};

MAP_SAME(same_value, struct names, struct ir_value, list->called.at[i].v == key)

/* Do the arguments of a block have the names of the operands? So it is in a fuse. */
static bool
names_are_outside(const struct ir_block *b)
{
	return b->parent && b->parent->code == OP_fuse;
}

/* The value whose name v gets: for an argument of a fuse's body, the operand. */
static const struct ir_value *
names_origin(const struct ir_value *v)
{
	while (!v->op) {
		const struct ir_block *b = ir_value_block(v);
		if (!names_are_outside(b) || v->index >= b->parent->noperands)
			break;
		v = ir_operand(b->parent, (int)v->index);
	}
	return v;
}

static bool
names_claim(struct names *n, const char *name, const struct ir_value *v)
{
	struct symbol *s = symbol_of(&n->owner, name);

	if (!s->value)
		s->value = (void *)(uintptr_t)v;
	return s->value == v;
}

/* Finds another name for a value whose own is already used. */
static const char *
names_suffix(struct names *n, const struct ir_value *v)
{
	size_t room = strlen(v->name) + 12;
	char *text = NEW_ARRAY(NULL, char, room);
	const char *name;

	do {
		snprintf(text, room, "%s_%" PRIu32, v->name, ++symbol_of(&n->owner, v->name)->n);
		name = ir_name(n->ctx, text);
	} while (!names_claim(n, name, v));
	talloc_free(text);
	return name;
}

/* Does the value keep its own name? A look-up is needed only if names clash. */
static bool
names_owns(const struct names *n, const struct ir_value *v)
{
	return v->name && (!n->clash || symbol_known(&n->owner, v->name)->value == v);
}

/* Was the name seen before? Each has a bit. */
static bool
names_seen(unsigned char *seen, const char *name)
{
	const uint32_t number = name_number(name), bit = 1u << number % 8;
	const bool before = seen[number / 8] & bit;

	seen[number / 8] |= (unsigned char)bit;
	return before;
}

static void
names_look_at(struct names *n, unsigned char *seen, const struct ir_value *v)
{
	if (!v->name)
		n->unnamed = true;
	else if (names_seen(seen, v->name))
		n->clash = true;
}

/* Do names clash, or do values lack one? Usually not, and then no table is needed. */
static void
names_look(struct names *n, unsigned char *seen, const struct ir_block *b)
{
	for (uint32_t i = 0; i < b->nargs && !names_are_outside(b); i++)
		names_look_at(n, seen, &b->arg[i]);
	for (const struct ir_op *op = b->first; op && !n->clash; op = op->next) {
		for (int i = 0; i < op->nresults; i++)
			names_look_at(n, seen, &op->result[i]);
		if (op->body)
			names_look(n, seen, op->body);
	}
}

/* First round: the first value of a name keeps it. Second round (`rest`): others, and numbers. */
static void
names_add(struct names *n, const struct ir_value *v, bool rest)
{
	if (!rest) {
		if (v->name)
			names_claim(n, v->name, v);
		return;
	}
	if (names_owns(n, v))
		return;
	const char *name = v->name ? names_suffix(n, v) : NULL;
	map_add(n, &n->map, mix_pointer(v), same_value, n, v);
	VEC_PUSH(n, &n->called, (struct called){v, name, n->next});
	n->next += !name;
}

static void
names_add_block(struct names *n, const struct ir_block *b, bool rest)
{
	for (uint32_t i = 0; i < b->nargs && !names_are_outside(b); i++)
		names_add(n, &b->arg[i], rest);
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++)
			names_add(n, &op->result[i], rest);
		if (op->body)
			names_add_block(n, op->body, rest);
	}
}

struct names *
names_create(const void *owner, const struct ir_func *f)
{
	struct names *n = NEW(owner, struct names);

	n->owner = (struct symbols){.owner = n, .arena = arena_create(n)};
	n->ctx = f->module->ctx;
	unsigned char *seen = ARRAY_ZERO(n, unsigned char, n->ctx->intern->names / 8 + 1);
	names_look(n, seen, &f->body);
	array_free(seen);
	if (n->clash)
		names_add_block(n, &f->body, false);
	if (n->clash || n->unnamed)
		names_add_block(n, &f->body, true);
	return n;
}

const char *
names_find(const struct names *n, const struct ir_value *v, uint32_t *number)
{
	v = names_origin(v);
	if (names_owns(n, v))
		return v->name;
	const struct called *c = &n->called.at[map_find(&n->map, mix_pointer(v), same_value, n, v)];
	*number = c->number;
	return c->name;
}

char *
names_text(const void *owner, const struct names *n, const struct ir_value *v)
{
	uint32_t number = 0;
	const char *name = names_find(n, v, &number);

	return name ? TEXT(owner, "%%%s", name) : TEXT(owner, "%%%" PRIu32, number);
}
