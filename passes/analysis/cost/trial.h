/*
 * Trials: what a step would take and need if a pass were allowed to use so many bytes. Each changes the step, which is
 * then as it was again (ir/saved.h). All passes that trade memory for time decide by them.
 *
 *     allowed bytes -- apply --> changed step --> seconds (replay), live bytes; of the best ones: peak
 *
 * A pass takes more memory than it is allowed, since what it counts are live bytes of the step as it was, and less
 * where what it keeps is not live at the peak. So several amounts are tried, which do not depend on the limit, and the
 * fastest step whose peak is within the limit is taken: more memory never gives a slower step. Of the amounts for a
 * step of more than TRIAL_EXHAUSTIVE_OPS only those are tried that lead to the largest one that fits, or to a step
 * that is almost as fast as with all memory; there this holds where more memory needs more and is faster. Where the pass
 * can tell what is live with each amount, one trial is enough, most often.
 *
 * Ops keep their ids, so that what a trial needs to know of kernels is known already.
 */
#ifndef PASSES_ANALYSIS_TRIAL_H
#define PASSES_ANALYSIS_TRIAL_H

#include "ir/saved.h"
#include "passes/analysis/cost/internal.h"
#include "passes/pass.h"

#define TRIAL_ALL UINT64_MAX /* allowed: as many bytes as the pass has use for */

/* A step as a pass would make it. */
struct trial_result {
	double seconds; /* of an iteration by replay; 0 without a cost model */
	uint64_t live;  /* bytes that are live at once; the peak has gaps between buffers, too */
};

/* The step that a pass gets, which trials change and put back. */
struct trial_base {
	const struct pass_run *run;
	struct ir_module *m;
	/* In run->scratch: */
	struct ir_saved *saved; /* m as it came */
	struct cost_step *step; /* of m; NULL without a cost model */
	struct storage_known *known;
	struct storage *storage; /* of m */
	struct trial_result r;
};

/* Of a module with a typed @main without calls. Ops and values get new ids, which are the same in copies of it. It must
 * not have been freed before run->scratch. False: reported. */
bool trial_begin(struct trial_base *b, const struct pass_run *run, struct ir_module *m);

struct trial {
	const struct trial_base *base;
	/* Changes the step `m` as with so many bytes allowed, without remarks. Kernels that there are stay as they
	 * are, but for their places and operands (alike_create_like), and so do their bodies (ir/saved.h). */
	void (*apply)(void *data, struct ir_module *m, uint64_t allowed);
	void *data;
	/* [namounts] ascending: where the pass does something else. 0 and TRIAL_ALL are tried as well. NULL:
	 * amounts from a little less than `least` to what is live at once with TRIAL_ALL. */
	const uint64_t *amount;
	uint32_t namounts;
	uint64_t least;
	/* [namounts] what is live at once with each amount, as the pass expects it (ir/memory/curve.h): a large step is
	 * tried with the last amount that is expected to fit, and with more or less where that was wrong. NULL: not known. */
	const uint64_t *expected;
	double beat;       /* seconds: only a faster step counts; 0: any */
	bool or_as_before; /* above the limit, too, where the step as it comes needs as much */
	bool all_first;    /* all is taken where it fits, and else nothing that is faster */
};

/* Bytes that a program of the module allocates on a device. */
uint64_t trial_peak(const struct pass_run *run, const struct ir_module *m);

/* What is known of the kernels of the changed step, or of a changed copy of it. */
struct storage_known *trial_known(
	const void *owner, const struct trial_base *b, const struct ir_module *m);

/* What the changed step, or a changed copy of it, takes; false: reported. */
bool trial_measure(const struct trial_base *b, const struct ir_module *m, struct trial_result *r);

/* Changes the step as with so many bytes allowed, until ir_saved_restore(t->base->saved). */
void trial_apply(const struct trial *t, uint64_t allowed);

/* The storage of the step as with so many bytes allowed, good for offsets alone as the step is put back. The caller
 * frees it. */
struct storage *trial_storage(const struct trial *t, uint64_t allowed);

/*
 * Finds the amount with which the step is fastest among those whose peak is at most the limit, the
 * largest of equal ones, and without a cost model of all: copies that are issued earlier are late less often. Where no peak
 * is within the limit, or none that is faster than `beat`, *allowed is 0, and *fits false. *r is what that step takes, if it fits. False: reported.
 */
bool trial_fit(const struct trial *t, uint64_t limit, uint64_t *allowed, struct trial_result *r,
	bool *fits);

#endif
