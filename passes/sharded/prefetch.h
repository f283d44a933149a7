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

/* Live bytes at each op of the step after a policy has delayed readers of gradients, for each
 * setting of that: equal in all trials, so computed once. */
struct prefetch_lives {
	struct prefetch_live {
		uint64_t waiting, bucket;
		bool early;
		uint64_t *live; /* by op->id: live bytes while the op waits or runs */
	} * known;              /* [n] owned by this struct */
	int n;
};

/* The step that a policy changes, and counts of its changes. */
struct prefetch {
	struct pass_run *run;
	struct ir_module *m;
	const struct trial_base *base;
	struct prefetch_lives *lives;
	bool early;                       /* move updates to where gradients arrive: updates.h */
	bool silent;                      /* true in a trial: no remarks */
	uint32_t moved, fused, dropped;   /* allgathers */
	uint32_t delayed, fused_scatters; /* readers of reducescatters; reducescatters */
};

/* Settings of `proactive`: bytes, except for `fuse`, the factor below which two gathers are
 * fused. */
struct prefetch_settings {
	uint64_t limit;  /* of live bytes plus gathers in flight; a trial's may be lower than ... */
	uint64_t budget; /* ... the bytes that may be in use on a device, for remarks */
	uint64_t group, waiting;
	uint64_t bucket; /* bytes of gradients scattered in one message; 0: each alone */
	double fuse;
};

/* A policy with its settings. The bytes of waiting gradients are also limited to `limit` less the
 * peak of live bytes of the unchanged step. */
struct prefetch_choice {
	enum prefetch_policy policy;
	bool early;
	struct prefetch_settings set;
	struct prefetch_lives *lives; /* of the unchanged step */
};

/*
 * Sets the limit of the choice to the amount, at most that limit, with which the step is fastest
 * among those that fit, or need no more than the unchanged step, and take less than `beat` seconds
 * (0: any): trial_fit. *r is the result for that step. If `left` is not NULL, the step may be left
 * changed so: then *left has the counts of the changes, and is else all 0. False: reported.
 */
bool prefetch_fit(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	double beat, struct trial_result *r, bool *fits, struct prefetch *left);

/* Sets *c to the best choice that the search finds, starting from the settings in *c; *r is its
 * result. False: reported. */
bool prefetch_search(struct pass_run *run, const struct trial_base *base, struct prefetch_choice *c,
	struct trial_result *r);

void prefetch_proactive(struct prefetch *p, const struct prefetch_settings *set);
void prefetch_zero3(struct prefetch *p);
void prefetch_fsdp(struct prefetch *p);

#endif
