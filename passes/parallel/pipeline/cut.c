/*
 * Cuts a line of ops into stages of consecutive ops, so that the slowest stage is as fast as
 * possible.
 *
 * Is there a cut with no stage slower than a bound? Let sum[i] be the work of the ops before i. Ops
 * j .. i - 1 are stage k within the bound if
 *
 *     sum[k][i] - sum[k][j] + cut[k][j] + cut[k + 1][i] <= bound,
 *
 * so that among the ends j that k stages before it can have, the one with the largest sum[k][j] -
 * cut[k][j] decides. Stages may be on devices of different kinds, so each stage has its own sums
 * and messages. Memory allows a window of ends, as it only grows with the ops of a stage, and both
 * sides of the window move forward with i: a queue of maxima answers in constant time. One question
 * takes O(stages * ops), and bisection asks a fixed number of them; a bottleneck of a partition of
 * a chain is found in this way (Pinar and Aykanat, "Fast optimal load balancing algorithms for 1D
 * partitioning", JPDC 64(8), 2004), here with costs of cuts and with memory.
 */
#include "passes/parallel/pipeline/cut.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <talloc.h>

/* Number of bisections: a bound is within 2^-40 of the sum of all work, which is less than any
 * clock resolves. */
enum { BISECTIONS = 40 };

struct cutter {
	const struct pipeline_line *l;
	double **sum;         /* [stages][n + 1] sum over the ops before i */
	double *fixed, *kept; /* [n + 1] sum over the ops before i */
	uint32_t *from;       /* [(stages + 1) * (n + 1)] start of the last of k stages up to i, or
		       * NONE */
	uint32_t *queue;      /* [n + 1] */
};

enum { NONE = UINT32_MAX };

/* Under 1F1B the micro-batches in flight at a stage are as many as the stages from it on. */
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
merit(const struct cutter *c, uint32_t k, uint32_t j)
{
	return c->sum[k][j] - c->l->cut[k][j];
}

static uint32_t *
from(const struct cutter *c, uint32_t k, uint32_t i)
{
	return &c->from[(size_t)k * (c->l->n + 1) + i];
}

/* For each i, the beginning of stage k if it ends at i. */
static void
end_stage(const struct cutter *c, uint32_t k, double bound, double share)
{
	const double memory = share * c->l->memory[k];
	uint32_t first = 0, end = 0;

	*from(c, k + 1, 0) = NONE;
	for (uint32_t i = 1; i <= c->l->n; i++) {
		const uint32_t j = i - 1;
		if (k == 0 ? j == 0 : *from(c, k, j) != NONE) {
			while (end > first && merit(c, k, c->queue[end - 1]) <= merit(c, k, j))
				end--;
			c->queue[end++] = j;
		}
		while (end > first && memory_of(c, k, c->queue[first], i) > memory)
			first++;
		const bool fits =
			end > first &&
			c->sum[k][i] + c->l->cut[k + 1][i] - merit(c, k, c->queue[first]) <= bound;
		*from(c, k + 1, i) = fits ? c->queue[first] : NONE;
	}
}

static bool
fits(const struct cutter *c, double bound, double share)
{
	for (uint32_t k = 0; k < c->l->stages; k++)
		end_stage(c, k, bound, share);
	return *from(c, c->l->stages, c->l->n) != NONE;
}

/* The least value in [0, high] for which a cut exists. The value is the bound if `bounds` is true,
 * else the share of the memory, without a bound. */
static double
least(const struct cutter *c, double high, bool bounds, double share)
{
	double low = 0;

	for (int k = 0; k < BISECTIONS; k++) {
		const double middle = low + (high - low) / 2;
		if (bounds ? fits(c, middle, share) : fits(c, INFINITY, middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* With this share of its memory each stage could have all ops, twice, so that rounding does not
 * matter. */
static double
most_share(const struct cutter *c)
{
	double share = 0;

	for (uint32_t k = 0; k < c->l->stages; k++)
		share = fmax(share, 2 * memory_of(c, 0, 0, c->l->n) / c->l->memory[k]);
	return share;
}

/* A bound that no stage of any cut exceeds. */
static double
most_bound(const struct cutter *c)
{
	const struct pipeline_line *l = c->l;
	double most = 0;

	for (uint32_t k = 0; k < l->stages; k++)
		for (uint32_t i = 0; i <= l->n; i++)
			most = fmax(
				most, c->sum[k][l->n] + 2 * fmax(l->cut[k][i], l->cut[k + 1][i]));
	return most;
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
	struct cutter c = {l, ARRAY_NEW(scratch, double *, l->stages),
		sums(scratch, l->fixed, l->n), sums(scratch, l->kept, l->n),
		ARRAY_NEW(scratch, uint32_t, (size_t)(l->stages + 1) * (l->n + 1)),
		ARRAY_NEW(scratch, uint32_t, l->n + 1)};

	for (uint32_t k = 0; k < l->stages; k++)
		c.sum[k] = k && l->work[k] == l->work[k - 1] ? c.sum[k - 1]
							     : sums(scratch, l->work[k], l->n);
	const bool has_memory = fits(&c, INFINITY, 1);
	const double share = has_memory ? 1 : least(&c, most_share(&c), false, 0);
	fits(&c, least(&c, most_bound(&c), true, share), share);
	for (uint32_t k = l->stages, i = l->n; k > 0; k--)
		first[k - 1] = i = *from(&c, k, i);
	talloc_free(scratch);
	return has_memory;
}
