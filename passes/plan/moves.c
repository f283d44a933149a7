/*
 * How plan improves a pipeline: a pass is inserted, removed, given another option or moved past its
 * neighbour, or the number of micro-batches is changed. The best candidates are expanded first;
 * each move is run and measured as a whole step.
 */
#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "passes/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Families that are improved, each a recipe and what moves have made of it; and candidates that are
 * expanded in addition to those that become the best. */
enum { WIDTH = 2 };

/* Entries that moves insert, replacing one of the same pass; with "-", names of passes that they
 * remove. @ stands for each axis. */
static const struct move {
	enum plan_decision needs;
	const char *entry;
} moves[] = {
	{PLAN_FUSION, "opfuse{online=true}"},
	{PLAN_MEMORY, "-recompute"},
	{PLAN_MEMORY, "recompute"},
	{PLAN_MEMORY, "recompute{policy=budget}"},
	{PLAN_MEMORY, "recompute{policy=gathers}"},
	{PLAN_OFFLOAD, "offload"},
	{PLAN_OFFLOAD, "-offload"},
	{PLAN_SHARDS, "shard{axis=@}"},
	{PLAN_SHARDS, "shard{axis=@,stage=1}"},
	{PLAN_SHARDS, "shard{axis=@,reshard_after_forward=false}"},
	{PLAN_SHARDS, "-shard"},
	{PLAN_SHARDS, "prefetch"},
	{PLAN_SHARDS, "prefetch{policy=fsdp}"},
	{PLAN_SHARDS, "-prefetch"},
	{PLAN_SHARDS, "unshard"},
	{PLAN_SHARDS, "-unshard"},
	{PLAN_FUSION, "opfuse{policy=xla}"},
	{PLAN_FUSION, "tensorfuse"},
	{PLAN_FUSION, "-tensorfuse"},
	{PLAN_ORDER, "overlap"},
	{PLAN_ORDER, "-overlap"},
};

/* The first rows, which gain most, are tried for every recipe that is at most `close` times as slow as
 * any that fits or has been made to fit by them, before the best are improved further. */
enum { NMOVES = sizeof moves / sizeof *moves, NFIRST = 4 };
static const double close = 1.2;

/* Passes that can be moved past each other, and past the optimizer. */
static const char *const movable[] = {"recompute", "shard", "parallelize", "opfuse", "tensorfuse",
	"prefetch", "overlap", "unshard", "offload"};

int
plan_microbatches(const struct planner *p, int64_t number[PLAN_MOST_MICROBATCHES])
{
	const bool all = !strcmp(p->microbatches, "auto");
	const char *at = p->microbatches;
	int n = 0;

	if (all)
		for (int64_t k = 1; k <= p->rows && n < PLAN_MOST_MICROBATCHES; k *= 2)
			if (p->rows % k == 0)
				number[n++] = k;
	while (!all && *at && n < PLAN_MOST_MICROBATCHES) {
		char *end;
		number[n++] = strtoll(at, &end, 10);
		at = end + (*end == ',');
	}
	return n;
}

static bool
is_over(const struct planner *p)
{
	return (uint64_t)p->candidate.n >= p->evaluations || p->effort >= PLAN_MOST_EFFORT ||
	       clock_seconds() >= p->ends;
}

/* Has the move been refused for another member of the family? It is then for this one, most likely. */
static bool
was_refused(const struct planner *p, int64_t family, const char *move)
{
	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *c = &p->candidate.at[i];
		const size_t n = strlen(move), length = strlen(c->from);
		if (c->family == family && !plan_ran(c) && length > n + 1 &&
			c->from[length - n - 1] == ' ' && !strcmp(c->from + length - n, move))
			return true;
	}
	return false;
}

static void
try_list(struct planner *p, const struct plan_candidate *c, struct pass_list list, const char *move)
{
	plan_set_finish(p, &list);
	if (!is_over(p) && !was_refused(p, c->family, move))
		plan_try(p, c->base, list, TEXT(p->run->scratch, "%s; %s", c->from, move),
			c->family);
}

/* Messages may be made one before kernels are fused, too: this order alone gains where kernels would read
 * what two messages have brought. */
static void
try_earlier(struct planner *p, const struct plan_candidate *c, const struct pass_list *list)
{
	const int at = pass_list_find(list, "tensorfuse");

	if (list->n > c->list.n && at > 0 && pass_list_find(&c->list, "tensorfuse") < 0 &&
		pass_list_is(list->pass[at - 1], "opfuse"))
		try_list(p, c, pass_list_swapped(p->run->scratch, list, at - 1),
			"tensorfuse before opfuse");
}

/* Tries the candidate with `entry` applied. */
static void
try_entry(struct planner *p, struct plan_candidate c, const char *entry)
{
	const void *s = p->run->scratch;
	const char *hole = strchr(entry, '@');

	if (*entry == '-') {
		const int at = pass_list_find(&c.list, entry + 1);
		if (at >= 0)
			try_list(p, &c, pass_list_without(s, &c.list, at), entry);
		return;
	}
	for (int i = 0; i < (hole ? p->base[c.base].n : 1); i++) {
		const char *text = hole ? TEXT(s, "%.*s%s%s", (int)(hole - entry), entry,
						  p->base[c.base].axis[i], hole + 1)
					: entry;
		const struct pass_list list =
			pass_list_put(s, &c.list, p->run->manager->registry, text);
		try_list(p, &c, list, text);
		try_earlier(p, &c, &list);
	}
}

static bool
is_movable(const struct planner *p, const char *entry)
{
	if (!p->has_optimizer && !strcmp(entry, p->optimizer))
		return true;
	for (size_t i = 0; i < sizeof movable / sizeof *movable; i++)
		if (pass_list_is(entry, movable[i]))
			return true;
	return false;
}

static void
try_orders(struct planner *p, struct plan_candidate c)
{
	for (int i = 0; i + 1 < c.list.n && plan_decides(p, PLAN_ORDER); i++)
		if (is_movable(p, c.list.pass[i]) && is_movable(p, c.list.pass[i + 1]))
			try_list(p, &c, pass_list_swapped(p->run->scratch, &c.list, i),
				TEXT(p->run->scratch, "%s after %s", c.list.pass[i],
					c.list.pass[i + 1]));
}

/* Tries the numbers of micro-batches adjacent to the current one. */
static void
try_microbatches(struct planner *p, struct plan_candidate c)
{
	int64_t number[PLAN_MOST_MICROBATCHES];
	const int n = plan_microbatches(p, number), at = pass_list_find(&c.list, "accumulate");
	const int64_t now = at >= 0 ? strtoll(strchr(c.list.pass[at], '=') + 1, NULL, 10) : 1;

	if (p->has_gradients || pass_list_find(&c.list, "pipeline") >= 0)
		return;
	for (int i = 0; i < n; i++) {
		const bool near =
			(i + 1 < n && number[i + 1] == now) || (i && number[i - 1] == now);
		if (!near)
			continue;
		if (number[i] == 1)
			try_entry(p, c, "-accumulate");
		else
			try_entry(p, c,
				TEXT(p->run->scratch, "accumulate{steps=%" PRId64 "}", number[i]));
	}
}

/* A candidate that is faster by this share is expanded at once: most moves help it, too. */
static const double leap = 0.02;

/* Has one of the candidates from number `before` on made further moves of this one a waste of time? */
static bool
is_passed(const struct planner *p, const struct plan_candidate *c, int64_t before)
{
	const struct plan_candidate *last = &VEC_LAST(&p->candidate);

	return p->candidate.n > before && plan_fits(p, last) && p->objective == PLAN_TIME &&
	       (!plan_fits(p, c) || last->r.seconds < (1 - leap) * c->r.seconds);
}

/* False: a move has led to a much faster one, and the others were not tried. */
static bool
expand(struct planner *p, struct plan_candidate c)
{
	const int64_t before = p->candidate.n;

	if (!plan_fits(p, &c))
		try_microbatches(p, c);
	for (int i = 0; i < NMOVES; i++) {
		if (plan_decides(p, moves[i].needs))
			try_entry(p, c, moves[i].entry);
		if (is_passed(p, &c, before))
			return false;
	}
	try_orders(p, c);
	if (plan_fits(p, &c))
		try_microbatches(p, c);
	return true;
}

/* The best member of a family; -1: none has run. */
static int64_t
best_of_family(const struct planner *p, int64_t family)
{
	int64_t best = -1;

	for (int64_t i = 0; i < p->candidate.n; i++)
		if (p->candidate.at[i].family == family && plan_ran(&p->candidate.at[i]) &&
			(best < 0 ||
				plan_is_better(p, &p->candidate.at[i], &p->candidate.at[best])))
			best = i;
	return best;
}

/* Families whose best member is better than c. */
static int
better_families(const struct planner *p, const struct plan_candidate *c)
{
	int better = 0;

	for (int64_t f = 0; f < p->candidate.n; f++) {
		const int64_t best = p->candidate.at[f].recipe ? best_of_family(p, f) : -1;
		better += best >= 0 && plan_is_better(p, &p->candidate.at[best], c);
	}
	return better;
}

/*
 * The next candidate to expand; -1: none. Where steps are estimated, the WIDTH best families take
 * turns, each with its best member, so that a recipe that is only a little slower at first has its
 * moves tried, too. Others follow that are among the WIDTH best of all.
 */
static int64_t
next(const struct planner *p)
{
	int64_t turn = -1, best = -1;

	for (int64_t f = 0; p->blocks && f < p->candidate.n; f++) {
		const int64_t i = p->candidate.at[f].recipe ? best_of_family(p, f) : -1;
		if (i < 0 || p->candidate.at[i].expanded ||
			better_families(p, &p->candidate.at[i]) >= WIDTH)
			continue;
		const int64_t other = turn < 0 ? -1 : p->candidate.at[turn].family;
		if (turn < 0 || p->candidate.at[f].expansions < p->candidate.at[other].expansions ||
			(p->candidate.at[f].expansions == p->candidate.at[other].expansions &&
				plan_is_better(p, &p->candidate.at[i], &p->candidate.at[turn])))
			turn = i;
	}
	if (turn >= 0)
		return turn;
	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *c = &p->candidate.at[i];
		if (!plan_ran(c) || c->expanded)
			continue;
		int better = 0;
		for (int64_t k = 0; k < p->candidate.n; k++)
			better += plan_is_better(p, &p->candidate.at[k], c);
		if (better < WIDTH && (best < 0 || plan_is_better(p, c, &p->candidate.at[best])))
			best = i;
	}
	return best;
}

void
plan_improve_first(struct planner *p, int64_t family)
{
	const struct plan_candidate *first = &p->candidate.at[family];

	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *c = &p->candidate.at[i];
		const int64_t best = c->recipe ? best_of_family(p, i) : -1;
		if (best >= 0 && plan_fits(p, &p->candidate.at[best]) &&
			first->r.seconds > close * c->r.seconds)
			return;
	}
	for (int i = 0; i < NFIRST && plan_ran(&p->candidate.at[family]); i++)
		if (plan_decides(p, moves[i].needs))
			try_entry(p, p->candidate.at[best_of_family(p, family)], moves[i].entry);
}

void
plan_improve(struct planner *p)
{
	for (int64_t i; !is_over(p) && (i = next(p)) >= 0;) {
		p->candidate.at[i].expanded = true;
		p->candidate.at[p->candidate.at[i].family].expansions++;
		const bool wholly = expand(p, p->candidate.at[i]); /* adds to candidate */
		p->candidate.at[i].expanded = wholly;
	}
}
