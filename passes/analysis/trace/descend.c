/*
 * From a point that satisfies the constraints to a minimum of O1: along lines, each to its best
 * point inside the polytope (fit.h). Lines are each clock alone, clocks together, in offset and in
 * drift, and the direction of the last round.
 *
 * This is exact for two clocks and no drift: the polytope is a line, and fit_line finds the minimum
 * of O1 on it. (A method for smooth problems, started in the middle, would stop in the first
 * valley.) With more variables every round lowers O1 or ends; it ends when moving any set of clocks
 * (all sets of up to six clocks in addition to the reference, else any one and those that messages
 * bind closest) by any amount, in offset or drift, with the others held, gains nothing. For the
 * part of O1 that measures how far apart the ends of one collective are, a convex function of
 * differences of offsets under constraints on differences, that is the minimum: such functions are
 * L-natural convex (Murota, Discrete Convex Analysis, 2003, chapter 7), which have no other local
 * minimum under moves of sets.
 */
#include "passes/analysis/trace/descend.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "passes/analysis/trace/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const double most_offset = ALIGN_MOST_OFFSET;
/* A duration is an outlier of its family if it is this many median deviations from the median.
 * Normal noise goes that far once in 10^11 times, ranks that are preempted much farther. */
static const double ordinary = 10;
/* Smaller deviations are due to the clocks, us. */
static const double resolution = 1;

enum {
	/* How often outliers are looked for. */
	MAX_TURNS = 4,
	/* Sets of clocks that are moved together: all of them for 7 clocks. */
	MAX_SETS = 63,
	/* Maximum number of rounds; twenty have been observed. */
	MAX_ROUNDS = 100,
	/* Maximum number of meets in O1: with more a round would take a second. */
	MOST_MEETS = 20000,
};

/* How far the offset between two clocks may be off, from the rows with no drift: us. */
static double
looseness(const struct align_problem *q, int32_t x, int32_t y)
{
	double sum = 0;

	for (int way = 0; way < 2; way++) {
		const int32_t from = way ? x : y, to = way ? y : x;
		double least = 2 * most_offset;
		for (uint32_t r = 0; r < q->p.nrows; r++) {
			const struct polytope_row *row = &q->p.row[r];
			if (row->variable[0] == from && row->variable[1] == to && row->a[0] > 0 &&
				row->b < least)
				least = row->b;
		}
		sum += least;
	}
	return sum;
}

/* Sets of clocks, as variables of their offsets: all sets of a few clocks, else single linkage. */
static uint32_t
sets_of_few(const struct align_problem *q, int32_t *list, uint32_t n, bool *set)
{
	const uint32_t nsets = (1u << n) - 1;

	for (uint32_t k = 0; k < nsets; k++)
		for (uint32_t i = 0; i < n; i++)
			set[k * (uint32_t)q->p.nvariables + (uint32_t)list[i]] = (k + 1) >> i & 1;
	return nsets;
}

static uint32_t
sets_of_many(const struct align_problem *q, int32_t *list, uint32_t n, bool *set)
{
	const uint32_t nv = (uint32_t)q->p.nvariables;
	uint32_t *root = NEW_ARRAY(list, uint32_t, n), nsets = n;
	double *apart = NEW_ARRAY(list, double, n *n);

	for (uint32_t i = 0; i < n; i++) {
		root[i] = i;
		set[i * nv + (uint32_t)list[i]] = true;
		for (uint32_t k = 0; k < i; k++)
			apart[i * n + k] = looseness(q, list[i], list[k]);
	}
	for (uint32_t round = 1; round < n; round++, nsets++) {
		uint32_t a = 0, b = 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < i; k++)
				if (root[i] != root[k] &&
					(a == b || apart[i * n + k] < apart[a * n + b])) {
					a = i;
					b = k;
				}
		for (uint32_t i = 0, gone = root[a]; i < n; i++) {
			root[i] = root[i] == gone ? root[b] : root[i];
			set[nsets * nv + (uint32_t)list[i]] = root[i] == root[b];
		}
	}
	return nsets;
}

/* Moves x to the best point on x + s v. */
static void
move(struct align_problem *q, struct fit *f, const double *v, double *value)
{
	double low = -2 * most_offset, high = 2 * most_offset;

	polytope_line(&q->p, q->x, v, &low, &high);
	if (low >= high)
		return;
	const double s = fit_line(f, q->x, v, low, high, value);
	for (int k = 0; k < q->p.nvariables; k++)
		q->x[k] += s * v[k];
}

static void
descend(struct align_problem *q, struct fit *f, uint32_t kinds)
{
	const uint32_t nv = (uint32_t)q->p.nvariables, per = q->a->drift ? 2 : 1, n = nv / per;
	int32_t *list = NEW_ARRAY(f, int32_t, n);
	const bool few = n < 32 && (1u << n) - 1 <= MAX_SETS;
	bool *set = ZERO_ARRAY(f, bool, (few ? MAX_SETS : 2 * n) * nv);
	double *v = NEW_ARRAY(f, double, nv), *before = NEW_ARRAY(f, double, nv);
	double value = fit_value(f, q->x), last;

	for (uint32_t i = 0; i < n; i++)
		list[i] = (int32_t)(i * per);
	const uint32_t nsets = few ? sets_of_few(q, list, n, set) : sets_of_many(q, list, n, set);
	for (int round = 0; round < MAX_ROUNDS; round++) {
		last = value;
		memcpy(before, q->x, sizeof *before * nv);
		for (uint32_t i = 0; i < nsets * kinds; i++) {
			for (uint32_t k = 0; k < nv; k++)
				v[k] = k >= i % kinds && set[i / kinds * nv + k - i % kinds];
			move(q, f, v, &value);
		}
		for (uint32_t k = 0; k < nv; k++)
			v[k] = q->x[k] - before[k];
		move(q, f, v, &value);
		if (value >= last * (1 - 1e-9))
			break;
	}
	talloc_free(list);
	talloc_free(set);
	talloc_free(v);
	talloc_free(before);
}

/* The duration of a part, to be sorted by families. */
struct duration {
	uint32_t family, meet;
	double value;
};

ORDER_BY(by_duration, struct duration, UP(family), UP(value))

/* Sorts the durations by family and value; middle[family] receives the median of each family. */
static void
sort_durations(struct duration *list, uint32_t n, double *middle)
{
	qsort(list, n, sizeof *list, by_duration);
	for (uint32_t i = 0, first = 0; i < n; i++)
		if (i + 1 == n || list[i + 1].family != list[i].family) {
			middle[list[i].family] = list[(first + i) / 2].value;
			first = i + 1;
		}
}

/*
 * Removes the meets from m that have an outlier of its family among their durations: a member that
 * was preempted says nothing about clocks. Returns how many it has removed.
 */
static uint32_t
drop_outliers(struct align_problem *q, struct fit *f, struct meets *m)
{
	struct duration *list = NEW_ARRAY(f, struct duration, m->nparts);
	double *value = NEW_ARRAY(f, double, m->nparts);
	double *middle = NEW_ARRAY(f, double, 2 * m->nfamilies), *off = middle + m->nfamilies;
	bool *drop = ZERO_ARRAY(f, bool, m->n);
	uint32_t n = 0, kept = 0;

	fit_durations(f, q->x, value);
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t p = m->meet[i].first; p < m->meet[i].first + m->meet[i].n; p++)
			if (m->part[p].ends)
				list[n++] = (struct duration){m->meet[i].family, i, value[p]};
	sort_durations(list, n, middle);
	for (uint32_t i = 0; i < n; i++)
		list[i].value = fabs(list[i].value - middle[list[i].family]);
	sort_durations(list, n, off);
	for (uint32_t i = 0; i < n; i++)
		drop[list[i].meet] |= list[i].value > ordinary * (off[list[i].family] + resolution);
	for (uint32_t i = 0; i < m->n; i++)
		if (!drop[i])
			m->meet[kept++] = m->meet[i];
	const uint32_t dropped = m->n - kept;
	m->n = kept;
	talloc_free(list);
	talloc_free(value);
	talloc_free(middle);
	talloc_free(drop);
	return dropped;
}

/* Every k-th meet, so that there are at most MOST_MEETS. */
static struct meets *
some_meets(const void *owner, const struct meets *all)
{
	const uint32_t stride = all->n / MOST_MEETS + 1;
	struct meets *m = NEW(owner, struct meets);

	*m = *all;
	m->n = 0;
	m->meet = NEW_ARRAY(m, struct meet, all->n);
	for (uint32_t i = 0; i < all->n; i += stride)
		m->meet[m->n++] = all->meet[i];
	return m;
}

/* Descends with all meets, then without the outliers at the result, until there are none. */
/* O1 of the best offsets without drifts, ignoring the constraints; q->x is restored. */
static double
value_without_drifts(struct align_problem *q, struct fit *f)
{
	const uint32_t nrows = q->p.nrows;
	double *x = q->x;

	q->x = COPY_ARRAY(f, double, x, q->p.nvariables);
	for (int k = 1; k < q->p.nvariables; k += 2)
		q->x[k] = 0;
	q->p.nrows = 0;
	descend(q, f, 1);
	const double value = fit_value(f, q->x);
	q->x = x;
	q->p.nrows = nrows;
	return value;
}

void
trace_descend(struct align_problem *q)
{
	struct trace_alignment *a = q->a;
	struct meets *m = some_meets(q->x, q->m);
	struct fit *f = fit_create(q->x, a, m, q->variable);

	a->spread_before = sqrt(fit_value(f, q->x) / m->nfamilies);
	for (int turn = 0; turn < MAX_TURNS; turn++) {
		descend(q, f, a->drift ? 2 : 1);
		a->spread_after = sqrt(fit_value(f, q->x) / m->nfamilies);
		const uint32_t all = m->n;
		if (turn + 1 == MAX_TURNS || !drop_outliers(q, f, m))
			break;
		a->noutliers += all - m->n;
	}
	a->spread_even =
		a->drift ? sqrt(value_without_drifts(q, f) / m->nfamilies) : a->spread_after;
	talloc_free(f);
}
