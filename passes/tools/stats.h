/* Statistics of a run of dopt, for -stats and the report. */
#ifndef PASSES_TOOLS_STATS_H
#define PASSES_TOOLS_STATS_H

#include "passes/analysis/cost/cost.h"
#include "passes/pass.h"

/* One row of -stats: the module after a pass, or the input. */
struct driver_row {
	const char *name; /* NULL: the input */
	bool automatic, changed, dropped;
	bool over;      /* it needs more memory than -budget */
	double seconds; /* run time of the pass */
	struct cost_report cost;
	struct pass_counter *counter;
	int ncounters;
};

/* -whatif: the step as it is, and with other costs. */
struct driver_whatif {
	const struct whatif *items;
	char **effect;                  /* of each item: whatif_effect */
	const struct cost_model *model; /* with the other costs */
	struct cost_report now, then;
};

struct driver_stats {
	struct driver_row *row; /* talloc array */
	int n;
	struct driver_whatif *whatif; /* NULL: none */
};

#endif
