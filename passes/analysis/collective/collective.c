/* The table of algorithms of collectives, their names and closed forms, and schedules by them. */
#include "passes/analysis/collective/build.h"

#include "ir/base/alloc.h"

#include <talloc.h>

#define DOES(kind) (1u << RT_##kind)
#define DOES_ALL ((1u << RT_COLL_KINDS) - 1)

static const struct algorithm rows[COLLECTIVE_NALGORITHMS] = {
	[COLLECTIVE_AUTO] = {"auto", ALGORITHM_ASKED, 0, NEEDS_NOTHING, 0, NULL, form_none},
#define ALGORITHM(code, name, choice, kinds, needs, variants, form)                                \
	[COLLECTIVE_##code] = {                                                                    \
		#name, ALGORITHM_##choice, kinds, needs, variants, build_##name, form},
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM
};

const struct algorithm *
algorithm_row(enum collective_algorithm a)
{
	return &rows[a];
}

const char *
collective_algorithm_name(enum collective_algorithm a)
{
	return rows[a].name;
}

bool
collective_automatic(enum collective_algorithm a)
{
	return rows[a].choice == ALGORITHM_AUTO;
}

/* Does it support that kind between this number of places, regardless of their nodes? */
static bool
algorithm_does(const struct algorithm *row, enum rt_coll_kind kind, uint32_t places)
{
	return row->kinds >> kind & 1 &&
	       (row->needs != NEEDS_POWER_OF_2 || (places & (places - 1)) == 0);
}

bool
form_none(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	(void)kind, (void)places, (void)latencies, (void)tensors;
	return false;
}

bool
collective_closed_form(enum rt_coll_kind c, enum collective_algorithm a, int places,
	double *latencies, double *tensors)
{
	*latencies = *tensors = 0;
	if (places < 2)
		return rows[a].form != form_none;
	return algorithm_does(&rows[a], c, (uint32_t)places) &&
	       rows[a].form(c, places, latencies, tensors);
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
