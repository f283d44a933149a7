/*
 * Plans of random programs: what a plan says the step takes is what the cost model says of the
 * module that it makes, to the picosecond, after any moves, undone or not; and that module means
 * what it meant before.
 */
#include "ir/base/vec.h"
#include "ir/interp/interp.h"
#include "parser/dir/parse.h"
#include "passes/search/plan/plan.h"
#include "passes/search/search.h"
#include "test/passes/search/devices.h"
#include "test/unit.h"

#include <string.h>

enum {
	COUNT = 400, /* programs, each on every device */
	STEPS = 25,
	MOVES = 40,
};

/* One move of any kind, possible or not. */
static void
move(struct plan *p, struct search_random *r)
{
	uint32_t n = plan_count(p), a = plan_at(p, search_random_below(r, n));
	uint32_t b = plan_at(p, search_random_below(r, n));
	struct plan_node x = plan_node(p, a), y = plan_node(p, b);

	if (search_random_below(r, 3) && y.npreds) {
		a = y.pred[search_random_below(r, y.npreds)];
		x = plan_node(p, a);
	}
	uint32_t op = PLAN_OP_OF(x.op[search_random_below(r, x.nops)]);
	switch (search_random_below(r, 6)) {
	case 0:
		if (x.kind == PLAN_MESSAGE)
			plan_part(p, a, 1 + search_random_below(r, 4));
		break;
	case 1: plan_move(p, a, search_random_below(r, n)); break;
	case 2:
		if (x.kind == PLAN_KERNEL)
			plan_unfuse(p, a, &op, 1);
		else
			plan_unpack(p, a, &op, 1);
		break;
	default:
		if (x.kind == PLAN_MESSAGE || y.kind == PLAN_MESSAGE)
			plan_pack(p, a, b);
		else
			plan_fuse(p, a, b, search_random_below(r, 2) ? PLAN_FUSE : PLAN_FUSE_COPY);
	}
}

/* Who is where, as numbers: to see whether undoing puts all back. */
struct description VEC(uint64_t);

static void
add_list(struct description *d, const uint32_t *at, uint32_t n)
{
	VEC_PUSH(d, d, n);
	for (uint32_t i = 0; i < n; i++)
		VEC_PUSH(d, d, at[i]);
}

static const struct description *
describe(const void *owner, struct plan *p)
{
	struct description *d = talloc_zero(owner, struct description);

	for (uint32_t i = 0; i < plan_count(p); i++) {
		const struct plan_node n = plan_node(p, plan_at(p, i));
		VEC_PUSH(d, d, plan_at(p, i));
		VEC_PUSH(d, d, n.parts);
		VEC_PUSH(d, d, (uint64_t)n.duration);
		add_list(d, n.op, n.nops);
		add_list(d, n.pred, n.npreds);
	}
	return d;
}

static bool
is_same(const struct description *a, const struct description *b)
{
	return a->n == b->n &&
	       (a->n == 0 || memcmp(a->at, b->at, (size_t)a->n * sizeof *a->at) == 0);
}

/* A plan with the same nodes whose times all are new says the same. */
static bool
same_from_the_start(struct trial *t, struct plan *p)
{
	struct plan *q = plan_clone(t, p);
	bool same = is_same(describe(q, p), describe(q, q)) && plan_replay(q) == plan_replay(p);

	talloc_free(q);
	return same || wrong(t, "a clone of the plan says something else");
}

static bool
try_moves(struct trial *t, struct plan *p, uint64_t seed)
{
	struct search_random r = {seed};

	for (int i = 0; i < MOVES && plan_count(p); i++) {
		void *scratch = talloc_new(t);
		uint32_t mark = plan_mark(p);
		replay_time before = plan_replay(p);
		const struct description *was = describe(scratch, p);
		move(p, &r);
		if (search_random_below(&r, 3) == 0)
			move(p, &r);
		if (search_random_below(&r, 2)) {
			replay_time from_the_change = plan_replay(p);
			if (plan_replay_all(p) != from_the_change)
				return wrong(t,
					"a replay of what changed says something else than one of all");
		}
		if (search_random_below(&r, 3) == 0) {
			plan_undo(p, mark);
			if (!is_same(was, describe(scratch, p)) || plan_replay(p) != before)
				return wrong(t, "undoing does not put all back");
		}
		if (search_random_below(&r, 10) == 0)
			plan_forget(p);
		talloc_free(scratch);
	}
	return true;
}

/* Does the module that a plan makes take as long as the plan says? */
static bool
is_as_planned(
	struct trial *t, struct plan *p, const struct ir_module *m, const struct cost_model *model)
{
	struct ir_module *made = ir_module_clone(t, m);
	const struct cost_step *step =
		plan_apply(p, made, NULL) ? cost_step_create(t, model, made) : NULL;

	return step && step->r.makespan == plan_replay(p);
}

static bool
check_on(struct trial *t, const struct ir_module *m, const struct cost_model *model, uint64_t seed)
{
	struct ir_module *before = ir_module_clone(t, m), *after;
	struct plan *p = plan_create(t, model, before);
	const struct cost_step *step = cost_step_create(t, model, ir_module_clone(t, m));

	if (!p || !step)
		return wrong(t, "there is no plan of a step that can be replayed");
	if (plan_replay(p) > step->r.makespan)
		return wrong(t, "the plan of a module takes longer than the module");
	if (!is_as_planned(t, p, m, model))
		return wrong(t, "the plan of a module takes something else than the module with "
				"messages issued when they are ready");
	if (!try_moves(t, p, seed) || !same_from_the_start(t, p))
		return false;
	after = ir_module_clone(t, m);
	if (!plan_apply(p, after, NULL) || !ir_verify(after))
		return wrong(t, "what the plan makes does not verify");
	if (!interp_check_modules(m, after, NULL))
		return wrong(t, "what the plan makes means something else");
	step = cost_step_create(t, model, after);
	if (!step || step->r.makespan != plan_replay(p)) {
		t->text = talloc_asprintf_append(t->text, "plan %lld, module %lld\n",
			(long long)plan_replay(p), step ? (long long)step->r.makespan : -1);
		return false;
	}
	return true;
}

static bool
check(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	return on_every_device(t, m, seed, check_on);
}

/* A training step: its gradients go in messages that can be packed; one param is read again. */
static const char model[] = "module @step\n"
			    "mesh [dp = 2]\n"
			    "func @main() {\n"
			    "  %x = input(\"x\") : f32[8,6]\n"
			    "  %y = input(\"y\") : f32[8,3]\n"
			    "  %w0 = param(\"w0\") : f32[6,5]\n"
			    "  %b0 = param(\"b0\") : f32[5]\n"
			    "  %w1 = param(\"w1\") : f32[5,4]\n"
			    "  %b1 = param(\"b1\") : f32[4]\n"
			    "  %w2 = param(\"w2\") : f32[4,3]\n"
			    "  %b2 = param(\"b2\") : f32[3]\n"
			    "  %p0 = matmul(%x, %w0)\n"
			    "  %q0 = add(%p0, %b0)\n"
			    "  %h0 = tanh(%q0)\n"
			    "  %p1 = matmul(%h0, %w1)\n"
			    "  %q1 = add(%p1, %b1)\n"
			    "  %h1 = tanh(%q1)\n"
			    "  %p2 = matmul(%h1, %w2)\n"
			    "  %o = add(%p2, %b2)\n"
			    "  %d = sub(%o, %y)\n"
			    "  %e = square(%d)\n"
			    "  %loss = mean(%e)\n"
			    "  output(\"loss\", %loss)\n"
			    "}\n";

/* Sums that others read beside a message must be copied into it, if it carries several. */
static const char shared[] = "module @p\n"
			     "mesh [dp = 2]\n"
			     "func @main() {\n"
			     "  %x = input(\"x\") : f32[8/dp,6]\n"
			     "  %y = input(\"y\") : f32[8/dp,5]\n"
			     "  %s = sum(%x) {dims = [0]}\n"
			     "  %t = neg(%s)\n"
			     "  %u = sum(%y) {dims = [0]}\n"
			     "  %v = neg(%u)\n"
			     "  %S = allreduce(%s) {axis = dp}\n"
			     "  %T = allreduce(%t) {axis = dp}\n"
			     "  %U = allreduce(%u) {axis = dp}\n"
			     "  %V = allreduce(%v) {axis = dp}\n"
			     "  output(\"S\", %S)\n"
			     "  output(\"T\", %T)\n"
			     "  output(\"U\", %U)\n"
			     "  output(\"V\", %V)\n"
			     "}\n";

static bool
check_step(struct trial *t, const struct ir_module *unused, uint64_t seed)
{
	struct ir_module *m = parse_module(t, t->ctx, "step.dir", model, strlen(model), NULL);
	struct ir_module *n = parse_module(t, t->ctx, "shared.dir", shared, strlen(shared), NULL);

	(void)unused;
	if (!m || !n || !trial_run_passes(t, &m, "grad,adam{clip=1},dp{axis=dp}") || !m)
		return wrong(t, "the step is not made");
	return check(t, m, seed) && check(t, n, seed);
}

static const struct trial_test test = {.count = COUNT,
	.steps = STEPS,
	.options = device_options,
	.check = check,
	.found = {2528319540, 1414407450}};
static const struct trial_test steps = {
	.count = COUNT / 4, .steps = 1, .options = device_options, .check = check_step};

static void
plans_are_the_modules_they_make(void **state)
{
	(void)state;
	assert_int_equal(trial_run(&test), 0);
}

static void
plans_of_a_training_step(void **state)
{
	(void)state;
	assert_int_equal(trial_run(&steps), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_the_modules_they_make),
		cmocka_unit_test(plans_of_a_training_step)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
