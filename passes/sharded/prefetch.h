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
	bool silent;                      /* a trial on a copy: no remarks */
	uint32_t moved, fused, dropped;   /* allgathers */
	uint32_t delayed, fused_scatters; /* readers of reducescatters; reducescatters */
};

/* What decides in `proactive`: bytes, and what two gathers may take as one. */
struct prefetch_settings {
	uint64_t limit, group, waiting;
	double fuse;
};

/* The policies; false: reported. */
bool prefetch_proactive(struct prefetch *p, const struct prefetch_settings *set);
bool prefetch_zero3(struct prefetch *p);
bool prefetch_fsdp(struct prefetch *p);

#endif
