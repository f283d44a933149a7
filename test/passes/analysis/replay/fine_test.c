/* Fine replay against closed forms. */
#include "test/passes/analysis/replay/fine_step.h"

static void
one_send_takes_latency_and_bytes(void **state)
{
	struct step s = {0};
	struct times t;
	point_to_point(&s, 0, 0, 1, 5e6);
	event(&s, 0, 1, 0, 0);
	bind(&s, star(*state, 2, 1e9, 7e-6), 1, 2, 1);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.start[0], 0);
	assert_int_equal(t.end[0], 5000000000 + 7000000);
	assert_int_equal(t.r.makespan, t.end[0]);
	assert_int_equal(t.busy[1], t.end[0]);
	assert_int_equal(fine_alone(s.s.cluster, s.requests), t.end[0]);
}

static void
two_sends_share_a_link(void **state)
{
	/* Both into device 2: 3 MB at half of 1 GB/s until 1 MB, which came 1 ms later, is through
	 * at 1 + 2 ms; the rest alone. */
	struct step s = {0};
	struct times t;
	point_to_point(&s, 0, 0, 2, 3e6);
	point_to_point(&s, 1, 1, 2, 1e6);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 3, 1000000000, FINE_NO_REQUEST);
	event(&s, 2, 3, 0, 1);
	bind(&s, star(*state, 3, 1e9, 0), 3, 4, 2);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.start[2], 1000000000);
	assert_int_equal(t.end[2], 3000000000);
	assert_int_equal(t.end[0], 4000000000);
	assert_int_equal(t.r.contended, 2);
	assert_int_equal(t.r.alone, 0);
	/* Both were measured to take twice as long by themselves; all else as above. */
	s.requests[0].alone = 6000000000;
	s.requests[1].alone = 2000000000;
	s.duration[1] = 2000000000;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[2] - 6000000000) <= 10);
	assert_true(llabs(t.end[0] - 8000000000) <= 10);
}

static void
shares_are_max_min_fair(void **state)
{
	/* Out of device 0 go a (to 1) and b (to 2); c goes 3 -> 2, d 3 -> 2 too. b, c, d share what
	 * leads into 2: a third each; a has the two thirds that b leaves. */
	struct step s = {0};
	struct times t;
	const uint32_t from[] = {0, 0, 3, 4}, to[] = {1, 2, 2, 2};
	for (uint32_t i = 0; i < 4; i++) {
		point_to_point(&s, i, from[i], to[i], i ? 1e6 : 2e6);
		event(&s, i, i, 0, i);
	}
	bind(&s, star(*state, 5, 1e9, 0), 4, 4, 4);
	assert_int_equal(replay(&s, &t), FINE_OK);
	for (int i = 0; i < 4; i++)
		assert_true(llabs(t.end[i] - 3000000000) <= 10);
}

static void
a_ring_takes_its_closed_form(void **state)
{
	for (uint32_t places = 2; places <= MAX_DEVICES; places++) {
		struct step s = {0};
		struct times t;
		double seconds =
			collective_ring_seconds(RT_ALLREDUCE, (int)places, 9e6, 5e-6, 25e9);
		uint32_t rounds = 2 * (places - 1);
		ring(&s, 0, places, 0, 1, rounds, 9e6 / places);
		event(&s, 0, 1, 0, 0);
		bind(&s, star(*state, places, 25e9, 5e-6), 1, 2, 1);
		assert_int_equal(replay(&s, &t), FINE_OK);
		assert_true(llabs(t.end[0] - replay_from_seconds(seconds)) <= rounds);
		assert_int_equal(t.r.sends, rounds); /* all its devices are of one class */
	}
}

static void
rings_do_not_wait_for_each_other(void **state)
{
	/* Two rings of 3 devices, one each way round. 0 -> 1 and 0 -> 2 share what leads out of 0,
	 * and so on: 1 MB takes 2 ms. Of the ring that goes 0 -> 2 -> 1 a message is half as long:
	 * it has its half of 1 ms, the other one 1 ms and a half in every round but those that it
	 * has for itself: 10 rounds of 1 MB and 10 of 0.5 MB keep every link busy for 15 ms. */
	struct step s = {0};
	struct times t;
	ring(&s, 0, 3, 0, 1, 10, 1e6);
	for (uint32_t k = 0; k < 3; k++)
		s.send[0][3 + k] = (struct collective_send){(3 - k) % 3, 2 - k, 5e5};
	s.schedule[0].nsends = s.round[0][0].n = 6;
	s.schedule[0].lanes = 2;
	event(&s, 0, 1, 0, 0);
	bind(&s, star(*state, 3, 1e9, 0), 1, 2, 1);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[0] - 15000000000) <= 20);
}

static void
what_takes_for_ever_ends_with_time(void **state)
{
	/* A tensor of 1 TB on links of a byte a second, again and again: no sum overflows. */
	struct step s = {0};
	struct times t;
	ring(&s, 0, 3, 0, 1, 20, 1e12);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 1, INT64_MAX / 2, FINE_NO_REQUEST);
	event(&s, 2, 1, 0, 0);
	event(&s, 3, 3, 0, 0);
	bind(&s, star(*state, 3, 1, 1e5), 4, 4, 1);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.r.makespan, INT64_MAX);
	assert_int_equal(t.end[0], INT64_MAX);
}

static void
two_rings_share_a_card(void **state)
{
	/* Rings of 2 over two nodes, one for each of the two devices of a node: every round moves
	 * 1 MB of both over the cards, at half of 1 GB/s. Issued apart, as one request each, and as
	 * groups of one. The second ring comes later: 1 ms alone, 2 rounds of 2 ms together. */
	const struct cluster_link inside = {"inside", 1e12, 0}, card = {"card", 1e9, 0};
	struct cluster *c = nodes(*state, 2, 2, inside, card, INFINITY);
	struct step s = {0};
	struct times t;
	ring(&s, 0, 2, 0, 2, 2, 1e6);
	ring(&s, 1, 2, 1, 2, 2, 1e6);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 3, 0, 1);
	bind(&s, c, 2, 4, 2);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.end[0], 4000000000);
	assert_int_equal(t.end[1], 4000000000);
	/* 0.5 ms later: 0.5 alone + 1 shared (0.5 left), ... each round of the first is 0.5 MB
	 * ahead: 0.5 + 1 | 1 + 1 | and the second has its last 0.5 MB alone. */
	struct step later = {0};
	ring(&later, 0, 2, 0, 2, 2, 1e6);
	ring(&later, 1, 2, 1, 2, 2, 1e6);
	event(&later, 0, 1, 0, 0);
	event(&later, 1, 3, 500000000, FINE_NO_REQUEST);
	event(&later, 2, 3, 0, 1);
	bind(&later, c, 3, 4, 2);
	assert_int_equal(replay(&later, &t), FINE_OK);
	assert_int_equal(t.end[0], 3500000000);
	assert_int_equal(t.end[2], 4000000000);
	/* Both as groups of one collective. */
	struct step groups = {0};
	ring(&groups, 0, 2, 0, 2, 2, 1e6);
	groups.schedule[0].nsends = groups.round[0][0].n = 4;
	memcpy(&groups.send[0][2], s.send[1], 2 * sizeof *s.send[1]);
	event(&groups, 0, 1, 0, 0);
	bind(&groups, c, 1, 2, 1);
	assert_int_equal(replay(&groups, &t), FINE_OK);
	assert_int_equal(t.end[0], 4000000000);
	assert_int_equal(t.r.sends, 2);
}

static void
chunks_follow_each_other(void **state)
{
	/* 0 -> 1 -> 2 in 4 chunks of 1 MB: the last one leaves 0 after 4 ms and takes one more;
	 * the latency passes twice. */
	struct step s = {0};
	struct times t;
	s.schedule[0] = (struct collective_schedule){.nrounds = 2, .nsends = 2, .chunks = 4};
	s.round[0][0] = (struct collective_round){0, 1, 1, 0};
	s.round[0][1] = (struct collective_round){1, 1, 1, 0};
	s.send[0][0] = (struct collective_send){0, 1, 4e6};
	s.send[0][1] = (struct collective_send){1, 2, 4e6};
	event(&s, 0, 1, 0, 0);
	bind(&s, star(*state, 3, 1e9, 3e-6), 1, 2, 1);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.end[0], 5000000000 + 2 * 3000000);
	assert_int_equal(t.r.sends, 8);
}

static void
computing_is_slower_meanwhile(void **state)
{
	/* 6 ms of computing at 2/3 of its speed while 3 MB are sent in 3 ms: 2 ms of it are done by
	 * then, 4 are left. */
	struct step s = {0};
	struct times t;
	point_to_point(&s, 0, 0, 1, 3e6);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 0, 6000000000, FINE_NO_REQUEST);
	bind(&s, star(*state, 2, 1e9, 0), 2, 2, 1);
	s.slowdown[0] = 1.5;
	s.s.slowdown = s.slowdown;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.end[0], 3000000000);
	assert_true(llabs(t.end[1] - 7000000000) <= 10);
	/* Computing that begins in the middle of it, and does not outlast it. */
	s.duration[1] = 1000000000;
	event(&s, 2, 0, 1000000000, FINE_NO_REQUEST);
	bind(&s, s.s.cluster, 3, 2, 1);
	s.s.slowdown = s.slowdown;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[1] - 1500000000) <= 4);
	assert_true(llabs(t.end[2] - 3000000000) <= 8);
}

/* 3 MB take 3 ms alone. While device 0 computes for 2 ms half of that speed: 1 ms of it is done by
 * then, 2 are left. What a device that does not take part computes makes no difference. */
static void
messages_are_slower_meanwhile(void **state)
{
	const double slowdown[] = {2, 2, 2};
	struct step s = {0};
	struct times t;
	point_to_point(&s, 0, 0, 1, 3e6);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 0, 2000000000, FINE_NO_REQUEST);
	event(&s, 2, 4, 9000000000, FINE_NO_REQUEST);
	bind(&s, star(*state, 3, 1e9, 0), 3, 6, 1);
	s.s.message_slowdown = slowdown;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[0] - 4000000000) <= 4);
	assert_int_equal(t.end[1], 2000000000);
	/* A delay of 0.5 ms of these 2: 0.75 ms of it are done by then. */
	const replay_time delay[] = {500000000, 0, 0};
	s.s.message_delay = delay;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[0] - 4250000000) <= 4);
	/* Beside two kernels, one after the other, it is slower all the time. */
	s.duration[1] = 1000000000;
	s.duration[2] = 0;
	event(&s, 3, 0, 7000000000, FINE_NO_REQUEST);
	bind(&s, s.s.cluster, 4, 6, 1);
	s.s.message_slowdown = slowdown;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[0] - 6000000000) <= 4);
}

/* The message of 3 MB has made 0.5 MB of its way after 1 ms when one of 1 MB to the same device comes:
 * each has half of the link, so that is through after 2 ms, and 1.5 MB are left of the first. */
static void
slower_messages_meet_others_where_they_are(void **state)
{
	const double slowdown[] = {2, 2, 2};
	struct step s = {0};
	struct times t;
	point_to_point(&s, 0, 0, 1, 3e6);
	point_to_point(&s, 1, 2, 1, 1e6);
	event(&s, 0, 1, 0, 0);
	event(&s, 1, 0, 2000000000, FINE_NO_REQUEST);
	event(&s, 2, 4, 1000000000, FINE_NO_REQUEST);
	event(&s, 3, 5, 0, 1);
	s.dep[s.dep_first[4]++] = 2;
	bind(&s, star(*state, 3, 1e9, 0), 4, 6, 2);
	s.s.message_slowdown = slowdown;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_true(llabs(t.end[3] - 3000000000) <= 4);
	assert_true(llabs(t.end[0] - 4500000000) <= 4);
}

/* Of steps whose collectives have links of their own; `measured`: and take what somebody says. */
static void
without_contention_it_is_coarse(void *state, bool measured)
{
	struct step s = {0};
	struct times t;
	struct cluster *c = star(state, 6, 3e9, 11e-6);
	uint64_t seed = 8;
	uint32_t n = 0;
	ring(&s, 0, 3, 0, 1, 4, 777777);
	ring(&s, 1, 3, 3, 1, 2, 123457);
	for (; n < MAX_N; n++) {
		bool communicates = next(&seed) % 3 == 0;
		uint32_t device = (uint32_t)(next(&seed) % 2);
		event(&s, n, 2 * device + communicates, (replay_time)(next(&seed) % 900000000),
			communicates ? device : FINE_NO_REQUEST);
		for (uint32_t k = (uint32_t)(next(&seed) % 3); n && k; k--)
			s.dep[s.dep_first[n + 1]++] = (uint32_t)(next(&seed) % n);
	}
	bind(&s, c, n, 4, 2);
	s.s.leader = NULL;
	for (uint32_t i = 0; measured && i < 2; i++)
		s.requests[i].alone = 123456789 * (i + 1);
	assert_int_equal(replay(&s, &t), FINE_OK);
	for (uint32_t e = 0; e < n; e++)
		if (s.request[e] != FINE_NO_REQUEST)
			s.duration[e] = measured ? s.requests[s.request[e]].alone
						 : fine_alone(c, &s.requests[s.request[e]]);
	struct times coarse;
	replay_time free_at[MAX_STREAMS];
	struct replay_result r = {
		.start = coarse.start, .end = coarse.end, .busy = coarse.busy, .free_at = free_at};
	assert_true(replay_check(&s.g));
	replay_run(&s.g, &r);
	assert_memory_equal(t.start, coarse.start, n * sizeof *t.start);
	assert_memory_equal(t.end, coarse.end, n * sizeof *t.end);
	assert_memory_equal(t.busy, coarse.busy, 4 * sizeof *t.busy);
	assert_int_equal(t.r.makespan, r.makespan);
	assert_int_equal(t.r.contended, 0);
}

static void
alone_on_the_links_it_is_coarse(void **state)
{
	without_contention_it_is_coarse(*state, false);
}

static void
measured_collectives_take_what_was_measured(void **state)
{
	without_contention_it_is_coarse(*state, true);
}

static bool
is_chunked(const struct fine_request *q, struct cluster *c, void *scratch)
{
	return collective_schedule(scratch, c, &q->request, q->algorithm, NULL)->chunks > 1;
}

static void
schedules_take_what_the_cost_model_says(void **state)
{
	/* All kinds and algorithms, on equal links and through nodes. Sends in chunks: the model
	 * gives the limit for many. Of gather and scatter it waits for each place in turn. */
	const struct cluster_link inside = {"inside", 300e9, 2e-6}, card = {"card", 25e9, 5e-6};
	struct cluster *const clusters[] = {star(*state, 8, 25e9, 5e-6),
		nodes(*state, 4, 2, inside, card, INFINITY), cards(*state, 2, 4, inside, card)};
	const uint32_t device[] = {0, 1, 2, 3, 4, 5, 6, 7};
	int compared = 0;
	for (int i = 0; i < 3 * RT_COLL_KINDS * COLLECTIVE_NALGORITHMS; i++) {
		struct fine_request q = {.request = {(enum rt_coll_kind)(i / 3 % RT_COLL_KINDS), 1,
						 8, device, 64e6, 0, 1, 1},
			.algorithm = (enum collective_algorithm)(i / 3 / RT_COLL_KINDS)};
		if (q.request.kind == RT_GATHER || q.request.kind == RT_SCATTER)
			continue;
		replay_time t = fine_alone(clusters[i % 3], &q);
		double s = collective_seconds(clusters[i % 3], &q.request, q.algorithm, NULL);
		assert_int_equal(t < 0, isinf(s) != 0);
		if (t < 0)
			continue;
		double most = is_chunked(&q, clusters[i % 3], *state) ? 0.05 : 1e-6;
		assert_true(fabs(replay_seconds(t) / s - 1) < most);
		compared++;
	}
	assert_true(compared > 20);
}

static void
a_thousand_ranks_are_one_node(void **state)
{
	/* A ring through 128 nodes of 8: as slow as its slowest link, the card. */
	const struct cluster_link inside = {"inside", 300e9, 0}, card = {"card", 50e9, 0};
	struct cluster *c = nodes(*state, 128, 8, inside, card, INFINITY);
	enum { RANKS = 1024 };
	struct collective_send *send = talloc_array(*state, struct collective_send, RANKS);
	struct collective_round round = {0, RANKS, 2 * (RANKS - 1), 0};
	for (uint32_t k = 0; k < RANKS; k++)
		send[k] = (struct collective_send){k, (k + 1) % RANKS, 1e6};
	struct collective_schedule schedule = {1, RANKS, 1, &round, send, 1, 1};
	const struct fine_request q = {.schedule = &schedule};
	struct step s = {0};
	struct times t;
	event(&s, 0, 1, 0, 0);
	bind(&s, c, 1, 2, 0);
	s.s.requests = &q;
	s.s.nrequests = 1;
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.r.sends, 8 * round.repeat);
	/* The card is busy all the time, and the last message over it the last of all. */
	assert_true(llabs(t.end[0] - (replay_time)round.repeat * 20000000) <= round.repeat);
}

static void
wrong_steps_are_refused(void **state)
{
	struct step s = {0};
	struct times t;
	struct cluster *c = star(*state, 2, 1e9, 0);
	uint32_t alone = cluster_add_device(c, "alone", 0, CLUSTER_NO_NODE);
	(void)alone;
	point_to_point(&s, 0, 0, 1, 1);
	point_to_point(&s, 1, 0, 2, 1);
	event(&s, 0, 1, 0, 0);
	bind(&s, c, 1, 2, 2);
	assert_int_equal(replay(&s, &t), FINE_NO_ROUTE);
	assert_int_equal(t.r.culprit, 1);
	assert_int_equal(fine_alone(c, &s.requests[1]), -1);
	s.send[1][0].to = 77;
	assert_int_equal(replay(&s, &t), FINE_NO_ROUTE);
	/* Parties that issue two collectives in different orders. */
	point_to_point(&s, 1, 0, 1, 1);
	const uint32_t stream[] = {1, 1, 3, 3}, leader[] = {0, 1, 1, 0};
	for (uint32_t e = 0; e < 4; e++) {
		event(&s, e, stream[e], 0, leader[e]);
		s.leader[e] = leader[e];
	}
	bind(&s, c, 4, 4, 2);
	assert_int_equal(replay(&s, &t), FINE_STUCK);
	assert_int_equal(t.r.culprit, 0);
	/* In the same order it goes. */
	s.leader[2] = 0, s.leader[3] = 1, s.request[2] = 0, s.request[3] = 1;
	assert_int_equal(replay(&s, &t), FINE_OK);
	/* Nothing at all takes no time. */
	bind(&s, c, 0, 2, 0);
	assert_int_equal(replay(&s, &t), FINE_OK);
	assert_int_equal(t.r.makespan, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_send_takes_latency_and_bytes),
		cmocka_unit_test(two_sends_share_a_link),
		cmocka_unit_test(shares_are_max_min_fair),
		cmocka_unit_test(a_ring_takes_its_closed_form),
		cmocka_unit_test(rings_do_not_wait_for_each_other),
		cmocka_unit_test(what_takes_for_ever_ends_with_time),
		cmocka_unit_test(two_rings_share_a_card),
		cmocka_unit_test(chunks_follow_each_other),
		cmocka_unit_test(computing_is_slower_meanwhile),
		cmocka_unit_test(messages_are_slower_meanwhile),
		cmocka_unit_test(slower_messages_meet_others_where_they_are),
		cmocka_unit_test(alone_on_the_links_it_is_coarse),
		cmocka_unit_test(measured_collectives_take_what_was_measured),
		cmocka_unit_test(schedules_take_what_the_cost_model_says),
		cmocka_unit_test(a_thousand_ranks_are_one_node),
		cmocka_unit_test(wrong_steps_are_refused),
	};
	return cmocka_run_group_tests(tests, make_scratch, free_scratch);
}
