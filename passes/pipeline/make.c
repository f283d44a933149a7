/*
 * The named schedules. Each is a row of settings of the list scheduler, run with all times equal to
 * 1, so that its order does not depend on times:
 *
 *     gpipe        Huang and others 2019, "GPipe"
 *     1f1b         Narayanan and others 2019, "PipeDream": a stage keeps as many micro-batches as there
 *                  are stages from it to the last
 *     interleaved  Narayanan and others 2021, "Efficient large-scale language model training": several
 *                  stages a rank, rounds of nranks micro-batches
 *     zb1p, zb2p   Qi and others 2023, "Zero bubble pipeline parallelism", ZB-H1 and ZB-H2: W fills what
 *                  would be idle
 *     zbv, vhalf,  Qi and others 2024, "Pipeline parallelism with controllable memory", ZB-V, V-Half and V-Min
 *     vmin
 *
 * dualpipev has a pattern of its own (dualpipe.c) if there are enough micro-batches; with fewer it
 * equals zbv.
 */
#include "passes/pipeline/list.h"

#include "ir/base/alloc.h"

#include <limits.h>
#include <string.h>
#include <talloc.h>

/* A number of micro-batches, rounded down: (ranks * p + left * n + each) / over, where p is the
 * number of ranks and n is the number of stages or ranks given with each limit below. All 0: no
 * limit. */
struct limit {
	int ranks, left, each, over;
};

struct row {
	int per_rank; /* stages per rank; 0: as requested */
	enum list_place place;
	bool split, rounds, waits, deep;
	struct limit live;    /* memory of a rank, in stages of a micro-batch; n: ranks after it */
	struct limit flight;  /* of a stage; n: stages after it */
	struct limit backlog; /* of a rank; n: ranks before it */
};

static const struct row rows[SCHEDULE_NNAMES] = {
	[SCHEDULE_GPIPE] = {.per_rank = 1},
	[SCHEDULE_1F1B] = {.per_rank = 1, .flight = {0, 1, 1, 1}},
	/* Each additional stage of a rank keeps a round: make_row. */
	[SCHEDULE_INTERLEAVED] = {.rounds = true, .waits = true, .live = {0, 2, 1, 1}},
	[SCHEDULE_ZB1P] = {.per_rank = 1,
		.split = true,
		.live = {1, 0, 0, 1},
		.flight = {0, 1, 1, 1},
		.backlog = {0, 1, 1, 1}},
	[SCHEDULE_ZB2P] = {.per_rank = 1,
		.split = true,
		.live = {2, 0, -1, 1},
		.flight = {0, 2, 1, 1},
		.backlog = {0, 2, 1, 1}},
	[SCHEDULE_ZBV] = {.per_rank = 2,
		.place = LIST_V,
		.split = true,
		.live = {2, 0, 0, 1},
		.backlog = {0, 0, 1, 1}},
	[SCHEDULE_VHALF] = {.per_rank = 2,
		.place = LIST_V,
		.split = true,
		.live = {1, 0, 2, 1},
		.flight = {0, 1, 3, 2},
		.backlog = {0, 0, 3, 1}},
	[SCHEDULE_VMIN] = {.per_rank = 2,
		.place = LIST_V,
		.split = true,
		.deep = true,
		.live = {2, 0, 8, 3},
		.flight = {0, 1, 5, 3},
		.backlog = {0, 0, 3, 1}},
	[SCHEDULE_DUALPIPEV] = {.per_rank = 2,
		.place = LIST_V,
		.split = true,
		.live = {2, 0, 0, 1},
		.backlog = {0, 0, 1, 1}},
};

enum list_place
list_place_of(enum schedule_name name)
{
	return rows[name].place;
}

const char *
schedule_name_text(enum schedule_name name)
{
	static const char *const text[] = {
#define SCHEDULE_NAME(code, name) [code] = name,
		SCHEDULE_NAMES(SCHEDULE_NAME)
#undef SCHEDULE_NAME
	};

	return text[name];
}

int
schedule_per_rank(enum schedule_name name)
{
	return rows[name].per_rank;
}

static int
evaluate(struct limit l, int nranks, int n)
{
	return l.over ? (l.ranks * nranks + l.left * n + l.each) / l.over : INT_MAX;
}

static struct schedule *
make_row(const void *owner, const struct row *row, int nranks, int per_rank, int nsteps)
{
	void *scratch = alloc_scratch(NULL);
	const int nstages = nranks * per_rank;
	struct schedule_stage *stage = NEW_ARRAY(scratch, struct schedule_stage, nstages);
	double *live = NEW_ARRAY(scratch, double, nranks);
	int *flight = NEW_ARRAY(scratch, int, nstages), *backlog = NEW_ARRAY(scratch, int, nranks);
	const struct list_shape shape = {nranks, nstages, nsteps, row->place, row->split, stage};
	struct list_settings how = {
		live, flight, backlog, .round = row->rounds ? nranks : 0, .deep_first = row->deep};

	for (int s = 0; s < nstages; s++) {
		stage[s] = (struct schedule_stage){1, 1, 1, 0, 1, 1};
		flight[s] = evaluate(row->flight, nranks, nstages - 1 - s);
	}
	for (int r = 0; r < nranks; r++) {
		live[r] = evaluate(row->live, nranks, nranks - 1 - r);
		if (!row->per_rank)
			live[r] += (per_rank - 1) * nranks;
		backlog[r] = evaluate(row->backlog, nranks, r);
	}
	double shortest, makespan;
	struct schedule *best = NULL;
	/* If the last round is not whole, waiting for forwards may deadlock all ranks, or cost
	 * time. */
	for (int waits = row->waits; waits >= 0; waits--) {
		how.waits = waits;
		struct schedule *s = list_make(owner, &shape, &how, &makespan);
		if (!s || (best && makespan >= shortest)) {
			talloc_free(s);
			continue;
		}
		talloc_free(best);
		best = s;
		shortest = makespan;
	}
	talloc_free(scratch);
	return best;
}

struct schedule *
schedule_make(const void *owner, struct diag *diag, enum schedule_name name, int nranks,
	int per_rank, int nsteps)
{
	const struct row *row = &rows[name];

	if (!per_rank)
		per_rank = row->per_rank ? row->per_rank : 2;
	if (row->per_rank && per_rank != row->per_rank) {
		diag_error(diag, LOC_NONE, "schedule %s has %d stage%s on each rank, not %d",
			schedule_name_text(name), row->per_rank, row->per_rank == 1 ? "" : "s",
			per_rank);
		return NULL;
	}
	if ((double)nranks * per_rank * nsteps > SCHEDULE_CELLS_MOST / 3.0) {
		diag_error(diag, LOC_NONE,
			"%d stages of %d micro-batches are too many: a schedule has at most %d cells",
			nranks * per_rank, nsteps, SCHEDULE_CELLS_MOST);
		return NULL;
	}
	if (name == SCHEDULE_DUALPIPEV && nsteps >= 2 * nranks)
		return dualpipe_make(owner, nranks, nsteps);
	return make_row(owner, row, nranks, per_rank, nsteps);
}
