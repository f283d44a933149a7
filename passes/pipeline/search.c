/*
 * The search for a schedule: see schedule.h. Candidates are the named schedules and settings of the
 * list scheduler, for each way to place stages on ranks; the shortest are improved by exchanges.
 */
#include "passes/pipeline/sequence.h"

#include "ir/base/vec.h"

#include <limits.h>
#include <math.h>
#include <talloc.h>

/* Limits on the work, in simulated actions: some hundredths of a second, and some tenths. */
#define LIST_WORK INT64_C(1500000)
#define EXCHANGE_WORK INT64_C(12000000)
enum {
	KEPT = 6, /* candidates from which exchanges start */
};

struct search {
	const struct schedule_request *request;
	void *scratch;
	struct sequence *kept[KEPT]; /* shortest first */
	double makespan[KEPT];
	int nkept;
	int64_t work;
	struct schedule_found *found;
};

/* Ways to place stages: one on each rank, or several. */
static const struct {
	bool several;
	enum list_place place;
} places[] = {{false, LIST_LOOP}, {true, LIST_V}, {true, LIST_LOOP}};
enum { PLACES = sizeof places / sizeof *places };

/* The number of stages of a rank that has several: as requested, or 2. */
static int
several(const struct schedule_request *q)
{
	return q->per_rank ? q->per_rank : 2;
}

/* --- bounds --- */

/* No schedule is shorter than the work of a rank after its earliest start, nor than the path of one
 * micro-batch. */
static double
find_bound(const struct list_shape *shape)
{
	double *work = ZERO_ARRAY(NULL, double, shape->nranks);
	double *begin = NEW_ARRAY(work, double, shape->nranks);
	double way = 0, bound = 0;

	for (int r = 0; r < shape->nranks; r++)
		begin[r] = INFINITY;
	for (int s = 0; s < shape->nstages; s++) {
		const struct schedule_stage *t = &shape->stage[s];
		const int r = list_rank(shape, s);
		begin[r] = fmin(begin[r], way);
		work[r] += shape->nsteps * (t->forward + t->input + t->weight);
		way += t->forward;
		if (s + 1 < shape->nstages && list_rank(shape, s + 1) != r)
			way += t->message;
	}
	for (int s = shape->nstages - 1; s >= 0; s--) {
		const struct schedule_stage *t = &shape->stage[s];
		way += t->input;
		if (s && list_rank(shape, s - 1) != list_rank(shape, s))
			way += shape->stage[s - 1].message;
		bound = fmax(bound, way + t->weight);
	}
	for (int r = 0; r < shape->nranks; r++)
		bound = fmax(bound, begin[r] + work[r]);
	talloc_free(work);
	return bound;
}

/* --- candidates --- */

/* Keeps the schedule if it is among the shortest; of equally short ones, the first. */
static void
consider(
	struct search *c, const struct list_shape *shape, const struct schedule *s, double makespan)
{
	int i = c->nkept;

	while (i && makespan < c->makespan[i - 1])
		i--;
	if (i == KEPT)
		return;
	/* Settings often give the same schedule: one per makespan and shape is enough. */
	for (int k = 0; k < c->nkept; k++)
		if (c->makespan[k] == makespan && c->kept[k]->shape.nstages == shape->nstages &&
			c->kept[k]->shape.place == shape->place)
			return;
	if (c->nkept == KEPT)
		talloc_free(c->kept[--c->nkept]);
	for (int k = c->nkept++; k > i; k--) {
		c->kept[k] = c->kept[k - 1];
		c->makespan[k] = c->makespan[k - 1];
	}
	c->kept[i] = sequence_create(c->scratch, shape, c->request->memory, s);
	c->makespan[i] = makespan;
}

/* A shape and its stages, owned by `owner`; all shapes have the same number of ranks. */
static struct list_shape
make_shape(const void *owner, const struct search *c, int per_rank, enum list_place place)
{
	const struct schedule_request *q = c->request;
	const int nstages = q->nranks * per_rank;

	return (struct list_shape){q->nranks, nstages, q->nsteps, place, true,
		schedule_divide(owner, q->piece, q->npieces, nstages)};
}

static bool
divides(const struct search *c, int per_rank)
{
	const int nstages = c->request->nranks * per_rank;

	if (c->request->per_rank && c->request->per_rank != per_rank)
		return false;
	return nstages % c->request->npieces == 0 || c->request->npieces % nstages == 0;
}

/* Tries the named schedules, in the order of their names. */
static void
try_names(struct search *c, struct diag *diag)
{
	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		const enum schedule_name name = (enum schedule_name)i;
		const int own = schedule_per_rank(name);
		const int per_rank = own ? own : several(c->request);
		if (!divides(c, per_rank))
			continue;
		const struct list_shape shape =
			make_shape(c->scratch, c, per_rank, list_place_of(name));
		struct schedule *s = schedule_make(
			c->scratch, diag, name, c->request->nranks, per_rank, c->request->nsteps);
		struct schedule_cost *cost =
			s ? schedule_cost(c->scratch, s, diag, SCHEDULE_QUEUED, shape.stage) : NULL;
		if (!cost || cost->peak > c->request->memory * (1 + 1e-9))
			continue;
		if (cost->makespan < c->found->named_makespan) {
			c->found->named_makespan = cost->makespan;
			c->found->named = name;
		}
		consider(c, &shape, s, cost->makespan);
	}
}

/* Numbers of settings of each kind; a setting is numbered from 0. */
enum { FLIGHTS = 10, BACKLOGS = 6, ORDERS = 4 };

/* Limit on the micro-batches in flight at a stage that `after` stages follow, for setting i. */
static int
flight_of(int i, int after, const struct schedule_request *q)
{
	switch (i) {
	case 0: return INT_MAX;
	case 1: return after + 1;
	case 2: return 2 * after + 1;
	case 3: return after + 2;
	case 4: return (after + 3) / 2;
	case 5: return (after + 4) / 2;
	case 6: return (after + 3) / 3;
	case 7: return (after + 5) / 3;
	case 8: return (3 * after + 2) / 2;
	default: return after + q->nranks;
	}
}

static int
backlog_of(int i, int rank, const struct schedule_request *q)
{
	switch (i) {
	case 0: return INT_MAX;
	case 1: return 1;
	case 2: return rank + 1;
	case 3: return 2;
	case 4: return 2 * rank + 1;
	default: return q->nranks;
	}
}

static void
try_settings(struct search *c, const struct list_shape *shape)
{
	const struct schedule_request *q = c->request;
	void *scratch = alloc_scratch(c->scratch);
	double *live = NEW_ARRAY(scratch, double, q->nranks);
	int *flight = NEW_ARRAY(scratch, int, shape->nstages);
	int *backlog = NEW_ARRAY(scratch, int, q->nranks);
	const int64_t most = c->work / PLACES;
	int64_t work = 0;

	for (int r = 0; r < q->nranks; r++)
		live[r] = q->memory;
	for (int i = 0; i < FLIGHTS * BACKLOGS * ORDERS && work < most; i++) {
		const int order = i % ORDERS, k = i / ORDERS;
		const struct list_settings how = {live, flight, backlog,
			.backward_first = order & 1, .deep_first = order & 2};
		double makespan;
		for (int s = 0; s < shape->nstages; s++)
			flight[s] = flight_of(k % FLIGHTS, shape->nstages - 1 - s, q);
		for (int r = 0; r < q->nranks; r++)
			backlog[r] = backlog_of(k / FLIGHTS, r, q);
		struct schedule *s = list_make(scratch, shape, &how, &makespan);
		if (s)
			consider(c, shape, s, makespan);
		talloc_free(s);
		work += (int64_t)shape->nstages * shape->nsteps * 3;
	}
	talloc_free(scratch);
}

static void
improve(struct search *c)
{
	struct schedule_found *found = c->found;
	struct sequence *best = NULL;

	for (int i = 0; i < c->nkept; i++) {
		struct sequence *o = c->kept[i];
		if (best && best->makespan <= found->bound * (1 + 1e-9))
			break;
		sequence_improve(o, EXCHANGE_WORK / KEPT, find_bound(&o->shape), (uint64_t)i);
		if (!best || o->makespan < best->makespan)
			best = o;
	}
	found->makespan = best->makespan;
	found->schedule = sequence_schedule(found, best);
}

static bool
check_request(const struct schedule_request *q, struct diag *diag)
{
	if (q->npieces % q->nranks) {
		diag_error(diag, LOC_NONE, "%d pieces cannot be divided evenly among %d ranks",
			q->npieces, q->nranks);
		return false;
	}
	const int per_rank = several(q), nstages = q->nranks * per_rank;
	if (q->per_rank && nstages % q->npieces && q->npieces % nstages) {
		diag_error(diag, LOC_NONE, "%d pieces cannot be divided evenly into %d stages",
			q->npieces, nstages);
		return false;
	}
	if ((double)q->nranks * per_rank * q->nsteps > SCHEDULE_CELLS_MOST / 3.0) {
		diag_error(diag, LOC_NONE,
			"%d stages of %d micro-batches are too many: a schedule has at most %d cells",
			q->nranks * per_rank, q->nsteps, SCHEDULE_CELLS_MOST);
		return false;
	}
	return true;
}

struct schedule_found *
schedule_search(const void *owner, struct diag *diag, const struct schedule_request *request)
{
	if (!check_request(request, diag))
		return NULL;
	struct search c = {.request = request, .scratch = alloc_scratch(NULL), .work = LIST_WORK};
	c.found = NEW(owner, struct schedule_found);
	c.found->named = SCHEDULE_NNAMES;
	c.found->named_makespan = c.found->bound = INFINITY;
	try_names(&c, diag);
	for (int i = 0; i < PLACES; i++) {
		const int per_rank = places[i].several ? several(request) : 1;
		if (!divides(&c, per_rank) || (places[i].several && per_rank == 1))
			continue;
		const struct list_shape shape =
			make_shape(c.scratch, &c, per_rank, places[i].place);
		c.found->bound = fmin(c.found->bound, find_bound(&shape));
		try_settings(&c, &shape);
	}
	if (c.nkept) {
		improve(&c);
	} else {
		diag_error(diag, LOC_NONE,
			"no schedule of %d micro-batches on %d ranks keeps at most %g",
			request->nsteps, request->nranks, request->memory);
		talloc_free(c.found);
		c.found = NULL;
	}
	talloc_free(c.scratch);
	return c.found;
}
