/*
 * Replays of a real step: the whole, coarse and fine, and what a search does: a fusion of two
 * kernels, replayed from there, and undone.
 *
 *     step CLUSTER FILE [SECONDS]     a step as dopt prints it; how long to measure each; 0.5
 */
#include "parser/cluster/cluster.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/step.h"
#include "test/bench/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <talloc.h>
#include <time.h>

enum { FUSIONS = 2000 }; /* of a step at most, evenly spread */

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
whole(struct cost_step *s, double seconds)
{
	double best = 1e9;
	for (double stop = now() + seconds; now() < stop;) {
		double t = now();
		replay_run(&s->events->graph, &s->r);
		t = now() - t;
		best = t < best ? t : best;
	}
	printf("coarse: %u events in %.1f us, %.0f M/s\n", s->events->graph.n, best * 1e6,
		s->events->graph.n / best / 1e6);
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Each event with the next one of its stream, where the order allows it. */
static void
fusions(const struct replay_graph *g)
{
	static double time[FUSIONS], back[FUSIONS];
	struct step *s = step_create(NULL, g, 0);
	replay_time makespan = step_replay(s);
	uint32_t n = 0, by = g->n > FUSIONS ? g->n / FUSIONS : 1;
	for (uint32_t e = 1; e < g->n && n < FUSIONS; e += by) {
		uint32_t after = e + 1;
		while (after < g->n && g->stream[after] != g->stream[e])
			after++;
		if (after == g->n)
			continue;
		double t = now();
		bool fits = step_merge(s, after, e, (g->duration[e] + g->duration[after]) * 4 / 5);
		if (!fits)
			continue;
		step_replay(s);
		time[n] = now() - t;
		t = now();
		step_undo(s, 0);
		back[n++] = now() - t;
		if (step_replay(s) != makespan)
			abort();
	}
	qsort(time, n, sizeof *time, compare);
	qsort(back, n, sizeof *back, compare);
	if (n)
		printf("a fusion of two: %.2f us (median), %.2f us (nine of ten), undo %.2f us\n",
			time[n / 2] * 1e6, time[n * 9 / 10] * 1e6, back[n / 2] * 1e6);
	talloc_free(s);
}

/* From the module to the times of all its events. */
static bool
fine(struct ir_context *ctx, struct ir_module *m, struct cluster *c)
{
	const struct cost_options options = {.cluster = c, .fine = true};
	struct cost_model *model = cost_model_create(ctx, ctx->diag, &options);
	struct rusage used;
	double t = now();
	struct cost_step *s = model ? cost_step_create(ctx, model, m) : NULL;
	t = now() - t;
	if (!s)
		return false;
	double first = now();
	bool good = cost_replay_fine(s);
	first = now() - first;
	getrusage(RUSAGE_SELF, &used);
	printf("fine: %.1f ms from the module on, %.1f ms again, peak %.0f MB, iteration %.3f ms\n",
		t * 1e3, first * 1e3, (double)used.ru_maxrss / 1024,
		replay_seconds(s->r.makespan) * 1e3);
	return good;
}

int
main(int argc, char **argv)
{
	double seconds = argc > 3 ? atof(argv[3]) : 0.5;
	struct ir_context *ctx = ir_context_create(NULL);
	struct cluster *c = argc > 2 ? cluster_open(ctx, ctx, argv[1]) : NULL;
	struct ir_module *m = c ? read_module(ctx, argv[2]) : NULL;
	const struct cost_options options = {.cluster = c};
	struct cost_model *model = m ? cost_model_create(ctx, ctx->diag, &options) : NULL;
	struct cost_step *s = model ? cost_step_create(ctx, model, m) : NULL;
	bool good = s != NULL;
	if (good) {
		whole(s, seconds);
		fusions(&s->events->graph);
		good = fine(ctx, m, c);
	} else {
		fprintf(stderr, "usage: step CLUSTER FILE [SECONDS]\n");
	}
	talloc_free(ctx);
	return good ? 0 : 1;
}
