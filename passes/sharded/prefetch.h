/* The files of the pass prefetch: see prefetch.c. */
#ifndef PASSES_PREFETCH_H
#define PASSES_PREFETCH_H

#include "passes/analysis/cost/trial.h"
#include "passes/sharded/gathers.h"

#define PREFETCH_POLICIES(ROW)                                                                     \
	ROW(PREFETCH_PROACTIVE, "proactive")                                                       \
	ROW(PREFETCH_ZERO3, "zero3")                                                               \
	ROW(PREFETCH_FSDP, "fsdp")                                                                 \
	ROW(PREFETCH_SEARCH, "search")

enum prefetch_policy { PREFETCH_POLICIES(CHOICE_CODE) };

/* What lives at each op of the step once a policy has delayed readers of gradients, for each way to do that: the same in
 * all trials, so found once. */
struct prefetch_lives {
	struct prefetch_live {
		uint64_t waiting, bucket;
		bool early;
		uint64_t *live; /* by op->id, bytes where the op waits or runs */
	} * known;              /* [n] of the owner of this */
	int n;
};

/* A step that a policy changes, and what it has changed. */
struct prefetch {
	struct pass_run *run;
	struct ir_module *m;
	const struct trial_base *base;
	struct prefetch_lives *lives;
	bool early;                       /* updates where gradients arrive: updates.h */
	bool silent;                      /* a trial: no remarks */
	uint32_t moved, fused, dropped;   /* allgathers */
	uint32_t delayed, fused_scatters; /* readers of reducescatters; reducescatters */
};

/* What decides in `proactive`: bytes, and what two gathers may take as one. */
struct prefetch_settings {
	uint64_t
		limit; /* of what lives at an op and moves there; a trial may have a lower one than ... */
	uint64_t budget; /* ... what may be in use on a device, for remarks */
	uint64_t group, waiting;
	uint64_t bucket; /* of gradients that are scattered in one message; 0: each alone */
	double fuse;
};

/* A policy with its settings. Their limit less what was live at once in the step as it came limits
 * the bytes of gradients that wait, too. */
struct prefetch_choice {
	enum prefetch_policy policy;
	bool early;
	struct prefetch_settings set;
	struct prefetch_lives *lives; /* of the step as it came */
};

/* Changes the step. */
void prefetch_apply(struct prefetch *p, const struct prefetch_choice *c);

/*
 * Makes the limit of the choice the amount with which the step is fastest among those that fit into that
 * limit, or need no more than the step did, and take less than `beat` seconds (0: any): trial_fit. *r is
 * that step. False: reported.
 */
bool prefetch_fit(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	double beat, struct trial_result *r, bool *fits);

/* Makes *c the best choice that the search finds, from the settings that it has; *r is the step with it.
 * False: reported. */
bool prefetch_search(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	struct trial_result *r);

void prefetch_proactive(struct prefetch *p, const struct prefetch_settings *set);
void prefetch_zero3(struct prefetch *p);
void prefetch_fsdp(struct prefetch *p);

#endif
