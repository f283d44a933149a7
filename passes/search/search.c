/* Code shared by all engines: see search.h. */
#include "passes/search/search.h"

#include "ir/base/clock.h"
#include "ir/base/mix.h"
#include "passes/search/progress.h"

#include <signal.h>
#include <talloc.h>

/* Seconds between two checks for Ctrl-C: each is a system call, so not after every evaluation. */
#define SEARCH_LOOK_SECONDS 0.05

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

static bool
key_pressed(void)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, SIGINT);
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

uint32_t
search_random_below(struct search_random *r, uint32_t n)
{
	return mix64_below(&r->state, n);
}
