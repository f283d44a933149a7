/*
 * The methods of DisCo's search (section 4.5), each at random:
 *   - a computation op is fused with one of the computation ops that it reads from, which others
 *     read from the fused op afterwards (non-duplicate), or from a copy that stays (duplicate);
 *   - an AllReduce is combined with one of its neighbours.
 * Ops and AllReduces are those of the current step, fused ones included, with equal probability.
 *
 * Neighbours: in the paper, tensors are neighbours if the op that makes one reads from the op that
 * makes the other (section 3.2). With ops as small as ours, the gradient of a weight is read only
 * by its message, so two gradients of different layers would never be neighbours. Our definition
 * keeps the idea: from the kernels that make the tensors of a message the search goes to the
 * kernels that they read from and that read from them, step by step, until it meets tensors of
 * other messages that could be combined with it. All those at that distance are its neighbours:
 * other tensors of the same kernel before those of the next one, and so from layer to layer.
 */
#include "passes/search/papers/disco.h"

#include "ir/base/alloc.h"

/*
 * Limit on the draws for one possible move. Late in a search one in ten is possible, and without a
 * limit the last draw would never end.
 */
enum { DRAWS = 20 };

struct disco_draw {
	struct plan *plan;
	struct search_random random;
	uint32_t room;
	bool kernels;         /* the step has collectives */
	uint32_t *collective; /* [ncollectives] ops */
	uint32_t ncollectives;
	/* For a walk: visited nodes have the stamp `now`. */
	uint32_t *stamp, now;    /* [room] */
	uint32_t *met, nmet;     /* [room] kernels, in the order of the visit */
	uint32_t *reader;        /* [room] */
	uint32_t *found, nfound; /* [room] neighbours */
};

struct disco_draw *
disco_draw_create(const void *owner, struct plan *p, uint64_t seed)
{
	struct disco_draw *d = NEW(owner, struct disco_draw);
	uint32_t room = d->room = plan_room(p);

	d->plan = p;
	d->random.state = seed;
	d->collective = ARRAY_NEW(d, uint32_t, plan_ops(p));
	d->stamp = ARRAY_ZERO(d, uint32_t, room + 1);
	d->met = ARRAY_NEW(d, uint32_t, room);
	d->reader = ARRAY_NEW(d, uint32_t, room);
	d->found = ARRAY_NEW(d, uint32_t, room);
	for (uint32_t i = 0; i < plan_count(p); i++) {
		struct plan_node node = plan_node(p, plan_at(p, i));
		d->kernels |= node.kind == PLAN_KERNEL;
		for (uint32_t k = 0; node.kind == PLAN_MESSAGE && k < node.nops; k++)
			d->collective[d->ncollectives++] = PLAN_OP_OF(node.op[k]);
	}
	return d;
}

uint32_t
disco_draw_up_to(struct disco_draw *d, uint32_t n)
{
	return search_random_below(&d->random, n + 1);
}

/* --- op fusion --- */

static uint32_t
any_kernel(struct disco_draw *d)
{
	for (;;) {
		uint32_t at = search_random_below(&d->random, plan_count(d->plan));
		uint32_t node = plan_at(d->plan, at);
		if (plan_node(d->plan, node).kind == PLAN_KERNEL)
			return node;
	}
}

/* One of the kernels that it reads from; PLAN_NONE: there is none. */
static uint32_t
any_predecessor(struct disco_draw *d, uint32_t kernel)
{
	struct plan_node node = plan_node(d->plan, kernel);
	uint32_t n = 0;

	for (uint32_t i = 0; i < node.npreds; i++)
		n += plan_node(d->plan, node.pred[i]).kind == PLAN_KERNEL;
	if (!n)
		return PLAN_NONE;
	n = search_random_below(&d->random, n);
	for (uint32_t i = 0;; i++)
		if (plan_node(d->plan, node.pred[i]).kind == PLAN_KERNEL && n-- == 0)
			return node.pred[i];
}

/* --- tensor fusion --- */

/* Every message has the same probability, however many collectives it carries: the first of them
 * represents it. */
static uint32_t
any_message(struct disco_draw *d)
{
	for (;;) {
		uint32_t op = d->collective[search_random_below(&d->random, d->ncollectives)];
		uint32_t node = plan_home(d->plan, op);
		if (PLAN_OP_OF(plan_node(d->plan, node).op[0]) == op)
			return node;
	}
}

static bool
has_partner(const struct disco_draw *d, uint32_t message)
{
	for (uint32_t i = 0; i < d->ncollectives; i++) {
		uint32_t other = plan_home(d->plan, d->collective[i]);
		if (other != message && plan_packs(d->plan, message, other))
			return true;
	}
	return false;
}

static void
meet(struct disco_draw *d, uint32_t node)
{
	if (d->stamp[node] == d->now || plan_node(d->plan, node).kind != PLAN_KERNEL)
		return;
	d->stamp[node] = d->now;
	d->met[d->nmet++] = node;
}

/* Visits the readers of a kernel: records messages that can be packed with this one, and kernels to
 * continue with. */
static void
look_at_readers(struct disco_draw *d, uint32_t message, uint32_t kernel)
{
	uint32_t n = plan_readers(d->plan, kernel, d->reader);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t reader = d->reader[i];
		if (plan_node(d->plan, reader).kind == PLAN_KERNEL) {
			meet(d, reader);
		} else if (d->stamp[reader] != d->now && plan_packs(d->plan, message, reader)) {
			d->stamp[reader] = d->now;
			d->found[d->nfound++] = reader;
		}
	}
}

static void
find_neighbours(struct disco_draw *d, uint32_t message)
{
	struct plan_node node = plan_node(d->plan, message);
	uint32_t looked_at = 0;

	d->nmet = d->nfound = 0;
	d->stamp[message] = ++d->now;
	for (uint32_t i = 0; i < node.npreds; i++)
		meet(d, node.pred[i]);
	while (looked_at < d->nmet && !d->nfound) {
		uint32_t end = d->nmet, first = looked_at;
		for (; looked_at < end; looked_at++)
			look_at_readers(d, message, d->met[looked_at]);
		for (uint32_t i = first; !d->nfound && i < end; i++) {
			node = plan_node(d->plan, d->met[i]);
			for (uint32_t k = 0; k < node.npreds; k++)
				meet(d, node.pred[k]);
		}
	}
}

static bool
draw_messages(struct disco_draw *d, struct disco_move *m)
{
	if (d->ncollectives < 2)
		return false;
	m->a = any_message(d);
	if (!has_partner(d, m->a))
		return false;
	find_neighbours(d, m->a);
	if (!d->nfound)
		return false;
	m->b = d->found[search_random_below(&d->random, d->nfound)];
	/* The later message keeps its place, where the tensors of both are ready. */
	if (plan_node(d->plan, m->a).position > plan_node(d->plan, m->b).position) {
		uint32_t later = m->a;
		m->a = m->b;
		m->b = later;
	}
	return true;
}

static bool
draw_kernels(struct disco_draw *d, struct disco_move *m)
{
	if (!d->kernels)
		return false;
	m->b = any_kernel(d);
	m->a = any_predecessor(d, m->b);
	return m->a != PLAN_NONE;
}

bool
disco_apply(struct disco_draw *d, enum disco_method method, struct disco_move *done)
{
	done->method = method;
	for (int i = 0; i < DRAWS; i++)
		if ((method == DISCO_PACK ? draw_messages(d, done) : draw_kernels(d, done)) &&
			disco_apply_again(d->plan, done))
			return true;
	return false;
}

bool
disco_apply_again(struct plan *p, const struct disco_move *m)
{
	switch (m->method) {
	case DISCO_FUSE: return plan_fuse(p, m->a, m->b, PLAN_FUSE);
	case DISCO_COPY: return plan_fuse(p, m->a, m->b, PLAN_FUSE_COPY);
	default: return plan_pack(p, m->a, m->b);
	}
}
