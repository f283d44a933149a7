/* A table of types by their keys; among entries with one hash, the oldest is replaced. */
#include "ir/infer_memo.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"

#include <string.h>

static void
key_add(struct infer_key *key, uint64_t word)
{
	if (key->n < INFER_KEY_WORDS)
		key->word[key->n] = word;
	key->n++;
	key->hash = mix_word(key->hash, word);
}

static void
key_add_attr(struct infer_key *key, const struct ir_attr *a)
{
	key_add(key, (uintptr_t)a->key);
	key_add(key, (uint64_t)a->kind << 16 | a->n);
	if (a->kind == ATTR_LIST) {
		for (int i = 0; i < a->n && key->n < INFER_KEY_WORDS; i++)
			key_add(key, (uint64_t)a->list[i].i);
		return;
	}
	/* Integers, floats and pointers to interned text share the same eight bytes. */
	key_add(key, (uint64_t)a->i);
}

/* Only lists of integers can be in a key. */
static bool
attrs_are_plain(const struct ir_op *op)
{
	for (int i = 0; i < op->nattrs; i++) {
		const struct ir_attr *a = &op->attr[i];
		for (int j = 0; a->kind == ATTR_LIST && j < a->n; j++)
			if (a->list[j].kind != ATTR_INT)
				return false;
		if (a->kind == ATTR_SIZE || a->kind == ATTR_NAME)
			return false;
	}
	return true;
}

void
infer_key_make(struct infer_key *key, const struct ir_op *op, const struct ir_type *written)
{
	key->n = 0;
	key->hash = 0;
	if (!attrs_are_plain(op))
		return;
	key_add(key, (uint64_t)op->code << 32 | (uint64_t)op->noperands << 16 | op->nattrs);
	key_add(key, (uintptr_t)written);
	for (int i = 0; i < op->noperands && key->n < INFER_KEY_WORDS; i++)
		key_add(key, (uintptr_t)ir_operand_type(op, i));
	for (int i = 0; i < op->nattrs && key->n < INFER_KEY_WORDS; i++)
		key_add_attr(key, &op->attr[i]);
	if (key->n >= INFER_KEY_WORDS)
		key->n = 0;
}

/* The first entry that the key may have. */
static unsigned
place_of(const struct infer_key *key)
{
	return key->hash % (INFER_MEMO / INFER_WAYS) * INFER_WAYS;
}

static bool
has_key(const struct infer_memo *memo, unsigned at, const struct infer_key *key)
{
	return memo->nwords[at] == key->n &&
	       memcmp(memo->entry[at].word, key->word, key->n * sizeof *key->word) == 0;
}

const struct ir_type *
infer_recall(const struct ir_module *m, const struct infer_key *key)
{
	const unsigned at = place_of(key);

	for (unsigned i = at; key->n && i < at + INFER_WAYS; i++)
		if (has_key(m->memo, i, key))
			return m->memo->entry[i].type;
	return NULL;
}

void
infer_remember(struct ir_module *m, const struct infer_key *key, const struct ir_type *type)
{
	const unsigned at = place_of(key);
	struct infer_entry *e = &m->memo->entry[at];
	uint8_t *nwords = &m->memo->nwords[at];

	if (!key->n)
		return;
	for (int i = INFER_WAYS - 1; i > 0; i--)
		if (nwords[i - 1])
			e[i] = e[i - 1];
	memmove(nwords + 1, nwords, INFER_WAYS - 1);
	*nwords = (uint8_t)key->n;
	memcpy(e->word, key->word, key->n * sizeof *key->word);
	e->type = type;
}

void
infer_forget(struct ir_module *m)
{
	memset(m->memo->nwords, 0, sizeof m->memo->nwords);
}

struct infer_memo *
infer_memo_create(const void *owner)
{
	struct infer_memo *memo = NEW_ARRAY(owner, struct infer_memo, 1);

	memset(memo->nwords, 0, sizeof memo->nwords);
	return memo;
}
