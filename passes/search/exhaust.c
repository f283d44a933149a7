/* Lists sets of kernels and messages, and finds the best order of each: see exhaust.h. */
#include "passes/search/exhaust.h"
#include "ir/base/sort.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "passes/search/exhaust_impl.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

struct key {
	uint64_t word[2];
};

/* Hashes of visited plans, of 128 bits, so that two different plans practically never agree. */
struct seen {
	struct map map;
	struct VEC(struct key) key;
};

struct found {
	replay_time bound;
	uint32_t number; /* order of discovery, a sort key */
	struct plan_save *save;
};

struct exhaust {
	struct search *s;
	struct plan *p;
	struct search_exhaust_counts *c;
	struct seen kernels;
	struct VEC(struct found) found;
	uint32_t most; /* plans that are kept before any of them is replayed */
	bool full;
};

/* --- seen or not --- */

MAP_SAME(same_key, struct seen, struct key, memcmp(&list->key.at[i], key, sizeof *key) == 0)

static bool
add(struct seen *s, const void *owner, struct key key)
{
	if (map_add(owner, &s->map, key.word[0], same_key, s, &key) < s->key.n)
		return false;
	VEC_PUSH(owner, &s->key, key);
	return true;
}

/* The contents of the nodes of a kind, independent of their numbers and order. */
static struct key
key_of(const struct plan *p, enum plan_kind kind)
{
	struct key key = {{0, 0}};

	for (uint32_t i = 0; i < plan_count(p); i++) {
		uint32_t node = plan_at(p, i);
		struct plan_node k = plan_node(p, node);
		uint64_t h = 0;
		if (k.kind != kind)
			continue;
		for (uint32_t j = 0; j < k.nops; j++)
			h = mix_word(h, k.op[j] & ~PLAN_OUT);
		key.word[0] += mix_word(h, 1);
		key.word[1] += mix_word(h, 2);
	}
	return key;
}

/* --- all sets --- */

static void
best_parts(struct plan *p)
{
	for (uint32_t i = 0; i < plan_count(p); i++) {
		uint32_t node = plan_at(p, i), best = 1;
		if (plan_node(p, node).kind != PLAN_MESSAGE)
			continue;
		replay_time least = plan_message_time(p, node, 1);
		for (uint32_t k = 2; k <= EXHAUST_PARTS; k++) {
			replay_time t = plan_message_time(p, node, k);
			if (t < least) {
				least = t;
				best = k;
			}
		}
		plan_part(p, node, best);
	}
}

static void
keep_plan(struct exhaust *e)
{
	struct plan *p = e->p;
	uint32_t mark = plan_mark(p);

	const uint32_t number = (uint32_t)e->found.n;
	if (number == e->most) {
		e->full = true;
		return;
	}
	if (e->s->o->moves & SEARCH_PART)
		best_parts(p);
	VEC_PUSH(e, &e->found, (struct found){exhaust_bound(p), number, plan_save(e, p)});
	plan_undo(p, mark);
}

static void
all_packings(struct exhaust *e, struct seen *seen)
{
	struct plan *p = e->p;

	if (e->full || !add(seen, e, key_of(p, PLAN_MESSAGE)))
		return;
	keep_plan(e);
	for (uint32_t a = 0; a < plan_room(p) && (e->s->o->moves & SEARCH_PACK); a++)
		for (uint32_t b = 0; b < plan_room(p); b++) {
			uint32_t mark = plan_mark(p);
			if (a == b || !exhaust_has(p, a, PLAN_MESSAGE) ||
				!exhaust_has(p, b, PLAN_MESSAGE) || !plan_pack(p, a, b))
				continue;
			all_packings(e, seen);
			plan_undo(p, mark);
		}
}

static void all_kernels(struct exhaust *e);

static void
fuse(struct exhaust *e, uint32_t a, uint32_t b, enum plan_fuse how)
{
	struct plan *p = e->p;
	uint32_t mark = plan_mark(p);
	unsigned needed = how == PLAN_FUSE ? SEARCH_FUSE : SEARCH_COPY;

	if (!(e->s->o->moves & needed) || !exhaust_has(p, a, PLAN_KERNEL) ||
		!exhaust_has(p, b, PLAN_KERNEL) || !plan_fuse(p, a, b, how))
		return;
	all_kernels(e);
	plan_undo(p, mark);
}

static void
all_kernels(struct exhaust *e)
{
	struct plan *p = e->p;
	struct seen packings = {0};

	if (e->full || !search_more(e->s) || !add(&e->kernels, e, key_of(p, PLAN_KERNEL)))
		return;
	e->c->kernels++;
	all_packings(e, &packings);
	map_free(&packings.map);
	VEC_FREE(&packings.key);
	for (uint32_t a = 0; a < plan_room(p); a++)
		for (uint32_t b = 0; b < plan_room(p); b++) {
			if (a < b)
				fuse(e, a, b, PLAN_FUSE);
			if (a != b)
				fuse(e, a, b, PLAN_FUSE_COPY);
		}
}

ORDER_BY(by_bound, struct found, UP(bound), UP(number))

static void
search_orders(struct exhaust *e)
{
	for (int64_t i = 0; i < e->found.n; i++) {
		if (e->found.at[i].bound >= e->s->r.after)
			break;
		if (!search_more(e->s))
			return;
		plan_load(e->p, e->found.at[i].save);
		e->c->searched++;
		if (!exhaust_orders(e->s, &e->c->orders))
			return;
	}
	e->c->complete = !e->full;
}

/* With few replays only the plans with the least bounds are tried. */
static uint32_t
most_plans(uint64_t evaluations)
{
	return evaluations && evaluations < EXHAUST_PLANS / EXHAUST_SHARE
		       ? (uint32_t)evaluations * EXHAUST_SHARE
		       : EXHAUST_PLANS;
}

void
search_exhaust_counted(struct search *s, struct search_exhaust_counts *c)
{
	memset(c, 0, sizeof *c);
	if (plan_count(s->plan) > EXHAUST_NODES)
		return;
	struct exhaust *e = NEW(NULL, struct exhaust);
	e->s = s;
	e->p = s->plan;
	e->c = c;
	e->most = most_plans(s->o->evaluations);
	all_kernels(e);
	bool ended = !search_more(s);
	c->plans = (uint32_t)e->found.n;
	if (e->found.n)
		qsort(e->found.at, (size_t)e->found.n, sizeof *e->found.at, by_bound);
	search_orders(e);
	c->complete = c->complete && !ended;
	talloc_free(e);
}

void
search_exhaust(struct search *s)
{
	struct search_exhaust_counts c;

	search_exhaust_counted(s, &c);
}
