/*
 * The policy search of prefetch: each candidate is tried and replayed; the shortest step that fits
 * is taken; of equal ones, the one with the lower peak.
 *
 * It starts with the unchanged step and with proactive, zero3 and fsdp, each with updates at the
 * end and where gradients arrive (updates.h), so it is never worse than they are. Then, starting
 * from the best proactive choice, one setting after another is set to each value of its row in a
 * table: that moves gathers less far (group), splits or fuses them (fuse), delays readers of
 * gradients less or more (waiting), and fuses reducescatters (bucket). Rounds are repeated while
 * they find improvements, at most MAX_ROUNDS times. Deterministic: there are no random choices, and
 * no clock is read.
 */
#include "passes/sharded/prefetch.h"

#include "ir/base/number.h"

#define MB 1000000ull
#define GB (1000 * MB)

enum {
	VALUES_MAX = 6,
	/* A candidate of 40,000 ops takes some 0.3 s, and a round has 20. */
	MAX_ROUNDS = 1,
};

struct searcher {
	struct pass_run *run;
	const struct trial_base *base;
	struct prefetch_choice best, best_proactive;
	struct trial_result r; /* of the best choice */
	double proactive_seconds;
	uint32_t tried;
};

static void
set_group(struct prefetch_settings *s, double value)
{
	s->group = (uint64_t)value;
}

static void
set_waiting(struct prefetch_settings *s, double value)
{
	s->waiting = (uint64_t)value;
}

static void
set_bucket(struct prefetch_settings *s, double value)
{
	s->bucket = (uint64_t)value;
}

static void
set_fuse(struct prefetch_settings *s, double value)
{
	s->fuse = value;
}

/* The values of a setting, from one layer of a small model to several layers of a large one. */
static const struct row {
	void (*set)(struct prefetch_settings *s, double value);
	double value[VALUES_MAX];
	int n;
} rows[] = {
	{set_bucket, {250 * MB, GB, 2 * GB}, 3},
	{set_waiting, {0, 500 * MB, GB, 4 * GB}, 4},
	{set_group, {64 * MB, 500 * MB, GB, 4 * GB, 16 * GB}, 5},
	{set_fuse, {0, 1, 1.25, 2}, 4},
};

enum { NROWS = sizeof rows / sizeof *rows };

static bool
is_better(const struct trial_result *a, const struct trial_result *b)
{
	return a->seconds < b->seconds || (a->seconds == b->seconds && a->live < b->live);
}

/* Evaluates a choice; false: reported. */
static bool
try(struct searcher *s, struct prefetch_choice c)
{
	const bool proactive = c.policy == PREFETCH_PROACTIVE;
	struct trial_result r;
	bool fits;

	const double beat = proactive ? s->proactive_seconds : s->r.seconds;
	if (!prefetch_fit(s->run, s->base, &c, beat, &r, &fits, NULL))
		return false;
	s->tried++;
	if (!fits)
		return true;
	if (is_better(&r, &s->r)) {
		s->best = c;
		s->r = r;
	}
	if (proactive && r.seconds < s->proactive_seconds) {
		s->best_proactive = c;
		s->proactive_seconds = r.seconds;
	}
	return true;
}

static bool
try_policies(struct searcher *s, const struct prefetch_choice *start)
{
	static const enum prefetch_policy policies[] = {
		PREFETCH_PROACTIVE, PREFETCH_ZERO3, PREFETCH_FSDP};

	for (size_t i = 0; i < 2 * sizeof policies / sizeof *policies; i++) {
		struct prefetch_choice c = *start;
		c.policy = policies[i / 2];
		c.early = i % 2;
		if (!try(s, c))
			return false;
	}
	return true;
}

/* One round over the rows of the table; false: reported. */
static bool
try_rows(struct searcher *s, uint64_t limit)
{
	for (int i = 0; i < NROWS; i++) {
		const struct prefetch_choice from = s->best_proactive;
		for (int k = 0; k < rows[i].n; k++) {
			struct prefetch_choice c = from;
			c.set.limit = limit;
			rows[i].set(&c.set, rows[i].value[k]);
			if (!try(s, c))
				return false;
		}
	}
	return true;
}

static void
tell(const struct searcher *s, double before)
{
	static const char *const names[] = {PREFETCH_POLICIES(CHOICE_NAME)};
	char seconds[NUMBER_TEXT], old[NUMBER_TEXT];

	pass_remark(s->run, NULL, PASS_APPLIED,
		"%u candidates replayed: %s instead of %s, from %s%s", s->tried,
		number_seconds(seconds, s->r.seconds), number_seconds(old, before),
		names[s->best.policy], s->best.early ? ", updates where gradients arrive" : "");
}

bool
prefetch_search(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	struct trial_result *r)
{
	const struct prefetch_choice start = *c;
	const struct trial_result now = {base->seconds, trial_live_before(base)};
	struct searcher s = {.run = run, .base = base, .best = start, .r = now};

	s.best.policy = PREFETCH_PROACTIVE;
	s.best.set = (struct prefetch_settings){.budget = start.set.budget};
	s.best_proactive = s.best;
	s.proactive_seconds = now.seconds;
	*c = s.best;
	*r = now;
	if (!run->cost)
		return true;
	/* The proactive choice without changes is tried after the policies, most of which are
	 * faster: then one replay suffices. */
	if (!try_policies(&s, &start) || !try(&s, *c))
		return false;
	for (int i = 0; i < MAX_ROUNDS; i++) {
		const double last = s.proactive_seconds;
		if (!try_rows(&s, start.set.limit))
			return false;
		if (s.proactive_seconds == last)
			break;
	}
	tell(&s, now.seconds);
	*c = s.best;
	*r = s.r;
	return true;
}
