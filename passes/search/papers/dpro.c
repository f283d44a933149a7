/*
 * dPRO's optimizer (Hu et al. 2022, "dPRO: A Generic Performance Diagnosis and Optimization Toolkit
 * for Expediting Distributed DNN Training", sections 5.1 to 5.3, Algorithm 1). Again and again it
 * goes along the critical path and decides for each two neighbours on it whether to fuse them:
 *
 *     computation ops p[n-1], p[n], with messages q[n-1], q[n] of what they make
 *         fuse if  t(q[n-1]) < t(p[n-1]) + t(p[n]) - t(both as one)            Theorem 1
 *         then q[n-1] and q[n] too                                             Theorem 3
 *     messages q[n-1], q[n], of what p[n-1] and p[n] make
 *         fuse if  end(q[n-1]) > end(p[n]) + t_sync(both) - t_sync(q[n])       Theorem 2
 *         then p[n-1] and p[n] too                                             Theorem 3
 *     each message on the path, fused or not: in the number of parts with the least t_sync
 *
 * A theorem compares the two ways to run the ops (dpro_theorem.c); the step is not replayed for a
 * decision but once after each iteration, and no decision is undone.
 *
 * Where the paper leaves something open:
 *   - Theorem 1 has <= where the listing has <. Here it is <: fusion without gain is not done.
 *   - q[n] is the message that reads from p[n]; if there are several (without the coarsened view),
 *     all count in t(q[n-1]), and the one issued last is fused. p[n] is the kernel that q[n] reads
 *     from; if there are several, the one issued last.
 *   - Its path is computation, then communication. Ours may change between them more than once, as
 *     ops that update weights follow; each two neighbours of the same kind are examined, the others
 *     are left alone.
 *   - end(q[n-1]) takes previous decisions into account, as in Table 1, by
 *         end(q[n]) = max(end(q[n-1]), end(p[n])) + t_sync(q[n])
 *     where end(p[n]) is from the last replay.
 *   - The grid of partition numbers: powers of two up to DPRO_MAX_PARTS.
 *   - "Changes little over 5 search iterations": by at most DPRO_LITTLE of the time. An iteration
 *     without changes would only be repeated, so it ends the search, too.
 *   - With symmetry, a decision for two kernels is also applied to kernels like them which are not
 *     on the path, if one directly follows the other in issue order. Theorem 2 is about messages
 *     that queue up, as those on the path do, so messages elsewhere are left alone.
 *   - Memory is not checked (line 1 of the listing): no change needs more than the step did.
 */
#include "passes/search/papers/dpro.h"

#include "ir/base/vec.h"

#include <talloc.h>

enum { DPRO_ITERATIONS = 5 }; /* section 7.4 */
static const double DPRO_LITTLE = 1e-3;

bool
dpro_more(struct dpro *d)
{
	d->stop = d->stop || !search_more(d->s);
	return !d->stop;
}

/* --- along the critical path --- */

/* The node that now has the n-th op of the path; PLAN_NONE: it has been removed. */
static uint32_t
node_at(const struct dpro *d, uint32_t n)
{
	return plan_home(d->plan, d->path[n]);
}

/* Nodes are fused along the way; an op identifies the node that it is in. */
static void
name_by_ops(struct dpro *d)
{
	for (uint32_t i = 0; i < d->npath; i++)
		d->path[i] = dpro_op_of(d->plan, d->path[i]);
}

static void
find_path(struct dpro *d)
{
	for (uint32_t i = 0; i < plan_count(d->plan); i++) {
		uint32_t at = plan_at(d->plan, i);
		struct plan_node node = plan_node(d->plan, at);
		d->start[at] = node.start;
		d->end[at] = node.end;
	}
	d->npath = dpro_critical_path(d->plan, d->path);
	name_by_ops(d);
}

/* The end of the run of computation ops that starts at path[n]. */
static uint32_t
walk_kernels(struct dpro *d, uint32_t n)
{
	for (; n < d->npath && dpro_more(d); n++) {
		uint32_t b = node_at(d, n), a = n ? node_at(d, n - 1) : PLAN_NONE;
		if (b == PLAN_NONE || a == b)
			continue;
		if (plan_node(d->plan, b).kind != PLAN_KERNEL)
			break;
		if (a == PLAN_NONE || plan_node(d->plan, a).kind != PLAN_KERNEL)
			dpro_part(d, dpro_message_of(d, b));
		else
			dpro_kernels(d, a, b, false);
	}
	return n;
}

/* The same for communication ops. */
static uint32_t
walk_messages(struct dpro *d, uint32_t n)
{
	replay_time start = d->start[node_at(d, n)], end;

	dpro_part(d, node_at(d, n));
	end = start + plan_node(d->plan, node_at(d, n)).duration;
	for (n++; n < d->npath && dpro_more(d); n++) {
		uint32_t a = node_at(d, n - 1), b = node_at(d, n);
		if (b == PLAN_NONE || plan_node(d->plan, b).kind != PLAN_MESSAGE)
			break;
		if (a == b)
			continue;
		dpro_messages(d, a, b, start, &end);
		start = end - plan_node(d->plan, b).duration;
	}
	return n;
}

/* Applies decisions to kernels that are not on the path. */
static void
repeat_decisions(struct dpro *d)
{
	d->npath = 0;
	for (uint32_t i = 0; i < plan_count(d->plan); i++) {
		uint32_t node = plan_at(d->plan, i);
		if (plan_node(d->plan, node).kind == PLAN_KERNEL)
			d->path[d->npath++] = node;
	}
	name_by_ops(d);
	for (uint32_t n = 1; n < d->npath && dpro_more(d); n++) {
		uint32_t a = node_at(d, n - 1), b = node_at(d, n);
		if (a != b && a != PLAN_NONE && b != PLAN_NONE)
			dpro_kernels(d, a, b, true);
	}
}

/* Lines 5 to 25: one iteration. */
static void
walk_path(struct dpro *d)
{
	find_path(d);
	d->changes = 0;
	dpro_alike_forget(d->alike);
	for (uint32_t n = 0; n < d->npath && !d->stop;) {
		n = walk_kernels(d, n);
		if (n < d->npath && !d->stop)
			n = walk_messages(d, n);
	}
	if (d->alike && !d->stop)
		repeat_decisions(d);
}

static bool
converged(const replay_time *time, uint32_t n)
{
	if (n <= DPRO_ITERATIONS)
		return false;
	replay_time low = time[n - 1], high = time[n - 1];
	for (uint32_t i = n - 1 - DPRO_ITERATIONS; i < n; i++) {
		low = time[i] < low ? time[i] : low;
		high = time[i] > high ? time[i] : high;
	}
	return (double)(high - low) <= DPRO_LITTLE * (double)low;
}

/* Lines 3 and 26; false: time to stop. */
static bool
replay(struct dpro *d, replay_time *t)
{
	if (!dpro_more(d))
		return false;
	*t = plan_replay(d->plan);
	search_found(d->s, *t);
	plan_forget(d->plan);
	return true;
}

void
search_dpro(struct search *s)
{
	struct dpro *d = NEW(NULL, struct dpro);
	replay_time *time = NULL, t;
	uint32_t n = 0;

	*d = (struct dpro){.s = s, .o = s->o, .plan = s->plan};
	d->path = ARRAY_NEW(d, uint32_t, plan_room(s->plan));
	d->start = ARRAY_NEW(d, replay_time, plan_room(s->plan));
	d->end = ARRAY_NEW(d, replay_time, plan_room(s->plan));
	d->reader = ARRAY_NEW(d, uint32_t, plan_room(s->plan));
	if (s->o->symmetry)
		d->alike = dpro_alike_create(d, s->plan);
	if (s->o->coarsen)
		dpro_coarsen(d);
	while (replay(d, &t)) {
		ARRAY_PUSH(d, time, n, t);
		if (converged(time, n))
			break;
		walk_path(d);
		if (!d->changes)
			break;
	}
	talloc_free(d);
}
