/*
 * Unique names. One hash table holds two kinds of keys: names, with the value that owns each, and
 * the values that do not own the name they carry, with what they are called instead. So a value
 * with a name of its own, nearly every one, costs one entry and one look-up.
 */
#include "ir/names.h"

#include "ir/base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

struct name_slot {
	const void *key; /* an interned name or a value; NULL: free */
	union {
		const struct ir_value *owner; /* of a name */
		const char *called;           /* a value: its name, NULL: its number */
	};
	uint32_t number; /* a value's number; of a name, the last suffix that was tried */
};

struct names {
	struct name_slot *slot; /* a power of two of them, at most three quarters used */
	size_t mask, used;
	uint32_t next; /* number */
	bool clash;    /* a name is carried by several values */
	struct ir_context *ctx;
};

static struct name_slot *
names_slot(const struct names *n, const void *key)
{
	size_t at = (((uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & n->mask;

	while (n->slot[at].key && n->slot[at].key != key)
		at = (at + 1) & n->mask;
	return &n->slot[at];
}

/* A slot for one more key. */
static void
names_insert(struct names *n, struct name_slot entry)
{
	if (4 * (n->used + 1) > 3 * (n->mask + 1)) {
		struct name_slot *old = n->slot;
		size_t size = n->mask + 1;
		n->slot = ARRAY_ZERO(n, struct name_slot, 2 * size);
		n->mask = 2 * size - 1;
		for (size_t i = 0; i < size; i++)
			if (old[i].key)
				*names_slot(n, old[i].key) = old[i];
		array_free(old);
	}
	*names_slot(n, entry.key) = entry;
	n->used++;
}

/* The value that it is called after: of an argument of a fuse's body, the operand. */
static const struct ir_value *
names_origin(const struct ir_value *v)
{
	while (!v->op && v->block && v->block->parent &&
		(int)v->index < v->block->parent->noperands)
		v = ir_operand(v->block->parent, (int)v->index);
	return v;
}

static bool
names_claim(struct names *n, const char *name, const struct ir_value *v)
{
	struct name_slot *slot = names_slot(n, name);

	if (slot->key) {
		n->clash |= slot->owner != v;
		return slot->owner == v;
	}
	names_insert(n, (struct name_slot){.key = name, .owner = v});
	return true;
}

/* Finds another name for a value whose own is taken. */
static const char *
names_suffix(struct names *n, const struct ir_value *v)
{
	size_t room = strlen(v->name) + 12;
	char *text = talloc_size(NULL, room);
	const char *name;

	if (!text)
		out_of_memory();
	do {
		snprintf(text, room, "%s_%" PRIu32, v->name, ++names_slot(n, v->name)->number);
		name = ir_name(n->ctx, text);
	} while (!names_claim(n, name, v));
	talloc_free(text);
	return name;
}

/* Is it called by the name that it carries? Only where names clash is there a need to look. */
static bool
names_owns(const struct names *n, const struct ir_value *v)
{
	return v->name && (!n->clash || names_slot(n, v->name)->owner == v);
}

/* First round: who comes first has the name. Second round (`rest`): the others, and numbers. */
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
	const char *called = v->name ? names_suffix(n, v) : NULL;
	names_insert(n, (struct name_slot){.key = v, .called = called, .number = n->next});
	n->next += !called;
}

static void
names_add_block(struct names *n, const struct ir_block *b, bool rest)
{
	for (uint32_t i = 0; i < b->nargs && !b->parent; i++)
		names_add(n, &b->arg[i], rest);
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++)
			names_add(n, &op->result[i], rest);
		if (op->body)
			names_add_block(n, op->body, rest);
	}
}

static size_t
count_values(const struct ir_block *b)
{
	size_t n = b->nargs;

	IR_FOR_OPS (op, b)
		n += op->nresults + (op->body ? count_values(op->body) : 0);
	return n;
}

struct names *
names_create(const void *owner, const struct ir_func *f)
{
	struct names *n = talloc_zero(owner, struct names);
	size_t slots = 16, values = count_values(&f->body);

	while (3 * slots < 4 * values)
		slots *= 2;
	if (!n)
		out_of_memory();
	n->slot = ARRAY_ZERO(n, struct name_slot, slots);
	n->mask = slots - 1;
	n->ctx = f->module->ctx;
	names_add_block(n, &f->body, false);
	names_add_block(n, &f->body, true);
	return n;
}

const char *
names_find(const struct names *n, const struct ir_value *v, uint32_t *number)
{
	v = names_origin(v);
	if (names_owns(n, v))
		return v->name;
	const struct name_slot *slot = names_slot(n, v);
	*number = slot->number;
	return slot->called;
}
