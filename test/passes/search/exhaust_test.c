/*
 * Every plan of small steps: the optimum where a closed form has it, and how often engines find it
 * on random steps. No engine may be better than it: each plan that an engine makes is among those
 * that were enumerated.
 */
#include "passes/search/exhaust.h"
#include "test/passes/search/engine_step.h"

enum {
	STEPS = SANITIZED ? 25 : 100,
	MOST_NODES = 11,        /* kernels and messages of a random step */
	DOPT_FINDS = STEPS - 1, /* at least */
	EVALUATIONS = 20000,    /* of an engine */
};

static struct search_options
options(enum search_engine engine)
{
	struct search_options o = search_defaults();

	o.engine = engine;
	o.seed = 1;
	o.workers = 1;
	return o;
}

static struct search_exhaust_counts
exhaust(struct plan *p, unsigned moves, replay_time *best)
{
	struct search_options o = options(SEARCH_EXHAUST);
	struct search_exhaust_counts c;
	struct search s;

	o.moves = moves;
	search_begin(&s, p, &o);
	search_exhaust_counted(&s, &c);
	search_finish(&s);
	assert_true(c.complete);
	assert_int_equal(plan_replay(p), s.r.after);
	*best = s.r.after;
	return c;
}

/*
 * n kernels of one shape that read one another in a row: each cut between two is there or not, so
 * 2^(n-1) sets without copies; the best is one kernel.
 */
static void
test_chains_have_a_set_for_each_choice_of_cuts(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[2000000/dp]\n  %a = neg(%x)\n  %b = exp(%a)\n"
		"  %c = tanh(%b)\n  %d = neg(%c)\n  %e = exp(%d)\n  output(\"e\", %e)\n");
	replay_time best;
	struct search_exhaust_counts c = exhaust(s->plan, SEARCH_FUSE, &best);

	assert_int_equal(c.kernels, 16);
	assert_int_equal(c.plans, 16);
	assert_int_equal(best, 81 * 1000000LL);
	talloc_free(s);
}

/* Four messages that may all be packed: as many sets as a set of four has partitions, 15. */
static void
test_messages_have_a_set_for_each_partition(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, 4, 1000);
	replay_time best;

	assert_int_equal(exhaust(s->plan, SEARCH_PACK, &best).plans, 15);
	talloc_free(s);
}

/*
 * Kernels of 2, 3, 4 and 5 us, whose results are sent, all from one input: the best order of a
 * chain of two machines is Johnson's (1954): by what is computed, where all messages take longer.
 */
static void
test_orders_are_johnsons(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %a = input(\"a\") : f32[100000/dp]\n  %b = input(\"b\") : f32[75000/dp]\n"
		"  %c = input(\"c\") : f32[50000/dp]\n  %d = input(\"d\") : f32[25000/dp]\n"
		"  %e = neg(%a)\n  %f = neg(%b)\n  %g = neg(%c)\n  %h = neg(%d)\n"
		"  %p = allgather(%e) {axis = dp}\n  %q = allgather(%f) {axis = dp}\n"
		"  %r = allgather(%g) {axis = dp}\n  %s = allgather(%h) {axis = dp}\n"
		"  output(\"p\", %p)\n  output(\"q\", %q)\n  output(\"r\", %r)\n"
		"  output(\"s\", %s)\n");
	replay_time best, messages = plan_communication(s->plan);

	exhaust(s->plan, SEARCH_ORDER, &best);
	assert_int_equal(best, 2 * 1000000LL + messages);
	talloc_free(s);
}

/*
 * A chain of three kernels; another kernel makes a message of each of the results, a short one of
 * the first. The short one can go first, or the second, but not with all the kernels that the
 * others wait for still to come: the bound puts the messages into an order, and is the best one.
 */
static void
test_messages_share_what_they_wait_for(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[1000/dp,250]\n"
		"  %a = neg(%x)\n  %b = exp(%a)\n  %c = tanh(%b)\n"
		"  %d = sum(%a) {dims = [1]}\n  %e = neg(%b)\n  %f = exp(%c)\n"
		"  %p = allgather(%d) {axis = dp}\n  %q = allgather(%e) {axis = dp}\n"
		"  %r = allgather(%f) {axis = dp}\n"
		"  output(\"p\", %p)\n  output(\"q\", %q)\n  output(\"r\", %r)\n");
	replay_time best;

	exhaust(s->plan, SEARCH_ORDER, &best);
	assert_int_equal(best, 3 * 11 * 1000000LL + 6020000LL + 2 * 60 * 1000000LL);
	assert_int_equal(search_order_bound(s->plan), best);
	talloc_free(s);
}

/* --- random steps --- */

struct text {
	char *text;
	struct search_random random;
	uint32_t values, rows; /* values: whole tensors that may be read */
	uint32_t read;         /* set of values that something reads */
};

static uint32_t
below(struct text *t, uint32_t n)
{
	return search_random_below(&t->random, n);
}

/* A value that is there. */
static uint32_t
value(struct text *t)
{
	uint32_t v = below(t, t->values);

	t->read |= 1u << v;
	return v;
}

static void
add_pointwise(struct text *t)
{
	static const char *const unary[] = {"neg", "exp", "tanh"};
	static const char *const binary[] = {"add", "mul"};
	bool one = below(t, 2);
	uint32_t a = value(t), b = one ? a : value(t);

	if (one)
		t->text = talloc_asprintf_append(
			t->text, "  %%v%u = %s(%%v%u)\n", t->values, unary[below(t, 3)], a);
	else
		t->text = talloc_asprintf_append(t->text, "  %%v%u = %s(%%v%u, %%v%u)\n", t->values,
			binary[below(t, 2)], a, b);
	t->values++;
}

/* A gradient, its allreduce, and now and then what reads it. */
static uint32_t
add_gradient(struct text *t)
{
	uint32_t g = t->rows++, v = value(t);

	t->text = talloc_asprintf_append(t->text,
		"  %%g%u = sum(%%v%u) {dims = [0]}\n  %%r%u = allreduce(%%g%u) {axis = dp}\n", g, v,
		g, g);
	bool update = below(t, 2);
	if (update)
		t->text = talloc_asprintf_append(t->text, "  %%u%u = neg(%%r%u)\n", g, g);
	t->text = talloc_asprintf_append(
		t->text, "  output(\"g%u\", %%%s%u)\n", g, update ? "u" : "r", g);
	return 2 + update;
}

static struct engine_step *
random_step(uint64_t seed)
{
	struct text t = {.random = {seed}, .values = 1};
	uint32_t most = 6 + below(&t, MOST_NODES - 5), n = 1;

	t.text = talloc_asprintf(NULL, "  %%v0 = input(\"x\") : f32[%u/dp,%u]\n",
		8u << below(&t, 3), 1024u << below(&t, 7));
	add_pointwise(&t);
	while (n + 3 <= most)
		if (below(&t, 5) < 2) {
			n += add_gradient(&t);
		} else {
			add_pointwise(&t);
			n++;
		}
	for (uint32_t v = 0; v < t.values; v++)
		if (!(t.read >> v & 1))
			t.text = talloc_asprintf_append(t.text, "  output(\"v%u\", %%v%u)\n", v, v);
	struct engine_step *s = engine_step(ENGINE_LINKS, t.text);
	talloc_free(t.text);
	return s;
}

/* The engine on a random step: 1 if it finds the optimum. */
static uint32_t
finds(enum search_engine engine, uint64_t seed, replay_time best)
{
	struct engine_step *s = random_step(seed);
	struct search_options o = options(engine);

	o.evaluations = EVALUATIONS;
	struct search_result r = engine_search(s->plan, &o);
	if (r.after < best)
		fail_msg("step %llu: %s finds %lld, the optimum is %lld", (unsigned long long)seed,
			search_engine_name(engine), (long long)r.after, (long long)best);
	if (r.after > best && engine == SEARCH_DOPT)
		print_message("step %llu: dopt %lld, optimum %lld, before %lld\n",
			(unsigned long long)seed, (long long)r.after, (long long)best,
			(long long)r.before);
	talloc_free(s);
	return r.after == best;
}

static void
test_how_often_engines_find_the_optimum(void **state)
{
	(void)state;
	uint32_t found[SEARCH_NENGINES] = {0};
	uint64_t plans = 0, orders = 0;

	for (uint64_t seed = 0; seed < STEPS; seed++) {
		struct engine_step *s = random_step(seed);
		replay_time best;
		struct search_exhaust_counts c = exhaust(s->plan, SEARCH_ALL, &best);
		talloc_free(s);
		plans += c.plans;
		orders += c.orders;
		for (int e = 0; e < SEARCH_NENGINES; e++)
			if (e != SEARCH_EXHAUST)
				found[e] += finds((enum search_engine)e, seed, best);
	}
	print_message("%llu plans, %llu partial orders; optimum found by dopt %u, disco %u, dpro "
		      "%u of %d\n",
		(unsigned long long)plans, (unsigned long long)orders, found[SEARCH_DOPT],
		found[SEARCH_DISCO], found[SEARCH_DPRO], STEPS);
	assert_true(found[SEARCH_DOPT] >= DOPT_FINDS);
}

/*
 * On the plans that the engine finds: the bound on issue orders is below the best of all orders, and
 * how often it is that best order.
 */
static void
test_no_order_is_below_the_bound(void **state)
{
	(void)state;
	uint32_t reached = 0, ordered = 0;
	double over = 0;

	for (uint64_t seed = 0; seed < STEPS; seed++) {
		struct engine_step *s = random_step(seed);
		struct search_options o = options(SEARCH_DOPT);
		replay_time best;

		o.evaluations = EVALUATIONS;
		const replay_time found = engine_search(s->plan, &o).after;
		const replay_time bound = search_order_bound(s->plan);
		exhaust(s->plan, SEARCH_ORDER, &best);
		assert_true(search_full_overlap(s->plan) <= bound);
		assert_true(bound <= best);
		assert_true(best <= found);
		reached += bound == best;
		ordered += found == best;
		over += (double)(best - bound) / (double)bound;
		talloc_free(s);
	}
	print_message("the best order takes as long as the bound in %u of %d steps, %.2f %% more "
		      "in the mean; dopt has it in %u\n",
		reached, STEPS, 100 * over / STEPS, ordered);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains_have_a_set_for_each_choice_of_cuts),
		cmocka_unit_test(test_messages_have_a_set_for_each_partition),
		cmocka_unit_test(test_orders_are_johnsons),
		cmocka_unit_test(test_messages_share_what_they_wait_for),
		cmocka_unit_test(test_how_often_engines_find_the_optimum),
		cmocka_unit_test(test_no_order_is_below_the_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
