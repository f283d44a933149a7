/* A hash table with open addressing, at most half full. See memo.h. */
#include "passes/analysis/estimate/memo.h"

#include "ir/base/alloc.h"

#include <string.h>

enum {
	FIRST_ROOM = 1 << 10,
	MOST_ROOM = 1 << 20, /* 40 MB */
};

struct slot {
	struct estimate_question q; /* both 0: free */
	struct estimate_answer answer;
};

struct estimate_memo {
	struct slot *slot;
	uint32_t room, n;
};

struct estimate_memo *
estimate_memo_create(const void *owner)
{
	struct estimate_memo *m = NEW(owner, struct estimate_memo);

	m->room = FIRST_ROOM;
	m->slot = ARRAY_ZERO(m, struct slot, m->room);
	return m;
}

static uint64_t
mix(uint64_t x, uint64_t factor)
{
	x = (x ^ x >> 30) * factor;
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

struct estimate_question
estimate_question(const uint32_t *op, uint32_t n, const bool *out)
{
	struct estimate_question q = {n + 1, n + 1};

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t x = (uint64_t)op[i] << 1 | out[i];
		q.a = mix(q.a + UINT64_C(0x9e3779b97f4a7c15) + x, UINT64_C(0xbf58476d1ce4e5b9));
		q.b = mix(q.b + UINT64_C(0xd1b54a32d192ed03) + x, UINT64_C(0xff51afd7ed558ccd));
	}
	q.a |= 1;
	return q;
}

static struct slot *
slot_of(const struct estimate_memo *m, struct estimate_question q)
{
	uint32_t i = (uint32_t)q.b & (m->room - 1);

	while (m->slot[i].q.a && (m->slot[i].q.a != q.a || m->slot[i].q.b != q.b))
		i = (i + 1) & (m->room - 1);
	return &m->slot[i];
}

const struct estimate_answer *
estimate_memo_find(const struct estimate_memo *m, struct estimate_question q)
{
	const struct slot *s = slot_of(m, q);

	return s->q.a ? &s->answer : NULL;
}

static void
grow(struct estimate_memo *m)
{
	struct slot *old = m->slot;
	const uint32_t room = m->room;

	m->room *= 2;
	m->slot = ARRAY_ZERO(m, struct slot, m->room);
	for (uint32_t i = 0; i < room; i++)
		if (old[i].q.a)
			*slot_of(m, old[i].q) = old[i];
	array_free(old);
}

void
estimate_memo_put(
	struct estimate_memo *m, struct estimate_question q, struct estimate_answer answer)
{
	if (2 * m->n >= m->room && m->room < MOST_ROOM)
		grow(m);
	else if (2 * m->n >= m->room) {
		memset(m->slot, 0, m->room * sizeof *m->slot);
		m->n = 0;
	}
	*slot_of(m, q) = (struct slot){q, answer};
	m->n++;
}
