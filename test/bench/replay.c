/*
 * How fast replay is: events a second on one core, for the graph of a data-parallel step: a chain
 * of kernels, every eighth event a collective that a later kernel waits for.
 *
 *     replay [SECONDS]     how long to measure each size; 0.5 unless told
 */
#include "ir/base/clock.h"
#include "passes/analysis/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>

struct bench {
	struct replay_graph g;
	struct replay_result r;
	uint16_t *stream;
	replay_time *duration;
	uint32_t *dep_first, *dep, *order;
};

static void *
array(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (!p)
		abort();
	return p;
}

enum kind { IN_PLACE, BY_AN_ORDER, ENDS_ONLY, SCATTERED, KINDS };

enum { STREAMS = 128 }; /* of which the graphs of two use the first */

/* Any stream, and up to two events from anywhere before. */
static uint32_t
scatter(struct bench *b, uint32_t e, uint32_t random, uint32_t ndeps)
{
	b->stream[e] = (random >> 8) % STREAMS;
	for (uint32_t k = (random >> 16) % 3; e && k; k--) {
		random = random * 1664525u + 1013904223u;
		b->dep[ndeps++] = (uint32_t)((uint64_t)random * e >> 32);
	}
	return ndeps;
}

static void
bench_make(struct bench *b, uint32_t n, enum kind kind)
{
	b->stream = array(n, sizeof *b->stream);
	b->duration = array(n, sizeof *b->duration);
	b->dep_first = array(n + 1, sizeof *b->dep_first);
	b->dep = array(2 * (size_t)n, sizeof *b->dep);
	b->order = array(n, sizeof *b->order);
	uint32_t ndeps = 0, random = 1;
	for (uint32_t e = 0; e < n; e++) {
		random = random * 1664525u + 1013904223u;
		b->stream[e] = e % 8 == 7;
		b->duration[e] = 1000 + (random >> 12);
		b->dep_first[e] = ndeps;
		b->order[e] = e;
		if (kind == SCATTERED) {
			ndeps = scatter(b, e, random, ndeps);
			continue;
		}
		if (e)
			b->dep[ndeps++] = e - 1 - (e % 8 == 0);
		if (e % 8 == 3 && e > 20)
			b->dep[ndeps++] = e - 12; /* the collective before the last one */
	}
	b->dep_first[n] = ndeps;
	b->g = (struct replay_graph){n, STREAMS, b->stream, b->duration, b->dep_first, b->dep,
		kind == BY_AN_ORDER ? b->order : NULL, 0};
	b->r = (struct replay_result){.start = array(n, sizeof(replay_time)),
		.end = array(n, sizeof(replay_time)),
		.busy = array(STREAMS, sizeof(replay_time)),
		.free_at = array(STREAMS, sizeof(replay_time))};
}

static void
bench_free(struct bench *b)
{
	void *all[] = {b->stream, b->duration, b->dep_first, b->dep, b->order, b->r.start, b->r.end,
		b->r.busy, b->r.free_at};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
}

/* Seconds of the fastest run within the time given. */
static double
fastest(struct bench *b, double seconds)
{
	double best = 1e9;
	for (double stop = clock_seconds() + seconds; clock_seconds() < stop;) {
		double t = clock_seconds();
		replay_run(&b->g, &b->r);
		t = clock_seconds() - t;
		best = t < best ? t : best;
	}
	return best;
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;
	const uint32_t sizes[] = {1000, 20000, 1000000};
	printf("%10s  %22s  %22s  %22s  %22s\n", "events", "in place (M/s, us)",
		"by an order (M/s, us)", "ends only (M/s, us)", "scattered (M/s, us)");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		printf("%10u", sizes[i]);
		for (int kind = 0; kind < KINDS; kind++) {
			struct bench b;
			bench_make(&b, sizes[i], (enum kind)kind);
			replay_time *start = b.r.start, *busy = b.r.busy;
			if (!replay_check(&b.g))
				return 1;
			if (kind == ENDS_ONLY)
				b.r.start = NULL, b.r.busy = NULL;
			double t = fastest(&b, seconds);
			printf("  %12.1f %9.1f", sizes[i] / t / 1e6, t * 1e6);
			b.r.start = start, b.r.busy = busy;
			bench_free(&b);
		}
		printf("\n");
	}
	return 0;
}
