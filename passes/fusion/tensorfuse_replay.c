/*
 * policy=replay of tensorfuse: every candidate of a table is applied to the step, which is restored
 * (ir/saved.h), with and without fusing the gathers of params. Of the candidates that fit, the one with the shortest
 * replayed step is taken; of equal ones, the first in the table. The candidates do not depend on
 * the memory, so more of it never makes the step slower. What is best depends on the link (how much
 * of a message is latency, at which sizes it is slow: the curve of the profile), on the order in
 * which gradients are ready, and on what is computed during collectives, so that no bucket size is
 * good everywhere.
 */
#include "passes/fusion/tensorfuse.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/memory.h"
#include "passes/analysis/cost/trial.h"
#include "passes/sharded/gathers.h"

#include <talloc.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

struct candidate {
	enum fuse_policy_kind kind;
	int64_t bucket, first; /* bytes; first: of ddp. 0: the policy's default */
};

/*
 * The policies as others ship them, the default of `size` first; then bucket sizes from where a
 * message takes about as long as its latency on a slow network, in steps of four where sizes differ
 * little, and of two around the gradient sizes of layers. These use ddp, whose buckets are at least
 * their size, so that small gradients go with a large one.
 */
static const struct candidate table[] = {
	{FUSE_SIZE, 0, 0},
	{FUSE_NONE, 0, 0},
	{FUSE_SIZE, 64 * KIB, 0},
	{FUSE_SIZE, 256 * KIB, 0},
	{FUSE_SIZE, 1 * MIB, 0},
	{FUSE_SIZE, 2 * MIB, 0},
	{FUSE_SIZE, 4 * MIB, 0},
	{FUSE_SIZE, 8 * MIB, 0},
	{FUSE_SIZE, 16 * MIB, 0},
	{FUSE_DDP, 0, 0},
	{FUSE_DDP, 64 * KIB, 64 * KIB},
	{FUSE_DDP, 256 * KIB, 256 * KIB},
	{FUSE_DDP, 1 * MIB, 0},
	{FUSE_DDP, 4 * MIB, 0},
	{FUSE_DDP, 8 * MIB, 0},
	{FUSE_HOROVOD, 0, 0},
};

enum { CANDIDATES = sizeof table / sizeof *table };

static const char *
kind_name(enum fuse_policy_kind kind)
{
#define NAME(code, name) name,
	static const char *const names[] = {FUSE_POLICIES(NAME)};
#undef NAME
	return names[kind];
}

/* A policy of the table, tried. */
struct attempt {
	const struct candidate *candidate;
	bool gathers;
	uint64_t fused; /* hash */
	double seconds; /* seconds of the step; negative: unknown */
};

struct chooser {
	struct pass_run *run;
	struct ir_module *m;
	struct trial_base base;
	struct attempt attempt[2 * CANDIDATES];
	int n;
	bool gathers;  /* are there any to fuse, or not? */
	double *ready; /* of fuse_policy; NULL: not known */
};

/* As the options of tensorfuse; owned by `owner`. */
static const char *
options_of(const void *owner, const struct attempt *a, bool gathers)
{
	const struct candidate *c = a->candidate;
	char *text = TEXT(owner, "policy=%s", kind_name(c->kind));

	if (c->bucket)
		text = text_append_end(text, ",bucket=%lld", (long long)c->bucket);
	if (c->first)
		text = text_append_end(text, ",first=%lld", (long long)c->first);
	return !gathers || a->gathers ? text : text_append_end(text, ",gathers=false");
}

static struct fuse_policy
policy_of(const struct attempt *a)
{
	return (struct fuse_policy){.kind = a->candidate->kind,
		.bucket = a->candidate->bucket,
		.first = a->candidate->first,
		.gathers = a->gathers};
}

/* Fuses the step by a policy until ir_saved_restore; false: the step has no replay. *fused: a hash
 * of what was fused. */
static bool
change(struct pass_run *run, const struct trial_base *b, struct fuse_policy *p, uint64_t *fused)
{
	if (!fuse_policy_complete(p, run, b->m))
		return false;
	ir_saved_change(b->saved);
	*fused = fuse_policy_apply(p, run, b->m, true);
	return true;
}

/* Seconds of the changed step; negative: it has no replay. */
static double
seconds_of(const struct trial_base *b)
{
	struct cost_step *step = cost_step_create_like(NULL, b->step, b->m);
	const double seconds = step ? replay_seconds(step->r.makespan) : -1;

	talloc_free(step);
	return seconds;
}

/* Candidates often fuse the same collectives: each such step is replayed once. */
static void
try(struct chooser *c, const struct candidate *row, bool gathers)
{
	struct attempt *a = &c->attempt[c->n];
	bool known = false;

	*a = (struct attempt){.candidate = row, .gathers = gathers, .seconds = -1};
	struct fuse_policy p = policy_of(a);
	p.ready = c->ready;
	if (change(c->run, &c->base, &p, &a->fused)) {
		for (int i = 0; i < c->n && !known; i++)
			if ((known = c->attempt[i].fused == a->fused))
				a->seconds = c->attempt[i].seconds;
		if (!known)
			a->seconds = seconds_of(&c->base);
		ir_saved_restore(c->base.saved);
	}
	c->ready = p.ready ? p.ready : c->ready;
	c->n++;
}

/* Are there two collectives, or two gathers of params, that could be fused? */
static bool
has_choice(const struct pass_run *run, struct ir_module *m, bool *gathers)
{
	const struct gathers *all = gathers_create(run->scratch, NULL, m);
	int messages = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		messages += op_is(op, TRAIT_VARIADIC) && !m->axis[ir_attr_int(op, "axis", 0)].time;
	*gathers = all->n > 1;
	return messages > 1;
}

/* Is the fused step within the budget, if there is one, or does it need no more than before? */
static bool
fits(struct pass_run *run, const struct trial_base *b, struct fuse_policy *p)
{
	const uint64_t budget = pass_budget(run);
	uint64_t fused;

	if (!budget)
		return true;
	const uint64_t before = memory_needs(trial_before(b), budget),
		       room = before > budget ? before : budget;
	if (!change(run, b, p, &fused))
		return true;
	void *scratch = alloc_scratch(NULL);
	struct storage *s = storage_create_unplaced(scratch, b->m, ir_func_find(b->m, "main"),
		cost_model_storage(run->cost), trial_known(scratch, b, b->m));
	const bool good = memory_needs(s, room) <= room;
	talloc_free(scratch);
	ir_saved_restore(b->saved);
	return good;
}

bool
fuse_replay_fits(struct pass_run *run, struct ir_module *m, const struct fuse_policy *p)
{
	struct fuse_policy policy = *p;
	struct trial_base base;
	bool gathers;

	has_choice(run, m, &gathers);
	if (!gathers || !pass_budget(run))
		return true;
	trial_begin_memory(&base, run, m);
	return fits(run, &base, &policy);
}

/* The first candidate with the shortest time; -1: none has a time. */
static int
fastest(const struct chooser *c)
{
	int best = -1;

	for (int i = 0; i < c->n; i++)
		if (c->attempt[i].seconds >= 0 &&
			(best < 0 || c->attempt[i].seconds < c->attempt[best].seconds))
			best = i;
	return best;
}

/* The fastest candidate that fits; one that fuses nothing does. */
static int
fastest_that_fits(struct chooser *c)
{
	struct chooser left = *c;
	int best;

	while ((best = fastest(&left)) >= 0) {
		struct fuse_policy p = policy_of(&c->attempt[best]);
		if (fits(c->run, &c->base, &p))
			break;
		for (int i = 0; i < c->n; i++)
			if (c->attempt[i].fused == c->attempt[best].fused)
				left.attempt[i].seconds = -1;
	}
	return best;
}

static void
tell(struct chooser *c, int best, int before)
{
	const struct attempt *a = c->attempt;
	const void *scratch = c->run->scratch;
	const double ms = 1e3;

	pass_remark(c->run, NULL, PASS_MISSED,
		"%s is the fastest of %d%s by replay: the step takes %.6g ms, %.6g ms with %s, "
		"%.6g ms with nothing fused",
		options_of(scratch, &a[best], c->gathers), c->n,
		a[before].seconds < a[best].seconds ? " that fit" : "", a[best].seconds * ms,
		a[0].seconds * ms, options_of(scratch, &a[0], c->gathers), a[1].seconds * ms);
}

bool
fuse_replay_choose(struct pass_run *run, struct ir_module *m, struct fuse_policy *p)
{
	struct chooser c = {.run = run, .m = m};
	bool gathers;
	int best = -1;

	if (run->cost && cost_model_is_described(run->cost) && has_choice(run, m, &gathers) &&
		trial_begin(&c.base, run, m)) {
		c.gathers = gathers && p->gathers;
		const int n = CANDIDATES * (c.gathers ? 2 : 1);
		/* If the first candidate has no time, none has. */
		for (int i = 0; i < n && (!i || c.attempt[0].seconds >= 0); i++)
			try(&c, &table[i % CANDIDATES], c.gathers && i < CANDIDATES);
		best = fastest_that_fits(&c);
	}
	const bool chosen = best >= 0;
	if (chosen)
		tell(&c, best, fastest(&c));
	else
		c.attempt[best = 0] =
			(struct attempt){.candidate = &table[0], .gathers = p->gathers};
	*p = policy_of(&c.attempt[best]);
	return chosen;
}
