/* The files of the pass prefetch: see prefetch.c. */
#ifndef PASSES_PREFETCH_H
#define PASSES_PREFETCH_H

#include "passes/sharded/gathers.h"

#define PREFETCH_POLICIES(ROW)                                                                     \
	ROW(PREFETCH_PROACTIVE, "proactive")                                                       \
	ROW(PREFETCH_ZERO3, "zero3")                                                               \
	ROW(PREFETCH_FSDP, "fsdp")                                                                 \
	ROW(PREFETCH_SEARCH, "search")

enum prefetch_policy { PREFETCH_POLICIES(CHOICE_CODE) };

/* A step that a policy changes, and what it has changed. */
struct prefetch {
	struct pass_run *run;
	struct ir_module *m;
	bool early;                       /* updates where gradients arrive: updates.h */
	bool silent;                      /* a trial on a copy: no remarks */
	uint32_t moved, fused, dropped;   /* allgathers */
	uint32_t delayed, fused_scatters; /* readers of reducescatters; reducescatters */
};

/* What decides in `proactive`: bytes, and what two gathers may take as one. */
struct prefetch_settings {
	uint64_t limit, group, waiting;
	uint64_t bucket; /* of gradients that are scattered in one message; 0: each alone */
	double fuse;
};

/* A policy with its settings. Their limit and the peak of the step as it came, `before`, limit the
 * bytes of gradients that wait, too. */
struct prefetch_choice {
	enum prefetch_policy policy;
	bool early;
	struct prefetch_settings set;
	uint64_t before;
};

/* Changes the step; false: reported. */
bool prefetch_apply(struct prefetch *p, const struct prefetch_choice *c);

/* The step with that choice, on a copy: its peak, and its seconds if they are asked for. False:
 * reported. */
bool prefetch_try(struct pass_run *run, const struct ir_module *m, const struct prefetch_choice *c,
	uint64_t *peak, double *seconds);

/* Lowers the limit of the choice until the step, with the gaps between its buffers, stays within it
 * or needs no more than it did; its peak then, and its seconds if they are asked for. False: reported. */
bool prefetch_settle(struct pass_run *run, const struct ir_module *m, struct prefetch_choice *c,
	uint64_t *peak, double *seconds);

/* Makes *c the best choice that the search finds, from the settings that it has. False: reported. */
bool prefetch_search(struct pass_run *run, const struct ir_module *m, struct prefetch_choice *c);

/* The policies; false: reported. */
bool prefetch_proactive(struct prefetch *p, const struct prefetch_settings *set);
bool prefetch_zero3(struct prefetch *p);
bool prefetch_fsdp(struct prefetch *p);

#endif
