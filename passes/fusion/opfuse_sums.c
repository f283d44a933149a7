/*
 * Sums over leading dims leave their kernels where the cost model says that two kernels are faster
 * than one: a kernel that reduces rows and columns, as the gradients of a layer norm and of its
 * weights, reaches a fraction of the rate of one that does either (ir/cluster/reach.def). Nothing
 * of a kernel reads such a sum, so it can always be left to a kernel of its own, which
 *
 *     reads      what it adds up, which the first kernel then writes
 *     computes   that again, from what both kernels read, with all that only the sums need
 *
 * whichever takes less. On devices without reached rates a kernel takes as long as its bytes,
 * whatever its loops are, and nothing is done.
 */
#include "ir/base/arena.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/estimate/estimate.h"
#include "passes/fusion/opfuse.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Two kernels have to be faster by this share of the one: estimates are no better. */
static const double worth = 0.02;

/* What happens to an op of the kernel. */
enum part {
	PART_STAYS,
	PART_AGAIN, /* the sums' kernel computes it, too, or alone if nothing else reads it */
	PART_SUM,   /* leaves */
};

struct splitter {
	struct opfuse *u;
	struct estimator *e;
	uint32_t k; /* the kernel */
	uint8_t part[FUSE_MAX_OPS];
	bool out[FUSE_MAX_OPS]; /* of each op: read by other kernels */
};

static bool
is_sum(const struct splitter *s, uint32_t i)
{
	const uint32_t op = s->u->kernel[s->k].op[i];

	return s->u->home[op] == s->k && fuse_table_role(s->u->table, op)->kind == FUSE_LAST;
}

/* Does an op of the kernel that `in` holds for read its i-th op? */
static bool
is_read_by(const struct splitter *s, uint32_t i, bool (*in)(const struct splitter *, uint32_t))
{
	const struct opfuse_kernel *k = &s->u->kernel[s->k];

	for (uint32_t r = i + 1; r < k->n; r++)
		if (in(s, r) && opfuse_reads(s->u, k->op[r], k->op[i]))
			return true;
	return false;
}

static bool
stays(const struct splitter *s, uint32_t i)
{
	return s->part[i] == PART_STAYS;
}

static bool
leaves(const struct splitter *s, uint32_t i)
{
	return s->part[i] != PART_STAYS;
}

/* Marks the sums and, with `again`, what they compute for themselves. */
static void
find_parts(struct splitter *s, bool again)
{
	const struct opfuse *u = s->u;
	const struct opfuse_kernel *k = &u->kernel[s->k];

	for (uint32_t i = k->n; i-- > 0;) {
		const bool copy = u->home[k->op[i]] != s->k;
		s->part[i] = is_sum(s, i) ? PART_SUM : PART_STAYS;
		if (s->part[i] == PART_SUM || !is_read_by(s, i, leaves))
			continue;
		const bool own = !s->out[i] && !is_read_by(s, i, stays);
		if (copy ||
			(again && own && fuse_table_role(u->table, k->op[i])->kind != FUSE_STARTS))
			s->part[i] = PART_AGAIN;
	}
}

/* Seconds of the kernel without its sums, if they leave, else of the whole. */
static double
rest_seconds(struct splitter *s, bool split)
{
	const struct opfuse_kernel *k = &s->u->kernel[s->k];
	uint32_t op[FUSE_MAX_OPS], n = 0;
	bool live[FUSE_MAX_OPS], out[FUSE_MAX_OPS], stored[FUSE_MAX_OPS];

	for (uint32_t i = k->n; i-- > 0;) {
		const bool sum = split && s->part[i] == PART_SUM;
		stored[i] = s->out[i] || (split && stays(s, i) && is_read_by(s, i, leaves));
		live[i] = !sum && stored[i];
		for (uint32_t r = i + 1; r < k->n && !live[i] && !sum; r++)
			live[i] = live[r] && opfuse_reads(s->u, k->op[r], k->op[i]);
	}
	for (uint32_t i = 0; i < k->n; i++)
		if (live[i]) {
			op[n] = k->op[i];
			out[n++] = stored[i];
		}
	return n ? estimator_seconds(s->e, op, n, out) : INFINITY;
}

/* The ops of the kernel of the sums, ascending; how many. */
static uint32_t
list_sums(const struct splitter *s, uint32_t op[FUSE_MAX_OPS], bool out[FUSE_MAX_OPS])
{
	const struct opfuse_kernel *k = &s->u->kernel[s->k];
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->n; i++)
		if (leaves(s, i)) {
			op[n] = k->op[i];
			out[n++] = s->part[i] == PART_SUM;
		}
	return n;
}

/* Seconds of both kernels; INFINITY: they are not possible. */
static double
split_seconds(struct splitter *s)
{
	uint32_t op[FUSE_MAX_OPS];
	bool out[FUSE_MAX_OPS];
	const uint32_t n = list_sums(s, op, out);

	if (n == s->u->kernel[s->k].n || fuse_check(s->u->table, op, n, true) != FUSE_POSSIBLE)
		return INFINITY;
	return rest_seconds(s, true) + estimator_seconds(s->e, op, n, out);
}

/* Kernel `to`, which has no ops, gets these, at the place of s->k: those whose home is s->k leave it,
 * if `leave`, or have copies in it. */
static void
fill(struct splitter *s, uint32_t to, const uint32_t *op, const bool *leave, uint32_t n)
{
	struct opfuse *u = s->u;
	uint32_t *list = ARENA_ARRAY(u->lists, uint32_t, n);

	memcpy(list, op, n * sizeof *op);
	u->kernel[to] = (struct opfuse_kernel){
		.op = list, .n = n, .place = u->kernel[s->k].place, .into = to};
	for (uint32_t i = 0; i < n; i++)
		if (leave[i] && u->home[op[i]] == s->k)
			u->home[op[i]] = to;
		else
			VEC_PUSH(u, &u->copies[op[i]], to);
}

/* A kernel has the number of one of its ops, so that the numbers of the others are free: that of a
 * sum becomes the number of the sums' kernel, or that of another op the number of the rest. */
static void
split(struct splitter *s)
{
	struct opfuse *u = s->u;
	struct opfuse_kernel *k = &u->kernel[s->k];
	uint32_t op[FUSE_MAX_OPS], n = 0, sum = OPFUSE_NONE, other = OPFUSE_NONE;
	bool leave[FUSE_MAX_OPS];

	for (uint32_t i = 0; i < k->n; i++)
		if (k->op[i] != s->k && u->home[k->op[i]] == s->k)
			*(s->part[i] == PART_SUM ? &sum : &other) = k->op[i];
	if (sum != OPFUSE_NONE) {
		fill(s, sum, op, leave, list_sums(s, op, leave));
		for (uint32_t i = 0; i < k->n; i++)
			if (s->part[i] != PART_SUM)
				k->op[n++] = k->op[i];
		k->n = n;
		return;
	}
	/* What is copied into this kernel stays in its list, and is dropped where nothing reads it. */
	uint32_t again[FUSE_MAX_OPS], nagain = 0;
	for (uint32_t i = 0; i < k->n; i++)
		if (s->part[i] != PART_SUM) {
			leave[n] = true;
			op[n++] = k->op[i];
			if (u->home[k->op[i]] == s->k && s->part[i] == PART_AGAIN)
				again[nagain++] = k->op[i];
		}
	fill(s, other, op, leave, n);
	n = 0;
	for (uint32_t i = 0; i < k->n; i++)
		if (u->home[k->op[i]] != other || s->part[i] == PART_AGAIN)
			k->op[n++] = k->op[i];
	k->n = n;
	for (uint32_t i = 0; i < nagain; i++)
		VEC_PUSH(u, &u->copies[again[i]], s->k);
}

static void
consider(struct splitter *s)
{
	struct opfuse *u = s->u;
	const struct opfuse_kernel *k = &u->kernel[s->k];
	bool sums = false;

	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t in[1];
		s->out[i] = u->home[k->op[i]] == s->k && opfuse_readers(u, k->op[i], in, 1);
		sums = sums || is_sum(s, i);
	}
	if (!sums)
		return;
	find_parts(s, false);
	const double whole = rest_seconds(s, false), reads = split_seconds(s);
	find_parts(s, true);
	const double computes = split_seconds(s);
	if (fmin(reads, computes) > (1 - worth) * whole)
		return;
	find_parts(s, computes < reads);
	split(s);
}

void
opfuse_split_sums(struct opfuse *u)
{
	const struct cost_model *model = u->run->cost;

	if (!model || !cost_model_device(model)->reached)
		return;
	struct splitter s = {.u = u, .e = estimator_create(u, model, 0, u->m, u->block, u->alike)};
	for (s.k = 0; s.k < u->nops; s.k++)
		if (u->kernel[s.k].n > 1 && u->kernel[s.k].n <= FUSE_MAX_OPS)
			consider(&s);
	talloc_free(s.e);
}
