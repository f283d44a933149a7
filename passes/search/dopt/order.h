/* Shared by order.c and schedule.c. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_ORDER_H
#define PASSES_SEARCH_SEARCH_DOPT_ORDER_H

#include "passes/analysis/replay/fine_heap.h"
#include "passes/search/dopt/impl.h"

/* The current nodes, numbered 0 ... n - 1 by position. */
struct order_graph {
	uint32_t n;
	uint32_t *node;
	bool *message;
	replay_time *duration;
	uint32_t *first_pred, *pred, *first_reader, *reader;
};

/* When a stream is busy: spans that do not touch, in order. */
struct span {
	replay_time start, end;
};

struct stream {
	struct span *span;
	uint32_t n;
};

struct entry {
	replay_time key;
	uint32_t rank, node;
};

struct order {
	struct order_graph g;
	replay_time *key; /* smaller ones come first */
	replay_time *start, *end;
	struct entry *entry;
	uint32_t *best, *rank;
	struct stream stream[2];
	replay_time *release;
	uint32_t *waits;                     /* number of nodes that each node still waits for */
	struct fine_heap later[2], ready[2]; /* by stream: heaps by ready time, and by key */
};

/* For a direction of time: what a node waits for, and what waits for it. */
struct order_way {
	const uint32_t *first_pred, *pred, *first_reader, *reader;
	bool reverse; /* of equal keys the last one goes first */
};

/*
 * Both fill start[] and end[] in the time of that direction, and entry[] in the order in which
 * nodes were placed; they return the makespan. order_insert places nodes by key, which must respect
 * dependencies, each where its stream is first free for long enough. order_dispatch: whenever a
 * stream is free, it takes the ready node with the smallest key.
 */
replay_time order_insert(struct order *o, const struct order_way *w);
replay_time order_dispatch(struct order *o, const struct order_way *w);

/* Sorts best[] by the starts of the current schedule. */
void order_keep(struct order *o);

/* Allocates the arrays. */
void order_set_up(struct order *o);

#endif
