/*
 * Replay against schedules worked out by hand and against a simulation of another kind: one that
 * advances a clock and asks at every instant which streams may start their next event.
 */
#include "passes/analysis/replay/replay.h"
#include "test/unit.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 64, MAX_DEPS = MAX_N * 4, MAX_STREAMS = 6 };

struct graph {
	struct replay_graph g;
	uint16_t stream[MAX_N];
	replay_time duration[MAX_N];
	uint32_t dep_first[MAX_N + 1], dep[MAX_DEPS], order[MAX_N];
};

struct result {
	struct replay_result r;
	replay_time start[MAX_N], end[MAX_N], busy[MAX_STREAMS], free_at[MAX_STREAMS];
};

static void
graph_bind(struct graph *g, uint32_t n, uint32_t nstreams, bool ordered)
{
	g->g = (struct replay_graph){n, nstreams, g->stream, g->duration, g->dep_first, g->dep,
		ordered ? g->order : NULL, 0};
}

static void
run(const struct graph *g, struct result *r)
{
	memset(r, 0x5a, sizeof *r);
	r->r.start = r->start, r->r.end = r->end, r->r.busy = r->busy, r->r.free_at = r->free_at;
	replay_run(&g->g, &r->r);
}

struct gaps {
	struct replay_device device[(MAX_STREAMS + 1) / 2];
	replay_time exposed[MAX_N], waited[MAX_N];
};

static void
find_gaps(
	const struct graph *g, const bool *communicates, const struct result *r, struct gaps *found)
{
	struct replay_gaps gaps = {found->device, found->exposed, found->waited};
	memset(found, 0x5a, sizeof *found);
	replay_gaps(&g->g, communicates, &r->r, &gaps);
}

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* A random graph; issue order is 0 .. n-1, or a shuffle of the numbers that keeps it valid. */
static void
graph_random(struct graph *g, uint64_t *seed, bool ordered)
{
	uint32_t n = (uint32_t)(next(seed) % (MAX_N + 1));
	uint32_t nstreams = 1 + (uint32_t)(next(seed) % MAX_STREAMS), ndeps = 0;
	uint32_t name[MAX_N], position[MAX_N];
	for (uint32_t i = 0; i < n; i++)
		name[i] = i;
	for (uint32_t i = n; ordered && i > 1; i--) {
		uint32_t j = (uint32_t)(next(seed) % i), t = name[i - 1];
		name[i - 1] = name[j], name[j] = t;
	}
	for (uint32_t p = 0; p < n; p++) {
		g->order[p] = name[p];
		position[name[p]] = p;
	}
	for (uint32_t e = 0; e < n; e++) {
		g->stream[e] = (uint16_t)(next(seed) % nstreams);
		g->duration[e] = (replay_time)(next(seed) % 4 ? next(seed) % 50 : 0);
		g->dep_first[e] = ndeps;
		for (uint32_t k = (uint32_t)(next(seed) % 4); k && position[e]; k--)
			g->dep[ndeps++] = name[next(seed) % position[e]];
	}
	g->dep_first[n] = ndeps;
	graph_bind(g, n, nstreams, ordered);
}

static bool
all_ended(const struct replay_graph *g, uint32_t e, const bool *ended)
{
	for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
		if (!ended[g->dep[k]])
			return false;
	return true;
}

/* The event that stream s has to run next, or n. */
static uint32_t
head(const struct replay_graph *g, uint32_t s, const bool *begun)
{
	for (uint32_t p = 0; p < g->n; p++) {
		uint32_t e = g->order ? g->order[p] : p;
		if (g->stream[e] == s && !begun[e])
			return e;
	}
	return g->n;
}

/* The other simulation: a clock. */
static replay_time
simulate(const struct replay_graph *g, replay_time *start, replay_time *end)
{
	bool begun[MAX_N] = {false}, ended[MAX_N] = {false};
	uint32_t running[MAX_STREAMS], done = 0;
	for (uint32_t s = 0; s < g->nstreams; s++)
		running[s] = g->n;
	replay_time now = 0;
	while (done < g->n) {
		bool moved = false;
		for (uint32_t s = 0; s < g->nstreams; s++) {
			if (running[s] < g->n && end[running[s]] == now) {
				ended[running[s]] = true;
				running[s] = g->n;
				done++, moved = true;
			}
			uint32_t e = head(g, s, begun);
			if (running[s] < g->n || e == g->n || !all_ended(g, e, ended))
				continue;
			begun[e] = true, moved = true;
			start[e] = now, end[e] = now + g->duration[e];
			running[s] = e;
		}
		if (!moved)
			now++;
	}
	return now;
}

static void
hand_computed_overlap(void **state)
{
	(void)state;
	/* a0 10, c1 30 after a0, a2 15 after a0, a3 5 after c1: the drawing in replay.h. */
	struct graph g = {.stream = {0, 1, 0, 0},
		.duration = {10, 30, 15, 5},
		.dep_first = {0, 0, 1, 2, 3},
		.dep = {0, 0, 1}};
	struct result r;
	graph_bind(&g, 4, 2, false);
	assert_true(replay_check(&g.g));
	run(&g, &r);
	assert_int_equal(r.r.makespan, 45);
	const replay_time start[] = {0, 10, 10, 40};
	assert_memory_equal(r.start, start, sizeof start);
	assert_int_equal(r.busy[0], 30);
	assert_int_equal(r.busy[1], 30);
	uint32_t path[4];
	assert_int_equal(replay_critical_path(&g.g, &r.r, path), 3);
	const uint32_t critical[] = {0, 1, 3};
	assert_memory_equal(path, critical, sizeof critical);
	/* a2 has time until a3 starts; c1 runs 10..40, a2 hides 10..25 of it. */
	replay_time slack[4];
	replay_slack(&g.g, &r.r, slack);
	const replay_time slacks[] = {0, 0, 15, 0};
	assert_memory_equal(slack, slacks, sizeof slack);
	struct gaps gaps;
	find_gaps(&g, NULL, &r, &gaps);
	const replay_time exposed[] = {0, 15, 0, 0};
	assert_memory_equal(gaps.exposed, exposed, sizeof exposed);
	const struct replay_device device = {.compute = 30, .exposed = 15, .communication = 30};
	assert_memory_equal(&gaps.device[0], &device, sizeof device);
}

static void
a_stream_keeps_issue_order(void **state)
{
	(void)state;
	/* Event 1 waits for a slow stream; event 2, issued behind it, must wait with it. */
	struct graph g = {.stream = {1, 0, 0},
		.duration = {100, 1, 1},
		.dep_first = {0, 0, 1, 1},
		.dep = {0}};
	struct result r;
	graph_bind(&g, 3, 2, false);
	run(&g, &r);
	assert_int_equal(r.start[2], 101);
	/* Issued the other way round it starts at once. */
	const uint32_t order[] = {0, 2, 1};
	memcpy(g.order, order, sizeof order);
	graph_bind(&g, 3, 2, true);
	assert_true(replay_check(&g.g));
	run(&g, &r);
	assert_int_equal(r.start[2], 0);
	assert_int_equal(r.r.makespan, 101);
}

static void
nothing_takes_no_time(void **state)
{
	(void)state;
	struct graph g = {.dep_first = {0}};
	struct result r;
	graph_bind(&g, 0, 2, false);
	assert_true(replay_check(&g.g));
	run(&g, &r);
	assert_int_equal(r.r.makespan, 0);
}

static void
equals_a_simulation_with_a_clock(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (int trial = 0; trial < 6000; trial++) {
		struct graph g;
		struct result r;
		replay_time start[MAX_N], end[MAX_N];
		graph_random(&g, &seed, trial & 1);
		assert_true(replay_check(&g.g));
		run(&g, &r);
		assert_int_equal(r.r.makespan, simulate(&g.g, start, end));
		assert_memory_equal(r.start, start, g.g.n * sizeof *start);
		assert_memory_equal(r.end, end, g.g.n * sizeof *end);
	}
}

/* Longest chain of dependencies, by relaxing until nothing changes. */
static replay_time
longest_chain(const struct replay_graph *g)
{
	replay_time at[MAX_N] = {0}, longest = 0;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t e = 0; e < g->n; e++)
			for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++) {
				uint32_t d = g->dep[k];
				if (at[d] + g->duration[d] > at[e]) {
					at[e] = at[d] + g->duration[d];
					changed = true;
				}
			}
	}
	for (uint32_t e = 0; e < g->n; e++)
		if (at[e] + g->duration[e] > longest)
			longest = at[e] + g->duration[e];
	return longest;
}

static void
bounds_hold(void **state)
{
	(void)state;
	uint64_t seed = 2;
	for (int trial = 0; trial < 3000; trial++) {
		struct graph g;
		struct result r;
		graph_random(&g, &seed, trial & 1);
		run(&g, &r);
		replay_time all = 0;
		for (uint32_t s = 0; s < g.g.nstreams; s++) {
			assert_true(r.r.makespan >= r.busy[s]);
			assert_true(r.free_at[s] >= r.busy[s]);
			all += r.busy[s];
		}
		assert_true(r.r.makespan >= longest_chain(&g.g));
		/* Some stream always works, so it is never longer than one after another. */
		assert_true(r.r.makespan <= all);
	}
}

static void
slack_is_what_an_event_can_grow_by(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (int trial = 0; trial < 400; trial++) {
		struct graph g;
		struct result r, longer;
		replay_time slack[MAX_N];
		graph_random(&g, &seed, trial & 1);
		run(&g, &r);
		replay_slack(&g.g, &r.r, slack);
		for (uint32_t e = 0; e < g.g.n; e++) {
			g.duration[e] += slack[e];
			run(&g, &longer);
			assert_int_equal(longer.r.makespan, r.r.makespan);
			g.duration[e]++;
			run(&g, &longer);
			assert_int_equal(longer.r.makespan, r.r.makespan + 1);
			g.duration[e] -= slack[e] + 1;
		}
	}
}

/* The event that runs on a stream at time t, or n. */
static uint32_t
running(const struct graph *g, const struct result *r, uint32_t stream, replay_time t)
{
	for (uint32_t e = 0; e < g->g.n; e++)
		if (g->stream[e] == stream && r->start[e] <= t && t < r->end[e])
			return e;
	return g->g.n;
}

/* What one device does at one moment is added to what is expected of it. */
static void
count_instant(const struct graph *g, const struct result *r, const bool *communicates, uint32_t d,
	replay_time t, struct gaps *expected)
{
	uint32_t n = g->g.n, a = running(g, r, 2 * d, t), b = running(g, r, 2 * d + 1, t);
	bool later = false;
	for (uint32_t e = 0; e < n; e++)
		later |= g->stream[e] / 2 == d && r->end[e] > t;
	struct replay_device *sum = &expected->device[d];
	bool a_communicates = a < n && communicates && communicates[a];
	sum->communication += (b < n) + a_communicates;
	if (a < n && !a_communicates)
		sum->compute++;
	else if (b < n || a < n)
		sum->exposed++, expected->exposed[b < n ? b : a]++;
	else if (later)
		sum->waiting++;
	else
		sum->after++;
}

static void
gaps_count_instants(void **state)
{
	(void)state;
	uint64_t seed = 3;
	for (int trial = 0; trial < 2000; trial++) {
		struct graph g;
		struct result r;
		struct gaps found, expected = {0};
		bool communicates[MAX_N];
		graph_random(&g, &seed, trial & 1);
		run(&g, &r);
		for (uint32_t e = 0; e < g.g.n; e++)
			communicates[e] = next(&seed) % 3 == 0;
		const bool *some = trial & 2 ? communicates : NULL;
		find_gaps(&g, some, &r, &found);
		replay_time waiting = 0, waited = 0;
		for (uint32_t d = 0; d < (g.g.nstreams + 1) / 2; d++) {
			for (replay_time t = 0; t < r.r.makespan; t++)
				count_instant(&g, &r, some, d, t, &expected);
			waiting += expected.device[d].waiting;
			assert_memory_equal(
				&found.device[d], &expected.device[d], sizeof expected.device[d]);
		}
		assert_memory_equal(found.exposed, expected.exposed, g.g.n * sizeof *found.exposed);
		for (uint32_t e = 0; e < g.g.n; e++) {
			waited += found.waited[e];
			/* To blame is what takes time and is on another stream than the waiter. */
			assert_true(!found.waited[e] || g.duration[e] > 0);
		}
		assert_int_equal(waited, waiting);
	}
}

static void
a_gap_is_charged_through_what_takes_no_time(void **state)
{
	(void)state;
	/* Device 1 waits at 0..40 for event 1 of device 0, by way of a join that takes no time;
	 * then for nothing at all. */
	struct graph g = {.stream = {0, 0, 1, 2, 0},
		.duration = {10, 30, 0, 5, 20},
		.dep_first = {0, 0, 0, 1, 2, 2},
		.dep = {1, 2}};
	struct result r;
	struct gaps gaps;
	graph_bind(&g, 5, 3, false);
	run(&g, &r);
	assert_int_equal(r.r.makespan, 60);
	find_gaps(&g, NULL, &r, &gaps);
	const replay_time waited[] = {0, 40, 0, 0, 0};
	assert_memory_equal(gaps.waited, waited, sizeof waited);
	const struct replay_device device[] = {
		{.compute = 60}, {.compute = 5, .waiting = 40, .after = 15}};
	assert_memory_equal(gaps.device, device, sizeof device);
}

static void
devices_by_the_thousand(void **state)
{
	(void)state;
	/* One event on each stream of 1,000 devices: c waits for a and is exposed in full. */
	enum { DEVICES = 1000, N = 2 * DEVICES };
	static uint16_t stream[N];
	static replay_time duration[N], start[N], end[N], free_at[N], exposed[N], waited[N];
	static uint32_t dep_first[N + 1], dep[N];
	static struct replay_device device[DEVICES];
	for (uint32_t e = 0; e < N; e++) {
		stream[e] = (uint16_t)e;
		duration[e] = 1 + e;
		dep[e / 2] = e - e % 2;
		dep_first[e + 1] = dep_first[e] + e % 2;
	}
	struct replay_graph g = {N, N, stream, duration, dep_first, dep, NULL, 0};
	struct replay_result r = {.start = start, .end = end, .free_at = free_at};
	struct replay_gaps gaps = {device, exposed, waited};
	replay_run(&g, &r);
	replay_gaps(&g, NULL, &r, &gaps);
	for (uint32_t d = 0; d < DEVICES; d++) {
		assert_int_equal(exposed[2 * d + 1], 2 * d + 2);
		assert_int_equal(device[d].after, r.makespan - (4 * d + 3));
	}
}

static void
critical_path_has_no_gap(void **state)
{
	(void)state;
	uint64_t seed = 4;
	for (int trial = 0; trial < 2000; trial++) {
		struct graph g;
		struct result r;
		uint32_t path[MAX_N];
		graph_random(&g, &seed, trial & 1);
		run(&g, &r);
		uint32_t n = replay_critical_path(&g.g, &r.r, path);
		replay_time length = 0;
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(r.start[path[i]], length);
			length += g.duration[path[i]];
		}
		assert_int_equal(length, r.r.makespan);
		assert_int_equal(n > 0, g.g.n > 0);
	}
}

static void
optional_results_change_nothing(void **state)
{
	(void)state;
	uint64_t seed = 6;
	for (int trial = 0; trial < 500; trial++) {
		struct graph g;
		struct result whole, part;
		graph_random(&g, &seed, trial & 1);
		run(&g, &whole);
		memset(&part, 0, sizeof part);
		part.r.end = part.end, part.r.free_at = part.free_at;
		replay_run(&g.g, &part.r);
		assert_int_equal(part.r.makespan, whole.r.makespan);
		assert_memory_equal(part.end, whole.end, g.g.n * sizeof *whole.end);
	}
}

static void
wrong_graphs_are_refused(void **state)
{
	(void)state;
	struct graph good = {.stream = {0, 1},
		.duration = {1, 1},
		.dep_first = {0, 0, 1},
		.dep = {0},
		.order = {0, 1}};
	struct graph g = good;
	graph_bind(&g, 2, 2, true);
	assert_true(replay_check(&g.g));
	g.order[0] = 1, g.order[1] = 0; /* issued before what it waits for */
	assert_false(replay_check(&g.g));
	g.order[0] = 0, g.order[1] = 0; /* no permutation */
	assert_false(replay_check(&g.g));
	g.order[1] = 7;
	assert_false(replay_check(&g.g));
	g = good, graph_bind(&g, 2, 2, false);
	g.dep[0] = 1; /* waits for itself */
	assert_false(replay_check(&g.g));
	g.dep[0] = 9;
	assert_false(replay_check(&g.g));
	g = good, graph_bind(&g, 2, 2, false);
	g.stream[1] = 2;
	assert_false(replay_check(&g.g));
	g = good, graph_bind(&g, 2, 2, false);
	g.duration[0] = -1;
	assert_false(replay_check(&g.g));
	g = good, graph_bind(&g, 2, 2, false);
	g.dep_first[1] = 2, g.dep_first[2] = 1;
	assert_false(replay_check(&g.g));
}

static void
seconds_become_picoseconds(void **state)
{
	(void)state;
	assert_int_equal(replay_from_seconds(1e-6), 1000000);
	assert_int_equal(replay_from_seconds(0.4e-12), 0);
	assert_int_equal(replay_from_seconds(0.6e-12), 1);
	assert_int_equal(replay_from_seconds(-1), 0);
	assert_int_equal(replay_from_seconds(NAN), 0);
	assert_true(replay_from_seconds(INFINITY) > replay_from_seconds(1000));
	assert_true(replay_seconds(replay_from_seconds(0.25)) == 0.25);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hand_computed_overlap),
		cmocka_unit_test(a_stream_keeps_issue_order),
		cmocka_unit_test(nothing_takes_no_time),
		cmocka_unit_test(equals_a_simulation_with_a_clock),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(slack_is_what_an_event_can_grow_by),
		cmocka_unit_test(gaps_count_instants),
		cmocka_unit_test(a_gap_is_charged_through_what_takes_no_time),
		cmocka_unit_test(devices_by_the_thousand),
		cmocka_unit_test(critical_path_has_no_gap),
		cmocka_unit_test(optional_results_change_nothing),
		cmocka_unit_test(wrong_graphs_are_refused),
		cmocka_unit_test(seconds_become_picoseconds),
	};
	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
