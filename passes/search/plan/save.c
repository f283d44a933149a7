/* Saved candidates: the nodes in their order, with their lists, and nothing else. */
#include "passes/search/plan/impl.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

struct plan_save {
	uint32_t count, npool, nfree;
	uint32_t *number;         /* [count] numbers of the nodes, in the issue order */
	struct plan_state *state; /* [count] states, with lists in `pool` */
	uint32_t *pool, *free;
};

/* Copies n words of a list; returns where they are. */
static uint32_t
add_list(struct plan_save *s, const uint32_t *list, uint32_t n)
{
	plan_copy(&s->pool[s->npool], list, n);
	s->npool += n;
	return s->npool - n;
}

struct plan_save *
plan_save(const void *owner, const struct plan *p)
{
	struct plan_save *s = NEW(owner, struct plan_save);
	uint32_t words = 0;

	for (uint32_t i = 0; i < p->count; i++)
		words += p->node[p->order[i]].nops + p->node[p->order[i]].npreds;
	*s = (struct plan_save){p->count, 0, p->nfree, ARRAY_NEW(s, uint32_t, p->count),
		ARRAY_NEW(s, struct plan_state, p->count), ARRAY_NEW(s, uint32_t, words),
		ARRAY_NEW(s, uint32_t, p->nfree)};
	plan_copy(s->number, p->order, p->count);
	plan_copy(s->free, p->free, p->nfree);
	for (uint32_t i = 0; i < p->count; i++) {
		struct plan_state *to = &s->state[i];
		*to = p->node[p->order[i]];
		to->op = add_list(s, &p->pool[to->op], to->nops);
		to->pred = add_list(s, &p->pool[to->pred], to->npreds);
	}
	return s;
}

size_t
plan_save_bytes(const struct plan_save *s)
{
	return sizeof *s + s->count * (sizeof *s->number + sizeof *s->state) +
	       (s->npool + s->nfree) * sizeof *s->pool;
}

void
plan_load(struct plan *p, const struct plan_save *s)
{
	plan_clear(p);
	plan_pool(p, s->npool);
	plan_copy(p->pool, s->pool, s->npool);
	plan_copy(p->order, s->number, s->count);
	plan_copy(p->free, s->free, s->nfree);
	p->count = s->count;
	p->nfree = s->nfree;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t node = s->number[i];
		struct plan_state *to = &p->node[node];
		*to = s->state[i];
		for (uint32_t k = 0; k < to->nops; k++) {
			uint32_t member = p->pool[to->op + k];
			if (member & PLAN_COPY)
				plan_add_copy(p, member & PLAN_OP, node);
			else
				p->home[member & PLAN_OP] = node;
		}
	}
	p->log.n = 0;
	plan_dirty(p, 0);
}

struct plan *
plan_clone(const void *owner, const struct plan *p)
{
	struct plan *q = NEW(owner, struct plan);

	q->base = p->base;
	q->estimator = estimator_clone(q, p->estimator);
	plan_set_up(q);
	struct plan_save *s = plan_save(q, p);
	plan_load(q, s);
	talloc_free(s);
	return q;
}
