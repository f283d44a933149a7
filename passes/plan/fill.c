/*
 * Blocks that need not be computed again. With `recompute` a step may fit with much memory left,
 * and without it may not fit at all: between the two are the steps of recompute{first=N}. Seconds
 * and bytes of these are on the line between the two ends, which are known from the moves:
 *
 *     bytes   needs(N) = bytes of none - N x bytes of a block     the smallest N that fits
 *     time    T(N) = T(none) + N / blocks x (T(all) - T(none))
 *
 * The bytes of a block are those by which two sharded steps differ, as passes that use the memory
 * that is left hide it in the ends themselves. plan.c runs these steps as a whole; if one does not
 * fit, the next has as many blocks more as are missing. In place of some blocks as a whole, recompute{policy=budget}
 * computes values of all of them again that are quick, and decides on the whole step how many.
 */
#include "ir/base/alloc.h"
#include "passes/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Families that get such a step, those with the fastest. */
enum { MOST_FILLED = 3 };

/* Values of all blocks that are quick to compute take this share of the time of the blocks that take as much memory,
 * by an estimate that is rather too low: a whole step tells. */
static const double quick = 0.4;

/* Steps that follow from one that was run: each differs from it by fewer blocks. */
enum { MOST_REFILLS = 2 };

enum plan_again
plan_again(const struct pass_list *list)
{
	const int at = pass_list_find(list, PLAN_ALL_BLOCKS), shard = pass_list_find(list, "shard");

	return at < 0                                    ? PLAN_NONE_AGAIN
	       : strcmp(list->pass[at], PLAN_ALL_BLOCKS) ? PLAN_SOME_AGAIN
	       : shard >= 0 && at > shard                ? PLAN_LATE_AGAIN
							 : PLAN_ALL_AGAIN;
}

/* What replaces the pass that computes all blocks again. */
static const char *
again_text(const struct planner *p, const struct plan_fill *fill)
{
	return fill->values ? "recompute{policy=budget}"
			    : TEXT(p->run->scratch, "recompute{first=%" PRId64 "}", fill->first);
}

static void
add(struct planner *p, struct plan_candidate like, struct plan_fill fill, double seconds,
	double bytes)
{
	struct plan_candidate c = like;

	c.list.pass = COPY_ARRAY(p->run->scratch, const char *, like.list.pass, like.list.n);
	c.list.pass[pass_list_find(&like.list, PLAN_ALL_BLOCKS)] = again_text(p, &fill);
	c.text = pass_list_text(p->run->scratch, &c.list);
	const int64_t known = plan_find(p, c.base, c.text);
	/* A move may have tried it: short steps, whose blocks are few, say little of it. */
	if (known >= 0 && !(fill.values && p->candidate.at[known].estimated))
		return;
	c.from = like.fill.first ? like.from
				 : TEXT(p->run->scratch, "%s; as few %s again as fit", like.from,
					   fill.values ? "values" : "blocks");
	c.fill = fill;
	c.r.seconds = seconds;
	c.r.peak = (uint64_t)fmin(bytes, p->limit);
	c.estimated = c.expanded = true;
	c.recipe = false;
	c.estimate = 0;
	if (known >= 0)
		p->candidate.at[known] = c;
	else
		VEC_PUSH(p->run->scratch, &p->candidate, c);
}

/* What is between a step that fits with all blocks computed again and one with none; `first` is 0
 * if there is nothing. */
static struct plan_fill
between(struct planner *p, int64_t all, int64_t none)
{
	const struct plan_candidate a = p->candidate.at[all], n = p->candidate.at[none];
	const double bare = plan_bare_bytes(p, &n.list) - plan_bare_bytes(p, &a.list),
		     peaks = (double)n.r.peak - (double)a.r.peak, blocks = (double)p->repeats;
	struct plan_fill fill = {.bytes = (bare > 0 ? bare : peaks) / blocks,
		.seconds = (a.r.seconds - n.r.seconds) / blocks};

	if (fill.bytes > 0 && fill.seconds > 0 && (double)n.r.peak > p->limit)
		fill.first = (int64_t)ceil(((double)n.r.peak - p->limit) / fill.bytes);
	if (fill.first >= p->repeats)
		fill.first = 0;
	return fill;
}

static bool
is_filled(const struct planner *p, int64_t family)
{
	for (int64_t i = 0; i < p->candidate.n; i++)
		if (p->candidate.at[i].family == family && p->candidate.at[i].fill.first)
			return true;
	return false;
}

/* Adds the fastest step between two candidates of a family that has none yet; false: there is none. */
static bool
fill_once(struct planner *p)
{
	struct plan_fill fill = {0};
	double least = INFINITY;
	int64_t from = -1, to = -1;

	for (int64_t i = 0, n = p->candidate.n; i < n; i++) {
		const struct plan_candidate *a = &p->candidate.at[i];
		if (plan_again(&a->list) != PLAN_ALL_AGAIN || !plan_fits(p, a) ||
			is_filled(p, a->family))
			continue;
		const struct pass_list less = pass_list_without(
			p->run->scratch, &a->list, pass_list_find(&a->list, PLAN_ALL_BLOCKS));
		const int64_t k = plan_find(p, a->base, pass_list_text(p->run->scratch, &less));
		if (k < 0 || !plan_ran(&p->candidate.at[k]) || plan_fits(p, &p->candidate.at[k]))
			continue;
		const struct plan_fill f = between(p, i, k);
		const double seconds = p->candidate.at[k].r.seconds + (double)f.first * f.seconds;
		if (!f.first || seconds >= least)
			continue;
		fill = f;
		least = seconds;
		from = i;
		to = k;
	}
	if (from < 0)
		return false;
	const struct plan_candidate all = p->candidate.at[from], none = p->candidate.at[to];
	add(p, all, fill, least, (double)none.r.peak - (double)fill.first * fill.bytes);
	if (pass_list_find(&all.list, "parallelize") >= 0)
		return true;
	fill.values = true;
	add(p, all, fill, none.r.seconds + quick * (least - none.r.seconds), p->limit);
	return true;
}

void
plan_fill(struct planner *p)
{
	if (p->objective != PLAN_TIME || !plan_decides(p, PLAN_MEMORY) || p->repeats < 2)
		return;
	for (int i = 0; i < MOST_FILLED && fill_once(p); i++)
		;
}

void
plan_refill(struct planner *p, int64_t i)
{
	const struct plan_candidate c = p->candidate.at[i];
	struct plan_fill fill = c.fill;

	if (!fill.first || fill.values || fill.refills == MOST_REFILLS || !plan_ran(&c))
		return;
	const double over = ((double)c.r.peak - p->limit) / fill.bytes;
	int64_t more = (int64_t)ceil(over);
	double seconds = c.r.seconds + (double)more * fill.seconds;
	/* A step that is slower than told: parallelize may use the memory of another block better. */
	if (!more && c.estimate < c.r.seconds && pass_list_find(&c.list, "parallelize") >= 0) {
		more = 1;
		seconds = c.estimate + fill.seconds;
	}
	fill.first += more;
	fill.refills++;
	if (more && fill.first > 0 && fill.first < p->repeats)
		add(p, c, fill, seconds, (double)c.r.peak - (double)more * fill.bytes);
}
