/* A search inside a pass: `joint`, and what opfuse, tensorfuse and tensorpart do with policy=joint.
 */
#ifndef PASSES_SEARCH_JOINT_H
#define PASSES_SEARCH_JOINT_H

#include "passes/pass.h"
#include "passes/search/search.h"

/*
 * Searches by the options and makes @main the best plan found, with statistics, and remarks on what
 * was tried for the messages that stay exposed. Time limit and progress are those of the pass run,
 * and seed and cost model too (the generic device where there is none). False: reported. With
 * pass_instead it runs of those passes, opfuse and tensorfuse with at most one option each, what its
 * moves allow; opfuse only where nothing is fused yet.
 */
bool joint_run(struct pass_run *run, struct ir_module *m, struct search_options o);

/* The policies for kernels that a search is compared with, as passes: number 0 is "", none at all.
 * NULL behind the last. */
const char *joint_kernel_policy(unsigned number);

/* The defaults, for a search that has these moves alone: a set of search_moves. */
struct search_options joint_moves(unsigned moves);

/* Says of the messages that are exposed longest what was tried and what it would give. */
void joint_remarks(struct pass_run *run, struct plan *p);

#endif
