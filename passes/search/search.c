/* Code shared by all engines: see search.h. */
#include "passes/search/search.h"

#include "ir/base/clock.h"
#include "ir/base/mix.h"
#include "passes/search/progress.h"

#include <signal.h>
#include <talloc.h>
#include <time.h>

/* Seconds between two checks for Ctrl-C: each is a system call, so not after every evaluation. */
#define SEARCH_LOOK_SECONDS 0.05

#define ENGINE_NAME(code, name) [code] = name,

static const char *const names[SEARCH_NENGINES] = {SEARCH_ENGINES(ENGINE_NAME)};

static void (*const engines[SEARCH_NENGINES])(struct search *s) = {
	[SEARCH_DOPT] = search_dopt,
	[SEARCH_DISCO] = search_disco,
	[SEARCH_DPRO] = search_dpro,
	[SEARCH_EXHAUST] = search_exhaust,
};

const char *
search_engine_name(enum search_engine e)
{
	return names[e];
}

struct search_options
search_defaults(void)
{
	return (struct search_options){
		.engine = SEARCH_DOPT,
		.moves = SEARCH_ALL,
		.alpha = 1.05, /* DisCo, section 6.1 */
		.beta = 10,
		.unchanged = 1000, /* DisCo, Algorithm 1, line 5 */
		/* About ten thousand plans of BERT; a search expands a few thousand. */
		.queue_bytes = (size_t)1 << 30,
		.coarsen = true,
		.partial = true,
		.symmetry = true,
		.workers = 2, /* restarts in parallel on the cores of one machine */
	};
}

static bool
stop(struct search *s, enum search_end end)
{
	s->r.end = end;
	return false;
}

/* SIGINT is blocked while a search runs, and checked from time to time. */
static sigset_t
interrupt_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return set;
}

static bool
key_pressed(void)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, SIGINT);
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

bool
search_more(struct search *s)
{
	const struct search_options *o = s->o;
	double now = clock_seconds() - s->started;

	s->r.evaluations = plan_counts(s->plan).replays - s->started_replays + s->elsewhere;
	s->r.seconds = now;
	if (o->keyboard && now - s->looked >= SEARCH_LOOK_SECONDS) {
		s->looked = now;
		if (key_pressed())
			return stop(s, SEARCH_INTERRUPTED);
	}
	if (o->progress && now - s->told >= SEARCH_TELL_SECONDS) {
		s->told = now;
		search_tell(s);
	}
	if (o->interrupted && *o->interrupted)
		return stop(s, SEARCH_INTERRUPTED);
	if (o->evaluations && s->r.evaluations >= o->evaluations)
		return stop(s, SEARCH_EVALUATIONS);
	if (o->time_limit > 0 && now >= o->time_limit)
		return stop(s, SEARCH_TIME);
	return true;
}

bool
search_found(struct search *s, replay_time t)
{
	if (t >= s->r.after || (s->o->fits && !s->o->fits(s->o->fits_data, s->plan)))
		return false;
	s->r.after = t;
	s->r.best_at = clock_seconds() - s->started;
	talloc_free(s->best);
	s->best = plan_save(s->plan, s->plan);
	return true;
}

void
search_begin(struct search *s, struct plan *p, const struct search_options *o)
{
	*s = (struct search){.plan = p, .o = o, .started = clock_seconds()};
	s->r.before = s->r.after = plan_replay(p);
	s->started_replays = plan_counts(p).replays;
	s->best = plan_save(p, p);
}

void
search_finish(struct search *s)
{
	s->r.evaluations = plan_counts(s->plan).replays - s->started_replays + s->elsewhere;
	s->r.seconds = clock_seconds() - s->started;
	plan_load(s->plan, s->best);
	plan_replay(s->plan);
	talloc_free(s->best);
	s->best = NULL;
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

uint32_t
search_random_below(struct search_random *r, uint32_t n)
{
	return mix64_below(&r->state, n);
}
