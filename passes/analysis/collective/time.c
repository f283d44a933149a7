/*
 * The time of a schedule as a function of the bytes. Every send takes latency + bytes * seconds per
 * byte, the latter by its share of the links (share.c), so all times are linear in the bytes or
 * maxima of linear functions:
 *
 * - A round: the maximum over its sends.
 * - A ring that is repeated R times: its last message ends a dependency path of R steps: a step
 *   passes on to the next device, or waits until the sender has sent its last bytes. Only passing
 *   on: the R consecutive sends that take longest. Only waiting: R times the bytes of the slowest
 *   sender, and one latency. A path that mixes both is hardly longer than the longer of these: each
 *   node on it adds the same, so the longest path passes all nodes or none.
 * - Parts of a message: one part through all stages, plus for each further part the time of the
 *   slowest stage, or of a link that several stages use, for one part.
 * - A pipeline of chunks: the latencies on the longest path, and the bytes on the most loaded link;
 *   the limit for small chunks, when filling the pipeline costs nothing (model.c chooses
 *   such chunks).
 */
#include "ir/base/vec.h"
#include "passes/analysis/collective/build.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

struct lines {
	struct collective_line *line;
	uint32_t n;
};

/* Equal except for rounding. */
#define SAME (1 + 1e-12)

/* Adds the line unless another is at least as high for all bytes from 0 on. */
static void
lines_add(struct lines *s, double alpha, double gamma)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->line[i].alpha * SAME >= alpha && s->line[i].gamma * SAME >= gamma)
			return;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->line[i].alpha > alpha || s->line[i].gamma > gamma)
			s->line[kept++] = s->line[i];
	s->n = kept;
	LIST_PUSH(NULL, s->line, s->n, (struct collective_line){alpha, gamma});
}

/* Adds the phase `s`, repeated `times` times, to a sum of phases. */
static void
add_phase(struct collective_time *t, const struct lines *s, double times)
{
	if (s->n == 1) {
		t->base.alpha += times * s->line->alpha;
		t->base.gamma += times * s->line->gamma;
	}
	for (uint32_t i = 0; i < t->nphases && s->n > 1; i++)
		if (t->phase[i].n == s->n &&
			memcmp(t->phase[i].line, s->line, s->n * sizeof *s->line) == 0) {
			t->phase[i].times += times;
			return;
		}
	if (s->n < 2)
		return;
	struct collective_line *line = COPY_ARRAY(t, struct collective_line, s->line, s->n);
	LIST_PUSH(t, t->phase, t->nphases, (struct collective_phase){times, line, s->n});
}

/* The number of sends from `first` on that form a ring; 0: none. */
static uint32_t
ring_length(const struct collective_send *send, uint32_t first, uint32_t n)
{
	uint32_t i = first;
	while (i + 1 < n && send[i].to != send[first].from && send[i].to == send[i + 1].from)
		i++;
	return send[i].to == send[first].from ? i + 1 - first : 0;
}

/* Repetitions of a ring of n sends: paths of `repeat` steps. */
static void
add_ring(struct lines *s, const struct cluster_route *route, const double *seconds, uint32_t n,
	uint32_t repeat)
{
	struct collective_line whole = {0, 0}, part = {0, 0};
	uint32_t turns = repeat / n, rest = repeat % n;
	for (uint32_t i = 0; i < n; i++) {
		whole.alpha += route[i].latency;
		whole.gamma += seconds[i];
		part.alpha += i < rest ? route[i].latency : 0;
		part.gamma += i < rest ? seconds[i] : 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t next = (i + rest) % n;
		lines_add(s, turns * whole.alpha + part.alpha, turns * whole.gamma + part.gamma);
		lines_add(s, route[i].latency, repeat * seconds[i]);
		part.alpha += route[next].latency - route[i].latency;
		part.gamma += seconds[next] - seconds[i];
	}
}

/* False if the sends are not rings. */
static bool
add_rings(struct lines *s, const struct collective_send *send, const struct collective_round *r,
	const struct share_result *taken)
{
	for (uint32_t i = 0, n; i < r->n; i += n) {
		n = ring_length(send, i, r->n);
		if (!n)
			return false;
		add_ring(s, taken->route + i, taken->seconds + i, n, r->repeat);
	}
	return true;
}

static void
add_round(struct collective_time *t, const struct collective_send *send, struct lines *s,
	const struct collective_round *r, const struct share_result *taken)
{
	s->n = 0;
	if (r->repeat > 1 && add_rings(s, send, r, taken)) {
		add_phase(t, s, 1);
		return;
	}
	s->n = 0;
	for (uint32_t i = 0; i < r->n; i++)
		lines_add(s, taken->route[i].latency, taken->seconds[i]);
	add_phase(t, s, r->repeat);
}

/* Rounds from `first` to `end`. */
static bool
time_rounds(struct collective_time *t, const struct collective_schedule *s, struct share *share,
	uint32_t first, uint32_t end)
{
	struct lines lines = {NULL, 0};
	bool good = true;
	for (uint32_t i = first; i < end && good; i++) {
		const struct collective_round *r = &s->round[i];
		struct share_result taken;
		good = share_round(share, s->send + r->first, r->n, &taken);
		if (good)
			add_round(t, s->send + r->first, &lines, r, &taken);
	}
	talloc_free(lines.line);
	return good;
}

/* Each stage by itself, if there are several, and the load of links over all of them. */
static void
time_stages(struct collective_time *t, struct cluster *c, const struct collective_schedule *s,
	struct share *share)
{
	uint32_t n = s->nrounds;
	if (!n || s->round[0].stage == s->round[n - 1].stage)
		return;
	t->stage = NEW_ARRAY(t, struct collective_time *, n);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && s->round[end].stage == s->round[i].stage; end++)
			;
		t->stage[t->nstages] = NEW(t, struct collective_time);
		time_rounds(t->stage[t->nstages++], s, share, i, end);
	}
	struct share *all = share_create(t, c);
	for (uint32_t i = 0; i < n; i++) {
		const struct collective_round *r = &s->round[i];
		struct share_result taken;
		share_fullest(all, s->send + r->first, r->n, r->repeat, &taken, &t->fullest);
	}
	talloc_free(all);
}

/* The latest time at which each end receives in a lane, from latencies alone. */
struct arrivals {
	double *ready, *next; /* [lanes][ends] */
	size_t ends;
	uint32_t lanes;
};

static void
pass_latencies(struct arrivals *a, const struct collective_send *send, uint32_t n,
	const struct cluster_route *route, struct collective_time *t)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t lane = (uint64_t)i * a->lanes / n * a->ends;
		double *next = &a->next[lane + send[i].to];
		*next = fmax(*next, a->ready[lane + send[i].from] + route[i].latency);
	}
	for (uint32_t i = 0; i < n; i++) {
		size_t to = (uint64_t)i * a->lanes / n * a->ends + send[i].to;
		a->ready[to] = a->next[to];
		t->base.alpha = fmax(t->base.alpha, a->ready[to]);
		t->fill.alpha = fmax(t->fill.alpha, route[i].latency);
	}
}

static bool
time_pipeline(struct collective_time *t, struct cluster *c, const struct collective_schedule *s,
	struct share *share)
{
	struct arrivals a = {NULL, NULL, (size_t)c->ndevices + c->nhosts, s->lanes};
	size_t n = a.ends * a.lanes;
	double sum = 0, fullest = 0;
	bool good = true;
	a.ready = NEW_ARRAY(NULL, double, 2 * n);
	a.next = a.ready + n;
	memset(a.ready, 0, 2 * n * sizeof *a.ready);
	for (uint32_t i = 0; i < s->nrounds && good; i++) {
		const struct collective_round *r = &s->round[i];
		struct share_result taken = {NULL, NULL};
		double seconds =
			share_fullest(share, s->send + r->first, r->n, 1, &taken, &fullest);
		good = seconds >= 0;
		sum += seconds;
		if (good)
			pass_latencies(&a, s->send + r->first, r->n, taken.route, t);
	}
	t->base.gamma = fullest;
	t->fill.gamma = s->nrounds > 1 ? sum : 0;
	talloc_free(a.ready);
	return good;
}

struct collective_time *
collective_time_of(
	const void *owner, struct cluster *c, const struct collective_schedule *s, bool pipelined)
{
	struct collective_time *t = NEW(owner, struct collective_time);
	struct share *share = share_create(t, c);
	bool good =
		pipelined ? time_pipeline(t, c, s, share) : time_rounds(t, s, share, 0, s->nrounds);
	if (good && !pipelined)
		time_stages(t, c, s, share);
	talloc_free(share);
	if (!good) {
		talloc_free(t);
		return NULL;
	}
	return t;
}

static double
collective_time_seconds(const struct collective_time *t, double bytes)
{
	double seconds = t->base.alpha + t->base.gamma * bytes;
	for (uint32_t i = 0; i < t->nphases; i++) {
		double highest = 0;
		for (uint32_t k = 0; k < t->phase[i].n; k++) {
			const struct collective_line *l = &t->phase[i].line[k];
			highest = fmax(highest, l->alpha + l->gamma * bytes);
		}
		seconds += t->phase[i].times * highest;
	}
	return seconds;
}

double
collective_time_parts(const struct collective_time *t, double bytes, uint32_t parts)
{
	double part = bytes / parts, first = collective_time_seconds(t, part);
	double period = t->nstages ? t->fullest * part : first;
	for (uint32_t i = 0; i < t->nstages; i++)
		period = fmax(period, collective_time_seconds(t->stage[i], part));
	return first + (parts - 1) * period;
}
