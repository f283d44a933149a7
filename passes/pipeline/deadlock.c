/*
 * The message of a deadlock: the actions of a cycle, each with what it waits for, from the first
 * rank's first one on. Consecutive waits that come only from the order of one rank are merged into
 * one line.
 */
#include "passes/pipeline/graph.h"

#include "ir/base/alloc.h"

#include <limits.h>

/* The action of a node on that rank: if the node is a message, its send or its receive. */
static int
side(const struct schedule_graph *g, int node, int rank)
{
	return g->receive[node] >= 0 && g->rank[node] != rank ? g->receive[node] : node;
}

/* The rank on which a node waits by its k-th wait. */
static int
wait_rank(const struct schedule_graph *g, int node, int k)
{
	return g->receive[node] >= 0 && (k == WAIT_RECEIVER || k == WAIT_RECEIVER_QUEUE)
		       ? g->rank[g->receive[node]]
		       : g->rank[node];
}

static int
wait_kind(const struct schedule_graph *g, int node, int on)
{
	int k = 0;

	while (g->wait[node].wait[k] != on)
		k++;
	return k;
}

/* Does the node wait for the previous action of its rank? */
static bool
by_order(const struct schedule_graph *g, int node, int k)
{
	return k == WAIT_ORDER || (g->receive[node] >= 0 && k == WAIT_RECEIVER);
}

/* The kind of wait by which entry i of the cycle waits for the next one. */
static int
cycle_wait(const struct schedule_graph *g, int i)
{
	return wait_kind(g, g->cycle[i], g->cycle[(i + 1) % g->ncycle]);
}

/* Do entries i and i + 1 of the cycle both wait because of the order of the same rank? */
static bool
continues(const struct schedule_graph *g, int i)
{
	const int next = (i + 1) % g->ncycle;
	const int k = cycle_wait(g, i), l = cycle_wait(g, next);

	return by_order(g, g->cycle[i], k) && by_order(g, g->cycle[next], l) &&
	       wait_rank(g, g->cycle[i], k) == wait_rank(g, g->cycle[next], l);
}

/* The entry to report first: the start of a run of waits in one rank's order, on the first rank, in
 * its first cell. */
static int
cycle_start(const struct schedule_graph *g)
{
	int start = 0, best = INT_MAX;

	for (int i = 0; i < g->ncycle; i++) {
		const int k = cycle_wait(g, i), node = g->cycle[i];
		if (g->ncycle > 1 && continues(g, (i + g->ncycle - 1) % g->ncycle))
			continue;
		/* Prefer an entry where a rank waits for another rank rather than for itself. */
		const int at =
			side(g, node, wait_rank(g, node, k)) + (by_order(g, node, k) ? g->n : 0);
		if (at < best) {
			start = i;
			best = at;
		}
	}
	return start;
}

void
graph_report_cycle(const struct schedule_graph *g, struct diag *diag)
{
	const int start = cycle_start(g);

	for (int done = 0; done < g->ncycle; done++) {
		int i = (start + done) % g->ncycle;
		const int node = g->cycle[i], k = cycle_wait(g, i), rank = wait_rank(g, node, k);
		while (done + 1 < g->ncycle && continues(g, i)) {
			i = (i + 1) % g->ncycle;
			done++;
		}
		const int on = g->cycle[(i + 1) % g->ncycle];
		const int a = side(g, node, rank);
		/* A value comes from another rank: the side of the message on this rank is the
		 * receive. */
		const int b = side(g, on, rank);
		const char *how = by_order(g, node, k) ? "comes after"
				  : g->receive[node] < 0
					  ? "waits for"
					  : "is queued, between these two ranks, after";
		char *text = text_print(g, "%s %s '%s' (rank %d, cell %d)", graph_where(g, a), how,
			graph_text(g, b), g->rank[b], g->action[b]->cell);
		if (!done || node == g->cycle[start])
			diag_error(diag, g->action[a]->loc, "deadlock: %s", text);
		else
			diag_note(diag, g->action[a]->loc, "%s", text);
	}
}
