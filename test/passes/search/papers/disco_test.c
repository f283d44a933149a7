/* The engine `disco`: what it finds where the optimum is known, and what its options mean. */
#include "test/passes/search/engine_step.h"

enum { LAYERS = 5, FLOATS = 100000, SEEDS = 100 };

static struct search_options
options(unsigned moves)
{
	struct search_options o = search_defaults();

	o.engine = SEARCH_DISCO;
	o.moves = moves;
	o.seed = 7;
	return o;
}

static void
test_a_chain_becomes_one_kernel(void **state)
{
	(void)state;
	const struct search_options o = options(SEARCH_ALL);

	engine_joins_a_chain(&o);
}

/* The time of `layers` kernels and their messages if message i carries `group[i]` layers. */
static replay_time
time_of_groups(replay_time kernel, const replay_time *message, const uint32_t *group, uint32_t n)
{
	replay_time compute = 0, link = 0;

	for (uint32_t i = 0; i < n; i++) {
		compute += group[i] * kernel;
		link = (compute > link ? compute : link) + message[group[i]];
	}
	return link;
}

/* The least over all ways to cut `rest` layers into groups. */
static replay_time
best_groups(
	replay_time kernel, const replay_time *message, uint32_t *group, uint32_t n, uint32_t rest)
{
	replay_time best = INT64_MAX;

	if (!rest)
		return time_of_groups(kernel, message, group, n);
	for (uint32_t k = 1; k <= rest; k++) {
		group[n] = k;
		replay_time t = best_groups(kernel, message, group, n + 1, rest - k);
		best = t < best ? t : best;
	}
	return best;
}

/* What one message of so many layers takes. */
static replay_time
time_of_packed(const char *links, int layers)
{
	struct engine_step *s = engine_layers(links, layers, FLOATS);
	uint32_t last = plan_at(s->plan, plan_count(s->plan) - 1), k = 0;

	while (k < plan_count(s->plan))
		if (plan_packs(s->plan, plan_at(s->plan, k), last) &&
			plan_pack(s->plan, plan_at(s->plan, k), last))
			k = 0;
		else
			k++;
	assert_int_equal(engine_count(s->plan, PLAN_MESSAGE), 1);
	replay_time t = plan_node(s->plan, last).duration;
	talloc_free(s);
	return t;
}

/*
 * Messages of equal layers, by latencies: all ways to pack them are few, and searches from several
 * seeds find the best of them. (One alone need not: its queue is soon empty.)
 */
static void
test_messages_are_packed_best(void **state)
{
	(void)state;
	static const char *const latency[] = {"1us", "5us", "20us", "100us", "1ms"};

	for (size_t i = 0; i < sizeof latency / sizeof *latency; i++) {
		char *links = talloc_asprintf(
			NULL, "link_latency = %s, link_bandwidth = 10GB/s", latency[i]);
		struct engine_step *s = engine_layers(links, LAYERS, FLOATS);
		struct search_options o = options(SEARCH_PACK);
		replay_time message[LAYERS + 1] = {0}, found = INT64_MAX;
		uint32_t group[LAYERS];
		for (int n = 1; n <= LAYERS; n++)
			message[n] = time_of_packed(links, n);
		/* neg: 1 us and 2 * 400 KB / 100 GB/s. */
		replay_time best = best_groups(9 * 1000000, message, group, 0, LAYERS);
		o.alpha = 100;
		for (o.seed = 0; o.seed < SEEDS; o.seed++) {
			struct plan *p = plan_clone(s, s->plan);
			struct search_result r = engine_search(p, &o);
			found = r.after < found ? r.after : found;
			assert_true(r.after >= best);
			talloc_free(p);
		}
		assert_int_equal(found, best);
		talloc_free(s);
		talloc_free(links);
	}
}

static void
test_seeds_decide(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, 12, FLOATS);
	struct search_options o = options(SEARCH_ALL);
	struct plan *again = plan_clone(s, s->plan), *other = plan_clone(s, s->plan);
	struct plan *after_others = plan_clone(s, s->plan);

	o.unchanged = 50;
	struct search_result r = engine_search(s->plan, &o), r2 = engine_search(again, &o);
	char *text = engine_plan_text(s, s->plan);
	assert_string_equal(text, engine_plan_text(s, again));
	assert_int_equal(r.evaluations, r2.evaluations);
	/* A plan that another search has been at, and that was taken back. */
	struct plan_save *start = plan_save(s, after_others);
	o.seed = 8;
	struct search_result r3 = engine_search(after_others, &o);
	plan_load(after_others, start);
	o.seed = 7;
	engine_search(after_others, &o);
	assert_string_equal(text, engine_plan_text(s, after_others));
	o.seed = 9;
	struct search_result r4 = engine_search(other, &o);
	assert_true(r3.evaluations != r.evaluations || r4.evaluations != r.evaluations);
	talloc_free(s);
}

/* What is switched off is as it was. */
static void
test_moves_can_be_switched_off(void **state)
{
	(void)state;
	for (unsigned moves = 0; moves <= SEARCH_ALL; moves++) {
		struct engine_step *s = engine_layers(ENGINE_LINKS, 6, FLOATS);
		const struct search_options o = options(moves);
		struct search_result r = engine_search(s->plan, &o);
		if (!(moves & (SEARCH_FUSE | SEARCH_COPY | SEARCH_PACK)))
			assert_int_equal(r.evaluations, 0);
		if (!(moves & SEARCH_PACK))
			assert_int_equal(engine_count(s->plan, PLAN_MESSAGE), 6);
		else
			assert_true(engine_count(s->plan, PLAN_MESSAGE) < 6);
		uint32_t ops = 0, copies = 0;
		for (uint32_t i = 0; i < plan_count(s->plan); i++) {
			struct plan_node node = plan_node(s->plan, plan_at(s->plan, i));
			assert_int_equal(node.parts, 1);
			for (uint32_t k = 0; k < node.nops; k++)
				copies += (node.op[k] & PLAN_COPY) != 0;
			ops += node.nops;
		}
		assert_int_equal(ops, 12 + copies);
		if (!(moves & SEARCH_COPY))
			assert_int_equal(copies, 0);
		if (!(moves & (SEARCH_FUSE | SEARCH_COPY)))
			assert_int_equal(engine_count(s->plan, PLAN_KERNEL), 6);
		talloc_free(s);
	}
}

/*
 * %p takes 81 us (1 us, 8 MB), its message 90 (10 us, 4 MB at 50 GB/s), %q = p + x 121 (12 MB):
 * 202. As one kernel (12 MB) they take 121, and then the message: 211. With a copy of %p in it %q
 * reads no more than %x, and takes 81; the message, which has waited for %p alone, ends last: 171.
 */
static void
test_a_copy_leaves_the_message_early(void **state)
{
	(void)state;
	struct engine_step *s = engine_step("link_latency = 10us, link_bandwidth = 50GB/s",
		"  %x = input(\"x\") : f32[2000000/dp]\n"
		"  %p = neg(%x)\n"
		"  %r = allgather(%p) {axis = dp}\n"
		"  %q = add(%p, %x)\n"
		"  output(\"r\", %r)\n"
		"  output(\"q\", %q)\n");
	struct plan *other = plan_clone(s, s->plan);
	const struct search_options fuse = options(SEARCH_FUSE), copy = options(SEARCH_COPY);
	struct search_result r = engine_search(s->plan, &fuse);

	assert_int_equal(r.before, 202 * 1000000LL);
	assert_int_equal(r.after, 202 * 1000000LL);
	r = engine_search(other, &copy);
	assert_int_equal(r.after, 171 * 1000000LL);
	talloc_free(s);
}

static void
test_extremes_of_alpha_and_beta(void **state)
{
	(void)state;
	static const struct {
		double alpha;
		uint32_t beta, unchanged;
	} cases[] = {{1, 1, 100}, {1, 0, 100}, {1, 100, 100}, {1000, 1, 100}, {1000, 100, 100},
		{1.05, 10, 1}, {1.05, 10, 0}};
	struct engine_step *s = engine_layers(ENGINE_LINKS, 8, FLOATS);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct plan *p = plan_clone(s, s->plan);
		struct search_options o = options(SEARCH_ALL);
		o.alpha = cases[i].alpha;
		o.beta = cases[i].beta;
		o.unchanged = cases[i].unchanged;
		struct search_result r = engine_search(p, &o);
		assert_int_equal(r.end, SEARCH_FINISHED);
		if (!o.beta || !o.unchanged)
			assert_int_equal(r.evaluations, 0);
		else if (o.unchanged > 1)
			assert_true(r.after < r.before);
		talloc_free(p);
	}
	talloc_free(s);
}

/* Where the queue is empty at once: it begins again from the best, and ends all the same. */
static void
test_it_can_begin_again(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, 8, FLOATS);
	uint64_t evaluations[2] = {0};
	replay_time sum[2] = {0};

	for (uint64_t i = 0; i < 20; i++) {
		struct plan *p = plan_clone(s, s->plan);
		struct search_options o = options(SEARCH_PACK);
		o.again = i % 2;
		o.seed = i / 2;
		struct search_result r = engine_search(p, &o);
		assert_int_equal(r.end, SEARCH_FINISHED);
		evaluations[o.again] += r.evaluations;
		sum[o.again] += r.after;
		talloc_free(p);
	}
	assert_true(evaluations[1] > evaluations[0] && sum[1] < sum[0]);
	talloc_free(s);
}

/* Candidates that there is no room for are dropped, the best one last. */
static void
test_the_queue_is_bounded(void **state)
{
	(void)state;
	static const size_t room[] = {1, 2000, 100000, (size_t)1 << 30};
	struct engine_step *s = engine_layers(ENGINE_LINKS, 40, FLOATS);

	for (size_t i = 0; i < sizeof room / sizeof *room; i++) {
		struct plan *p = plan_clone(s, s->plan);
		struct search_options o = options(SEARCH_ALL);
		o.queue_bytes = room[i];
		struct search_result r = engine_search(p, &o);
		assert_true(r.after < r.before);
		assert_int_equal(r.end, SEARCH_FINISHED);
	}
	talloc_free(s);
}

static void
test_it_stops_when_told(void **state)
{
	(void)state;
	engine_stops_when_told(engine_layers(ENGINE_LINKS, 8, FLOATS), options(SEARCH_ALL), 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chain_becomes_one_kernel),
		cmocka_unit_test(test_messages_are_packed_best),
		cmocka_unit_test(test_seeds_decide),
		cmocka_unit_test(test_moves_can_be_switched_off),
		cmocka_unit_test(test_a_copy_leaves_the_message_early),
		cmocka_unit_test(test_extremes_of_alpha_and_beta),
		cmocka_unit_test(test_it_can_begin_again),
		cmocka_unit_test(test_the_queue_is_bounded),
		cmocka_unit_test(test_it_stops_when_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
