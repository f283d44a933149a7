/* A map from the compared properties, as a list of words, to numbers: see alike.h. */
#include "ir/ops/alike.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

enum {
	LONG_LIST =
		64 /* an attribute with more items is like no other: the elements of a literal */
};

/* Words of one number: word[begin] ... word[begin + n - 1]. */
struct key {
	int64_t begin, n;
};

/* Lists of words and their numbers. */
struct keys {
	struct map map;
	struct VEC(struct key) key;
	struct VEC(uint64_t) word;
};

struct mesh {
	const struct ir_context *ctx;
	int naxes;
	const struct ir_axis *axis;
};

struct alike_memo {
	struct keys keys;
	struct VEC(struct mesh) mesh;
	struct VEC(uint32_t) local; /* by common number: 1 + that of the last module; 0: none */
	uint64_t lone;              /* lists that are like no other */
};

struct build {
	struct alike *a;
	alike_word *word_of; /* NULL: none */
	void *data;
	const struct ir_module *m;
	uint32_t from, nids; /* only ops with ids from `nids` on get numbers, from `from` on */
	struct alike_memo *memo;
	bool shared;   /* the memo is also that of other modules */
	uint64_t mesh; /* of the module, in the memo */
	struct VEC(const struct ir_op *) first;
	struct VEC(uint32_t) common; /* by number: that in the memo */
	uint32_t *position;          /* by op->id: in its body */
};

static void
add(struct build *b, uint64_t word)
{
	VEC_PUSH(b->memo, &b->memo->keys.word, word);
}

static void
add_attr(struct build *b, const struct ir_attr *a)
{
	add(b, (uintptr_t)a->key);
	add(b, (uint64_t)a->kind << 16 | a->n);
	/* Integers, floats and pointers to interned text are in the same eight bytes. */
	if (a->kind != ATTR_LIST || a->n > LONG_LIST) {
		/* In another module, another list may have the same address. */
		add(b, a->kind == ATTR_LIST && b->shared ? b->memo->lone++ : (uint64_t)a->i);
		return;
	}
	for (int i = 0; i < a->n; i++)
		add_attr(b, &a->list[i]);
}

/* The number of an op that was looked at, as words have it. */
static uint64_t
word_of_op(const struct build *b, const struct ir_op *op)
{
	return b->common.at[b->a->number[op->id]];
}

/* The type of an operand, and the number of the constant that it is. */
static void
add_operand(struct build *b, const struct ir_value *v)
{
	const struct ir_op *maker = ir_value_outside(v)->op;

	if (maker && maker->code == OP_constant) {
		add(b, (uintptr_t)v->type | 1);
		add(b, word_of_op(b, maker));
	} else {
		add(b, (uintptr_t)v->type);
	}
}

/* The producer of the value in the body, or the number of the argument. */
static uint64_t
source_of(const struct build *b, const struct ir_value *v)
{
	return v->op ? (uint64_t)b->position[v->op->id] << 32 | v->index << 1 | 1
		     : (uint64_t)v->index << 1;
}

/* Ops of a body by their numbers, and what each reads. */
static void
add_body(struct build *b, const struct ir_block *body)
{
	uint32_t n = 0;

	IR_FOR_OPS (op, body) {
		b->position[op->id] = n++;
		add(b, word_of_op(b, op));
		for (int j = 0; j < op->noperands; j++)
			add(b, source_of(b, ir_operand(op, j)));
	}
}

static void
add_op(struct build *b, const struct ir_op *op)
{
	add(b, (uint64_t)op->code << 48 | (uint64_t)op->noperands << 32 |
			(uint64_t)op->nresults << 16 | op->nattrs);
	for (int j = 0; j < op->noperands; j++)
		add_operand(b, ir_operand(op, j));
	for (int r = 0; r < op->nresults; r++)
		add(b, (uintptr_t)op->result[r].type);
	for (int i = 0; i < op->nattrs; i++)
		add_attr(b, &op->attr[i]);
	if (b->word_of)
		add(b, b->word_of(b->data, op));
	const uint64_t context = b->a->context ? b->a->context(b->m, op) : 0;
	if (context)
		add(b, context);
	add(b, b->mesh);
	if (op->body)
		add_body(b, op->body);
}

static bool
same_words(const void *list, uint32_t i, const void *key)
{
	const struct keys *k = list;
	const struct key *x = &k->key.at[i], *y = key;

	return x->n == y->n && memcmp(k->word.at + x->begin, k->word.at + y->begin,
				       (size_t)x->n * sizeof *k->word.at) == 0;
}

/* The number of the words from `begin` on; they are kept if they are new. */
static uint32_t
number_of_words(const void *owner, struct keys *k, int64_t begin)
{
	const struct key key = {begin, k->word.n - begin};
	const uint64_t hash = mix_bytes(0, k->word.at + begin, (size_t)key.n * sizeof *k->word.at);
	const uint32_t number = map_add(owner, &k->map, hash, same_words, k, &key);

	if (number == k->key.n)
		VEC_PUSH(owner, &k->key, key);
	else
		k->word.n = begin;
	return number;
}

/* The number of an op whose words start at `begin`. */
static uint32_t
number_of(struct build *b, const struct ir_op *op, int64_t begin)
{
	struct alike_memo *memo = b->memo;
	const uint32_t number = number_of_words(memo, &memo->keys, begin);

	if (number == memo->local.n)
		VEC_PUSH(memo, &memo->local, 0);
	if (!memo->local.at[number]) {
		VEC_PUSH(b, &b->first, op);
		VEC_PUSH(b, &b->common, number);
		memo->local.at[number] = (uint32_t)b->common.n;
	}
	return memo->local.at[number] - 1;
}

static void
number_block(struct build *b, const struct ir_block *block)
{
	IR_FOR_OPS (op, block) {
		if (op->id < b->nids)
			continue;
		if (op->body)
			number_block(b, op->body);
		const int64_t begin = b->memo->keys.word.n;
		add_op(b, op);
		b->a->number[op->id] = number_of(b, op, begin);
	}
}

bool
alike_axis(const struct ir_axis *a, const struct ir_axis *b)
{
	return a->size == b->size && a->time == b->time && !a->stage && !b->stage;
}

static bool
is_mesh_of(const struct mesh *k, const struct ir_module *m)
{
	bool same = k->ctx == m->ctx && k->naxes == m->naxes;

	for (int i = 0; same && i < m->naxes; i++)
		same = alike_axis(&k->axis[i], &m->axis[i]);
	return same;
}

static uint64_t
mesh_of(struct alike_memo *memo, const struct ir_module *m)
{
	uint64_t i = 0;

	while (i < (uint64_t)memo->mesh.n && !is_mesh_of(&memo->mesh.at[i], m))
		i++;
	if (i == (uint64_t)memo->mesh.n)
		VEC_PUSH(memo, &memo->mesh,
			(struct mesh){m->ctx, m->naxes,
				COPY_ARRAY(memo, struct ir_axis, m->axis, m->naxes)});
	return i;
}

/* Numbers the ops that `like` does not. */
static struct alike *
create(const void *owner, const struct ir_module *m, const struct ir_block *b, struct build *at,
	const struct alike *like, alike_context *context)
{
	struct alike *a = at->a = NEW(owner, struct alike);

	a->context = context;
	at->m = m;
	at->position = ARRAY_NEW(at, uint32_t, m->op_ids);
	a->number = ARRAY_NEW(a, uint32_t, m->op_ids);
	if (at->nids)
		memcpy(a->number, like->number, at->nids * sizeof *a->number);
	a->memo = like ? like->memo : at->memo;
	at->shared = a->memo;
	at->memo = at->shared ? a->memo : NEW(at, struct alike_memo);
	at->mesh = mesh_of(at->memo, m);
	for (uint32_t i = 0; i < at->from; i++) /* a memo of its own does not know these */
		VEC_PUSH(at, &at->common, at->shared ? like->common[i] : UINT32_MAX - i);
	if (at->nids < m->op_ids)
		number_block(at, b);
	if (at->shared) {
		for (int64_t i = 0; i < at->common.n; i++)
			at->memo->local.at[at->common.at[i]] = 0;
		a->common = COPY_ARRAY(a, uint32_t, at->common.at, at->common.n);
	}
	a->nids = m->op_ids;
	a->n = at->from + (uint32_t)at->first.n;
	a->first = ARRAY_NEW(a, const struct ir_op *, a->n + 1);
	if (at->from)
		memcpy(a->first, like->first, at->from * sizeof *a->first);
	if (at->first.n)
		memcpy(a->first + at->from, at->first.at, (size_t)at->first.n * sizeof *a->first);
	talloc_free(at);
	return a;
}

struct alike *
alike_create_by(const void *owner, const struct ir_module *m, const struct ir_block *b,
	alike_word *word, void *data)
{
	struct build *at = NEW(NULL, struct build);

	at->word_of = word;
	at->data = data;
	return create(owner, m, b, at, NULL, NULL);
}

struct alike *
alike_create_like(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct alike *like)
{
	struct build *at = NEW(NULL, struct build);

	at->from = like->n;
	at->nids = like->nids;
	return create(owner, m, b, at, like, like->context);
}

struct alike_memo *
alike_memo_create(const void *owner)
{
	return NEW(owner, struct alike_memo);
}

struct alike *
alike_create_common(const void *owner, const struct ir_module *m, const struct ir_block *b,
	alike_context *context, struct alike_memo *memo)
{
	struct build *at = NEW(NULL, struct build);

	at->memo = memo;
	return create(owner, m, b, at, NULL, context);
}

struct alike *
alike_create(const void *owner, const struct ir_module *m, const struct ir_block *b)
{
	return alike_create_common(owner, m, b, NULL, NULL);
}
