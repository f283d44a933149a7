/* Shared by the parts of the pass manager only. */
#ifndef PASSES_PIPELINE_IMPL_H
#define PASSES_PIPELINE_IMPL_H

#include "passes/manager/pipeline.h"

/* An entry for the pass with all options at their defaults. */
struct pass_entry pass_entry_default(
	struct pass_pipeline *p, const struct pass *pass, struct ir_loc loc);

/* Is it run to undo what its pass provides? */
bool pass_entry_undoes(const struct pass_entry *e);

/* Reports that the pass conflicts with a fact that the module has. */
void pass_entry_conflicts(
	const struct pass_entry *e, struct diag *diag, const char *fact, size_t length);

/* Inserts a copy of *e at position `at`. */
void pass_pipeline_insert(struct pass_pipeline *p, int at, const struct pass_entry *e);

#endif
