/* Is a schedule complete, in an order that the ranks can follow, and free of deadlocks? See
 * schedule.h. */
#include "passes/pipeline/graph.h"

#include "ir/base/sort.h"
#include "ir/base/vec.h"

#include <stdlib.h>
#include <talloc.h>

struct error {
	int at; /* action */
	char *text;
};

struct checker {
	struct diag *diag;
	struct schedule_graph *g;
	const struct schedule *s;
	struct errors VEC(struct error) error; /* not reported yet */
	bool good;
};

/* An error at an action, "rank 1, cell 4: '1I0' ..."; `format` gives the rest, a clause. */
static void __attribute__((format(printf, 3, 4)))
error_at(struct checker *c, int i, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	char *clause = text_vprint(c->g, format, ap);
	va_end(ap);
	VEC_PUSH(c->g, &c->error,
		(struct error){i, text_print(c->g, "%s %s", graph_where(c->g, i), clause)});
	c->good = false;
}

ORDER_BY(by_action, struct error, UP(at))

/* Reports what error_at collected, rank by rank in the order of cells. */
static bool
report(struct checker *c)
{
	if (c->error.n)
		qsort(c->error.at, (size_t)c->error.n, sizeof *c->error.at, by_action);
	for (int64_t i = 0; i < c->error.n; i++)
		diag_error(
			c->diag, c->g->action[c->error.at[i].at]->loc, "%s", c->error.at[i].text);
	c->error.n = 0;
	return c->good;
}

static void
check_ranks(struct checker *c)
{
	for (int i = 0; i < c->g->n; i++) {
		const int stage = c->g->action[i]->stage, first = c->s->rank_of[stage];
		if (c->g->rank[i] != first)
			error_at(c, i, "is on another rank than stage %d, which rank %d begins",
				stage, first);
	}
	for (int r = 0, i = 0; r < c->s->nranks; r++) {
		if (i >= c->g->n || c->g->rank[i] != r) {
			diag_error(c->diag, LOC_NONE, "rank %d has no actions", r);
			c->good = false;
		}
		while (i < c->g->n && c->g->rank[i] == r)
			i++;
	}
}

/* Numbers of stages and micro-batches may far exceed the text, so that the first gap is found among
 * the existing forwards, sorted. */
static void
check_numbers(struct checker *c)
{
	uint64_t *key = NEW_ARRAY(c->g, uint64_t, c->g->n);
	uint64_t n = 0, next = 0;

	for (int i = 0; i < c->g->n; i++) {
		const struct schedule_action *a = c->g->action[i];
		if (a->kind == SCHEDULE_FORWARD)
			key[n++] = (uint64_t)a->stage * (uint64_t)c->s->nsteps + (uint64_t)a->step;
	}
	sort_uint64(key, n);
	for (uint64_t i = 0; i < n && key[i] <= next; i++)
		next += key[i] == next;
	if (next == (uint64_t)c->s->nstages * (uint64_t)c->s->nsteps && next)
		return;
	const int steps = c->s->nsteps ? c->s->nsteps : 1;
	diag_error(c->diag, LOC_NONE,
		"stage %d has no forward of micro-batch %d: expected one for each of %d stage%s and %d "
		"micro-batch%s",
		(int)(next / (uint64_t)steps), (int)(next % (uint64_t)steps), c->s->nstages,
		c->s->nstages == 1 ? "" : "s", c->s->nsteps, c->s->nsteps == 1 ? "" : "es");
	c->good = false;
}

static void
find_places(struct checker *c)
{
	const int64_t n = (int64_t)c->s->nstages * c->s->nsteps;

	c->g->place = NEW_ARRAY(c->g, struct schedule_place, n);
	for (int64_t k = 0; k < n; k++)
		for (int kind = 0; kind <= SCHEDULE_RECV_B; kind++)
			c->g->place[k].at[kind] = -1;
	for (int i = 0; i < c->g->n; i++) {
		const struct schedule_action *a = c->g->action[i];
		if (a->kind > SCHEDULE_RECV_B)
			continue;
		int *at = &c->g->place[(int64_t)a->stage * c->s->nsteps + a->step].at[a->kind];
		if (*at < 0)
			*at = i;
		else
			error_at(c, i, "is there already, in cell %d of rank %d",
				c->g->action[*at]->cell, c->g->rank[*at]);
	}
}

static bool
before(struct checker *c, int first, int second, const char *why)
{
	if (first < second)
		return true;
	error_at(c, second, "comes before '%s' (cell %d): %s", graph_text(c->g, first),
		c->g->action[first]->cell, why);
	return false;
}

static void
check_backward(struct checker *c, int stage, int step)
{
	const int f = graph_at(c->g, SCHEDULE_FORWARD, stage, step);
	const int b = graph_at(c->g, SCHEDULE_BACKWARD, stage, step);
	const int i = graph_at(c->g, SCHEDULE_INPUT, stage, step);
	const int w = graph_at(c->g, SCHEDULE_WEIGHT, stage, step);

	if (b >= 0 && (i >= 0 || w >= 0)) {
		error_at(c, b, "and '%s' (cell %d) compute the same gradients",
			graph_text(c->g, i >= 0 ? i : w), c->g->action[i >= 0 ? i : w]->cell);
		return;
	}
	if (b < 0 && i < 0 && w < 0)
		error_at(c, f, "has no backward: expected %dB%d, or %dI%d and %dW%d", stage, step,
			stage, step, stage, step);
	else if (b < 0 && i < 0)
		error_at(c, w, "has no %dI%d", stage, step);
	else if (b < 0 && w < 0)
		error_at(c, i, "has no %dW%d: the gradients of its weights are missing", stage,
			step);
	else if (before(c, f, b < 0 ? i : b, "a backward needs what its forward kept") && w >= 0)
		before(c, i, w, "the gradients of weights need those of the stage's output");
}

/* Checks a value that goes from one stage to the next: F forwards, or I and B backwards. */
static void
check_message(struct checker *c, bool forward, int stage, int step)
{
	const int other = forward ? stage + 1 : stage - 1;
	const enum schedule_kind send_kind = forward ? SCHEDULE_SEND_F : SCHEDULE_SEND_B;
	const enum schedule_kind receive_kind = forward ? SCHEDULE_RECV_F : SCHEDULE_RECV_B;
	const bool exists = other >= 0 && other < c->s->nstages;
	const int send = graph_at(c->g, send_kind, stage, step);
	const int receive = exists ? graph_at(c->g, receive_kind, other, step) : -1;

	if (!exists || c->s->rank_of[stage] == c->s->rank_of[other]) {
		const char *why =
			!exists ? (forward ? "is of the last stage, which sends nothing on"
					   : "is of the first stage, which sends nothing back")
				: "is between two stages of one rank: nothing is sent";
		if (send >= 0)
			error_at(c, send, "%s", why);
		if (receive >= 0)
			error_at(c, receive, "%s", why);
		return;
	}
	const int made = forward ? graph_at(c->g, SCHEDULE_FORWARD, stage, step)
				 : graph_backward(c->g, stage, step);
	const int used = forward ? graph_at(c->g, SCHEDULE_FORWARD, other, step)
				 : graph_backward(c->g, other, step);
	const char *direction = forward ? "F" : "B";
	if (send < 0)
		error_at(c, made, "is not sent: expected %dSEND_%s%d after it", stage, direction,
			step);
	else
		before(c, made, send, "it sends what that computes");
	if (receive < 0)
		error_at(c, used, "is not received: expected %dRECV_%s%d before it", other,
			direction, step);
	else
		before(c, receive, used, "it reads what that receives");
}

/* Checks for receives of values that are never sent: the first stage receives no activations, the
 * last no gradients. */
static void
check_ends(struct checker *c, int step)
{
	const int first = graph_at(c->g, SCHEDULE_RECV_F, 0, step);
	const int last = graph_at(c->g, SCHEDULE_RECV_B, c->s->nstages - 1, step);

	if (first >= 0)
		error_at(c, first, "is of the first stage, which receives no activations");
	if (last >= 0)
		error_at(c, last, "is of the last stage, which receives no gradients");
}

/* --- lockstep --- */

/* The first such cell is enough: later ones are too early because of it. */
static void
check_cells(struct checker *c)
{
	const struct schedule_graph *g = c->g;
	int first = -1;

	for (int i = 0; i < g->n; i++) {
		const int from = graph_value(g, i);
		if (from >= 0 && g->rank[from] != g->rank[i] &&
			g->action[from]->cell >= g->action[i]->cell &&
			(first < 0 || g->action[i]->cell < g->action[first]->cell))
			first = i;
	}
	if (first < 0)
		return;
	const int from = graph_value(g, first);
	error_at(c, first,
		"needs '%s', which rank %d runs in cell %d: in lockstep it has to be in a later cell; "
		"dopt-schedule align adds idle cells",
		graph_text(c->g, from), g->rank[from], g->action[from]->cell);
}

/* --- all of it --- */

/* Each check relies on those before. */
static bool
check(struct checker *c, enum schedule_waits how)
{
	const struct schedule *s = c->s;

	check_ranks(c);
	check_numbers(c);
	if (!report(c))
		return false;
	find_places(c);
	if (!report(c))
		return false;
	const bool messages = schedule_has_messages(s);
	for (int stage = 0; stage < s->nstages; stage++)
		for (int step = 0; step < s->nsteps; step++)
			check_backward(c, stage, step);
	for (int step = 0; step < s->nsteps && c->good && messages; step++) {
		check_ends(c, step);
		for (int stage = 0; stage < s->nstages; stage++) {
			check_message(c, true, stage, step);
			check_message(c, false, stage, step);
		}
	}
	if (messages && how == SCHEDULE_LOCKSTEP) {
		diag_error(c->diag, LOC_NONE,
			"a schedule with sends and receives does not run in lockstep");
		c->good = false;
	}
	if (report(c) && !graph_finish(c->g, how)) {
		graph_report_cycle(c->g, c->diag);
		c->good = false;
	}
	if (c->good && how == SCHEDULE_LOCKSTEP)
		check_cells(c);
	return report(c);
}

struct schedule_graph *
graph_verified(
	const void *owner, const struct schedule *s, struct diag *diag, enum schedule_waits how)
{
	struct checker c = {.diag = diag, .g = graph_create(owner, s), .s = s, .good = true};

	if (check(&c, how))
		return c.g;
	talloc_free(c.g);
	return NULL;
}

bool
schedule_verify(const struct schedule *s, struct diag *diag, enum schedule_waits how)
{
	struct schedule_graph *g = graph_verified(NULL, s, diag, how);

	talloc_free(g);
	return g != NULL;
}
