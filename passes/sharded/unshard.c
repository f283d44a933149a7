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
 * A param that is gathered in each iteration of a loop over micro-batches (`each`) is gathered once
 * before it instead, and kept for all of them: that saves all gathers of it but one.
 *
 * Gathers are taken by T / B, the seconds that one takes by the bytes that it makes, the largest
 * first, while the sum of their bytes and the peak of the step are within the limit. Small params come first:
 * their gathers are mostly latency. The peak is that of the step with real offsets; where a choice
 * exceeds the limit all the same, the room is lowered by as much and the choice made again: this is the
 * policy `ratio`.
 *
 * `search` starts from it and looks for the largest room with which the step fits, by bisection, for
 * gathers in the order of their ratio and in the reverse order of the block: what is gathered last in
 * the forward pass is read first in the backward pass, and is kept for the shortest time. Of what
 * fits, the shortest replayed step is taken. Deterministic.
 */
#include "passes/sharded/repeated.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/memory/issue.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

#define POLICIES(ROW) ROW(RATIO, "ratio") ROW(SEARCH, "search")

enum policy { POLICIES(CHOICE_CODE) };

/* Gathers in the order in which they are taken. */
enum order { BY_RATIO, LATEST_FIRST, NORDERS };

/* Rooms that the search tries for each order: to 1/32 of what there is. */
enum { BISECTIONS = 5 };

struct keeper {
	struct pass_run *run;
	struct ir_module *m;
	struct gathers *all;
	struct repeated *list; /* [n] */
	uint32_t n;
	enum order order;
	double *seconds; /* of a trial, if they are asked for; or NULL */
	bool silent;     /* a trial on a copy */
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

static int
by_number_last_first(const void *a, const void *b)
{
	const struct repeated *x = a, *y = b;

	return x->number > y->number ? -1 : x->number < y->number;
}

static void
sort(struct keeper *k)
{
	qsort(k->list, k->n, sizeof *k->list,
		k->order == BY_RATIO ? by_ratio : by_number_last_first);
}

/* Iterations in which a gather is done anew. */
static int64_t
turns_of(const struct ir_module *m, const struct ir_op *gather)
{
	const int axis = (int)ir_attr_int(gather, "each", -1);

	return axis < 0 ? 1 : issue_turns(m, 1u << axis);
}

/*
 * Those that repeat an earlier gather, and those that are done in several iterations: kept over all
 * of them, each but the first is saved.
 */
static void
list_all(struct keeper *k, const void *owner)
{
	bool *listed = ARRAY_ZERO(owner, bool, k->m->value_ids);
	uint32_t n, most = 0;
	const struct repeated *again = repeated_list(k->all, owner, &n);

	for (uint32_t g = 0; g < k->all->n; g++)
		most += k->all->gather[g].op->nresults;
	k->list = ARRAY_NEW(owner, struct repeated, n + most + 1);
	memcpy(k->list, again, n * sizeof *again);
	for (k->n = 0; k->n < n; k->n++) {
		struct repeated *r = &k->list[k->n];
		const int64_t turns = turns_of(k->m, r->first);
		listed[r->first->result[r->i].id] = listed[r->op->result[r->k].id] = true;
		r->seconds *= turns > 1 ? (double)(2 * turns - 1) : 1;
	}
	for (uint32_t g = 0; g < k->all->n; g++) {
		struct ir_op *op = k->all->gather[g].op;
		const int64_t turns = turns_of(k->m, op);
		for (int i = 0; i < op->nresults && turns > 1; i++) {
			if (listed[op->result[i].id])
				continue;
			const uint64_t bytes =
				(uint64_t)ir_type_local_bytes(k->m, op->result[i].type);
			const double once = gathers_seconds(k->all, op, bytes);
			k->list[k->n] = (struct repeated){
				op, op, i, i, bytes, once * (double)(turns - 1), k->n};
			k->n++;
		}
	}
}

/* Gathers a tensor of a gather alone and for all iterations; the issue order has it before the loop. */
static void
gather_once(struct keeper *k, const struct repeated *r)
{
	struct ir_value *operand = ir_operand(r->first, r->i), *old = &r->first->result[r->i];
	struct ir_op *op = ir_op_create(k->m, OP_allgather, r->first->loc, &operand, 1,
		r->first->attr, r->first->nattrs, 1);

	op->result[0].type = old->type;
	op->result[0].name = old->name;
	ir_attr_remove(op, "each");
	ir_insert_before(r->first, op);
	ir_replace_uses(old, &op->result[0]);
}

static void
keep_one(struct keeper *k, const struct repeated *r)
{
	if (r->op != r->first || r->k != r->i)
		repeated_keep(r);
	if (turns_of(k->m, r->first) > 1)
		gather_once(k, r);
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
		list_all(k, scratch);
		sort(k);
	}
	for (uint32_t i = 0; i < k->n; i++) {
		const struct repeated *r = &k->list[i];
		tell(k, r, r->bytes > room ? r->bytes - room : 0);
		if (r->bytes > room)
			continue;
		room -= r->bytes;
		keep_one(k, r);
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
	struct keeper k = {.run = like->run, .m = copy, .order = like->order, .silent = true};
	bool good = keep(&k, room);

	*peak = good ? sharded_peak(k.run, copy) : 0;
	if (good && like->seconds) {
		const struct cost_step *step = cost_step_create(copy, k.run->cost, copy);
		good = step && !step->unfit;
		*like->seconds = good ? replay_seconds(step->r.makespan) : 0;
	}
	talloc_free(copy);
	return good;
}

/* The best of what was tried. */
struct best {
	enum order order;
	uint64_t room;
	double seconds;
};

/* Rooms between one that fits and `most`, for the order of k; false: reported. */
static bool
bisect(struct keeper *k, uint64_t limit, uint64_t fits, uint64_t most, struct best *best)
{
	for (int i = 0; i < BISECTIONS && fits < most; i++) {
		const uint64_t room = fits + (most - fits + 1) / 2;
		uint64_t peak;
		if (!try(k, room, &peak))
			return false;
		if (peak <= limit && *k->seconds < best->seconds)
			*best = (struct best){k->order, room, *k->seconds};
		if (peak <= limit)
			fits = room;
		else
			most = room - 1;
	}
	return true;
}

/* From `ratio` with that room on; false: reported. */
static bool
search(struct keeper *k, uint64_t limit, uint64_t before, uint64_t *room)
{
	double seconds = 0;
	struct best best = {BY_RATIO, *room, 0};
	/* Not all that is kept is live at the peak: more than the rest of the memory may fit. */
	const uint64_t most = 2 * (limit - before);
	uint64_t peak;
	struct keeper t = {.run = k->run, .m = k->m, .seconds = &seconds};

	if (!try(&t, *room, &peak))
		return false;
	best.seconds = seconds;
	for (int i = 0; i < NORDERS; i++) {
		t.order = (enum order)i;
		if (!bisect(&t, limit, i == BY_RATIO ? *room : 0, most, &best))
			return false;
	}
	k->order = best.order;
	*room = best.room;
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	const uint64_t before = sharded_peak(run, m);
	uint64_t room = limit > before ? limit - before : 0;
	struct keeper k = {.run = run, .m = m};

	if (!sharded_settle(limit > before ? limit : before, &room, try, &k))
		return false;
	if (pass_enum(run, "policy") == SEARCH && run->cost && limit > before &&
		limit != UINT64_MAX && !search(&k, limit, before, &room))
		return false;
	return keep(&k, room);
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "ratio",
		"which to keep: ratio (those that save the most time for each byte: DeepCompile), "
		"search (the shortest predicted step)",
		CHOICE_LIST(POLICIES), 0, 0},
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
