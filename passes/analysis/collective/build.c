/* Builds schedules. */
#include "passes/analysis/collective/build.h"
#include "ir/base/vec.h"

#include <talloc.h>

void
build_round(struct builder *b, uint32_t repeat)
{
	struct collective_schedule *s = b->schedule;
	if (s->nrounds && !s->round[s->nrounds - 1].n)
		s->nrounds--;
	LIST_PUSH(
		s, s->round, s->nrounds, (struct collective_round){s->nsends, 0, repeat, b->stage});
}

void
build_stage(struct builder *b)
{
	b->stage++;
}

void
build_send(struct builder *b, uint32_t from, uint32_t to, double fraction)
{
	struct collective_schedule *s = b->schedule;
	if (from == to)
		return;
	LIST_PUSH(s, s->send, s->nsends, (struct collective_send){from, to, fraction});
	s->round[s->nrounds - 1].n++;
}

static bool
fits(const struct algorithm *row, enum rt_coll_kind kind, const struct placement *at,
	uint32_t variant)
{
	bool nodes = at->even > 1 && at->places > at->even;

	return variant < row->variants && algorithm_does(row, kind, at->places) &&
	       (row->needs != NEEDS_NODES || nodes);
}

struct collective_schedule *
collective_build(const void *owner, struct cluster *c, const struct collective_request *q,
	const struct placement *at, enum collective_algorithm a, uint32_t variant, bool *pipelined)
{
	const struct algorithm *row = algorithm_row(a);
	struct builder b = {c, q, at, NEW(owner, struct collective_schedule), false, 0};
	b.schedule->chunks = b.schedule->lanes = b.schedule->parts = 1;
	if (at->places > 1 && !(fits(row, q->kind, at, variant) && row->build(&b, variant))) {
		talloc_free(b.schedule);
		return NULL;
	}
	if (b.schedule->nrounds && !b.schedule->round[b.schedule->nrounds - 1].n)
		b.schedule->nrounds--;
	*pipelined = b.pipelined;
	return b.schedule;
}
