/* Shared by the files of a search inside a pass: joint_run.c, joint_start.c. */
#ifndef PASSES_SEARCH_JOINT_IMPL_H
#define PASSES_SEARCH_JOINT_IMPL_H

#include "passes/search/joint.h"

enum { JOINT_STARTS = 32 /* more than the number of policies */ };

/* The memory limit of the step, if the command line gives one. */
struct joint_room {
	const struct ir_module *m;
	const struct storage_target *target;
	uint64_t bytes;    /* 0: unlimited */
	uint32_t *refused; /* number of faster plans that need more memory */
};

/* Does the module fit? */
bool joint_fits(const struct joint_room *room, const struct ir_module *m);

/* The plans that policies make of a step. */
struct joint_starts {
	struct plan_save *plan[JOINT_STARTS]; /* [n] of the step's plan */
	uint32_t n;
	replay_time best; /* time of the best of these and of the current plan */
	const char *text; /* passes whose result is faster but is not such a plan; NULL: none */
	replay_time time; /* time of that result */
};

/* Tries all policies whose moves the search has. The plan p is unchanged afterwards. */
void joint_find_starts(struct pass_run *run, const struct cost_model *model, struct ir_module *m,
	struct plan *p, const struct search_options *o, const struct joint_room *room,
	struct joint_starts *starts);

#endif
