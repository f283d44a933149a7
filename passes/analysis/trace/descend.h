/* The state of an alignment that is being solved. */
#ifndef PASSES_ANALYSIS_TRACE_DESCEND_H
#define PASSES_ANALYSIS_TRACE_DESCEND_H

#include "passes/analysis/trace/meet.h"

/* Bounds of an offset around the base, us: bases agree to within a collective, an hour is far. */
#define ALIGN_MOST_OFFSET 3.6e9

struct align_problem {
	struct diag *d;
	const struct trace_set *s;
	struct trace_alignment *a;
	const struct meets *m;
	struct meet_rows *rows;
	int32_t *variable; /* [nclocks] of the offset; the drift is the next; -1: fixed */
	struct polytope p;
	double *low, *high; /* [nvariables] bounds */
	double *x;          /* [nvariables] the best point so far */
};

/* Moves q->x, which satisfies all rows, to the minimum of O1; sets the spreads of the alignment. */
void trace_descend(struct align_problem *q);

#endif
