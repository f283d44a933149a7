/*
 * The policy proactive of prefetch: Algorithm 1 of DeepCompile (Tanaka and others 2025, section
 * 4.2). The ops are visited from the last to the first. A gather joins a group, which moves on
 * towards the front while
 *
 *     live bytes at the op + bytes of the group <= limit     and     bytes of the group <= group
 *
 * and is issued where that ends. Neighbours a, b of a group become one collective if
 * T(a + b) < fuse * max(T(a), T(b)), with T the time that the cost model gives for that number of
 * bytes.
 *
 * Readers of scattered gradients are delayed first (scatters.h): in DeepCompile, too,
 * reducescatters overlap the kernels after them.
 */
#include "passes/sharded/prefetch.h"
#include "passes/sharded/scatters.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/memory.h"
#include "passes/parallel/collectives.h"

#include <talloc.h>

/* The gathers being moved to the front, and data of the step. */
struct prefetcher {
	struct prefetch *step;
	struct prefetch_settings set;
	struct gathers *all;
	const uint64_t *live; /* by op->id: live bytes while the op waits or runs; NULL: no limit */
	const struct ir_numbering *place; /* numbers of the ops before any move */
	struct gather **group;            /* [ngroup] the last in the block comes first */
	uint32_t ngroup;
	uint64_t bytes; /* of the gathers in the group */
	/* By op->id: equals `round` if the group reads a result of the op. */
	uint32_t *needed, round;
};

static uint64_t *
find_live(const void *owner, const struct prefetch *step)
{
	void *scratch = alloc_scratch(NULL);
	const struct memory_curve *c = memory_curve_create_live(scratch, step->m,
		ir_func_find(step->m, "main"), cost_model_storage(step->run->cost),
		trial_known(scratch, step->base, step->m));
	uint64_t *live = ARRAY_ZERO(owner, uint64_t, step->m->op_ids);

	for (uint32_t i = 0; i < c->n; i++)
		live[c->point[i].op->id] = c->point[i].live;
	talloc_free(scratch);
	return live;
}

/* The live bytes of the step with its readers of gradients delayed as the settings say. */
static const uint64_t *
live_of(const struct prefetch *step, const struct prefetch_settings *set)
{
	struct prefetch_lives *l = step->lives;

	for (int i = 0; i < l->n; i++)
		if (l->known[i].waiting == set->waiting && l->known[i].bucket == set->bucket &&
			l->known[i].early == step->early)
			return l->known[i].live;
	const struct prefetch_live found = {
		set->waiting, set->bucket, step->early, find_live(l, step)};
	LIST_PUSH(l, l->known, l->n, found);
	return found.live;
}

static void
move_behind(struct ir_op **at, struct ir_op *op)
{
	ir_op_unlink(op);
	ir_insert_after(*at, op);
	*at = op;
}

/* Fuses n adjacent gathers into one op. */
static void
fuse_members(struct prefetcher *p, struct ir_op **member, uint32_t n)
{
	struct ir_op *one;

	if (n < 2)
		return;
	p->step->fused += collectives_fuse(p->step->m, member, n, &one);
	if (!p->step->silent)
		pass_remark(p->step->run, one, PASS_APPLIED, "%u allgathers fused into one", n);
}

/* Fuses neighbours of the group where that pays, from the first in the block on. */
static void
fuse_group(struct prefetcher *p)
{
	struct ir_op **member = ARRAY_NEW(p->step->run->scratch, struct ir_op *, p->ngroup);
	uint32_t n = 0, noperands = 0;
	uint64_t bytes = 0;
	double a = 0; /* seconds of the members so far */

	for (uint32_t i = p->ngroup; i-- > 0;) {
		const struct gather *g = p->group[i];
		const double b = gathers_seconds(p->all, g->op, g->bytes),
			     both = n ? gathers_seconds(p->all, g->op, bytes + g->bytes) : b;
		if (!n || !collectives_fusible(member[0], g->op) ||
			noperands + g->op->noperands > IR_MAX_LIST ||
			!(both < p->set.fuse * (a > b ? a : b))) {
			fuse_members(p, member, n);
			n = noperands = 0;
			bytes = 0;
		}
		a = n ? both : b;
		member[n++] = g->op;
		noperands += g->op->noperands;
		bytes += g->bytes;
	}
	fuse_members(p, member, n);
}

/* Issues the group after an op. */
static void
issue(struct prefetcher *p, struct ir_op *at)
{
	const uint32_t to = ir_number(p->place, at);
	uint32_t own = 0;

	for (uint32_t i = p->ngroup; i-- > 0;) {
		const struct gather *g = p->group[i];
		own += (uint32_t)g->nfeed + 1;
		p->step->moved += ir_number(p->place, g->op) > to + own;
		for (int k = 0; k < g->nfeed; k++)
			move_behind(&at, g->feed[k]);
		move_behind(&at, g->op);
	}
	fuse_group(p);
	p->ngroup = 0;
	p->bytes = 0;
	p->round++;
}

static bool
fits(const struct prefetcher *p, const struct ir_op *at)
{
	return !p->live || p->live[at->id] + p->bytes <= p->set.limit;
}

/* Remarks that the group cannot move above an op for lack of memory. */
static void
tell_missed(struct prefetcher *p, const struct ir_op *op)
{
	const struct ir_value *gathered = &p->group[p->ngroup - 1]->op->result[0];
	const uint64_t bytes = p->live[op->id] + p->bytes;
	char over[NUMBER_TEXT];

	if (p->step->silent || !pass_remarks_wanted(p->step->run))
		return;
	number_bytes(over, (double)(bytes - p->set.budget));
	pass_remark(p->step->run, gathered->op, PASS_MISSED,
		"allgather of %s%s not moved above %s%s: %s%s", gathered->name ? "%" : "a param",
		gathered->name ? gathered->name : "",
		op->nresults && op->result[0].name ? "%" : op_name((enum op_code)op->code),
		op->nresults && op->result[0].name ? op->result[0].name : "",
		bytes > p->set.budget ? over : "",
		bytes > p->set.budget ? " over the budget"
				      : "the step would not fit, or take longer");
}

static void
note_needed(struct prefetcher *p, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *maker = ir_operand(op, i)->op;
		if (maker)
			p->needed[maker->id] = p->round;
	}
}

static void
join(struct prefetcher *p, struct gather *g)
{
	p->group[p->ngroup++] = g;
	p->bytes += g->bytes;
	note_needed(p, g->op);
	for (int k = 0; k < g->nfeed; k++)
		note_needed(p, g->feed[k]);
}

static void
visit(struct prefetcher *p, struct ir_op *op)
{
	const uint32_t of = p->all->of[op->id];
	struct gather *g = of ? &p->all->gather[of - 1] : NULL;

	if (g && g->op != op)
		return; /* a feed moves with its gather */
	if (p->ngroup && !fits(p, op)) {
		tell_missed(p, op);
		issue(p, op);
	} else if (p->ngroup &&
		   (g ? p->bytes + g->bytes > p->set.group : p->needed[op->id] == p->round)) {
		issue(p, op);
	}
	if (g)
		join(p, g);
}

/* A bucket of consecutive reducescatters of at most `most` bytes. */
struct bucket {
	const struct ir_module *m;
	uint64_t most, bytes;
	uint32_t n;
};

static uint32_t
bucket_of(void *data, const struct ir_op *op)
{
	struct bucket *b = data;
	uint64_t bytes = 0;

	for (int i = 0; i < op->noperands; i++)
		bytes += (uint64_t)ir_type_local_bytes(b->m, ir_operand_type(op, i));
	if (b->bytes + bytes > b->most) {
		b->n++;
		b->bytes = 0;
	}
	b->bytes += bytes;
	return b->n;
}

void
prefetch_proactive(struct prefetch *step, const struct prefetch_settings *set)
{
	struct prefetcher p = {.step = step, .set = *set};
	void *scratch = alloc_scratch(step->run->scratch);
	struct bucket bucket = {.m = step->m, .most = set->bucket};
	struct ir_block *main = &ir_func_find(step->m, "main")->body;

	if (set->bucket)
		step->fused_scatters = scatters_fuse(step->m, bucket_of, &bucket);
	step->delayed = scatters_delay(step->m, set->waiting, step->early);
	p.all = gathers_create(scratch, step->base->step, step->m);
	if (p.all->n) {
		gathers_hoist_sources(p.all);
		/* With all memory everything fits. */
		p.live = set->limit == TRIAL_ALL ? NULL : live_of(step, set);
		p.place = ir_numbering_create(scratch, step->m, main);
		p.group = ARRAY_NEW(scratch, struct gather *, p.all->n);
		p.needed = ARRAY_ZERO(scratch, uint32_t, step->m->op_ids);
		p.round = 1;
		for (uint32_t i = p.place->n; i-- > 0;)
			visit(&p, p.place->op[i]);
	}
	talloc_free(scratch);
}
