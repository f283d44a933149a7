/* Links from measured collectives: each sample is a row of latencies and bytes by a closed form. */
#include "passes/analysis/collective/fit.h"
#include "ir/base/alloc.h"
#include "passes/analysis/fit/alpha_beta.h"

#include <math.h>
#include <talloc.h>

static bool
fit_algorithm(const struct collective_sample *sample, uint32_t n, struct collective_links *links)
{
	double *row = NEW_ARRAY(NULL, double, 3 * (size_t)n);
	double *latencies = row, *bytes = row + n, *seconds = row + 2 * n;
	uint32_t rows = 0;
	bool fits = true;

	for (uint32_t i = 0; i < n && fits; i++) {
		double tensors;
		if (sample[i].places < 2)
			continue;
		fits = collective_closed_form(sample[i].kind, links->algorithm, sample[i].places,
			&latencies[rows], &tensors);
		bytes[rows] = tensors * sample[i].bytes;
		seconds[rows++] = sample[i].seconds;
	}
	if (fits && rows)
		links->error = alpha_beta_fit_rows(
			latencies, bytes, seconds, (int)rows, &links->latency, &links->bandwidth);
	talloc_free(row);
	return fits && rows;
}

bool
collective_fit_links(const struct collective_sample *sample, uint32_t n,
	enum collective_algorithm a, struct collective_links *links)
{
	bool found = false;

	for (int i = 0; i < COLLECTIVE_NALGORITHMS; i++) {
		const enum collective_algorithm one = (enum collective_algorithm)i;
		struct collective_links trial = {one, 0, INFINITY, INFINITY};
		if (a == COLLECTIVE_AUTO ? !collective_automatic(one) : one != a)
			continue;
		if (!fit_algorithm(sample, n, &trial) || (found && trial.error >= links->error))
			continue;
		*links = trial;
		found = true;
	}
	return found;
}
