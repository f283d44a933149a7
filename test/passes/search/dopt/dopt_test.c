/* The engine `dopt` and the bounds: what is found where the optimum is known by other means. */
#include "test/passes/search/engine_step.h"

enum { LAYERS = 8 };

static struct search_options
options(unsigned moves)
{
	struct search_options o = search_defaults();

	o.engine = SEARCH_DOPT;
	o.moves = moves;
	o.seed = 3;
	o.workers = 1;
	return o;
}

static void
test_a_chain_becomes_one_kernel(void **state)
{
	(void)state;
	const struct search_options o = options(SEARCH_ALL);

	engine_joins_a_chain(&o);
}

/*
 * Layers of so many floats: bit i of `cuts` says that a message ends behind layer i. The messages
 * follow one another, each once its last layer is computed.
 */
static replay_time
time_of_cuts(replay_time kernel, const replay_time *message, uint32_t cuts)
{
	replay_time link = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < LAYERS; i++) {
		if (i + 1 < LAYERS && !(cuts >> i & 1))
			continue;
		replay_time ready = (i + 1) * kernel;
		link = (ready > link ? ready : link) + message[i + 1 - first];
		first = i + 1;
	}
	return link;
}

static void
check_packing(const char *links, int floats)
{
	struct engine_step *s = engine_layers(links, LAYERS, floats);
	const struct search_options o = options(SEARCH_PACK);
	replay_time kernel = plan_node(s->plan, plan_at(s->plan, 0)).duration;
	replay_time message[LAYERS + 1], best = INT64_MAX;
	uint32_t first = plan_at(s->plan, 1);

	assert_int_equal(plan_node(s->plan, first).kind, PLAN_MESSAGE);
	uint32_t mark = plan_mark(s->plan);
	message[1] = plan_node(s->plan, first).duration;
	for (uint32_t k = 2; k <= LAYERS; k++) {
		uint32_t last = plan_at(s->plan, plan_count(s->plan) - 1);
		for (uint32_t i = 0; i < plan_count(s->plan); i++)
			if (plan_packs(s->plan, first, plan_at(s->plan, i))) {
				last = plan_at(s->plan, i);
				break;
			}
		assert_true(plan_pack(s->plan, first, last));
		first = last;
		message[k] = plan_node(s->plan, first).duration;
	}
	plan_undo(s->plan, mark);
	for (uint32_t cuts = 0; cuts < 1u << (LAYERS - 1); cuts++) {
		replay_time t = time_of_cuts(kernel, message, cuts);
		best = t < best ? t : best;
	}
	struct search_result r = engine_search(s->plan, &o);
	assert_int_equal(r.after, best);
	talloc_free(s);
}

/* Where latency, bandwidth, or neither decides. */
static void
test_messages_are_packed_as_well_as_can_be(void **state)
{
	(void)state;
	check_packing(ENGINE_LINKS, 100000);
	check_packing(ENGINE_LINKS, 1000000);
	check_packing("link_latency = 100us, link_bandwidth = 100GB/s", 300000);
	check_packing("link_latency = 1us, link_bandwidth = 1GB/s", 100000);
	check_packing("link_latency = 20us, link_bandwidth = 40GB/s", 200000);
}

/*
 * A kernel that nobody waits for is issued before one whose result is sent: 81 us, 1 us + 4 us, and
 * a message. The other way round the message runs beside the long kernel.
 */
static void
test_what_is_sent_is_computed_first(void **state)
{
	(void)state;
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[2000000/dp]\n  %y = input(\"y\") : f32[100000/dp]\n"
		"  %a = neg(%x)\n  %b = exp(%y)\n  %r = allgather(%b) {axis = dp}\n"
		"  output(\"a\", %a)\n  output(\"r\", %r)\n");
	const struct search_options o = options(SEARCH_ORDER);
	replay_time message = plan_node(s->plan, plan_at(s->plan, 2)).duration;
	struct search_result r = engine_search(s->plan, &o);

	assert_int_equal(r.before, 86 * 1000000LL + message);
	assert_int_equal(r.after, 86 * 1000000LL);
	assert_true(message < 81 * 1000000LL);
	assert_int_equal(search_order_bound(s->plan), r.after);
	talloc_free(s);
}

/* What may not change does not. */
static void
test_only_allowed_moves_are_done(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, LAYERS, 1000);
	struct search_options o = options(SEARCH_FUSE);
	engine_search(s->plan, &o);
	assert_int_equal(engine_count(s->plan, PLAN_MESSAGE), LAYERS);
	talloc_free(s);

	s = engine_layers(ENGINE_LINKS, LAYERS, 1000);
	o = options(SEARCH_PACK | SEARCH_PART);
	engine_search(s->plan, &o);
	assert_int_equal(engine_count(s->plan, PLAN_KERNEL), LAYERS);
	assert_true(engine_count(s->plan, PLAN_MESSAGE) < LAYERS);
	talloc_free(s);
}

/* One result whatever the number of threads, and each time; another seed may have another one. */
static void
test_results_do_not_depend_on_threads(void **state)
{
	(void)state;
	char *first = NULL;

	for (uint32_t run = 0; run < 4; run++) {
		struct engine_step *s = engine_layers(ENGINE_LINKS, 3 * LAYERS, 40000);
		struct search_options o = options(SEARCH_ALL);
		o.workers = 1 + run % 2;
		o.evaluations = 5000;
		struct search_result r = engine_search(s->plan, &o);
		assert_true(r.evaluations <= 5000 + 16);
		char *text = engine_plan_text(NULL, s->plan);
		if (!first)
			first = talloc_strdup(NULL, text);
		assert_string_equal(text, first);
		talloc_free(text);
		talloc_free(s);
	}
	talloc_free(first);
}

/*
 * Ten layers of 11 us whose gradients take 20 us and more each: full overlap asks for no more than
 * the messages; in fact the first of them waits for the first kernel. And no search beats either.
 */
static void
test_bounds(void **state)
{
	(void)state;
	struct engine_step *s = engine_layers(ENGINE_LINKS, 10, 125000);
	replay_time kernel = plan_node(s->plan, plan_at(s->plan, 0)).duration;
	replay_time message = plan_node(s->plan, plan_at(s->plan, 1)).duration;

	assert_int_equal(kernel, 11 * 1000000LL);
	assert_true(message > kernel);
	assert_int_equal(search_full_overlap(s->plan), 10 * message);
	assert_int_equal(search_order_bound(s->plan), kernel + 10 * message);
	assert_int_equal(plan_replay(s->plan), kernel + 10 * message);
	const struct search_options o = options(SEARCH_ALL);
	struct search_result r = engine_search(s->plan, &o);
	assert_true(r.after >= search_order_bound(s->plan));
	assert_true(search_order_bound(s->plan) >= search_full_overlap(s->plan));
	talloc_free(s);
}

/* A search that may do nothing leaves everything as it is; one that is interrupted, too. */
static void
test_ends(void **state)
{
	(void)state;
	const volatile int interrupted = 1;
	struct engine_step *s = engine_layers(ENGINE_LINKS, LAYERS, 1000);
	struct search_options o = options(SEARCH_ALL);

	o.interrupted = &interrupted;
	assert_int_equal(engine_search(s->plan, &o).end, SEARCH_INTERRUPTED);
	o.interrupted = NULL;
	o.evaluations = 1;
	assert_int_equal(engine_search(s->plan, &o).end, SEARCH_EVALUATIONS);
	o.evaluations = 0;
	o.time_limit = 1e-9;
	assert_int_equal(engine_search(s->plan, &o).end, SEARCH_TIME);
	o.time_limit = 0;
	assert_int_equal(engine_search(s->plan, &o).end, SEARCH_FINISHED);
	talloc_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chain_becomes_one_kernel),
		cmocka_unit_test(test_messages_are_packed_as_well_as_can_be),
		cmocka_unit_test(test_what_is_sent_is_computed_first),
		cmocka_unit_test(test_only_allowed_moves_are_done),
		cmocka_unit_test(test_results_do_not_depend_on_threads),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
