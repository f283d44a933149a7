/*
 * unshard: params that are gathered twice are kept whole between the two, as far as memory allows,
 * and the second gather goes (selective unsharding: DeepCompile, Tanaka and others 2025,
 * section 4.3).
 *
 *     %f = allgather(%w)                        %f = allgather(%w)
 *     ... forward ...                           ... forward ...
 *     %s = barrier(%w)                 --->
 *     %b = allgather(%s)
 *     ... backward, reads %b ...                ... backward, reads %f ...
 *
 * Gathers are taken by T / B, the seconds that one takes by the bytes that it makes, the largest
 * first, while the sum of their bytes and the peak of the step are within the limit. Small params come first:
 * their gathers are mostly latency. The peak is that of the step with real offsets; where a choice
 * exceeds the limit all the same, the room is lowered by as much and the choice made again.
 */
#include "passes/sharded/repeated.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"

#include <stdlib.h>
#include <talloc.h>

struct keeper {
	struct pass_run *run;
	struct ir_module *m;
	struct gathers *all;
	struct repeated *list; /* [n] */
	uint32_t n;
	bool silent; /* a trial on a copy */
};

static int
by_ratio(const void *a, const void *b)
{
	const struct repeated *x = a, *y = b;
	const double rx = x->seconds / (double)x->bytes, ry = y->seconds / (double)y->bytes;

	if (rx != ry)
		return rx < ry ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
tell(struct keeper *k, const struct repeated *r, uint64_t over)
{
	const struct ir_value *v = &r->first->result[r->i];
	const char *name = v->name ? TEXT(k->run->scratch, "%%%s", v->name) : "a param";
	char bytes[NUMBER_TEXT], more[NUMBER_TEXT];

	if (k->silent || !pass_remarks_wanted(k->run))
		return;
	number_bytes(bytes, (double)r->bytes);
	if (over)
		pass_remark(k->run, r->op, PASS_MISSED,
			"%s of %s is gathered again: keeping it is %s over the budget", bytes, name,
			number_bytes(more, (double)over));
	else
		pass_remark(k->run, r->op, PASS_APPLIED, "%s of %s kept, which saves %.4g us",
			bytes, name, r->seconds * 1e6);
}

/* Keeps what fits into so many bytes; false: reported. */
static bool
keep(struct keeper *k, uint64_t room)
{
	void *scratch = alloc_scratch(k->run->scratch);
	uint32_t nkept = 0;

	k->all = gathers_create(scratch, k->run->cost, k->m);
	if (k->all) {
		k->list = repeated_list(k->all, scratch, &k->n);
		qsort(k->list, k->n, sizeof *k->list, by_ratio);
	}
	for (uint32_t i = 0; i < k->n; i++) {
		const struct repeated *r = &k->list[i];
		tell(k, r, r->bytes > room ? r->bytes - room : 0);
		if (r->bytes > room)
			continue;
		room -= r->bytes;
		repeated_keep(r);
		nkept++;
	}
	if (k->all && nkept)
		repeated_drop_unread(k->all);
	const bool good = k->all != NULL;
	talloc_free(scratch);
	if (!k->silent)
		pass_count(k->run, "allgather(s) removed", nkept);
	return good;
}

/* The peak with that room, on a copy; false: reported. */
static bool
try(void *data, uint64_t room, uint64_t *peak)
{
	const struct keeper *like = data;
	struct ir_module *copy = ir_module_clone(NULL, like->m);
	struct keeper k = {.run = like->run, .m = copy, .silent = true};
	const bool good = keep(&k, room);

	*peak = good ? sharded_peak(k.run, copy) : 0;
	talloc_free(copy);
	return good;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	const uint64_t before = sharded_peak(run, m);
	uint64_t room = limit > before ? limit - before : 0;
	struct keeper k = {.run = run, .m = m};

	return sharded_settle(limit > before ? limit : before, &room, try, &k) && keep(&k, room);
}

static const struct pass_option options[] = {
	{"margin", PASS_FLOAT, "0.1",
		"without -budget: the share of the device's memory that is not used", NULL, 0, 1},
	{0},
};

const struct pass pass_unshard = {
	.name = "unshard",
	.family = "sharded",
	.summary = "keep gathered params for the backward pass as far as memory allows, instead of "
		   "gathering them again",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
