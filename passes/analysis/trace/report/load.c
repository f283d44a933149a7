/*
 * The outer loop of profiling: the trace of a training run becomes the basis of the predictions for
 * the next plan. A kernel of the trace has the number of its op in @main; its key is that of the op
 * in the module, so its time is valid for every other module with this kernel.
 */
#include "passes/analysis/trace/report/load.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/numbering.h"
#include "ir/ops/form.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/profile/key.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* The times of the ops with the same key. */
struct entry {
	char *key; /* NULL: of a collective */
	struct cost_collective collective;
	const struct ir_op *op;
	double sum, spread, count; /* weighted by events per step */
	uint32_t events;
};

ORDER_BY(by_key, struct entry, !x->key - !y->key, x->key && y->key ? strcmp(x->key, y->key) : 0,
	UP(collective.kind), UP(collective.places), UP(collective.bytes))

/* Merges entries with the same key; returns how many are left. */
static uint32_t
merge(struct entry *list, uint32_t n)
{
	uint32_t kept = 0;

	qsort(list, n, sizeof *list, by_key);
	for (uint32_t i = 0; i < n; i++) {
		if (!kept || by_key(&list[kept - 1], &list[i])) {
			list[kept++] = list[i];
			continue;
		}
		struct entry *e = &list[kept - 1];
		e->sum += list[i].sum;
		e->spread += list[i].spread;
		e->count += list[i].count;
		e->events += list[i].events;
	}
	return kept;
}

static bool
read_entry(const void *owner, const struct ir_module *m, const struct ir_op *op,
	const struct trace_op_time *t, struct entry *e)
{
	const struct trace_middle *time = &t->time;

	if (time->median <= 0 || !t->events)
		return false;
	*e = (struct entry){.op = op,
		.sum = time->median * t->count,
		.spread = (time->high - time->low) * t->count,
		.count = t->count,
		.events = t->events};
	if (t->communication)
		return cost_op_collective(m, op, &e->collective) && e->collective.parts < 2;
	e->key = cost_op_key(owner, m, op);
	return e->key != NULL;
}

static bool
put(struct profile *p, const char *device, const char *transport, uint32_t ranks,
	const struct ir_module *m, const struct entry *e)
{
	const double median = e->sum / e->count, spread = e->spread / e->sum;

	if (!e->key) {
		const struct profile_collective c = {.transport = transport,
			.kind = e->collective.kind,
			.places = e->collective.places,
			.bytes = e->collective.bytes,
			.median = median,
			.spread = spread,
			.runs = (int)e->events};
		return profile_put_collective(p, device, &c);
	}
	const struct op_work work = op_work(m, e->op);
	const struct profile_op op = {.key = e->key,
		.ranks = (int)ranks,
		.median = median,
		.spread = spread,
		.runs = (int)e->events,
		.flops = work.flops,
		.bytes = work.bytes,
		.buffers = PROFILE_STEP};
	return profile_put_op(p, device, &op);
}

/* The part of a step in which neither kernels nor collectives run: of the rank with the least of
 * it, as others also wait. */
static double
overhead(const struct trace_measured *measured)
{
	double least = measured->rank[0].idle;

	for (uint32_t i = 1; i < measured->nranks; i++)
		least = measured->rank[i].idle < least ? measured->rank[i].idle : least;
	return least > 0 ? least : 0;
}

bool
trace_load(struct profile *p, const char *device, const char *transport,
	const struct trace_measured *measured, const struct ir_module *m,
	struct trace_loaded *loaded)
{
	void *scratch = alloc_scratch(NULL);
	const struct ir_numbering *ops =
		ir_numbering_create(scratch, m, &ir_func_find(m, "main")->body);
	struct entry *list = ARRAY_NEW(scratch, struct entry, measured->nops + 1u);
	uint32_t n = 0;

	*loaded = (struct trace_loaded){0};
	for (uint32_t i = 0; i < measured->nops; i++)
		if (measured->op[i].op < ops->n)
			n += read_entry(scratch, m, ops->op[measured->op[i].op], &measured->op[i],
				&list[n]);
	n = merge(list, n);
	bool good = profile_begin(p);
	for (uint32_t i = 0; i < n && good; i++) {
		good = put(p, device, transport, measured->nranks, m, &list[i]);
		loaded->kernels += list[i].key != NULL;
		loaded->collectives += list[i].key == NULL;
	}
	const struct profile_field step = {.name = "step", .value = overhead(measured)};
	good = good && profile_put_field(p, device, &step) && profile_commit(p);
	talloc_free(scratch);
	return good;
}
