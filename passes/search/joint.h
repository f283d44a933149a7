/* A search inside a pass: `joint`, and policy=joint of opfuse, tensorfuse and tensorpart. */
#ifndef PASSES_SEARCH_JOINT_H
#define PASSES_SEARCH_JOINT_H

#include "passes/pass.h"
#include "passes/search/search.h"

/*
 * Searches as the options say and makes @main the best plan found, with statistics, and with
 * remarks on what was tried for messages that stay exposed. Time limit, progress, seed and cost
 * model (by default of the generic device) are those of the pass run. False: reported. If
 * pass_instead gives passes (opfuse and tensorfuse, with at most one option each), it runs instead
 * those that its moves allow; opfuse only if nothing is fused yet.
 */
bool joint_run(struct pass_run *run, struct ir_module *m, struct search_options o);

/* The policies for kernels that a search is compared with, as passes: number 0 is "", no pass. NULL
 * after the last one. */
const char *joint_kernel_policy(unsigned number);

/* The default options, with these moves alone: a set of search_moves. */
struct search_options joint_moves(unsigned moves);

/* Remarks for the messages that are exposed longest: what was tried and what it would give. */
void joint_remarks(struct pass_run *run, struct plan *p);

#endif
