/* See memo.h. */
#include "passes/analysis/estimate/memo.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

enum { MOST = 1 << 19 /* answers: 28 MB with their slots; then all are dropped */ };

struct entry {
	struct estimate_question q;
	struct estimate_answer answer;
};

struct entries VEC(struct entry);

struct estimate_memo {
	struct map map;
	struct entries entry;
};

struct estimate_memo *
estimate_memo_create(const void *owner)
{
	return NEW(owner, struct estimate_memo);
}

struct estimate_question
estimate_question(const uint32_t *op, uint32_t n, const bool *out)
{
	struct estimate_question q = {n + 1, mix64(n)};

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t x = (uint64_t)op[i] << 1 | out[i];
		q.a = mix_word(q.a, x);
		q.b = mix_word(q.b, ~x);
	}
	q.a |= 1;
	return q;
}

MAP_SAME(same_question, struct entries, struct estimate_question,
	list->at[i].q.a == key->a && list->at[i].q.b == key->b)

const struct estimate_answer *
estimate_memo_find(const struct estimate_memo *m, struct estimate_question q)
{
	const uint32_t i = map_find(&m->map, q.b, same_question, &m->entry, &q);

	return i == MAP_NONE ? NULL : &m->entry.at[i].answer;
}

void
estimate_memo_put(
	struct estimate_memo *m, struct estimate_question q, struct estimate_answer answer)
{
	if (m->entry.n == MOST) {
		map_clear(&m->map);
		m->entry.n = 0;
	}
	const uint32_t i = map_add(m, &m->map, q.b, same_question, &m->entry, &q);
	if (i == m->entry.n)
		VEC_PUSH(m, &m->entry, (struct entry){q, answer});
	else
		m->entry.at[i].answer = answer;
}
