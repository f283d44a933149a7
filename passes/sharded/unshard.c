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
#include "passes/sharded/gathers.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/limit.h"

#include <stdlib.h>
#include <talloc.h>

/* Choices are made at most so often, each with less room by what the last one exceeded the limit. */
enum { MAX_ROUNDS = 8 };

/* Result k of a gather that makes what result i of an earlier one made. */
struct repeated {
	struct ir_op *op, *first;
	int k, i;
	uint64_t bytes;
	double seconds;
	uint32_t number; /* in order of the block */
};

struct keeper {
	struct pass_run *run;
	struct ir_module *m;
	struct gathers *all;
	struct repeated *list; /* [n] */
	uint32_t n;
	bool silent; /* a trial on a copy */
};

/* The gather that first made the tensor of a param. */
struct first {
	struct ir_op *op;
	int i;
};

static const struct ir_value *
root_of(const struct ir_value *v)
{
	while (v->op && v->op->noperands && (op_is(v->op, TRAIT_PURE) || v->op->code == OP_barrier))
		v = ir_operand(v->op, v->op->code == OP_barrier ? (int)v->index : 0);
	return v;
}

static void
add_repeated(struct keeper *k, struct ir_op *op, int at, const struct first *f)
{
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(k->m, op->result[at].type);

	k->list[k->n] = (struct repeated){
		op, f->op, at, f->i, bytes, gathers_seconds(k->all, op, bytes), k->n};
	k->n++;
}

/* Gathers that make again what an earlier one made. */
static void
list_repeated(struct keeper *k, const void *owner)
{
	struct first *first = ARRAY_ZERO(owner, struct first, k->m->value_ids);
	uint32_t most = 0;

	for (uint32_t g = 0; g < k->all->n; g++)
		most += k->all->gather[g].op->nresults;
	k->list = ARRAY_NEW(owner, struct repeated, most + 1);
	for (uint32_t g = 0; g < k->all->n; g++) {
		struct ir_op *op = k->all->gather[g].op;
		for (int i = 0; i < op->nresults; i++) {
			struct first *f = &first[root_of(ir_operand(op, i))->id];
			if (!f->op)
				*f = (struct first){op, i};
			else if (gathers_same(f->op, f->i, op, i))
				add_repeated(k, op, i, f);
		}
	}
}

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

/* The gather without the results that nobody reads; all of it, if none is read. */
static void
drop_unread(struct keeper *k, const struct gather *g)
{
	struct ir_op *op = g->op;
	struct ir_value **operand = ARRAY_NEW(k->run->scratch, struct ir_value *, op->noperands);
	int n = 0;

	for (int i = 0; i < op->nresults; i++)
		if (op->result[i].uses)
			operand[n++] = ir_operand(op, i);
	if (n == op->nresults)
		return;
	if (n) {
		struct ir_op *one = ir_op_create(
			k->m, OP_allgather, op->loc, operand, n, op->attr, op->nattrs, n);
		ir_insert_before(op, one);
		for (int i = 0, at = 0; i < op->nresults; i++)
			if (op->result[i].uses) {
				one->result[at].type = op->result[i].type;
				one->result[at].name = op->result[i].name;
				ir_replace_uses(&op->result[i], &one->result[at++]);
			}
	}
	ir_op_erase(op);
	for (int i = g->nfeed; i-- > 0;)
		if (!g->feed[i]->result[0].uses)
			ir_op_erase(g->feed[i]);
}

/* Keeps what fits into so many bytes; false: reported. */
static bool
keep(struct keeper *k, uint64_t room)
{
	void *scratch = alloc_scratch(k->run->scratch);
	uint32_t nkept = 0;

	k->all = gathers_create(scratch, k->run->cost, k->m);
	if (k->all) {
		list_repeated(k, scratch);
		qsort(k->list, k->n, sizeof *k->list, by_ratio);
	}
	for (uint32_t i = 0; i < k->n; i++) {
		const struct repeated *r = &k->list[i];
		tell(k, r, r->bytes > room ? r->bytes - room : 0);
		if (r->bytes > room)
			continue;
		room -= r->bytes;
		ir_replace_uses(&r->op->result[r->k], &r->first->result[r->i]);
		nkept++;
	}
	for (uint32_t g = 0; k->all && g < k->all->n && nkept; g++)
		drop_unread(k, &k->all->gather[g]);
	const bool good = k->all != NULL;
	talloc_free(scratch);
	if (!k->silent)
		pass_count(k->run, "allgather(s) removed", nkept);
	return good;
}

/* The peak with that room, on a copy; false: reported. */
static bool
try(struct pass_run *run, const struct ir_module *m, uint64_t room, uint64_t *peak)
{
	struct ir_module *copy = ir_module_clone(NULL, m);
	struct keeper k = {.run = run, .m = copy, .silent = true};
	const bool good = keep(&k, room);

	*peak = good ? sharded_peak(run, copy) : 0;
	talloc_free(copy);
	return good;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit = sharded_limit(run, pass_float(run, "margin"));
	const uint64_t before = sharded_peak(run, m);
	uint64_t room = limit > before ? limit - before : 0, peak;

	for (int i = 0; i < MAX_ROUNDS && room; i++) {
		if (!try(run, m, room, &peak))
			return false;
		if (peak <= limit)
			break;
		room = i + 1 < MAX_ROUNDS && room > peak - limit ? room - (peak - limit) : 0;
	}
	struct keeper k = {.run = run, .m = m};
	return keep(&k, room);
}

static const struct pass_option options[] = {
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
