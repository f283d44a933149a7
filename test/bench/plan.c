/*
 * What a search does, on a plan of a real step: random fusions of a kernel with one that it reads,
 * of a message with another, each replayed and undone, or kept.
 *
 *     plan CLUSTER FILE [SECONDS]     a step as dopt prints it; how long to measure each; 0.5
 */
#include "ir/base/clock.h"
#include "parser/cluster/cluster.h"
#include "passes/search/search.h"
#include "test/bench/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

static bool
change(struct plan *p, struct search_random *r)
{
	uint32_t b = plan_at(p, search_random_below(r, plan_count(p)));
	struct plan_node y = plan_node(p, b);

	if (y.kind == PLAN_MESSAGE) {
		uint32_t a = plan_at(p, search_random_below(r, plan_count(p)));
		return plan_node(p, a).kind == PLAN_MESSAGE && plan_pack(p, a, b);
	}
	if (!y.npreds)
		return false;
	uint32_t a = y.pred[search_random_below(r, y.npreds)];
	return plan_node(p, a).kind == PLAN_KERNEL &&
	       plan_fuse(p, a, b, search_random_below(r, 4) ? PLAN_FUSE : PLAN_FUSE_COPY);
}

static void
measure(struct plan *p, double seconds, bool keep)
{
	struct search_random r = {1};
	uint64_t moves = 0, tries = 0;
	double start = clock_seconds(), t;

	do {
		uint32_t mark = plan_mark(p);
		replay_time before = plan_replay(p);
		tries++;
		if (change(p, &r)) {
			moves++;
			if (plan_replay(p) > before || !keep)
				plan_undo(p, mark);
			else
				plan_forget(p);
		}
		t = clock_seconds() - start;
	} while (t < seconds);
	printf("%s: %u nodes, %.6g ms, %.0f replays a second, %.0f moves, %.0f tries\n",
		keep ? "climbing" : "undoing", plan_count(p), replay_seconds(plan_replay(p)) * 1e3,
		(double)plan_counts(p).replays / t, (double)moves / t, (double)tries / t);
}

int
main(int argc, char **argv)
{
	struct ir_context *ctx = ir_context_create(NULL);
	struct cluster *c = argc > 2 ? cluster_open(ctx, ctx, argv[1]) : NULL;
	struct ir_module *m = c ? read_module(ctx, argv[2]) : NULL;

	if (!m)
		return EXIT_FAILURE;
	const struct cost_model *model =
		cost_model_create(ctx, ctx->diag, &(struct cost_options){.cluster = c});
	double start = clock_seconds(), seconds = argc > 3 ? atof(argv[3]) : 0.5;
	struct plan *p = plan_create(ctx, model, m);
	if (!p)
		return EXIT_FAILURE;
	printf("created in %.1f ms\n", 1e3 * (clock_seconds() - start));
	measure(p, seconds, false);
	measure(p, seconds, true);
	talloc_free(ctx);
	return EXIT_SUCCESS;
}
