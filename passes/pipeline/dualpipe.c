/*
 * DualPipeV (DeepSeek-AI 2025, "DualPipe"): two stages a rank, there and back, with a forward and a
 * backward of the two stages in one cell, whose messages are hidden by each other's kernels. The
 * order of rank r of p for m micro-batches, where first and second are its stages, and each W, a
 * cell of its own, belongs to the oldest I that has no W yet:
 *
 *     2 (p - 1 - r)       F of first
 *     r + 1               F of first, F of second
 *     p - 1 - r           I of second, W, F of second
 *     m - 2p + r + 1      F of first with B of second, F of second with B of first
 *     p - 1 - r           B of second, F of second with B of first
 *     r + 1               B of second, B of first, in the second half I
 *     p - 1 - r           W, I of first
 *     the rest            W
 *
 * There are at least 2p micro-batches. It is that of torch.distributed.pipelining, cell by cell.
 */
#include "passes/pipeline/list.h"

#include "ir/base/alloc.h"

#include <talloc.h>

struct line {
	struct schedule *s;
	int rank;
	int stage[2];
	int forward[2], backward[2];   /* micro-batches done so far */
	struct schedule_action *input; /* I without W: a queue */
	int first, end;
};

static void
forward(struct line *l, int k)
{
	schedule_add(l->s, l->rank, SCHEDULE_FORWARD, l->stage[k], l->forward[k]++);
}

static void
backward(struct line *l, int k, bool divided)
{
	const int step = l->backward[k]++;

	schedule_add(
		l->s, l->rank, divided ? SCHEDULE_INPUT : SCHEDULE_BACKWARD, l->stage[k], step);
	if (divided)
		l->input[l->end++] = (struct schedule_action){.stage = l->stage[k], .step = step};
}

static void
weight(struct line *l)
{
	const struct schedule_action *a = &l->input[l->first++];

	schedule_add(l->s, l->rank, SCHEDULE_WEIGHT, a->stage, a->step);
}

/* Both actions in one cell. */
static void
overlap(struct line *l, int k)
{
	struct schedule_rank *r = &l->s->rank[l->rank];

	forward(l, k);
	backward(l, 1 - k, false);
	r->action[r->n - 1].cell--;
	r->action[r->n - 1].overlapped = r->action[r->n - 2].overlapped = true;
}

static void
make_line(struct line *l, int p, int m)
{
	const int after = p - 1 - l->rank, before = l->rank + 1;
	bool divided = false;

	for (int i = 0; i < 2 * after; i++)
		forward(l, 0);
	for (int i = 0; i < before; i++) {
		forward(l, 0);
		forward(l, 1);
	}
	for (int i = 0; i < after; i++) {
		backward(l, 1, true);
		weight(l);
		forward(l, 1);
	}
	for (int i = 0; i < m - 2 * p + before; i++) {
		/* At this point the last rank has no message to overlap. */
		if (i == 0 && !after) {
			forward(l, 0);
			backward(l, 1, false);
		} else {
			overlap(l, 0);
		}
		overlap(l, 1);
	}
	for (int i = 0; i < after; i++) {
		backward(l, 1, false);
		overlap(l, 1);
	}
	for (int i = 0; i < before; i++) {
		divided = divided || (i == before / 2 && l->rank % 2 == 1);
		backward(l, 1, divided);
		divided = divided || i == before / 2;
		backward(l, 0, divided);
	}
	for (int i = 0; i < after; i++) {
		weight(l);
		backward(l, 0, true);
	}
	while (l->first < l->end)
		weight(l);
}

struct schedule *
dualpipe_make(const void *owner, int nranks, int nsteps)
{
	struct schedule *s = schedule_create(owner, nranks);
	struct schedule_action *input = NEW_ARRAY(NULL, struct schedule_action, 2 * nsteps);

	for (int r = 0; r < nranks; r++) {
		struct line l = {
			.s = s, .rank = r, .stage = {r, 2 * nranks - 1 - r}, .input = input};
		make_line(&l, nranks, nsteps);
	}
	talloc_free(input);
	schedule_finish(s);
	return s;
}
