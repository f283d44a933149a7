/* Builds schedules. */
#include "passes/analysis/collective/build.h"
#include "ir/base/vec.h"

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
