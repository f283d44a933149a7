/* Time against size through measured points; fit.h has the picture. */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/collective/fit.h"
#include "passes/analysis/fit/alpha_beta.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

/* Sizes that determine the time of 0 bytes: those that take at most this many times as long as the
 * smallest, where latency still dominates. */
#define SMALL_TIMES 2
/* Sizes that determine the slope of large sizes: at least this fraction of the largest. */
#define LARGE_PART 0.25

struct point {
	double bytes, seconds;
};

ORDER_BY(compare_points, struct point, UP(bytes), UP(seconds))

/* Sorts the points and merges those of one size; returns the number left. */
static uint32_t
merge_sizes(struct point *p, uint32_t n)
{
	uint32_t kept = 0;
	qsort(p, n, sizeof *p, compare_points);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && p[end].bytes == p[i].bytes; end++)
			;
		const struct point *low = &p[i + (end - i - 1) / 2], *high = &p[i + (end - i) / 2];
		p[kept++] = (struct point){p[i].bytes, (low->seconds + high->seconds) / 2};
	}
	return kept;
}

/*
 * Pools neighbours that descend (the algorithm of adjacent violators). The time t of a pool that
 * minimizes the sum of (t / y - 1)^2 is sum(1/y) / sum(1/y^2).
 */
static void
pool_descents(struct point *p, uint32_t n)
{
	struct pool {
		double u, uu;
		uint32_t n;
	} *pool = NEW_ARRAY(NULL, struct pool, n);
	uint32_t pools = 0;
	for (uint32_t i = 0; i < n; i++) {
		double u = 1 / p[i].seconds;
		pool[pools++] = (struct pool){u, u * u, 1};
		while (pools > 1) {
			struct pool *last = &pool[pools - 1], *before = last - 1;
			if (before->u / before->uu <= last->u / last->uu)
				break;
			*before = (struct pool){
				before->u + last->u, before->uu + last->uu, before->n + last->n};
			pools--;
		}
	}
	for (uint32_t k = 0, i = 0; k < pools; i += pool[k++].n)
		for (uint32_t j = 0; j < pool[k].n && pool[k].n > 1; j++)
			p[i + j].seconds = pool[k].u / pool[k].uu;
	talloc_free(pool);
}

/* Extends both ends from the points near them, at least two. */
static void
fit_ends(struct collective_curve *c)
{
	uint32_t small = 1, large = 1;
	double alpha, beta, all;

	alpha_beta_fit(c->bytes, c->seconds, (int)c->n, &alpha, &all);
	while (small < c->n && (small < 2 || c->seconds[small] <= SMALL_TIMES * c->seconds[0]))
		small++;
	alpha_beta_fit(c->bytes, c->seconds, (int)small, &alpha, &beta);
	c->at_zero = fmin(alpha, c->seconds[0]);
	while (large < c->n &&
		(large < 2 || c->bytes[c->n - large - 1] >= LARGE_PART * c->bytes[c->n - 1]))
		large++;
	alpha_beta_fit(
		c->bytes + c->n - large, c->seconds + c->n - large, (int)large, &alpha, &beta);
	c->slope = 1 / (isinf(beta) ? all : beta);
}

struct collective_curve *
collective_curve_create(const void *owner, const double *bytes, const double *seconds, uint32_t n)
{
	if (!n)
		return NULL;
	struct collective_curve *c = NEW(owner, struct collective_curve);
	struct point *p = NEW_ARRAY(c, struct point, n);
	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct point){bytes[i], seconds[i]};
	c->n = merge_sizes(p, n);
	pool_descents(p, c->n);
	c->bytes = NEW_ARRAY(c, double, c->n);
	c->seconds = NEW_ARRAY(c, double, c->n);
	for (uint32_t i = 0; i < c->n; i++) {
		c->bytes[i] = p[i].bytes;
		c->seconds[i] = p[i].seconds;
	}
	talloc_free(p);
	fit_ends(c);
	return c;
}

static double
between(double x0, double y0, double x1, double y1, double x)
{
	return y0 + (y1 - y0) * ((x - x0) / (x1 - x0));
}

double
collective_curve_seconds(const struct collective_curve *c, double bytes)
{
	uint32_t low = 0,
		 high = c->n; /* points below `low` have fewer bytes, from `high` on more */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (c->bytes[middle] <= bytes)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == c->n)
		return c->seconds[c->n - 1] + c->slope * (bytes - c->bytes[c->n - 1]);
	if (!low)
		return between(0, c->at_zero, c->bytes[0], c->seconds[0], bytes);
	return between(
		c->bytes[low - 1], c->seconds[low - 1], c->bytes[low], c->seconds[low], bytes);
}
