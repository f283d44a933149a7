/* Sends and receives for a schedule, and idle cells for one that runs in lockstep: see
 * schedule.h. */
#include "passes/pipeline/graph.h"

#include "ir/base/alloc.h"

#include <talloc.h>

struct lowering {
	const struct schedule *s;
	struct schedule *to;
	int *forward,
		*backward; /* by stage * nsteps + step: the cell after F, I or B; 0: not placed */
	int *at;           /* of each rank: its next action */
	bool join;         /* join I and W to B */
	bool align;        /* add idle cells instead of sends and receives */
};

static int *
placed(const struct lowering *l, const struct schedule_action *a)
{
	const int64_t i = (int64_t)a->stage * l->s->nsteps + a->step;

	if (a->kind == SCHEDULE_FORWARD)
		return &l->forward[i];
	return a->kind == SCHEDULE_INPUT || a->kind == SCHEDULE_BACKWARD ? &l->backward[i] : NULL;
}

/* The action of the next stage, which waits for this one (direction 1), or of the previous one
 * (-1); stage -1: none. */
static struct schedule_action
neighbour(const struct lowering *l, const struct schedule_action *a, int direction)
{
	struct schedule_action other = *a;

	other.stage += a->kind == SCHEDULE_FORWARD ? direction : -direction;
	if (!placed(l, a) || other.stage < 0 || other.stage >= l->s->nstages)
		other.stage = -1;
	return other;
}

/* The number of actions in the cell that begins at `a`. */
static int
cell_size(const struct schedule_action *a, const struct schedule_action *end)
{
	int n = 1;

	while (a + n < end && a[n].cell == a->cell)
		n++;
	return n;
}

static bool
cell_ready(const struct lowering *l, const struct schedule_action *a, int n)
{
	for (int i = 0; i < n; i++) {
		const struct schedule_action other = neighbour(l, &a[i], -1);
		bool ready = other.stage < 0 || *placed(l, &other);
		for (int k = 0; k < i; k++)
			ready |= a[k].stage == other.stage && placed(l, &a[k]) == placed(l, &other);
		if (!ready)
			return false;
	}
	return true;
}

/* The first cell of `rank` in which the actions can run in lockstep: after all that they wait
 * for. */
static int
find_cell(const struct lowering *l, const struct schedule_rank *rank,
	const struct schedule_action *a, int n)
{
	int cell = rank->n ? rank->action[rank->n - 1].cell + 1 : 0;

	for (int i = 0; i < n; i++) {
		const struct schedule_action other = neighbour(l, &a[i], -1);
		if (other.stage >= 0 && *placed(l, &other) > cell)
			cell = *placed(l, &other);
	}
	return cell;
}

static void
send(struct lowering *l, const struct schedule_action *a)
{
	const bool forward = a->kind == SCHEDULE_FORWARD;
	const struct schedule_action other = neighbour(l, a, 1);
	const int from = l->s->rank_of[a->stage];

	if (other.stage < 0 || l->s->rank_of[other.stage] == from)
		return;
	schedule_add(l->to, from, forward ? SCHEDULE_SEND_F : SCHEDULE_SEND_B, a->stage, a->step);
	schedule_add(l->to, l->s->rank_of[other.stage], forward ? SCHEDULE_RECV_F : SCHEDULE_RECV_B,
		other.stage, a->step);
}

/* Is it an I directly followed by its W, so that both form a B? */
static bool
is_whole(const struct schedule_action *a, const struct schedule_action *next)
{
	return next && a->kind == SCHEDULE_INPUT && next->kind == SCHEDULE_WEIGHT &&
	       a->stage == next->stage && a->step == next->step && !a->overlapped &&
	       !next->overlapped;
}

static const struct schedule_action *
skip_idle(const struct schedule_action *a, const struct schedule_action *end)
{
	while (a < end && a->kind == SCHEDULE_IDLE)
		a++;
	return a < end ? a : NULL;
}

/* Places the next cell of a rank if it can run; false: it cannot, or none is left. */
static bool
place_cell(struct lowering *l, int r)
{
	const struct schedule_rank *rank = &l->s->rank[r];
	const struct schedule_action *end = rank->action + rank->n;
	const struct schedule_action *a = skip_idle(rank->action + l->at[r], end);

	if (!a) {
		l->at[r] = rank->n;
		return false;
	}
	const int n = cell_size(a, end);
	if (!cell_ready(l, a, n))
		return false;
	const struct schedule_action *next = skip_idle(a + n, end);
	const bool whole = l->join && is_whole(a, next);
	const struct schedule_rank *to = &l->to->rank[r];
	const int cell = find_cell(l, to, a, n);
	while (l->align && (to->n ? to->action[to->n - 1].cell + 1 : 0) < cell)
		schedule_add(l->to, r, SCHEDULE_IDLE, 0, -1);
	for (int i = 0; i < n; i++) {
		schedule_add(
			l->to, r, whole ? SCHEDULE_BACKWARD : a[i].kind, a[i].stage, a[i].step);
		to->action[to->n - 1].overlapped = a[i].overlapped;
		to->action[to->n - 1].loc = a[i].loc;
		if (i)
			to->action[to->n - 1].cell--;
		if (placed(l, &a[i]))
			*placed(l, &a[i]) = cell + 1;
	}
	for (int i = 0; i < n && !l->align; i++)
		send(l, &a[i]);
	l->at[r] = (int)((whole ? next + 1 : a + n) - rank->action);
	return true;
}

/* Ranks place cells in turn until none can. False: some are left. */
static bool
place_all(struct lowering *l, struct diag *diag)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (int r = 0; r < l->s->nranks; r++)
			moved |= place_cell(l, r);
	}
	for (int r = 0; r < l->s->nranks; r++) {
		const struct schedule_rank *rank = &l->s->rank[r];
		if (l->at[r] == rank->n)
			continue;
		const struct schedule_action *a =
			skip_idle(rank->action + l->at[r], rank->action + rank->n);
		diag_error(diag, a->loc,
			"rank %d, cell %d waits for a value that an action of this cell, or one that waits "
			"for it, makes: values are sent after a cell",
			r, a->cell);
		return false;
	}
	return true;
}

static struct schedule *
lower(const void *owner, const struct schedule *s, struct diag *diag, bool join, bool align)
{
	if (schedule_has_messages(s)) {
		diag_error(diag, LOC_NONE, "this schedule has sends and receives already");
		return NULL;
	}
	if (!schedule_verify(s, diag, SCHEDULE_QUEUED))
		return NULL;
	struct lowering l = {.s = s, .join = join, .align = align};
	l.to = schedule_create(owner, s->nranks);
	const int64_t n = (int64_t)s->nstages * s->nsteps;
	void *scratch = alloc_scratch(l.to);
	l.forward = ZERO_ARRAY(scratch, int, n);
	l.backward = ZERO_ARRAY(scratch, int, n);
	l.at = ZERO_ARRAY(scratch, int, s->nranks);
	const bool good = place_all(&l, diag);
	talloc_free(scratch);
	if (good) {
		schedule_finish(l.to);
		return l.to;
	}
	talloc_free(l.to);
	return NULL;
}

struct schedule *
schedule_lower(const void *owner, const struct schedule *s, struct diag *diag, bool join)
{
	return lower(owner, s, diag, join, false);
}

struct schedule *
schedule_align(const void *owner, const struct schedule *s, struct diag *diag)
{
	return lower(owner, s, diag, false, true);
}
