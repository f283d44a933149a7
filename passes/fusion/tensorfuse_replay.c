/*
 * policy=replay of tensorfuse: every candidate of a table is applied to a copy of the step, and the
 * one whose replayed step is shortest is taken; of several that are, the first in the table. What is
 * best depends on the link (how much of a message is latency, at which sizes it is slow: the curve of
 * the profile), on the order in which gradients are ready, and on what is computed beside messages,
 * so that no bucket size is good everywhere.
 */
#include "passes/fusion/tensorfuse.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/internal.h"

#include <talloc.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

struct candidate {
	enum fuse_policy_kind kind;
	int64_t bucket, first; /* bytes; first: of ddp. 0: the policy's default */
};

/*
 * The policies as others ship them, the default of `size` first; then buckets from what takes about
 * as long as its latency on a slow network, in steps of four where more are hardly different, of two
 * where models have the gradients of their layers. Of ddp, whose buckets are not smaller than their
 * size, so that small gradients go with a large one.
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

/* As the options of tensorfuse; owned by `owner`. */
static const char *
options_of(const void *owner, const struct candidate *c)
{
	char *text = TEXT(owner, "policy=%s", kind_name(c->kind));

	if (c->bucket)
		text = text_append_end(text, ",bucket=%lld", (long long)c->bucket);
	if (c->first)
		text = text_append_end(text, ",first=%lld", (long long)c->first);
	return text;
}

/* The step with a candidate, seconds; negative: it cannot be told. */
static double
seconds_with(struct pass_run *run, const struct ir_module *m, const struct candidate *c)
{
	struct ir_module *copy = ir_module_clone(NULL, m);
	const char *text = TEXT(copy, "tensorfuse{%s}", options_of(copy, c));
	const struct cost_step *step =
		pass_try(run, copy, text) ? cost_step_create(copy, run->cost, copy) : NULL;
	const double seconds = step && !step->unfit ? replay_seconds(step->r.makespan) : -1;

	talloc_free(copy);
	return seconds;
}

/* Are there two that might go together? */
static bool
has_choice(const struct ir_module *m)
{
	int messages = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		messages += op_is(op, TRAIT_VARIADIC) && !m->axis[ir_attr_int(op, "axis", 0)].time;
	return messages > 1;
}

static void
tell(struct pass_run *run, const double *seconds, int best)
{
	const double ms = 1e3;

	pass_remark(run, NULL, PASS_MISSED,
		"%s is the fastest of %d by replay: the step takes %.6g ms, %.6g ms with %s, "
		"%.6g ms with nothing fused",
		options_of(run->scratch, &table[best]), CANDIDATES, seconds[best] * ms,
		seconds[0] * ms, options_of(run->scratch, &table[0]), seconds[1] * ms);
}

void
fuse_replay_choose(struct pass_run *run, const struct ir_module *m, struct fuse_policy *p)
{
	double seconds[CANDIDATES];
	int best = 0;

	if (run->cost && cost_model_is_described(run->cost) && has_choice(m)) {
		for (int i = 0; i < CANDIDATES; i++) {
			seconds[i] = seconds_with(run, m, &table[i]);
			if (seconds[i] >= 0 && (seconds[best] < 0 || seconds[i] < seconds[best]))
				best = i;
		}
		tell(run, seconds, best);
	}
	p->kind = table[best].kind;
	p->bucket = table[best].bucket;
	p->first = table[best].first;
}
