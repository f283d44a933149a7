/*
 * Cuts a line of ops into stages of consecutive ops, so that the slowest stage is as fast as possible.
 *
 * Is there a cut with no stage slower than a bound? Let sum[i] be the work of the ops before i. Ops j .. i - 1
 * are a stage k within the bound if
 *
 *     sum[i] - sum[j] + cut[j] + cut[i] <= bound,
 *
 * so that among the ends j that k stages before it can have, the one with the largest sum[j] - cut[j]
 * decides. Memory allows a window of ends, as it only grows with the ops of a stage, and both sides
 * of the window move forward with i: a queue of maxima answers in constant time. One question takes
 * O(stages * ops), and bisection asks a fixed number of them; a bottleneck of a partition of a chain
 * is found in this way (Pinar and Aykanat, "Fast optimal load balancing algorithms for 1D
 * partitioning", JPDC 64(8), 2004), here with costs of cuts and with memory.
 */
#include "passes/parallel/pipeline_cut.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <talloc.h>

/* Bisections: a bound is within 2^-40 of the sum of all work, less than any clock shows. */
enum { BISECTIONS = 40 };

struct cutter {
	const struct pipeline_line *l;
	double *sum, *fixed, *kept; /* [n + 1] of the ops before i */
	uint32_t *
		from; /* [(stages + 1) * (n + 1)] where the last of k stages that end at i begins; NONE: they cannot */
	uint32_t *queue; /* [n + 1] */
};

enum { NONE = UINT32_MAX };

/* Under 1F1B a stage has as many micro-batches under way as there are stages from it on. */
static double
under_way(const struct pipeline_line *l, uint32_t k)
{
	const uint32_t most = l->stages - k;

	return most < l->micro_batches ? most : l->micro_batches;
}

static double
memory_of(const struct cutter *c, uint32_t k, uint32_t j, uint32_t i)
{
	return c->fixed[i] - c->fixed[j] + under_way(c->l, k) * (c->kept[i] - c->kept[j]);
}

static double
merit(const struct cutter *c, uint32_t j)
{
	return c->sum[j] - c->l->cut[j];
}

static uint32_t *
from(const struct cutter *c, uint32_t k, uint32_t i)
{
	return &c->from[(size_t)k * (c->l->n + 1) + i];
}

/* Where stage k, which ends at i for each i, begins. */
static void
end_stage(const struct cutter *c, uint32_t k, double bound, double memory)
{
	uint32_t first = 0, end = 0;

	*from(c, k + 1, 0) = NONE;
	for (uint32_t i = 1; i <= c->l->n; i++) {
		const uint32_t j = i - 1;
		if (k == 0 ? j == 0 : *from(c, k, j) != NONE) {
			while (end > first && merit(c, c->queue[end - 1]) <= merit(c, j))
				end--;
			c->queue[end++] = j;
		}
		while (end > first && memory_of(c, k, c->queue[first], i) > memory)
			first++;
		const bool fits = end > first &&
				  c->sum[i] + c->l->cut[i] - merit(c, c->queue[first]) <= bound;
		*from(c, k + 1, i) = fits ? c->queue[first] : NONE;
	}
}

static bool
fits(const struct cutter *c, double bound, double memory)
{
	for (uint32_t k = 0; k < c->l->stages; k++)
		end_stage(c, k, bound, memory);
	return *from(c, c->l->stages, c->l->n) != NONE;
}

/* The least memory with which there is a cut. */
static double
least_memory(const struct cutter *c)
{
	double low = 0, high = memory_of(c, 0, 0, c->l->n);

	for (int k = 0; k < BISECTIONS; k++) {
		const double middle = low + (high - low) / 2;
		if (fits(c, INFINITY, middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static double
least_bound(const struct cutter *c, double memory)
{
	double low = 0, high = c->sum[c->l->n];

	for (uint32_t i = 0; i <= c->l->n; i++)
		high = fmax(high, c->sum[c->l->n] + 2 * c->l->cut[i]);
	for (int k = 0; k < BISECTIONS; k++) {
		const double middle = low + (high - low) / 2;
		if (fits(c, middle, memory))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static double *
sums(const void *owner, const double *term, uint32_t n)
{
	double *sum = ARRAY_NEW(owner, double, n + 1);

	sum[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		sum[i + 1] = sum[i] + term[i];
	return sum;
}

bool
pipeline_cut(const struct pipeline_line *l, uint32_t *first)
{
	void *scratch = alloc_scratch(NULL);
	const struct cutter c = {l, sums(scratch, l->work, l->n), sums(scratch, l->fixed, l->n),
		sums(scratch, l->kept, l->n),
		ARRAY_NEW(scratch, uint32_t, (size_t)(l->stages + 1) * (l->n + 1)),
		ARRAY_NEW(scratch, uint32_t, l->n + 1)};
	const bool has_memory = fits(&c, INFINITY, l->memory);
	const double memory = has_memory ? l->memory : least_memory(&c);

	fits(&c, least_bound(&c, memory), memory);
	for (uint32_t k = l->stages, i = l->n; k > 0; k--)
		first[k - 1] = i = *from(&c, k, i);
	talloc_free(scratch);
	return has_memory;
}
