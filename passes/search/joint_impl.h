/* What the files of a search inside a pass share: joint_run.c, joint_start.c. */
#ifndef PASSES_SEARCH_JOINT_IMPL_H
#define PASSES_SEARCH_JOINT_IMPL_H

#include "passes/search/joint.h"

enum { JOINT_STARTS = 32 /* more than there are policies */ };

/* What a step may take, where the command line says so. */
struct joint_room {
	const struct ir_module *m;
	const struct storage_target *target;
	uint64_t bytes;    /* 0: any number */
	uint32_t *refused; /* faster plans that need more */
};

/* Does the module need no more than that? */
bool joint_fits(const struct joint_room *room, const struct ir_module *m);

/* What policies make of a step. */
struct joint_starts {
	struct plan_save *plan[JOINT_STARTS]; /* [n] of the step's plan */
	uint32_t n;
	replay_time best; /* of these, and of the plan as it is */
	const char *text; /* passes whose result is no such plan, but is faster; NULL: none */
	replay_time time; /* what that takes */
};

/* Tries all policies whose moves the search has. The plan p is as it was after that. */
void joint_find_starts(struct pass_run *run, const struct cost_model *model, struct ir_module *m,
	struct plan *p, const struct search_options *o, const struct joint_room *room,
	struct joint_starts *starts);

#endif
