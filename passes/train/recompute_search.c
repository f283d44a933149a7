/*
 * Improves a choice of values to recompute, within the budget: hill climbing from the choice of
 * policy budget. A move changes how many members of one class are recomputed, or recomputes fewer
 * of one class and more of another, and is kept if the step is then better: it fits where it did
 * not, or takes less time. Rounds of all moves, until one finds none. Then some classes are changed
 * at random and the climb starts again from there (iterated local search: H. Lourenco, O. Martin,
 * T. Stutzle, 2003), until the limit of evaluations is reached or no improvement was found for a
 * while. Choices are evaluated once.
 *
 * Every move is evaluated by the cost model on the changed step, so memory is what a program
 * would allocate, with all live ranges, and time is that of the replay. The result is never worse
 * than the choice that it starts from.
 */
#include "passes/train/recompute.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/mix.h"

#include <string.h>
#include <talloc.h>

enum {
	LEVELS = 4,
	/* Number of classes that are changed at random at a time: more than a move changes. */
	KICK = 3,
	/* The search ends after this many climbs in a row without improvement. */
	PATIENCE = 20,
};

struct climber {
	struct recompute_search *s;
	uint64_t random; /* the state of a sequence that starts from the seed */
	void *scratch;
};

/* Numbers of members to recompute instead of c->taken: fewer or more. Returns how many. */
static int
levels_of(const struct recompute_class *c, bool more, uint32_t level[LEVELS])
{
	const uint32_t n = (uint32_t)c->member.n;
	int count = 0;

	if (more && c->taken < n) {
		level[count++] = n;
		if (c->taken + 1 < n)
			level[count++] = c->taken + 1;
	} else if (!more && c->taken) {
		level[count++] = 0;
		if (c->taken > 1)
			level[count++] = c->taken - 1;
	}
	return count;
}

static bool
is_over(const struct climber *k)
{
	const struct recompute *r = k->s->r;

	return r->evaluations >= r->most || (r->ends > 0 && clock_seconds() >= r->ends);
}

/* Tries `taken` members of one class; kept if the step is better. False after an error. */
static bool
try_one(struct climber *k, struct recompute_class *c, uint32_t taken, bool *better)
{
	const uint32_t before = c->taken;
	struct recompute_cost then;

	recompute_take(k->s, c, taken);
	if (!recompute_evaluate(k->s->r, k->s->chosen, &then))
		return false;
	if (recompute_is_better(&then, &k->s->cost, k->s->budget)) {
		k->s->cost = then;
		*better = true;
	} else {
		recompute_take(k->s, c, before);
	}
	return true;
}

static bool
try_class(struct climber *k, struct recompute_class *c, bool *better)
{
	uint32_t level[LEVELS];

	for (int more = 0; more < 2; more++) {
		const int n = levels_of(c, more, level);
		for (int i = 0; i < n && !is_over(k); i++)
			if (!try_one(k, c, level[i], better))
				return false;
	}
	return true;
}

/* Fewer members of one class and more of another; *moved: that was better, and is kept. */
static bool
try_exchange(struct climber *k, struct recompute_class *fewer, uint32_t low,
	struct recompute_class *more, bool *moved)
{
	const uint32_t before = fewer->taken;
	uint32_t level[LEVELS];
	const int n = levels_of(more, true, level);
	bool ok = true;

	recompute_take(k->s, fewer, low);
	for (int i = 0; i < n && ok && !*moved && !is_over(k); i++)
		ok = try_one(k, more, level[i], moved);
	if (!*moved)
		recompute_take(k->s, fewer, before);
	return ok;
}

static bool
try_pair(struct climber *k, struct recompute_class *fewer, struct recompute_class *more,
	bool *better)
{
	uint32_t level[LEVELS];
	const int n = fewer == more ? 0 : levels_of(fewer, false, level);
	bool moved = false;

	for (int i = 0; i < n && !moved && !is_over(k); i++)
		if (!try_exchange(k, fewer, level[i], more, &moved))
			return false;
	*better |= moved;
	return true;
}

/* Moves until no move is an improvement. */
static bool
climb(struct climber *k)
{
	struct recompute_class *c = k->s->class.at;
	const int64_t n = k->s->class.n;

	for (bool better = true; better && !is_over(k);) {
		better = false;
		for (int64_t i = 0; i < n; i++)
			if (!try_class(k, &c[i], &better))
				return false;
		for (int64_t i = 0; i < n * n && !is_over(k); i++)
			if (!try_pair(k, &c[i / n], &c[i % n], &better))
				return false;
	}
	return true;
}

/* Sets some classes to all, none or some of their members. */
static bool
kick(struct climber *k)
{
	for (int i = 0; i < KICK; i++) {
		const uint32_t at = mix64_below(&k->random, (uint32_t)k->s->class.n);
		struct recompute_class *c = &k->s->class.at[at];
		const uint32_t n = (uint32_t)c->member.n, some = mix64_below(&k->random, n + 1);
		recompute_take(k->s, c, c->taken == some ? n - c->taken : some);
	}
	return recompute_evaluate(k->s->r, k->s->chosen, &k->s->cost);
}

/* Saves the counts of all classes; and restores a saved choice. */
static void
note(const struct recompute_search *s, uint32_t *taken)
{
	for (int64_t i = 0; i < s->class.n; i++)
		taken[i] = s->class.at[i].taken;
}

static void
go_back(struct recompute_search *s, const uint32_t *taken, const struct recompute_cost *cost)
{
	for (int64_t i = 0; i < s->class.n; i++)
		recompute_take(s, &s->class.at[i], taken[i]);
	s->cost = *cost;
}

static bool
climb_again(struct climber *k, uint32_t *best)
{
	struct recompute_search *s = k->s;
	int idle = 0;

	while (idle < PATIENCE && !is_over(k)) {
		const struct recompute_cost cost = s->cost;
		note(s, best);
		if (!kick(k) || !climb(k))
			return false;
		idle = recompute_is_better(&s->cost, &cost, s->budget) ? 0 : idle + 1;
		if (idle)
			go_back(s, best, &cost);
	}
	return true;
}

bool
recompute_improve(struct recompute_search *s)
{
	struct climber k = {.s = s, .random = s->r->seed, .scratch = alloc_scratch(s->r->scratch)};
	uint32_t *best = ARRAY_NEW(k.scratch, uint32_t, (size_t)s->class.n + 1);
	const bool ok = !s->class.n || (climb(&k) && climb_again(&k, best));

	talloc_free(k.scratch);
	return ok;
}
