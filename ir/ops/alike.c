/* A map by the keys of inference: ir/infer_memo.h. */
#include "ir/ops/alike.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/infer_memo.h"

#include <string.h>

struct alike {
	struct map map;
	struct VEC(struct infer_key) key;
};

struct alike *
alike_create(const void *owner)
{
	return NEW(owner, struct alike);
}

static bool
same_key(const void *list, uint32_t i, const void *key)
{
	const struct infer_key *a = &((const struct alike *)list)->key.at[i], *b = key;

	return a->n == b->n && memcmp(a->word, b->word, a->n * sizeof *a->word) == 0;
}

uint32_t
alike_number(struct alike *a, const struct ir_op *op, bool *fresh)
{
	struct infer_key key;

	*fresh = false;
	if (op->body || op->nresults != 1)
		return ALIKE_NONE;
	infer_key_make(&key, op, op->result[0].type);
	if (!key.n)
		return ALIKE_NONE;
	const uint64_t hash = mix_bytes(0, key.word, key.n * sizeof *key.word);
	const uint32_t number = map_add(a, &a->map, hash, same_key, a, &key);
	*fresh = number == a->key.n;
	if (*fresh)
		VEC_PUSH(a, &a->key, key);
	return number;
}
