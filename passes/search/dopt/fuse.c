/*
 * Kernels, without regard to messages: the fusion that saves most time first. A heap holds pairs of
 * kernels that may be fused, by the time saved: one reads the other, or both read the same value. A
 * pair is valid as long as neither kernel has changed; a kernel that changes adds its new pairs.
 * Layers that are alike have pairs with equal savings, so all of them are fused in turn.
 *
 * Then copies: a kernel that several others read is copied into each of them, and is removed if it
 * has no other readers. Neither step considers messages: the rest of the engine undoes fusions that
 * delay a message that is needed.
 */
#include "passes/search/dopt/impl.h"

#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

enum fuse_limit {
	FUSE_COPIES = 12,  /* with more readers, copies cost more than reading */
	FUSE_NOISE = 1024, /* unit of `noise` */
};

struct candidate {
	replay_time gain;
	uint32_t a, b;
	uint32_t age_a, age_b; /* versions of the two kernels when the pair was found */
};

struct fuser {
	struct dopt *d;
	struct VEC(struct candidate) heap;
	uint32_t *age; /* [room of the plan] how often the kernel has changed */
	uint32_t near[DOPT_NEAR], noise;
	bool alike;
};

/* Larger savings first; ties go to the smaller numbers, so that the order is deterministic. */
static bool
before(const struct candidate *x, const struct candidate *y)
{
	if (x->gain != y->gain)
		return x->gain > y->gain;
	return x->b != y->b ? x->b < y->b : x->a < y->a;
}

static void
push(struct fuser *f, struct candidate c)
{
	VEC_PUSH(f, &f->heap, c);
	struct candidate *heap = f->heap.at;
	int64_t i = f->heap.n - 1;
	for (; i && before(&c, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = c;
}

static struct candidate
pop(struct fuser *f)
{
	struct candidate *heap = f->heap.at, top = heap[0], last = VEC_POP(&f->heap);
	const int64_t n = f->heap.n;
	int64_t i = 0;

	for (int64_t child = 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

static bool
is_kernel(const struct fuser *f, uint32_t node)
{
	return plan_node(f->d->p, node).kind == PLAN_KERNEL;
}

static void
consider(struct fuser *f, uint32_t a, uint32_t b)
{
	struct plan *p = f->d->p;
	replay_time together = plan_fused_time(p, a, b);

	if (together < 0)
		return;
	replay_time gain = plan_node(p, a).duration + plan_node(p, b).duration - together;
	if (f->noise)
		gain += gain / FUSE_NOISE *
			((replay_time)search_random_below(&f->d->random, 2 * f->noise + 1) -
				(replay_time)f->noise);
	if (gain > 0)
		push(f, (struct candidate){gain, a, b, f->age[a], f->age[b]});
}

/* Pairs of the kernel with others; for a kernel that has not changed, only those with smaller
 * numbers. */
static void
consider_all(struct fuser *f, uint32_t node, bool changed)
{
	struct plan *p = f->d->p;
	struct plan_node k = plan_node(p, node);

	if (k.kind != PLAN_KERNEL)
		return;
	for (uint32_t e = 0; e < k.npreds; e++)
		if (is_kernel(f, k.pred[e]))
			consider(f, k.pred[e], node);
	uint32_t n = dopt_near(f->d, node, f->alike, f->near);
	for (uint32_t i = 0; i < n; i++)
		if (changed || plan_node(p, f->near[i]).position < k.position)
			consider(f, f->near[i], node);
	if (!changed)
		return;
	n = plan_readers(p, node, f->d->reader);
	for (uint32_t i = 0; i < n; i++)
		if (is_kernel(f, f->d->reader[i]))
			consider(f, node, f->d->reader[i]);
}

static struct fuser *
fuser_create(struct dopt *d, uint32_t noise, bool alike)
{
	struct fuser *f = NEW(NULL, struct fuser);

	f->d = d;
	f->noise = noise;
	f->alike = alike;
	f->age = ARRAY_NEW(f, uint32_t, d->room);
	memset(f->age, 0, d->room * sizeof *f->age);
	return f;
}

void
dopt_fuse_all(struct dopt *d, uint32_t noise, bool alike)
{
	if (!dopt_may(d, SEARCH_FUSE))
		return;
	struct fuser *f = fuser_create(d, noise, alike);
	for (uint32_t i = 0; i < plan_count(d->p); i++)
		consider_all(f, plan_at(d->p, i), false);
	while (f->heap.n && !dopt_over(d)) {
		struct candidate c = pop(f);
		if (f->age[c.a] != c.age_a || f->age[c.b] != c.age_b || !plan_exists(d->p, c.a) ||
			!plan_exists(d->p, c.b))
			continue;
		if (!plan_fuse(d->p, c.a, c.b, PLAN_FUSE))
			continue;
		f->age[c.a]++;
		f->age[c.b]++;
		if (plan_exists(d->p, c.b))
			consider_all(f, c.b, true);
	}
	talloc_free(f);
}

/* --- copies --- */

static replay_time
sum_of(const struct dopt *d, const uint32_t *node, uint32_t n)
{
	replay_time sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (plan_exists(d->p, node[i]))
			sum += plan_node(d->p, node[i]).duration;
	return sum;
}

bool
dopt_inline(struct dopt *d, uint32_t node)
{
	uint32_t n = plan_readers(d->p, node, d->reader);
	bool any = false;

	if (n > FUSE_COPIES)
		return false;
	/* Kernels that are no longer read are removed at once. */
	for (uint32_t i = 0; i < n && plan_exists(d->p, node); i++)
		if (plan_exists(d->p, d->reader[i]) &&
			plan_node(d->p, d->reader[i]).kind == PLAN_KERNEL)
			any |= plan_fuse(d->p, node, d->reader[i], PLAN_FUSE_COPY);
	return any;
}

/* Copies a kernel into all its readers if that saves time in total, else into those where it saves
 * time. */
static void
try_inline(struct dopt *d, uint32_t node)
{
	uint32_t n = plan_readers(d->p, node, d->reader), *list = d->list;

	if (n < 2 || n > FUSE_COPIES)
		return;
	memcpy(list, d->reader, n * sizeof *list);
	list[n] = node;
	uint32_t mark = plan_mark(d->p);
	replay_time sum = sum_of(d, list, n + 1);
	if (dopt_inline(d, node) && sum_of(d, list, n + 1) < sum)
		return;
	plan_undo(d->p, mark);
	for (uint32_t i = 0; i < n && plan_exists(d->p, node); i++) {
		if (!plan_exists(d->p, list[i]) || plan_node(d->p, list[i]).kind != PLAN_KERNEL)
			continue;
		mark = plan_mark(d->p);
		sum = plan_node(d->p, list[i]).duration;
		/* A kernel without readers is removed when its turn comes. */
		if (plan_fuse(d->p, node, list[i], PLAN_FUSE_COPY) && plan_exists(d->p, list[i]) &&
			plan_node(d->p, list[i]).duration >= sum)
			plan_undo(d->p, mark);
	}
}

void
dopt_inline_all(struct dopt *d)
{
	if (!dopt_may(d, SEARCH_COPY))
		return;
	/* From the end on: a kernel that was copied into another is copied further together with
	 * it. */
	for (uint32_t i = plan_count(d->p); i-- > 0 && !dopt_over(d);) {
		if (i >= plan_count(d->p))
			continue;
		uint32_t node = plan_at(d->p, i);
		if (plan_node(d->p, node).kind == PLAN_KERNEL)
			try_inline(d, node);
	}
}
