/*
 * Collectives from measurements: the time between and beyond the sizes that were measured, and the
 * latency and bandwidth of the links that they suggest.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_FIT_H
#define PASSES_ANALYSIS_COLLECTIVE_FIT_H

#include "passes/analysis/collective/collective.h"

/*
 * Seconds against bytes. Libraries change protocol and algorithm with the size (NCCL: LL, LL128,
 * Simple; rings and trees), so no one line fits:
 *
 *     seconds                      . '   a line with the slope of the largest sizes
 *        |                    o--'
 *        |           o---o---'           straight between neighbours
 *        | . - o---o'
 *        +-----------------------bytes   a line from what the smallest sizes say of 0 bytes
 *
 * Straight in bytes, not in their logarithm: latency + bytes / bandwidth is met exactly, and of 31
 * sizes of an all_reduce_perf on 16 H100, from 8 B to 8 GiB, every second one is foretold by its
 * neighbours to 2.0 % in the mean, where straight in both logarithms gives 3.3 %, in that of the
 * bytes alone 7.5 %.
 */
struct collective_curve {
	uint32_t n;
	double *bytes;   /* [n] ascending */
	double *seconds; /* [n] not descending */
	double at_zero;  /* seconds of no bytes; not more than the first */
	double slope;    /* seconds a byte beyond the last */
};

/*
 * A curve through n measurements in any order, owned by `owner`; bytes not negative, seconds above
 * 0. Of several with one size the median counts. Where more bytes take less, these sizes share one
 * time, the least in sum of squared relative errors. NULL for n = 0.
 */
struct collective_curve *collective_curve_create(
	const void *owner, const double *bytes, const double *seconds, uint32_t n);

/* Never descending in bytes. */
double collective_curve_seconds(const struct collective_curve *c, double bytes);

struct collective_sample {
	enum rt_coll_kind kind;
	int places;
	double bytes, seconds;
};

struct collective_links {
	enum collective_algorithm algorithm;
	double latency, bandwidth; /* bandwidth: infinite where bytes cost nothing */
	double error;              /* root mean square of the relative error */
};

/*
 * The equal links on which n samples, of several kinds and numbers of places if need be, take what
 * the closed forms of `a` say (collective_closed_form), by least squares on the relative error, in which
 * every sample counts; COLLECTIVE_AUTO: of the algorithm that fits best. False: none fits all of the samples, or
 * there are none above one place.
 */
bool collective_fit_links(const struct collective_sample *sample, uint32_t n,
	enum collective_algorithm a, struct collective_links *links);

#endif
