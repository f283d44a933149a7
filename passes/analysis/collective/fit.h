/*
 * Collectives from measurements: the time between and beyond the sizes that were measured, and the
 * latency and bandwidth of the links that they suggest.
 */
#ifndef PASSES_ANALYSIS_COLLECTIVE_FIT_H
#define PASSES_ANALYSIS_COLLECTIVE_FIT_H

#include "passes/analysis/collective/collective.h"

/*
 * Seconds against bytes. Libraries change protocol and algorithm with the size (NCCL: LL, LL128,
 * Simple; rings and trees), so no single line fits:
 *
 *     seconds                      . '   a line with the slope of the largest sizes
 *        |                    o--'
 *        |           o---o---'           straight between neighbours
 *        | . - o---o'
 *        +-----------------------bytes   a line from the smallest sizes to 0 bytes
 *
 * Straight in bytes, not in their logarithm: latency + bytes / bandwidth is met exactly, and of 31
 * sizes of an all_reduce_perf on 16 H100, from 8 B to 8 GiB, every second one is interpolated from
 * its neighbours with a mean error of 2.0 %; straight lines in both logarithms give 3.3 %, in the
 * logarithm of the bytes alone 7.5 %.
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
 * 0. Several measurements of one size are replaced by their median. Sizes at which more bytes take
 * less time share one time, which minimizes the sum of squared relative errors. NULL for n = 0.
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
 * Fits equal links to n samples by the closed forms of `a` (collective_closed_form), by least
 * squares on the relative error; every sample counts. Samples may be of several kinds and numbers
 * of places. COLLECTIVE_AUTO: the algorithm that fits best. False if none fits all of the samples,
 * or no sample has more than one place.
 */
bool collective_fit_links(const struct collective_sample *sample, uint32_t n,
	enum collective_algorithm a, struct collective_links *links);

#endif
