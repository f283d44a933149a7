/*
 * Estimates of a step from steps with fewer blocks. A model of 80 equal blocks takes as long as one
 * of 2 blocks and 39 times what two more add:
 *
 *     T(blocks) = T0 + blocks t.
 *
 * Memory is that of the step with few blocks and what more blocks keep: kept.c. Passes that use what is
 * left must have as much of it for each block as in the whole step: the limit at a depth is what a sharded
 * step with the same kernels and the same recomputation, but without such passes, needs there, and the
 * block's share of the rest, if there is any. Of these sharded steps the whole ones are run, once each.
 *
 * An estimate only decides which whole steps are run: plan.c takes none without running it.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/cost/cost.h"
#include "passes/plan/plan.h"

#include <math.h>
#include <string.h>

/* A step with fewer blocks is run as a whole: that takes no longer than its parts. */
enum { LEAST_BLOCKS = 16 };

/* Blocks of the smallest step, and of a stage of it: a block between others is not needed, as the
 * line goes through two depths. With one block in each stage, what comes after the last block would
 * decide how long all stages take. */
enum { FIRST_DEPTH = 2 };

void
plan_count_blocks(struct planner *p)
{
	const struct ir_func *main = ir_func_find(p->m, "main");
	int64_t most = 0;

	if (main)
		IR_FOR_OPS (op, &main->body) {
			const int64_t n = op->code == OP_call ? ir_attr_int(op, "repeat", 1) : 1;
			most = n > most ? n : most;
			p->repeats += n > 1 ? n : 0;
		}
	p->blocks = most >= LEAST_BLOCKS ? most : 0;
}

/* Depths of first estimates; those of better ones are the last two. */
enum { ROUGH_DEPTHS = 2 };

/* A copy of the module in which what is repeated most is repeated that often. */
static struct ir_module *
with_blocks(const struct planner *p, const struct ir_module *m, int64_t blocks)
{
	struct ir_module *copy = ir_module_clone(p->run->scratch, m);
	const struct ir_attr repeat = {
		.key = ir_name(m->ctx, "repeat"), .kind = ATTR_INT, .i = blocks};

	IR_FOR_OPS (op, &ir_func_find(copy, "main")->body)
		if (op->code == OP_call && ir_attr_int(op, "repeat", 1) == p->blocks)
			ir_attr_set(copy, op, &repeat);
	return copy;
}

void
plan_add_depths(struct planner *p, struct plan_base *b)
{
	const int64_t first = (int64_t)b->stages * FIRST_DEPTH;

	if (p->blocks < 2 * first << (ROUGH_DEPTHS - 1))
		return;
	struct pass_manager *rough =
		COPY_ARRAY(p->run->scratch, struct pass_manager, p->manager, 1);
	rough->cost = cost_model_rough(rough, p->model);
	for (int i = 0; i < PLAN_DEPTHS; i++) {
		const int64_t blocks = first << i;
		b->depth[i].blocks = blocks;
		b->depth[i].attempts =
			attempts_create(p->run->scratch, rough, with_blocks(p, b->m, blocks));
	}
}

/* The value at `blocks` of the line through the values of two depths, the `first` and the next. */
static double
extended(const struct plan_base *b, int first, const double value[2], int64_t blocks)
{
	const struct plan_depth *d = &b->depth[first];
	const double slope = (value[1] - value[0]) / (double)(d[1].blocks - d[0].blocks);

	return value[1] + slope * (double)(blocks - d[1].blocks);
}

/* Runs the pipeline at the i-th depth; false: a pass refuses the step. kept: NULL, or what its blocks keep. */
static bool
run_depth(struct planner *p, const struct plan_base *b, const char *passes, int i, double limit,
	struct plan_kept *kept, struct attempt_result *r)
{
	struct attempts *a = b->depth[i].attempts;

	attempts_limit(a, (uint64_t)limit);
	attempts_watch(a, kept ? plan_kept_read : NULL, kept);
	attempts_run(a, passes, r);
	attempts_watch(a, NULL, NULL);
	p->effort += r->effort;
	return isfinite(r->seconds);
}

static const struct plan_base *
base_of_constant(const struct planner *p)
{
	return &p->base[p->nbases > PLAN_FLAT ? PLAN_FLAT : PLAN_PLAIN];
}

/* The step to which that of the pipeline is compared. */
static struct plan_constant
constant_of(struct planner *p, const struct pass_list *list)
{
	const struct plan_base *b = base_of_constant(p);
	const int again = pass_list_find(list, "recompute"), fused = pass_list_find(list, "opfuse");
	struct plan_constant c = {
		.text = TEXT(p->run->scratch, "AMP,DP,GRAD,%sSHARD,OPT,%s",
			again >= 0 ? "recompute," : "", fused >= 0 ? list->pass[fused] : "opfuse")};
	struct attempt_result r[ROUGH_DEPTHS];
	struct pass_list bare = {0};

	for (int64_t i = 0; i < p->constant.n; i++)
		if (!strcmp(p->constant.at[i].text, c.text))
			return p->constant.at[i];
	bool ran = plan_read_recipe(p, b, c.text, &bare);
	const char *text = pass_list_text(p->run->scratch, &bare);
	const int depths = b->depth->blocks ? ROUGH_DEPTHS : 0;
	for (int i = 0; i < depths && ran; i++)
		ran = run_depth(p, b, text, i, 0, NULL, &r[i]);
	if (ran) {
		struct attempt_result whole;
		attempts_limit(b->attempts, 0);
		attempts_run(b->attempts, text, &whole);
		attempts_limit(b->attempts, p->budget);
		p->effort += whole.effort;
		for (int i = 0; i < depths; i++)
			c.bytes[i] = (double)r[i].peak;
		if (depths)
			c.seconds =
				fmax(0, extended(b, 0, (double[]){r[0].seconds, r[1].seconds}, 0));
		c.whole = isfinite(whole.seconds) ? (double)whole.peak
			  : depths                ? extended(b, 0, c.bytes, p->blocks)
						  : 0;
	}
	VEC_PUSH(p->run->scratch, &p->constant, c);
	return c;
}

double
plan_bare_bytes(struct planner *p, const struct pass_list *list)
{
	return constant_of(p, list).whole;
}

/* What that step needs with a few blocks. */
static double
bare_bytes(const struct planner *p, const struct plan_constant *c, int64_t blocks)
{
	return extended(base_of_constant(p), 0, c->bytes, blocks);
}

/* A step whose estimate from one depth is that many times as slow as the best one is not estimated from
 * two. */
static const double hopeless = 1.3;

static bool
is_hopeless(const struct planner *p, double seconds)
{
	double best = INFINITY;

	for (int64_t i = 0; i < p->candidate.n; i++)
		if (plan_fits(p, &p->candidate.at[i]))
			best = fmin(best, p->candidate.at[i].r.seconds);
	return p->objective == PLAN_TIME && seconds > hopeless * best;
}

/* Passes that use all memory that is left use a little more or less of it in another depth: if the
 * step fits without them, it may fit although it exceeds the limit of a depth by a smaller share. */
static const double gaps = 0.03;

/* They keep less for a block of the whole step than of a few, where the peak is elsewhere. A choice of values
 * that are computed again is made before the passes that save most memory, and need not; after shard, all
 * blocks need more than before it. */
static bool
is_adapted(const struct planner *p, const struct pass_list *list, const struct plan_constant *c,
	double share_of_limit)
{
	return share_of_limit <= 1 + gaps && c->whole <= p->limit &&
	       (plan_again(list) == PLAN_NONE_AGAIN || plan_again(list) == PLAN_ALL_AGAIN);
}

/* The pipeline at two depths, from `first` on. */
static void
estimate(struct planner *p, int base, const struct pass_list *list, int first,
	struct attempt_result *r)
{
	const struct plan_constant c = constant_of(p, list);
	const struct plan_base *b = &p->base[base];
	const char *text = pass_list_text(p->run->scratch, list);
	double seconds[2], host[2], needs = 0; /* the largest share of the limit of a depth */

	for (int i = 0; i < 2; i++) {
		const int64_t blocks = b->depth[first + i].blocks;
		const double share = (double)blocks / (double)p->blocks,
			     limit = fmax(
				     1, bare_bytes(p, &c, blocks) + (p->limit - c.whole) * share);
		struct plan_kept kept = {.blocks = blocks};
		if (!run_depth(p, b, text, first + i, isfinite(limit) ? limit : 0, &kept, r))
			break;
		needs = fmax(needs, (double)r->peak / limit);
		seconds[i] = r->seconds;
		host[i] = (double)r->host;
		if (i) {
			r->seconds = fmax(seconds[1], extended(b, first, seconds, p->blocks));
			r->host = (uint64_t)fmax(host[1], extended(b, first, host, p->blocks));
			/* A device has the blocks of one stage. */
			r->peak +=
				(uint64_t)(kept.bytes * (double)(p->blocks - blocks) / b->stages);
		} else if (first == 0) {
			const double rough = c.seconds + (r->seconds - c.seconds) / share;
			if (!is_hopeless(p, rough))
				continue;
			r->seconds = rough;
			r->peak = (uint64_t)fmax((double)r->peak,
				c.whole + (double)r->peak - bare_bytes(p, &c, blocks));
			break;
		}
	}
	if (isfinite(r->seconds) && is_adapted(p, list, &c, needs))
		r->peak = (uint64_t)fmin((double)r->peak, p->limit);
}

void
plan_estimate(struct planner *p, int base, const struct pass_list *list, struct attempt_result *r)
{
	estimate(p, base, list, 0, r);
}

bool
plan_refine(struct planner *p, int base, const struct pass_list *list, struct attempt_result *r)
{
	if (p->blocks < 2 * p->base[base].depth[PLAN_DEPTHS - 1].blocks)
		return false;
	estimate(p, base, list, PLAN_DEPTHS - 2, r);
	return true;
}
