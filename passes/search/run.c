/* A search from its start to its end, by the engine that its options name. Engines call search.c, not this file. */
#include "passes/search/progress.h"
#include "passes/search/search.h"

#include <signal.h>
#include <talloc.h>
#include <time.h>

static void (*const engines[SEARCH_NENGINES])(struct search *s) = {
	[SEARCH_DOPT] = search_dopt,
	[SEARCH_DISCO] = search_disco,
	[SEARCH_DPRO] = search_dpro,
	[SEARCH_EXHAUST] = search_exhaust,
};

/* SIGINT is blocked while a search runs, and checked from time to time. */
static sigset_t
interrupt_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return set;
}

/* Consumes a pending SIGINT, and restores the signal mask of the program. */
static void
release_keyboard(const sigset_t *before)
{
	const struct timespec now = {0, 0};
	sigset_t set = interrupt_signal();

	sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The best so far is the best of the starting plans, which do not count as evaluations. */
static void
try_starts(struct search *s)
{
	const struct search_options *o = s->o;

	for (uint32_t i = 0; i < o->nstarts; i++) {
		plan_load(s->plan, o->start[i]);
		search_found(s, plan_replay(s->plan));
	}
}

/*
 * An engine begins with the plan given to search_run or, if memory is tight, with the best plan
 * that fits, since few changes of the given plan fit.
 */
static void
begin_engine(struct search *s, const struct plan_save *given)
{
	if (!s->o->nstarts)
		return;
	plan_load(s->plan, s->o->fits ? s->best : given);
	plan_replay(s->plan);
	s->started_replays = plan_counts(s->plan).replays;
}

/* Half of the evaluations are spent on plans that fit. */
static void
fit_first(struct search *s)
{
	const struct search_options *o = s->o;
	struct search_options half = *o;

	half.time_limit /= 2;
	half.evaluations = (o->evaluations + 1) / 2;
	s->o = &half;
	if (plan_count(s->plan))
		search_fit(s);
	s->o = o;
	s->r.end = SEARCH_FINISHED;
}

void
search_run(struct plan *p, const struct search_options *o, struct search_result *r)
{
	struct search s;
	sigset_t held = interrupt_signal(), before;
	struct search_options alone = *o;

	if (o->fits || plan_is_whole(p)) {
		alone.workers = 1; /* one thread only: replays build modules */
		o = &alone;
	}
	if (o->keyboard)
		pthread_sigmask(SIG_BLOCK, &held, &before);
	search_begin(&s, p, o);
	struct plan_save *given = plan_save(p, p);
	try_starts(&s);
	begin_engine(&s, given);
	talloc_free(given);
	if (o->fits)
		fit_first(&s);
	engines[o->engine](&s);
	search_finish(&s);
	if (o->keyboard)
		release_keyboard(&before);
	if (o->progress)
		search_told(&s);
	*r = s.r;
}
