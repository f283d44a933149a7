/* What order.c and schedule.c share. */
#ifndef PASSES_SEARCH_SEARCH_DOPT_ORDER_H
#define PASSES_SEARCH_SEARCH_DOPT_ORDER_H

#include "passes/analysis/replay/fine_heap.h"
#include "passes/search/dopt/impl.h"

/* Nodes as they are now: numbers 0 ... n - 1 by position. */
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
	replay_time *key; /* smaller ones first */
	replay_time *start, *end;
	struct entry *entry;
	uint32_t *best, *rank;
	struct stream stream[2];
	replay_time *release;
	uint32_t *waits;                     /* for so many */
	struct fine_heap later[2], ready[2]; /* by stream; by when they are ready, by key */
};

/* Where a direction of time finds what a node waits for, and who waits for it. */
struct order_way {
	const uint32_t *first_pred, *pred, *first_reader, *reader;
	bool reverse; /* of equals the last one goes first */
};

/*
 * Both fill start[], end[] in the time of that direction, and entry[] in the order in which nodes
 * were placed; they return the makespan. order_insert: by key, in which no node comes before what
 * it waits for, each where its stream is first free for long enough. order_dispatch: whenever a
 * stream is free, it takes of what is ready the smallest key.
 */
replay_time order_insert(struct order *o, const struct order_way *w);
replay_time order_dispatch(struct order *o, const struct order_way *w);

/* The order of issue is that of starts: best[] of the schedule at hand. */
void order_keep(struct order *o);

/* Room for what they need. */
void order_set_up(struct order *o);

#endif
