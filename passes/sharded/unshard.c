/*
 * unshard: params that are gathered twice are kept whole between the two, as far as memory allows,
 * and the second gather is removed (selective unsharding: DeepCompile, Tanaka and others 2025,
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
 * Gathers are taken by T / B, the seconds of a gather by the bytes of its result, the largest
 * first, while the sum of their bytes is within the room: this is the policy `ratio`. Small params
 * come first: their gathers are mostly latency. Not all kept params are live at the peak, so trials
 * (passes/analysis/cost/trial.h) find the room with which the step fits.
 *
 * `search` also tries the reverse order of the block: params that are gathered last in the forward
 * pass are read first in the backward pass, and are kept for the shortest time. Of what fits, the
 * shortest replayed step is taken.
 */
#include "passes/sharded/repeated.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/memory/curve.h"
#include "ir/memory/issue.h"
#include "ir/memory/storage.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/trial.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

#define POLICIES(ROW) ROW(RATIO, "ratio") ROW(SEARCH, "search")

enum policy { POLICIES(CHOICE_CODE) };

/* Gathers in the order in which they are taken. */
enum order { BY_RATIO, LATEST_FIRST, NORDERS };

struct keeper {
	struct pass_run *run;
	struct ir_module *m;
	const struct trial_base *base;
	struct gathers *all;
	struct repeated *list; /* [n] */
	uint32_t n;
	enum order order;
	bool silent;    /* true in a trial */
	uint32_t nkept; /* gathers whose results `keep` kept */
};

ORDER_BY(by_ratio, struct repeated,
	ORDER_UP(y->seconds / (double)y->bytes, x->seconds / (double)x->bytes), UP(number))

ORDER_BY(by_number_last_first, struct repeated, DOWN(number))

static void
sort(struct keeper *k)
{
	qsort(k->list, k->n, sizeof *k->list,
		k->order == BY_RATIO ? by_ratio : by_number_last_first);
}

/* The number of iterations in which a gather is executed. */
static int64_t
turns_of(const struct ir_module *m, const struct ir_op *gather)
{
	const int axis = (int)ir_attr_int(gather, "each", -1);

	return axis < 0 ? 1 : issue_iterations(m, 1u << axis);
}

/*
 * Lists gathers that repeat an earlier one, and gathers that are executed in several iterations: if
 * the param is kept over all iterations, only the first gather remains.
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

/* Gathers one tensor of a gather, once for all iterations; in issue order that is before the
 * loop. */
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
tell(struct keeper *k, const struct repeated *r, bool kept)
{
	const struct ir_value *v = &r->first->result[r->i];
	const char *name = v->name ? TEXT(k->run->scratch, "%%%s", v->name) : "a param";
	char bytes[NUMBER_TEXT];

	if (k->silent || !pass_remarks_wanted(k->run))
		return;
	number_bytes(bytes, (double)r->bytes);
	if (!kept)
		pass_remark(k->run, r->op, PASS_MISSED,
			"%s of %s is gathered again: with it and those kept the step would exceed "
			"the budget, or take longer",
			bytes, name);
	else
		pass_remark(k->run, r->op, PASS_APPLIED, "%s of %s kept, which saves %.4g us",
			bytes, name, r->seconds * 1e6);
}

/* Keeps gathers whose results fit into `room` bytes. */
static void
keep(struct keeper *k, uint64_t room)
{
	void *scratch = alloc_scratch(k->run->scratch);

	k->nkept = 0;
	k->all = gathers_create(scratch, k->base->step, k->m);
	list_all(k, scratch);
	sort(k);
	for (uint32_t i = 0; i < k->n; i++) {
		const struct repeated *r = &k->list[i];
		tell(k, r, r->bytes <= room);
		if (r->bytes > room)
			continue;
		room -= r->bytes;
		keep_one(k, r);
		k->nkept++;
	}
	if (k->nkept)
		repeated_drop_unread(k->all);
	talloc_free(scratch);
}

/* Runs the keeper `data` as a trial. */
static void
keep_on(void *data, struct ir_module *m, uint64_t room)
{
	struct keeper *like = data, k = *like;

	k.m = m;
	k.silent = true;
	keep(&k, room);
	like->nkept = k.nkept;
}

/*
 * For each gather in the order of k: the live bytes of the step if it and those before it are kept.
 * The result of the first gather then lives until the last reader of the second.
 *
 *     first gather    #########                     #####################
 *     second gather                 ######  --->
 *
 * NULL: not known, as a gather is executed in several iterations and would live for all of them.
 */
static const uint64_t *
live_of(const struct keeper *k)
{
	const struct storage *s = trial_before(k->base);
	struct live_curve *curve = live_curve_create(k->run->scratch, s->live, 2 * s->order->n + 3);
	uint64_t *live = ARRAY_NEW(k->run->scratch, uint64_t, k->n + 1);
	int32_t *last = ARRAY_NEW(k->run->scratch, int32_t, s->nbuffers + 1u);

	for (uint32_t i = 0; i < s->nbuffers; i++)
		last[i] = s->buffer[i].last;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct repeated *r = &k->list[i];
		const int32_t a = storage_of(s, &r->first->result[r->i])->buffer,
			      b = storage_of(s, &r->op->result[r->k])->buffer;
		if (turns_of(k->m, r->first) > 1)
			return NULL;
		if (a >= 0 && b >= 0 && a != b && last[a] >= 0 && s->buffer[b].first >= 0 &&
			storage_counts(s, &s->buffer[b])) {
			const struct storage_buffer *again = &s->buffer[b];
			live_curve_add(curve, (uint32_t)again->first, (uint32_t)again->last,
				-(int64_t)storage_bytes(s, again));
			live_curve_add(curve, (uint32_t)last[a] + 1, (uint32_t)again->last,
				(int64_t)storage_bytes(s, &s->buffer[a]));
			last[a] = again->last > last[a] ? again->last : last[a];
		}
		live[i] = live_curve_most(curve) + s->outside_arena;
	}
	return live;
}

/* The values of `room` with which one more gather is kept, in the order of k. */
static const uint64_t *
rooms_of(struct keeper *k)
{
	uint64_t *room = ARRAY_NEW(k->run->scratch, uint64_t, k->n + 1), sum = 0;

	sort(k);
	for (uint32_t i = 0; i < k->n; i++)
		room[i] = sum += k->list[i].bytes;
	return room;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	const int orders = pass_enum(run, "policy") == SEARCH && run->cost ? NORDERS : 1;
	struct trial_base base;
	struct trial_result best, r;
	enum order order = BY_RATIO;
	uint64_t room = 0, allowed;
	bool fits, changed = false, left = false;

	if (!trial_begin(&base, run, m))
		return false;
	struct keeper k = {.run = run,
		.m = m,
		.base = &base,
		.all = gathers_create(run->scratch, base.step, m)};
	struct trial t = {.base = &base, .apply = keep_on, .data = &k, .or_as_before = true};
	/* Remarks are those of a change that is not a trial. */
	t.changed = orders == 1 && !pass_remarks_wanted(run) ? &changed : NULL;
	list_all(&k, run->scratch);
	t.namounts = k.n;
	best = (struct trial_result){.seconds = base.seconds};
	for (int i = 0; i < orders && k.n; i++) {
		k.order = (enum order)i;
		t.amount = rooms_of(&k);
		t.expected = live_of(&k);
		if (!trial_fit(&t, limit, &allowed, &r, &fits))
			return false;
		if (!fits || (run->cost && r.seconds >= best.seconds))
			continue;
		order = k.order;
		room = allowed;
		best = r;
		left = changed;
	}
	if (left) {
		ir_saved_keep(base.saved);
	} else {
		if (changed)
			ir_saved_restore(base.saved);
		k = (struct keeper){.run = run, .m = m, .base = &base, .order = order};
		keep(&k, room);
	}
	pass_count(run, "allgather(s) removed", k.nkept);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "ratio",
		"which to keep: ratio (those that save the most time for each byte: DeepCompile), "
		"search (the shortest predicted step)",
		CHOICE_LIST(POLICIES), 0, 0},
	COST_MARGIN_OPTION,
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
