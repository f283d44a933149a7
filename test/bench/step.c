/*
 * Replays of a real step, coarse and fine. What a search does is in plan.c.
 *
 *     step CLUSTER FILE [SECONDS]     a step as dopt prints it; how long to measure each; 0.5
 */
#include "ir/base/clock.h"
#include "parser/cluster/cluster.h"
#include "passes/analysis/cost/internal.h"
#include "test/bench/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <talloc.h>

static void
whole(struct cost_step *s, double seconds)
{
	double best = 1e9;
	for (double stop = clock_seconds() + seconds; clock_seconds() < stop;) {
		double t = clock_seconds();
		replay_run(&s->events->graph, &s->r);
		t = clock_seconds() - t;
		best = t < best ? t : best;
	}
	printf("coarse: %u events in %.1f us, %.0f M/s\n", s->events->graph.n, best * 1e6,
		s->events->graph.n / best / 1e6);
}

/* From the module to the times of all its events. */
static bool
fine(struct ir_context *ctx, struct ir_module *m, struct cluster *c)
{
	const struct cost_options options = {.cluster = c, .fine = true};
	struct cost_model *model = cost_model_create(ctx, ctx->diag, &options);
	struct rusage used;
	double t = clock_seconds();
	struct cost_step *s = model ? cost_step_create(ctx, model, m) : NULL;
	t = clock_seconds() - t;
	if (!s)
		return false;
	double first = clock_seconds();
	bool good = cost_replay_fine(s);
	first = clock_seconds() - first;
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
		good = fine(ctx, m, c);
	} else {
		fprintf(stderr, "usage: step CLUSTER FILE [SECONDS]\n");
	}
	talloc_free(ctx);
	return good ? 0 : 1;
}
