/*
 * Lower bounds on all plans with given kernels and messages, and on all orders of a plan.
 *
 * Full overlap (DisCo, section 6.2) asks for kernels and messages of the plan at hand to overlap
 * wholly, whatever they wait for.
 *
 * The bound on orders also considers dependencies. Each node has a head, the time before which it
 * cannot start, and a tail, the time that must follow it: the longest path to it and from it or,
 * for a message, the sum of the kernels that it waits for, and of those that wait for it, since one
 * stream runs them all. Each stream alone is then one machine with heads and tails. Jackson's
 * preemptive schedule is optimal for it if jobs may be interrupted (Carlier, "The one-machine
 * sequencing problem", 1982): always run the ready job with the longest tail.
 *
 * That lets each message go first, though the kernels that only it waits for cannot all run first.
 * So the longest messages are also put into their best order: a set S of them ends no earlier than
 *
 *     C(S) = min over j in S of  max(C(S - j), head(j), W(S)) + duration(j)
 *
 * where j goes last and W(S) is the sum of the kernels that some message of S waits for.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/replay/fine_heap.h"
#include "passes/search/search.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

replay_time
search_full_overlap(const struct plan *p)
{
	replay_time compute = plan_compute(p), communication = plan_communication(p);

	return compute > communication ? compute : communication;
}

/* Messages whose best order is found: that takes 2^ORDERED sets and 16 times as many steps, a few
 * milliseconds. */
enum { ORDERED = 16 };

/* Nodes by position, with edges both ways. */
struct bound {
	uint32_t n;
	bool *message;
	replay_time *duration, *head, *tail;
	uint32_t *first_pred, *pred, *first_reader, *reader;
	uint32_t *stack, *stamp, now;
};

struct job {
	replay_time head;
	uint32_t node;
};

static void
find_readers(struct bound *b)
{
	memset(b->first_reader, 0, (b->n + 1) * sizeof *b->first_reader);
	for (uint32_t e = 0; e < b->first_pred[b->n]; e++)
		b->first_reader[b->pred[e] + 1]++;
	for (uint32_t i = 0; i < b->n; i++)
		b->first_reader[i + 1] += b->first_reader[i];
	memcpy(b->stack, b->first_reader, b->n * sizeof *b->stack);
	for (uint32_t i = 0; i < b->n; i++)
		for (uint32_t e = b->first_pred[i]; e < b->first_pred[i + 1]; e++)
			b->reader[b->stack[b->pred[e]]++] = i;
}

static struct bound *
bound_create(const struct plan *p)
{
	struct bound *b = NEW(NULL, struct bound);
	uint32_t n = b->n = plan_count(p), edges = 0;

	for (uint32_t i = 0; i < n; i++)
		edges += plan_node(p, plan_at(p, i)).npreds;
	b->message = ARRAY_NEW(b, bool, n);
	b->duration = ARRAY_NEW(b, replay_time, n);
	b->head = ARRAY_NEW(b, replay_time, n);
	b->tail = ARRAY_NEW(b, replay_time, n);
	b->first_pred = ARRAY_NEW(b, uint32_t, n + 1);
	b->pred = ARRAY_NEW(b, uint32_t, edges);
	b->first_reader = ARRAY_NEW(b, uint32_t, n + 1);
	b->reader = ARRAY_NEW(b, uint32_t, edges);
	b->stack = ARRAY_NEW(b, uint32_t, n);
	b->stamp = ARRAY_ZERO(b, uint32_t, n + 1);
	b->first_pred[0] = edges = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct plan_node k = plan_node(p, plan_at(p, i));
		b->message[i] = k.kind == PLAN_MESSAGE;
		b->duration[i] = k.duration;
		for (uint32_t e = 0; e < k.npreds; e++)
			b->pred[edges++] = plan_node(p, k.pred[e]).position;
		b->first_pred[i + 1] = edges;
	}
	find_readers(b);
	return b;
}

/* Stamps the nodes that are reachable from node i, itself included; returns the sum of the
 * kernels. */
static replay_time
sum_of_kernels(struct bound *b, uint32_t i, const uint32_t *first, const uint32_t *next)
{
	replay_time sum = 0;
	uint32_t n = 0;

	b->stamp[i] = ++b->now;
	for (b->stack[n++] = i; n;) {
		uint32_t k = b->stack[--n];
		sum += b->message[k] ? 0 : b->duration[k];
		for (uint32_t e = first[k]; e < first[k + 1]; e++)
			if (b->stamp[next[e]] != b->now) {
				b->stamp[next[e]] = b->now;
				b->stack[n++] = next[e];
			}
	}
	return sum;
}

/* The earliest begin of node i after those in next[first[i]] ..., or the least time after its end. */
static void
find_path(
	struct bound *b, uint32_t i, const uint32_t *first, const uint32_t *next, replay_time *path)
{
	replay_time t = b->message[i] ? sum_of_kernels(b, i, first, next) : 0;

	for (uint32_t e = first[i]; e < first[i + 1]; e++)
		t = replay_later(t, path[next[e]] + b->duration[next[e]]);
	path[i] = t;
}

ORDER_BY(by_head, struct job, UP(head))

/* Jackson's preemptive schedule of one stream: the latest end, tails included. */
static replay_time
one_machine(const struct bound *b, bool message)
{
	void *scratch = alloc_scratch(NULL);
	struct job *job = ARRAY_NEW(scratch, struct job, b->n);
	replay_time *left = ARRAY_NEW(scratch, replay_time, b->n), now = 0, bound = 0;
	struct fine_heap ready = {ARRAY_NEW(scratch, struct fine_heap_entry, b->n),
		ARRAY_NEW(scratch, uint32_t, b->n), 0};
	uint32_t n = 0, next = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		ready.at[i] = FINE_NOT_IN_HEAP;
		left[i] = b->duration[i];
		if (b->message[i] == message)
			job[n++] = (struct job){b->head[i], i};
	}
	qsort(job, n, sizeof *job, by_head);
	while (next < n || ready.n) {
		if (!ready.n)
			now = replay_later(now, job[next].head);
		for (; next < n && job[next].head <= now; next++)
			fine_heap_set(&ready, job[next].node, -b->tail[job[next].node]);
		uint32_t i = ready.entry[0].number;
		replay_time until = now + left[i];
		if (next < n && job[next].head < until) {
			left[i] -= job[next].head - now;
			now = job[next].head;
			continue;
		}
		now = until;
		fine_heap_pop(&ready);
		bound = replay_later(bound, now + b->tail[i]);
	}
	talloc_free(scratch);
	return bound;
}

ORDER_BY(by_duration, struct job, DOWN(head))

/* Selects the longest messages, at most ORDERED; returns how many. */
static uint32_t
longest_messages(const struct bound *b, struct job *job)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++)
		if (b->message[i])
			job[n++] = (struct job){b->duration[i], i};
	qsort(job, n, sizeof *job, by_duration);
	return n < ORDERED ? n : ORDERED;
}

/* [set of the n messages]: the sum of the kernels that at least one of them waits for. */
static void
sum_for_sets(struct bound *b, void *scratch, const struct job *job, uint32_t n, replay_time *sum)
{
	const uint32_t all = (1u << n) - 1;
	uint32_t *waits = ARRAY_ZERO(scratch, uint32_t, b->n);
	replay_time total = 0;

	for (uint32_t j = 0; j < n; j++) {
		sum_of_kernels(b, job[j].node, b->first_pred, b->pred);
		for (uint32_t i = 0; i < b->n; i++)
			waits[i] |= (uint32_t)(b->stamp[i] == b->now) << j;
	}
	memset(sum, 0, ((size_t)all + 1) * sizeof *sum);
	for (uint32_t i = 0; i < b->n; i++)
		if (!b->message[i]) {
			sum[waits[i]] += b->duration[i];
			total += b->duration[i];
		}
	/* First, for each set, the sum of the kernels for which no other message waits; then all
	 * kernels less those of the complement. */
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t set = 0; set <= all; set++)
			if (set >> j & 1)
				sum[set] += sum[set ^ 1u << j];
	for (uint32_t set = 0; set <= all / 2; set++) {
		const replay_time own = sum[set];
		sum[set] = total - sum[all ^ set];
		sum[all ^ set] = total - own;
	}
}

/* The end of the last of the longest messages in their best order. */
static replay_time
best_order(struct bound *b)
{
	void *scratch = alloc_scratch(NULL);
	struct job *job = ARRAY_NEW(scratch, struct job, b->n);
	const uint32_t n = longest_messages(b, job), all = (1u << n) - 1;
	replay_time *sum = ARRAY_NEW(scratch, replay_time, (size_t)all + 1),
		    *end = ARRAY_NEW(scratch, replay_time, (size_t)all + 1), tail = INT64_MAX;

	sum_for_sets(b, scratch, job, n, sum);
	end[0] = 0;
	for (uint32_t set = 1; set <= all; set++) {
		end[set] = INT64_MAX;
		for (uint32_t j = 0; j < n; j++) {
			if (!(set >> j & 1))
				continue;
			replay_time start = replay_later(end[set ^ 1u << j], sum[set]);
			start = replay_later(start, b->head[job[j].node]);
			const replay_time e = start + b->duration[job[j].node];
			end[set] = e < end[set] ? e : end[set];
		}
	}
	for (uint32_t j = 0; j < n; j++)
		tail = b->tail[job[j].node] < tail ? b->tail[job[j].node] : tail;
	const replay_time bound = n ? end[all] + tail : 0;
	talloc_free(scratch);
	return bound;
}

replay_time
search_order_bound(const struct plan *p)
{
	struct bound *b = bound_create(p);

	for (uint32_t i = 0; i < b->n; i++)
		find_path(b, i, b->first_pred, b->pred, b->head);
	for (uint32_t i = b->n; i-- > 0;)
		find_path(b, i, b->first_reader, b->reader, b->tail);
	replay_time kernels = one_machine(b, false), messages = one_machine(b, true),
		    order = best_order(b);
	talloc_free(b);
	return replay_later(replay_later(kernels, messages), order);
}
