/*
 * prefetch: gathers of sharded params are issued earlier, so that they overlap with the kernels
 * before their first reader. Each one that does holds its buffer for longer.
 *
 *  - proactive: Algorithm 1 of DeepCompile (Tanaka and others 2025, section 4.2). The ops are
 *    visited from the last to the first. A gather joins a group, which moves on towards the front
 *    while
 *
 *        live bytes at the op + bytes of the group <= limit     and     bytes of the group <= group
 *
 *    and is issued where that ends. Neighbours a, b of a group become one collective if
 *    T(a + b) < fuse * max(T(a), T(b)), with T the time that the cost model gives for so many bytes.
 *    The paper's settings are the defaults: group 2 GB, a margin of 10 % of the device's memory
 *    (section 5.1). Its fuse is not published; 1.5 is between fusing what takes a latency only, 1,
 *    and fusing everything, 2.
 *  - search: proactive for every row of a table of groups and values of fuse, applied to copies; the
 *    one whose replayed step is shortest is taken, the step as it is among them. Without a cost
 *    model nothing moves.
 *
 * Memory: what lives at each op is that of the step as it comes. What moved is then counted again
 * with real offsets, and where it exceeds the limit, the limit is lowered by as much and the step
 * done again.
 */
#include "passes/sharded/gathers.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/limit.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/memory.h"
#include "passes/fusion/tensorfuse.h"

#include <talloc.h>

#define POLICIES(ROW) ROW(PROACTIVE, "proactive") ROW(SEARCH, "search")

enum policy { POLICIES(CHOICE_CODE) };

/* Placements are at most done so often; each lowers the limit by what the last one exceeded it. */
enum { MAX_ROUNDS = 8 };

/* What decides. */
struct settings {
	uint64_t limit, group; /* bytes */
	double fuse;
};

/* Gathers on their way to the front, and what is known of the step. */
struct prefetcher {
	struct pass_run *run;
	struct ir_module *m;
	struct settings set;
	bool silent; /* a trial on a copy */
	struct gathers *all;
	uint64_t *live;                   /* by op->id, bytes where the op waits or runs */
	const struct ir_numbering *place; /* of the ops, as they came */
	struct gather **group;            /* [ngroup] the last in the block first */
	uint32_t ngroup;
	uint64_t bytes; /* of the group */
	/* By op->id: `round` where the group reads a result of the op. */
	uint32_t *needed, round;
	uint32_t nmoved, nfused;
};

static void
note_live(struct prefetcher *p, const void *owner)
{
	const struct memory_curve *c =
		memory_curve_create(owner, p->m, ir_func_find(p->m, "main"), sharded_target(p->run));

	p->live = ARRAY_ZERO(owner, uint64_t, p->m->op_ids);
	for (uint32_t i = 0; i < c->n; i++)
		p->live[c->point[i].op->id] = c->point[i].live;
}

static void
move_behind(struct ir_op **at, struct ir_op *op)
{
	ir_op_unlink(op);
	ir_insert_after(*at, op);
	*at = op;
}

/* Becomes one op of what was worth it; `n` ops, one after another. */
static void
fuse_members(struct prefetcher *p, struct ir_op **member, int n)
{
	if (n < 2)
		return;
	struct ir_op *one = collectives_fuse(p->run->scratch, p->m, member, n);
	p->nfused += (uint32_t)n;
	if (!p->silent)
		pass_remark(p->run, one, PASS_APPLIED, "%d allgathers fused into one", n);
}

/* Fuses neighbours of the group, from the first in the block on. */
static void
fuse_group(struct prefetcher *p)
{
	struct ir_op **member = ARRAY_NEW(p->run->scratch, struct ir_op *, p->ngroup);
	int n = 0, noperands = 0;
	uint64_t bytes = 0;

	for (uint32_t i = p->ngroup; i-- > 0;) {
		const struct gather *g = p->group[i];
		const double a = n ? gathers_seconds(p->all, member[0], bytes) : 0,
			     b = gathers_seconds(p->all, g->op, g->bytes),
			     both = gathers_seconds(p->all, g->op, bytes + g->bytes);
		if (!n || !collectives_fusible(member[0], g->op) ||
			noperands + g->op->noperands > IR_MAX_LIST ||
			!(both < p->set.fuse * (a > b ? a : b))) {
			fuse_members(p, member, n);
			n = noperands = 0;
			bytes = 0;
		}
		member[n++] = g->op;
		noperands += g->op->noperands;
		bytes += g->bytes;
	}
	fuse_members(p, member, n);
}

/* Issues the group behind an op. */
static void
issue(struct prefetcher *p, struct ir_op *at)
{
	const uint32_t to = ir_number(p->place, at);
	uint32_t own = 0;

	for (uint32_t i = p->ngroup; i-- > 0;) {
		const struct gather *g = p->group[i];
		own += (uint32_t)g->nfeed + 1;
		p->nmoved += ir_number(p->place, g->op) > to + own;
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
	return p->live[at->id] + p->bytes <= p->set.limit;
}

/* The group stops below an op for want of memory. */
static void
tell_missed(struct prefetcher *p, const struct ir_op *op)
{
	const struct ir_value *gathered = &p->group[p->ngroup - 1]->op->result[0];
	char over[NUMBER_TEXT];

	if (p->silent || !pass_remarks_wanted(p->run))
		return;
	number_bytes(over, (double)(p->live[op->id] + p->bytes - p->set.limit));
	pass_remark(p->run, gathered->op, PASS_MISSED,
		"allgather of %s%s not moved above %s%s: %s over the budget",
		gathered->name ? "%" : "a param", gathered->name ? gathered->name : "",
		op->nresults && op->result[0].name ? "%" : op_name((enum op_code)op->code),
		op->nresults && op->result[0].name ? op->result[0].name : "", over);
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
		return; /* its feed moves with the gather */
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

/* Moves the gathers of p->m; false: reported. */
static bool
place(struct prefetcher *p)
{
	void *scratch = alloc_scratch(p->run->scratch);
	struct ir_block *main = &ir_func_find(p->m, "main")->body;

	p->all = gathers_create(scratch, p->run->cost, p->m);
	if (p->all && p->all->n) {
		note_live(p, scratch);
		p->place = ir_numbering_create(scratch, p->m, main);
		p->group = ARRAY_NEW(scratch, struct gather *, p->all->n);
		p->needed = ARRAY_ZERO(scratch, uint32_t, p->m->op_ids);
		p->round = 1;
		for (struct ir_op *op = main->last, *next; op; op = next) {
			next = op->prev;
			visit(p, op);
		}
	}
	const bool good = p->all != NULL;
	talloc_free(scratch);
	return good;
}

/* The step with these settings, on a copy: its peak, and its seconds if they are asked for. */
static bool
try(struct pass_run *run, const struct ir_module *m, const struct settings *set, uint64_t *peak,
	double *seconds)
{
	struct ir_module *copy = ir_module_clone(NULL, m);
	struct prefetcher p = {.run = run, .m = copy, .set = *set, .silent = true};
	bool good = place(&p);

	if (good)
		*peak = sharded_peak(run, copy);
	if (good && seconds) {
		const struct cost_step *step = cost_step_create(copy, run->cost, copy);
		good = step && !step->unfit;
		*seconds = good ? replay_seconds(step->r.makespan) : 0;
	}
	talloc_free(copy);
	return good;
}

/* Lowers set->limit until the step, with the gaps between its buffers, stays within the limit or
 * needs no more than it did, `before`. False: reported. */
static bool
settle(struct pass_run *run, const struct ir_module *m, uint64_t before, struct settings *set,
	double *seconds)
{
	const uint64_t limit = set->limit > before ? set->limit : before;
	uint64_t peak;

	for (int i = 0; i < MAX_ROUNDS; i++) {
		if (!try(run, m, set, &peak, seconds))
			return false;
		if (peak <= limit)
			return true;
		set->limit = set->limit > peak - limit ? set->limit - (peak - limit) : 0;
	}
	set->limit = 0;
	return try(run, m, set, &peak, seconds);
}

/* What `search` tries: groups from a layer of a small model to many of a large one. */
static const uint64_t groups[] = {
	16000000, 64000000, 256000000, 1000000000, 2000000000, 8000000000, UINT64_MAX / 4};
static const double fuses[] = {0, 1, 1.25, 1.5, 2};

static bool
search(struct pass_run *run, const struct ir_module *m, struct settings *best)
{
	const uint64_t limit = best->limit, before = sharded_peak(run, m);
	double least;

	*best = (struct settings){0, 0, 0};
	if (!run->cost)
		return true;
	if (!try(run, m, best, &(uint64_t){0}, &least))
		return false;
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		for (size_t k = 0; k < sizeof fuses / sizeof *fuses; k++) {
			struct settings s = {limit, groups[i], fuses[k]};
			double seconds;
			if (!settle(run, m, before, &s, &seconds))
				return false;
			if (seconds < least) {
				least = seconds;
				*best = s;
			}
		}
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct prefetcher p = {.run = run, .m = m};

	p.set = (struct settings){sharded_limit(run, pass_float(run, "margin")),
		(uint64_t)pass_size(run, "group"), pass_float(run, "fuse")};
	const bool good =
		pass_enum(run, "policy") == SEARCH
			? search(run, m, &p.set)
			: settle(run, m, sharded_peak(run, m), &p.set, NULL);
	if (!good || !place(&p))
		return false;
	pass_count(run, "allgather(s) moved", p.nmoved);
	pass_count(run, "allgather(s) fused", p.nfused);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "proactive",
		"how to place allgathers: proactive (as early as memory allows: DeepCompile), search "
		"(proactive with the group and fuse of the shortest predicted step)",
		CHOICE_LIST(POLICIES), 0, 0},
	{"group", PASS_SIZE, "2GB", "proactive: bytes of the allgathers that move together", NULL,
		1, 1e15},
	{"fuse", PASS_FLOAT, "1.5",
		"proactive: two allgathers are fused if that takes less than this times the longer one",
		NULL, 0, 2},
	COST_MARGIN_OPTION,
	{0},
};

const struct pass pass_prefetch = {
	.name = "prefetch",
	.family = "sharded",
	.summary = "issue allgathers of sharded params earlier, as far as memory allows, and fuse "
		   "those that are issued together",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
