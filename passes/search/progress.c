/* See progress.h. */
#include "passes/search/progress.h"

#include <math.h>
#include <unistd.h>

#define ENGINE_NAME(code, name) [code] = name,

static const char *const names[SEARCH_NENGINES] = {SEARCH_ENGINES(ENGINE_NAME)};

const char *
search_engine_name(enum search_engine e)
{
	return names[e];
}

#define TO_LINE_START "\r\033[K"

void
search_tell(const struct search *s)
{
	double rate = s->r.seconds > 0 ? (double)s->r.evaluations / s->r.seconds : 0;
	double after = replay_seconds(s->r.after), before = replay_seconds(s->r.before);

	fprintf(s->o->progress, "%s%s: %.4g ms (%.1f %% faster), %llu evaluations, %.0f per second",
		isatty(fileno(s->o->progress)) ? TO_LINE_START : "",
		search_engine_name(s->o->engine), 1e3 * after, 100 * (before / after - 1),
		(unsigned long long)s->r.evaluations, rate);
	if (s->o->time_limit > 0 && s->best)
		fprintf(s->o->progress, ", %.1f s left", fmax(s->o->time_limit - s->r.seconds, 0));
	if (s->best && !isatty(fileno(s->o->progress)))
		fputc('\n', s->o->progress);
	fflush(s->o->progress);
}

void
search_told(const struct search *s)
{
	search_tell(s);
	fprintf(s->o->progress, ", %.3f s, best after %.3f s\n", s->r.seconds, s->r.best_at);
	fflush(s->o->progress);
}
