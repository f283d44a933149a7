/*
 * Starting plans of a search, in addition to the unchanged step: the results of the policies of
 * opfuse, tensorfuse and tensorpart, in all combinations. All are evaluated by the same model as
 * the plans of the search, so that the result is never slower than a policy.
 *
 * The policies change a clone. Most results are plans of the step itself (plan_read), which can be
 * changed kernel by kernel. Kernels with ops that do no work, such as the stop_gradient of a
 * softmax or a tensor of constants, cannot be in a plan; of results with such kernels, the text of
 * the fastest is kept.
 *
 * The engine dopt also starts from the result of dPRO's theorems, which takes a few replays: on
 * slow links it is better than the policies, and than dopt's own first plans, whose kernels are
 * fused for the least computation.
 */
#include "passes/search/joint_impl.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "passes/analysis/cost/internal.h"

#include <math.h>
#include <talloc.h>

struct policy {
	const char *text;
	unsigned moves; /* the moves that it represents: all must be allowed */
};

static const struct policy kernels[] = {
	{"", 0},
	{"opfuse{policy=greedy}", SEARCH_FUSE | SEARCH_COPY},
	{"opfuse{policy=xla}", SEARCH_FUSE | SEARCH_COPY},
};

static const struct policy messages[] = {
	{"", 0},
	{"tensorfuse{policy=size}", SEARCH_PACK},
	{"tensorfuse{policy=ddp}", SEARCH_PACK},
	{"tensorfuse{policy=horovod}", SEARCH_PACK},
	{"tensorpart{policy=byteps}", SEARCH_PART},
	{"tensorpart{policy=replay}", SEARCH_PART},
};

#define ROWS(table) (sizeof(table) / sizeof *(table))

const char *
joint_kernel_policy(unsigned number)
{
	return number < ROWS(kernels) ? kernels[number].text : NULL;
}

struct starter {
	struct pass_run *run;
	const struct cost_model *model;
	struct plan *p;
	const struct search_options *o;
	const struct joint_room *room;
	struct joint_starts *starts;
	bool fused, collectives; /* does the step have fuses, collectives? */
	double ends;             /* clock time; 0: none */
};

static bool
is_over(const struct starter *s)
{
	return s->ends > 0 && clock_seconds() >= s->ends;
}

static bool
may(const struct starter *s, const struct policy *policy, bool there)
{
	return !policy->moves ||
	       (there && (s->o->moves & policy->moves) == policy->moves && !is_over(s));
}

/* The model's time of the module; negative: unknown, or the module does not fit. */
static replay_time
time_of(const struct starter *s, struct ir_module *m)
{
	void *scratch = alloc_scratch(NULL);
	const struct cost_step *step = cost_step_create(scratch, s->model, m);
	const bool good = step && !step->unfit && joint_fits(s->room, m);
	const replay_time t = good ? step->r.makespan : -1;

	talloc_free(scratch);
	return t;
}

static void
add_plan(struct starter *s)
{
	struct joint_starts *x = s->starts;
	const replay_time t = plan_replay(s->p);

	if (x->n == JOINT_STARTS)
		return;
	x->plan[x->n++] = plan_save(s->run->scratch, s->p);
	x->best = t < x->best ? t : x->best;
}

/* Records the results of policies. */
static void
add_module(struct starter *s, struct ir_module *m, const char *text)
{
	struct joint_starts *x = s->starts;

	if (plan_read(s->p, m)) {
		add_plan(s);
		return;
	}
	const replay_time t = time_of(s, m);
	if (t >= 0 && (!x->text || t < x->time)) {
		x->text = text;
		x->time = t;
	}
}

/* Tries each policy for messages on the module with its current kernels. */
static void
try_messages(struct starter *s, const struct ir_module *m, const struct policy *kernel)
{
	for (size_t i = 0; i < ROWS(messages); i++) {
		const char *after = messages[i].text;
		if (!may(s, &messages[i], s->collectives) || (!*kernel->text && !*after))
			continue;
		struct ir_module *both = ir_module_clone(NULL, m);
		if (!*after || pass_try(s->run, both, after))
			add_module(s, both,
				TEXT(s->run->scratch, "%s%s%s", kernel->text,
					*kernel->text && *after ? "," : "", after));
		talloc_free(both);
	}
}

static void
try_kernels(struct starter *s, const struct policy *kernel)
{
	struct ir_module *m = plan_module_to_change(NULL, s->p);

	if (!*kernel->text || pass_try(s->run, m, kernel->text))
		try_messages(s, m, kernel);
	talloc_free(m);
}

static void
look_at_step(struct starter *s, const struct ir_module *m)
{
	struct cost_collective c;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		s->fused |= op->code == OP_fuse;
		s->collectives |= cost_op_collective(m, op, &c);
	}
}

static void
try_theorems(struct starter *s)
{
	struct search_options o = *s->o;
	struct search_result r;

	if (s->o->engine != SEARCH_DOPT || !s->collectives || plan_is_whole(s->p) || is_over(s))
		return;
	o.engine = SEARCH_DPRO;
	o.progress = NULL;
	if (s->ends > 0)
		o.time_limit = fmax(s->ends - clock_seconds(), 1e-3);
	search_run(s->p, &o, &r);
	add_plan(s);
}

void
joint_find_starts(struct pass_run *run, const struct cost_model *model, struct ir_module *m,
	struct plan *p, const struct search_options *o, const struct joint_room *room,
	struct joint_starts *starts)
{
	struct starter s = {run, model, p, o, room, starts, false, false, 0};
	struct plan_save *now = plan_save(run->scratch, p);

	if (o->time_limit > 0)
		s.ends = clock_seconds() + o->time_limit;
	starts->best = plan_replay(p);
	look_at_step(&s, m);
	for (size_t k = 0; k < ROWS(kernels); k++)
		if (may(&s, &kernels[k], !s.fused))
			try_kernels(&s, &kernels[k]);
	plan_load(p, now);
	plan_replay(p);
	try_theorems(&s);
	if (starts->time >= starts->best)
		starts->text = NULL;
	plan_load(p, now);
	talloc_free(now);
}
