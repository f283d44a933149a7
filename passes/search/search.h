/*
 * A search for a faster plan. All engines take a plan and leave it at the best that they found.
 *
 *     disco   Algorithm 1 of DisCo (section 4.5): backtracking with a queue of candidates
 *     dpro    Algorithm 1 of dPRO (section 5.2): along the critical path, by its Theorems 1-3
 *     dopt    dopt's own: see passes/search/dopt/dopt.c
 *     exhaust every plan of a small step (exhaust.h)
 *
 * A search ends by its own rule, after `evaluations` replays, at its time limit, or when the user
 * interrupts it; its result is the best plan so far. For a given seed the result is the same on
 * every machine, unless the time limit ended it.
 */
#ifndef PASSES_SEARCH_SEARCH_H
#define PASSES_SEARCH_SEARCH_H

#include "passes/pass.h"
#include "passes/search/plan/plan.h"

#include <stdio.h>

/* The moves that a search may make: a set. */
enum search_moves {
	SEARCH_FUSE = 1 << 0,  /* non-duplicate op fusion */
	SEARCH_COPY = 1 << 1,  /* duplicate op fusion */
	SEARCH_PACK = 1 << 2,  /* tensor fusion */
	SEARCH_PART = 1 << 3,  /* tensor partition */
	SEARCH_ORDER = 1 << 4, /* order of messages, and of kernels */
	SEARCH_ALL = (1 << 5) - 1
};

#define SEARCH_ENGINES(ROW)                                                                        \
	ROW(SEARCH_DOPT, "dopt")                                                                   \
	ROW(SEARCH_DISCO, "disco") ROW(SEARCH_DPRO, "dpro") ROW(SEARCH_EXHAUST, "exhaust")

enum search_engine { SEARCH_ENGINES(CHOICE_CODE) SEARCH_NENGINES };

struct search_options {
	enum search_engine engine;
	unsigned moves; /* set of enum search_moves */
	uint64_t seed;
	double time_limit;    /* seconds; 0: none */
	uint64_t evaluations; /* limit on replays; 0: none */
	/* disco */
	double alpha;       /* candidates up to alpha times the best are kept (1.05) */
	uint32_t beta;      /* at most this many moves between two replays (10) */
	uint32_t unchanged; /* the search ends after this many steps without a better one (1000) */
	bool again;         /* when the queue is empty, go on from the best (false) */
	size_t queue_bytes; /* limit for queued candidates; the most expensive are dropped */
	/* dpro; each can be switched off, as in Table 5 of the paper */
	bool coarsen, partial, symmetry;
	/* dopt */
	/* Plans to begin with in addition to the given one, of the same module. */
	struct plan_save *const *start; /* [nstarts] */
	uint32_t nstarts;
	uint32_t workers; /* threads; the result does not depend on how fast each is */
	FILE *progress;   /* NULL: none; on a terminal the line is updated in place */
	const volatile int *interrupted; /* nonzero: stop and keep the best; NULL: never */
	/* May the current plan become the best? NULL: always. */
	bool (*fits)(const void *data, struct plan *p);
	const void *fits_data;
	bool keyboard; /* SIGINT ends the search and not the program */
};

/* The default options; those of engines from papers are the papers'. */
struct search_options search_defaults(void);

enum search_end { SEARCH_FINISHED, SEARCH_EVALUATIONS, SEARCH_TIME, SEARCH_INTERRUPTED };

struct search_result {
	replay_time before, after;
	uint64_t evaluations;
	double seconds; /* duration of the search */
	double best_at; /* when the best was found, in seconds from the start of the search */
	enum search_end end;
};

/* Leaves p at the best plan found, which is never slower than p was, nor than one of the starts. */
void search_run(struct plan *p, const struct search_options *o, struct search_result *r);

/*
 * --- for engines ---
 * An engine calls search_more before every evaluation, and search_found with what it replayed.
 */
struct search {
	struct plan *plan;
	const struct search_options *o;
	struct search_result r;
	uint64_t elsewhere; /* replays of clones, counted by engines that use clones */
	/* private to search.c and run.c */
	struct plan_save *best;
	double started, told, looked;
	uint64_t started_replays;
};

/* The parts of search_run before and after the engine; for engines that search in several threads,
 * each with its own plan. search_finish leaves the plan at its best. */
void search_begin(struct search *s, struct plan *p, const struct search_options *o);
void search_finish(struct search *s);

const char *search_engine_name(enum search_engine e);

/* False: time to stop. */
bool search_more(struct search *s);

/* The current plan takes `t`: saves it if it is the best so far; returns whether it is. */
bool search_found(struct search *s, replay_time t);

void search_disco(struct search *s);
/* Runs before the engine if o->fits is set: see fit.c. */
void search_fit(struct search *s);
void search_dpro(struct search *s);
void search_dopt(struct search *s);
void search_exhaust(struct search *s);

/*
 * Full overlap (DisCo, section 6.2): no plan with these kernels and messages is faster than the
 * larger of the sum of its kernel times and the sum of its message times.
 */
replay_time search_full_overlap(const struct plan *p);

/*
 * A bound on all issue orders of these kernels and messages, which also considers their
 * dependencies (see bound.c). At least search_full_overlap, and O(messages * edges).
 */
replay_time search_order_bound(const struct plan *p);

/* A small generator for engines: the same numbers everywhere. */
struct search_random {
	uint64_t state;
};
uint32_t search_random_below(struct search_random *r, uint32_t n); /* 0 ... n - 1; n > 0 */

#endif
