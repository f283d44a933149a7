/*
 * O1 along a line x + s v. Each end, and each begin, is linear in s; the last begin of a meet is
 * the maximum of linear functions, a convex piecewise linear function with at most one piece per
 * clock. So between neighbouring corners of all those functions every duration is linear and O1, a
 * sum of variances, is one parabola A s^2 + B s + C with A >= 0.
 *
 *     corners   --|-----|--|----------|--    sorted; at each of them one meet changes its line,
 *     O1         \_/ \___/  \   /            which takes a constant number of additions
 *                            \_/             the minimum of each parabola between its corners
 *                                            has a closed form, the smallest is the answer
 *
 * It is exact: no step size, no start value. O1 itself is not convex, as the maximum makes
 * durations concave, so that a descent method may end in a wrong valley; this one does not.
 */
#include "passes/analysis/trace/fit.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* a + b s */
struct linear {
	double a, b;
};

/* For one family: sums over its durations a + b s, each weighted by its number of ends. */
struct sums {
	double n, a, b, aa, ab, bb;
};

struct corner {
	double s;
	uint32_t meet;
	struct linear before, behind; /* the last begin */
};

struct fit {
	const struct trace_alignment *a;
	const struct meets *m;
	const int32_t *variable;
	struct sums *sums;     /* [nfamilies] */
	struct linear *begin;  /* [nparts] */
	struct linear *end;    /* [nparts] */
	struct corner *corner; /* [nparts] at most */
	uint32_t ncorners;
	double A, B, C; /* of the parabola between the current corners */
};

struct fit *
fit_create(const void *owner, const struct trace_alignment *a, const struct meets *m,
	const int32_t *variable)
{
	struct fit *f = NEW(owner, struct fit);

	*f = (struct fit){.a = a, .m = m, .variable = variable};
	f->sums = NEW_ARRAY(f, struct sums, m->nfamilies);
	f->begin = NEW_ARRAY(f, struct linear, m->nparts);
	f->end = NEW_ARRAY(f, struct linear, m->nparts);
	f->corner = NEW_ARRAY(f, struct corner, m->nparts);
	return f;
}

/* What is added to the times of a clock, at time t of it. */
static double
shift_of(const struct fit *f, const double *x, uint32_t clock, double t)
{
	const int32_t v = f->variable[clock];

	if (v < 0)
		return 0;
	return x[v] + (f->a->drift ? x[v + 1] * meet_lever(f->a, t) : 0);
}

static struct linear
line_of(const struct fit *f, const double *x, const double *v, uint32_t clock, double t)
{
	return (struct linear){t + shift_of(f, x, clock, t), v ? shift_of(f, v, clock, t) : 0};
}

/* Adds a meet's durations for that last begin to its family; sign -1 subtracts them. */
static void
count(struct fit *f, const struct meet *m, struct linear last, double sign)
{
	struct sums *s = &f->sums[m->family];

	for (uint32_t p = m->first; p < m->first + m->n; p++) {
		const double w = sign * f->m->part[p].ends;
		const double a = f->end[p].a - last.a, b = f->end[p].b - last.b;
		s->n += w;
		s->a += w * a;
		s->b += w * b;
		s->aa += w * a * a + sign * f->m->part[p].scatter;
		s->ab += w * a * b;
		s->bb += w * b * b;
	}
}

/* Adds the variance of a family to the parabola; sign -1 subtracts it. */
static void
weigh(struct fit *f, uint32_t family, double sign)
{
	const struct sums *s = &f->sums[family];

	if (s->n < 0.5)
		return;
	const double a = s->a / s->n, b = s->b / s->n;
	f->A += sign * (s->bb / s->n - b * b);
	f->B += sign * 2 * (s->ab / s->n - a * b);
	f->C += sign * (s->aa / s->n - a * a);
}

/* The last begin of a meet at s; of equal ones the one that grows fastest. */
static uint32_t
last_begin(const struct fit *f, const struct meet *m, double s)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t p = m->first; p < m->first + m->n; p++) {
		if (!f->m->part[p].begins)
			continue;
		if (best == UINT32_MAX) {
			best = p;
			continue;
		}
		const struct linear *x = &f->begin[p], *y = &f->begin[best];
		const double over = (x->a - y->a) + (x->b - y->b) * s;
		if (over > 0 || (over == 0 && x->b > y->b))
			best = p;
	}
	return best;
}

/* The next corner after s of a meet whose last begin there is `at`; UINT32_MAX: none. */
static uint32_t
next_begin(const struct fit *f, const struct meet *m, uint32_t at, double *s)
{
	uint32_t next = UINT32_MAX;
	double best = DBL_MAX;

	for (uint32_t p = m->first; p < m->first + m->n; p++) {
		const double slope = f->begin[p].b - f->begin[at].b;
		if (!f->m->part[p].begins || slope <= 0)
			continue;
		const double meets = (f->begin[at].a - f->begin[p].a) / slope;
		if (meets < best || (meets == best && slope > f->begin[next].b - f->begin[at].b)) {
			best = meets;
			next = p;
		}
	}
	if (next != UINT32_MAX)
		*s = best > *s ? best : *s;
	return next;
}

static void
list_corners(struct fit *f, double low, double high)
{
	f->ncorners = 0;
	for (uint32_t i = 0; i < f->m->n; i++) {
		const struct meet *m = &f->m->meet[i];
		double s = low;
		uint32_t at = last_begin(f, m, low);
		count(f, m, f->begin[at], 1);
		for (uint32_t next; (next = next_begin(f, m, at, &s)) != UINT32_MAX && s < high;) {
			f->corner[f->ncorners++] =
				(struct corner){s, i, f->begin[at], f->begin[next]};
			at = next;
		}
	}
}

ORDER_BY(by_place, struct corner, UP(s), UP(meet))

static void
set_lines(struct fit *f, const double *x, const double *v)
{
	memset(f->sums, 0, sizeof *f->sums * f->m->nfamilies);
	f->A = f->B = f->C = 0;
	for (uint32_t p = 0; p < f->m->nparts; p++) {
		const struct meet_part *part = &f->m->part[p];
		f->begin[p] = line_of(f, x, v, part->clock, part->begin);
		f->end[p] = line_of(f, x, v, part->clock, part->end);
	}
}

double
fit_value(struct fit *f, const double *x)
{
	set_lines(f, x, NULL);
	for (uint32_t i = 0; i < f->m->n; i++) {
		const struct meet *m = &f->m->meet[i];
		count(f, m, f->begin[last_begin(f, m, 0)], 1);
	}
	for (uint32_t i = 0; i < f->m->nfamilies; i++)
		weigh(f, i, 1);
	return f->C;
}

void
fit_durations(struct fit *f, const double *x, double *duration)
{
	set_lines(f, x, NULL);
	memset(duration, 0, sizeof *duration * f->m->nparts);
	for (uint32_t i = 0; i < f->m->n; i++) {
		const struct meet *m = &f->m->meet[i];
		const double last = f->begin[last_begin(f, m, 0)].a;
		for (uint32_t p = m->first; p < m->first + m->n; p++)
			duration[p] = f->m->part[p].ends ? f->end[p].a - last : 0;
	}
}

/* Takes the minimum of the parabola in [low, high] if it is less than the best so far. */
static void
try_piece(const struct fit *f, double low, double high, double *best, double *value)
{
	double s = low > 0 ? low : high < 0 ? high : 0;

	if (f->A > DBL_MIN)
		s = -f->B / (2 * f->A);
	else if (f->B != 0)
		s = f->B > 0 ? low : high;
	s = s < low ? low : s > high ? high : s;
	const double at = (f->A * s + f->B) * s + f->C;
	if (at < *value) {
		*value = at;
		*best = s;
	}
}

double
fit_line(struct fit *f, const double *x, const double *v, double low, double high, double *value)
{
	/* Sums of differences have noise in the last digits, which is not a gain. */
	static const double noise = 1e-10;
	const double here = fit_value(f, x);
	double best = 0, least = here * (1 - noise), from = low;

	set_lines(f, x, v);
	list_corners(f, low, high);
	qsort(f->corner, f->ncorners, sizeof *f->corner, by_place);
	for (uint32_t i = 0; i < f->m->nfamilies; i++)
		weigh(f, i, 1);
	for (uint32_t i = 0; i < f->ncorners; i++) {
		const struct corner *c = &f->corner[i];
		const struct meet *m = &f->m->meet[c->meet];
		try_piece(f, from, c->s, &best, &least);
		from = c->s;
		weigh(f, m->family, -1);
		count(f, m, c->before, -1);
		count(f, m, c->behind, 1);
		weigh(f, m->family, 1);
	}
	try_piece(f, from, high, &best, &least);
	*value = best != 0 ? least : here;
	return best;
}
