/*
 * Unique names. One hash table holds two kinds of keys: names, with the value that owns each, and
 * the values that do not own the name they carry, with what they are called instead. So a value
 * with a name of its own, nearly every one, costs one entry and one look-up.
 */
#include "ir/names.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

struct name_entry {
	const void *key; /* an interned name or a value */
	union {
		const struct ir_value *owner; /* of a name */
		const char *called;           /* a value: its name, NULL: its number */
	};
	uint32_t number; /* a value's number; of a name, the last suffix that was tried */
};

struct names {
	struct map map;
	struct VEC(struct name_entry) entry;
	uint32_t next; /* number */
	bool clash;    /* a name is carried by several values */
	struct ir_context *ctx;
};

static bool
same_key(const void *list, uint32_t i, const void *key)
{
	const struct names *n = list;

	return n->entry.at[i].key == key;
}

static struct name_entry *
names_entry(const struct names *n, const void *key)
{
	const uint32_t i = map_find(&n->map, mix_pointer(key), same_key, n, key);

	return i == MAP_NONE ? NULL : &n->entry.at[i];
}

/* An entry for one more key. */
static void
names_insert(struct names *n, struct name_entry entry)
{
	map_add(n, &n->map, mix_pointer(entry.key), same_key, n, entry.key);
	VEC_PUSH(n, &n->entry, entry);
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
	const struct name_entry *taken = names_entry(n, name);

	if (taken) {
		n->clash |= taken->owner != v;
		return taken->owner == v;
	}
	names_insert(n, (struct name_entry){.key = name, .owner = v});
	return true;
}

/* Finds another name for a value whose own is taken. */
static const char *
names_suffix(struct names *n, const struct ir_value *v)
{
	size_t room = strlen(v->name) + 12;
	char *text = NEW_ARRAY(NULL, char, room);
	const char *name;

	do {
		snprintf(text, room, "%s_%" PRIu32, v->name, ++names_entry(n, v->name)->number);
		name = ir_name(n->ctx, text);
	} while (!names_claim(n, name, v));
	talloc_free(text);
	return name;
}

/* Is it called by the name that it carries? Only where names clash is there a need to look. */
static bool
names_owns(const struct names *n, const struct ir_value *v)
{
	return v->name && (!n->clash || names_entry(n, v->name)->owner == v);
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
	names_insert(n, (struct name_entry){.key = v, .called = called, .number = n->next});
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
	struct names *n = NEW(owner, struct names);

	VEC_ROOM(n, &n->entry, (int64_t)count_values(&f->body));
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
	const struct name_entry *entry = names_entry(n, v);
	*number = entry->number;
	return entry->called;
}
