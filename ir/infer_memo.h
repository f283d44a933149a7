/*
 * Recent results of inference, for infer.c: layers repeat, so most ops are like an earlier one. The
 * type of a result follows from the op code, the types of the operands, the attributes and the
 * written type; these are the key. Only successful results are kept. The verifier starts with an
 * empty memo, so what it accepts does not depend on earlier inference.
 */
#ifndef IR_INFER_MEMO_H
#define IR_INFER_MEMO_H

#include "ir/ir.h"

enum {
	INFER_KEY_WORDS = 24, /* of an op of three operands with two short lists */
	INFER_MEMO = 256,     /* entries: a model has some dozens of different ops */
	INFER_WAYS = 4, /* of them for each hash: with one, ops with equal hashes would evict each
				 other, and addresses decide whether a pass takes a fifth longer */
};

struct infer_key {
	uint64_t word[INFER_KEY_WORDS];
	uint64_t hash; /* of the words */
	unsigned n;    /* 0: the op cannot be looked up */
};

/* Entries without words are unused, and not initialized: many modules are small. */
struct infer_memo {
	uint8_t nwords[INFER_MEMO];
	struct infer_entry {
		uint64_t word[INFER_KEY_WORDS];
		const struct ir_type *type;
	} entry[INFER_MEMO];
};

struct infer_memo *infer_memo_create(const void *owner);

/* The key of an op with one result. */
void infer_key_make(struct infer_key *key, const struct ir_op *op, const struct ir_type *written);
/* The type of its result, or NULL if it is not known. */
const struct ir_type *infer_recall(const struct ir_module *m, const struct infer_key *key);
void infer_remember(struct ir_module *m, const struct infer_key *key, const struct ir_type *type);
/* Makes the memo empty. */
void infer_forget(struct ir_module *m);

#endif
