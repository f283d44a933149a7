/*
 * The engine `dpro`: its theorems against replays, what it finds where the optimum is known, and
 * what its three speed-ups change.
 */
#include "passes/search/papers/dpro.h"

#include "test/passes/search/engine_step.h"

enum { CASES = 300, FLOATS = 100000 };

static struct search_options
options(void)
{
	struct search_options o = search_defaults();

	o.engine = SEARCH_DPRO;
	return o;
}

/* --- the theorems, on two kernels and their messages --- */

struct two {
	struct engine_step *s;
	uint32_t p[2], q[2];
};

/* Both kernels read %x; the second reads a tensor of its own, too. */
static struct two
random_two(struct search_random *r)
{
	char *links = talloc_asprintf(NULL, "link_latency = %u.%uus, link_bandwidth = %u%sGB/s",
		search_random_below(r, 30), 1 + search_random_below(r, 9),
		1 + search_random_below(r, 9), search_random_below(r, 2) ? "00" : "0");
	unsigned n = 1000 * (1 + search_random_below(r, search_random_below(r, 2) ? 3000 : 30));
	char *body = talloc_asprintf(links,
		"  %%x = input(\"x\") : f32[%u/dp]\n"
		"  %%y = input(\"y\") : f32[%u/dp]\n"
		"  %%a = neg(%%x)\n"
		"  %%b = add(%%x, %%y)\n"
		"  %%r = allgather(%%a) {axis = dp}\n"
		"  %%t = allgather(%%b) {axis = dp}\n"
		"  output(\"r\", %%r)\n"
		"  output(\"t\", %%t)\n",
		2 * n, 2 * n);
	struct two t = {.s = engine_step(links, body)};
	uint32_t np = 0, nq = 0;

	for (uint32_t i = 0; i < plan_count(t.s->plan); i++) {
		uint32_t node = plan_at(t.s->plan, i);
		if (plan_node(t.s->plan, node).kind == PLAN_KERNEL)
			t.p[np++] = node;
		else
			t.q[nq++] = node;
	}
	assert_int_equal(np, 2);
	assert_int_equal(nq, 2);
	talloc_free(links);
	return t;
}

/* What the step takes with kernels, messages, or both fused; it is as it was then. */
static replay_time
replay_fused(const struct two *t, enum dpro_decision decision)
{
	struct plan *p = t->s->plan;
	uint32_t mark = plan_mark(p);

	if (decision & DPRO_OPFS)
		assert_true(plan_fuse(p, t->p[0], t->p[1], PLAN_FUSE));
	if (decision & DPRO_TSFS)
		assert_true(plan_pack(p, t->q[0], t->q[1]));
	replay_time time = plan_replay(p);
	plan_undo(p, mark);
	plan_replay(p);
	return time;
}

static struct dpro
engine_of(struct two *t, struct search *s, const struct search_options *o)
{
	*s = (struct search){.plan = t->s->plan, .o = o};
	struct dpro d = {.s = s, .o = o, .plan = t->s->plan};
	d.reader = talloc_array(t->s, uint32_t, plan_room(d.plan));
	d.start = talloc_array(t->s, replay_time, plan_room(d.plan));
	d.end = talloc_array(t->s, replay_time, plan_room(d.plan));
	plan_replay(d.plan);
	for (uint32_t i = 0; i < plan_count(d.plan); i++) {
		struct plan_node node = plan_node(d.plan, plan_at(d.plan, i));
		d.start[plan_at(d.plan, i)] = node.start;
		d.end[plan_at(d.plan, i)] = node.end;
	}
	return d;
}

/*
 * Theorem 1: kernels are fused where that takes less, with the messages as they are; where it takes
 * as long, the listing's < leaves them.
 */
static void
test_theorem_1_is_what_a_replay_says(void **state)
{
	(void)state;
	struct search_random random = {1};
	uint32_t fused = 0;

	for (int i = 0; i < CASES; i++) {
		struct two t = random_two(&random);
		struct search_options o = options();
		struct search s;
		o.moves = SEARCH_FUSE;
		struct dpro d = engine_of(&t, &s, &o);
		bool better = replay_fused(&t, DPRO_OPFS) < replay_fused(&t, DPRO_NULL);
		dpro_kernels(&d, t.p[0], t.p[1], false);
		assert_int_equal(d.changes, better);
		fused += better;
		talloc_free(t.s);
	}
	/* Both happen. */
	assert_in_range(fused, CASES / 20, CASES - CASES / 20);
}

/* Theorem 2: messages are fused where that takes less, with the kernels as they are. */
static void
test_theorem_2_is_what_a_replay_says(void **state)
{
	(void)state;
	struct search_random random = {2};
	uint32_t fused = 0;

	for (int i = 0; i < CASES; i++) {
		struct two t = random_two(&random);
		struct search_options o = options();
		struct search s;
		o.moves = SEARCH_PACK;
		struct dpro d = engine_of(&t, &s, &o);
		bool better = replay_fused(&t, DPRO_TSFS) < replay_fused(&t, DPRO_NULL);
		replay_time end = d.end[t.q[0]];
		dpro_messages(&d, t.q[0], t.q[1], d.start[t.q[0]], &end);
		assert_int_equal(d.changes, better);
		/* The time that it goes on with is when the last message ends. */
		assert_int_equal(end, plan_replay(d.plan));
		fused += better;
		talloc_free(t.s);
	}
	assert_in_range(fused, CASES / 20, CASES - CASES / 20);
}

/* Theorem 3: with one of them fused, fusing the other is no slower. */
static void
test_theorem_3_is_what_a_replay_says(void **state)
{
	(void)state;
	struct search_random random = {3};

	for (int i = 0; i < CASES; i++) {
		struct two t = random_two(&random);
		replay_time both = replay_fused(&t, DPRO_OPFS | DPRO_TSFS);
		assert_true(both <= replay_fused(&t, DPRO_TSFS));
		assert_true(both <= replay_fused(&t, DPRO_OPFS));
		talloc_free(t.s);
	}
}

/*
 * What Theorem 1 does not see: messages that hide behind later kernels. %a and %b take 81 us each
 * (1 us, 8 MB), and 121 as one kernel, which reads %x once. The message of %a takes 410 us, more
 * than the 41 that this saves; so they stay apart, though six kernels of 81 us follow: 648 us, not
 * 607.
 */
static void
test_theorem_1_ends_at_the_pair(void **state)
{
	(void)state;
	struct two t = {
		.s = engine_step(ENGINE_LINKS, "  %x = input(\"x\") : f32[2000000/dp]\n"
					       "  %a = neg(%x)\n"
					       "  %r = allgather(%a) {axis = dp}\n"
					       "  %b = exp(%x)\n"
					       "  %c = tanh(%b)\n  %d = neg(%c)\n  %e = tanh(%d)\n"
					       "  %f = neg(%e)\n  %g = tanh(%f)\n  %h = neg(%g)\n"
					       "  output(\"r\", %r)\n"
					       "  output(\"h\", %h)\n")};
	struct search_options o = options();
	struct search s;

	t.p[0] = plan_at(t.s->plan, 0);
	t.p[1] = plan_at(t.s->plan, 2);
	struct dpro d = engine_of(&t, &s, &o);
	assert_int_equal(replay_fused(&t, DPRO_NULL), 648 * 1000000LL);
	assert_int_equal(replay_fused(&t, DPRO_OPFS), 607 * 1000000LL);
	dpro_kernels(&d, t.p[0], t.p[1], false);
	assert_int_equal(d.changes, 0);
	talloc_free(t.s);
}

/* --- results --- */

static void
test_a_chain_becomes_one_kernel(void **state)
{
	(void)state;
	for (int coarsen = 0; coarsen < 2; coarsen++) {
		struct engine_step *s = engine_step(ENGINE_LINKS,
			"  %x = input(\"x\") : f32[2000000/dp]\n  %a = neg(%x)\n  %b = exp(%a)\n"
			"  %c = tanh(%b)\n  %d = neg(%c)\n  %e = exp(%d)\n  %f = neg(%e)\n"
			"  %r = allgather(%f) {axis = dp}\n  output(\"r\", %r)\n");
		struct search_options o = options();
		o.coarsen = coarsen;
		struct search_result r = engine_search(s->plan, &o);
		/* The message: 10 us, 4 MB at 10 GB/s. */
		assert_int_equal(r.before, (6 * 81 + 410) * 1000000LL);
		assert_int_equal(r.after, (81 + 410) * 1000000LL);
		assert_int_equal(r.end, SEARCH_FINISHED);
		talloc_free(s);
	}
}

/*
 * Eight layers: kernels of 1 us and 2 * 4 KB / 100 GB/s, messages of 10 us and 4 KB / 20 GB/s that
 * queue up behind the first. One message of all takes one latency.
 */
static void
test_messages_that_queue_up_become_one(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, 8, 1000);
	struct search_options o = options();

	o.moves = SEARCH_PACK;
	struct search_result r = engine_search(s->plan, &o);
	/* The first has begun when the second could be fused with it, but the theorem does not
	 * mind: it takes the start of the kernels as it is. */
	assert_int_equal(r.after,
		8 * 1080000LL +
			plan_message_time(s->plan, plan_at(s->plan, plan_count(s->plan) - 1), 1));
	assert_int_equal(engine_count(s->plan, PLAN_MESSAGE), 1);
	talloc_free(s);
}

static void
test_best_parts_are_those_of_the_grid(void **state)
{
	(void)state;
	struct search_random random = {4};

	for (int i = 0; i < 20; i++) {
		struct two t = random_two(&random);
		struct search_options o = options();
		struct search s;
		struct dpro d = engine_of(&t, &s, &o);
		for (int partial = 0; partial < 2; partial++) {
			o.partial = partial;
			struct dpro_sync best = dpro_best_parts(&d, t.q[0]);
			struct dpro_sync both = dpro_best_parts_packed(&d, t.q[0], t.q[1]);
			assert_int_equal(best.time, plan_message_time(d.plan, t.q[0], best.parts));
			assert_int_equal(
				both.time, plan_packed_time(d.plan, t.q[0], t.q[1], both.parts));
			for (uint32_t k = 1; k <= DPRO_MAX_PARTS; k *= 2) {
				assert_true(best.time <= plan_message_time(d.plan, t.q[0], k));
				assert_true(
					both.time <= plan_packed_time(d.plan, t.q[0], t.q[1], k));
			}
		}
		talloc_free(t.s);
	}
}

/* --- speed-ups --- */

static struct engine_step *
blocks(int n)
{
	char *text = talloc_asprintf(NULL, "  %%h0 = input(\"x\") : f32[200000/dp]\n");

	for (int i = 0; i < n; i++)
		text = talloc_asprintf_append(text,
			"  %%a%d = tanh(%%h%d)\n"
			"  %%b%d = add(%%a%d, %%h%d)\n"
			"  %%r%d = allgather(%%b%d) {axis = dp}\n"
			"  output(\"r%d\", %%r%d)\n"
			"  %%h%d = exp(%%b%d)\n",
			i, i, i, i, i, i, i, i, i, i + 1, i);
	text = talloc_asprintf_append(text, "  output(\"h\", %%h%d)\n", n);
	struct engine_step *s = engine_step(ENGINE_LINKS, text);
	talloc_free(text);
	return s;
}

/* Partial replay gives the times that whole replays give, with fewer of these. */
static void
test_partial_replay_changes_no_decision(void **state)
{
	(void)state;
	struct engine_step *s = blocks(6);
	struct plan *other = plan_clone(s, s->plan);
	struct search_options o = options();
	struct search_result r = engine_search(s->plan, &o);

	o.partial = false;
	struct search_result whole = engine_search(other, &o);
	assert_string_equal(engine_plan_text(s, s->plan), engine_plan_text(s, other));
	assert_true(whole.evaluations > r.evaluations);
	talloc_free(s);
}

/* Ops of the inner ones of equal blocks have one class, others have others. */
static void
test_blocks_are_alike(void **state)
{
	(void)state;
	struct engine_step *s = blocks(9);
	struct dpro_alike *a = dpro_alike_create(s, s->plan);
	uint64_t class[9][4];

	/* In the order of issue, as in the text. */
	for (uint32_t i = 0; i < 36; i++)
		class[i / 4][i % 4] = dpro_alike_class(a, s->plan, plan_at(s->plan, i));
	for (int k = 0; k < 4; k++) {
		assert_true(class[3][k] == class[4][k] && class[4][k] == class[5][k]);
		assert_true(class[0][k] != class[4][k]);
		for (int j = 0; j < k; j++)
			assert_true(class[4][k] != class[4][j]);
	}
	talloc_free(s);
}

static void
test_each_switch_keeps_the_promise(void **state)
{
	(void)state;
	for (int set = 0; set < 8; set++) {
		struct engine_step *s = blocks(6);
		struct plan *again = plan_clone(s, s->plan);
		struct search_options o = options();
		o.coarsen = set & 1;
		o.partial = set & 2;
		o.symmetry = set & 4;
		struct search_result r = engine_search(s->plan, &o);
		assert_true(r.after < r.before);
		engine_search(again, &o);
		assert_string_equal(engine_plan_text(s, s->plan), engine_plan_text(s, again));
		talloc_free(s);
	}
}

static void
test_moves_can_be_switched_off(void **state)
{
	(void)state;
	for (unsigned moves = 0; moves <= SEARCH_ALL; moves++) {
		struct engine_step *s = blocks(6);
		struct search_options o = options();
		o.moves = moves;
		engine_search(s->plan, &o);
		if (!(moves & SEARCH_PACK))
			assert_int_equal(engine_count(s->plan, PLAN_MESSAGE), 6);
		if (!(moves & SEARCH_FUSE))
			assert_int_equal(engine_count(s->plan, PLAN_KERNEL), 18);
		uint32_t ops = 0;
		for (uint32_t i = 0; i < plan_count(s->plan); i++) {
			struct plan_node node = plan_node(s->plan, plan_at(s->plan, i));
			ops += node.nops;
			if (!(moves & SEARCH_PART))
				assert_int_equal(node.parts, 1);
			for (uint32_t k = 0; k < node.nops; k++)
				assert_int_equal(node.op[k] & PLAN_COPY, 0);
		}
		assert_int_equal(ops, 24);
		talloc_free(s);
	}
}

static void
test_it_stops_when_told(void **state)
{
	(void)state;
	struct search_options o = options();

	o.partial = false;
	engine_stops_when_told(blocks(6), o, 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_theorem_1_is_what_a_replay_says),
		cmocka_unit_test(test_theorem_2_is_what_a_replay_says),
		cmocka_unit_test(test_theorem_3_is_what_a_replay_says),
		cmocka_unit_test(test_theorem_1_ends_at_the_pair),
		cmocka_unit_test(test_a_chain_becomes_one_kernel),
		cmocka_unit_test(test_messages_that_queue_up_become_one),
		cmocka_unit_test(test_best_parts_are_those_of_the_grid),
		cmocka_unit_test(test_partial_replay_changes_no_decision),
		cmocka_unit_test(test_blocks_are_alike),
		cmocka_unit_test(test_each_switch_keeps_the_promise),
		cmocka_unit_test(test_moves_can_be_switched_off),
		cmocka_unit_test(test_it_stops_when_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
