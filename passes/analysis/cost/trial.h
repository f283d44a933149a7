/*
 * Trials: time and memory of a step if a pass may use a given number of bytes. Each changes the
 * step and restores it afterwards (ir/saved.h). All passes that trade memory for time decide by
 * them.
 *
 *     allowed bytes -- apply --> changed step --> seconds (replay), live bytes; of the best: peak
 *
 * A pass may use more memory than it is allowed, since it counts live bytes of the unchanged step,
 * and less if the values that it keeps are not live at the peak. So several amounts are tried,
 * independent of the limit, and the fastest step whose peak is within the limit is taken: more
 * memory never gives a slower step. For a step of more than TRIAL_EXHAUSTIVE_OPS only those amounts
 * are tried that lead to the largest one that fits, or to a step that is almost as fast as with all
 * memory; the rule above then holds, but for that difference, if more memory needs more and is
 * faster. Where gaps between buffers decide, the least amount of the latter is taken. If the pass
 * can predict the live bytes of each amount, one trial usually suffices.
 *
 * Ops keep their ids, so that the known facts about kernels remain valid in a trial.
 */
#ifndef PASSES_ANALYSIS_TRIAL_H
#define PASSES_ANALYSIS_TRIAL_H

#include "ir/saved.h"
#include "passes/analysis/cost/internal.h"
#include "passes/pass.h"

#define TRIAL_ALL UINT64_MAX /* allowed: all bytes that the pass can use */

/* The step as a pass would make it. */
struct trial_result {
	double seconds; /* of an iteration by replay; 0 without a cost model */
	uint64_t live;  /* bytes that are live at once; the peak has gaps between buffers, too */
};

/* The step that a pass is given, which trials change and restore. */
struct trial_base {
	const struct pass_run *run;
	struct ir_module *m;
	/* In run->scratch: */
	struct ir_saved *saved; /* m before changes */
	struct cost_step *step; /* of m; NULL without a cost model */
	struct storage_known *known;
	double seconds;           /* of m, as in a result */
	struct storage **storage; /* of m; made by trial_before */
};

/* Needs a typed @main without calls. Ops and values get new ids, which are the same in copies of
 * it. The module must not have been freed before run->scratch. False: reported. */
bool trial_begin(struct trial_base *b, const struct pass_run *run, struct ir_module *m);

/* The same without a replay, for changes of which only the memory matters. */
void trial_begin_memory(struct trial_base *b, const struct pass_run *run, struct ir_module *m);

/* The storage of the unchanged step, and the bytes that are live in it at once. Computed when first
 * asked for, at which time the step must be unchanged: a large step that fits with all memory does
 * not need them. */
struct storage *trial_before(const struct trial_base *b);
uint64_t trial_live_before(const struct trial_base *b);

struct trial {
	const struct trial_base *base;
	/* Changes the step `m` using at most `allowed` bytes, without remarks. Existing kernels
	 * stay as they are, except for their places and operands (alike_create_like), and so do
	 * their bodies (ir/saved.h). */
	void (*apply)(void *data, struct ir_module *m, uint64_t allowed);
	void *data;
	/* [namounts] ascending: amounts at which the pass changes its result. 0 and TRIAL_ALL are
	 * tried too. NULL: amounts from a little less than `least` (0: the live bytes of the
	 * unchanged step) to the live bytes with TRIAL_ALL. */
	const uint64_t *amount;
	uint32_t namounts;
	uint64_t least;
	/* [namounts] live bytes that the pass expects for each amount (ir/memory/curve.h): a large
	 * step is tried with the last amount that is expected to fit, and with more or less if that
	 * was wrong. NULL: not known. */
	const uint64_t *expected;
	double beat;         /* seconds: only a faster step is accepted; 0: any */
	bool or_as_before;   /* accept a peak above the limit if the unchanged step needs as much */
	bool less_is_faster; /* a large step with less can be faster than one with TRIAL_ALL */
	bool all_first; /* TRIAL_ALL is taken if it fits; amounts with a faster step never are */
	/* NULL: trial_fit restores the step. Otherwise *changed says whether it has left the step
	 * as `apply` with *allowed changed it; the caller calls ir_saved_keep or _restore. */
	bool *changed;
};

/* Bytes that a program of the module allocates on a device. */
uint64_t trial_peak(const struct pass_run *run, const struct ir_module *m);

/* Known facts about the kernels of the changed step, or of a changed copy of it. */
struct storage_known *trial_known(
	const void *owner, const struct trial_base *b, const struct ir_module *m);

/* Measures the changed step, or a changed copy of it; false: reported. */
bool trial_measure(const struct trial_base *b, const struct ir_module *m, struct trial_result *r);

/* Changes the step using at most `allowed` bytes, until ir_saved_restore(t->base->saved). */
void trial_apply(const struct trial *t, uint64_t allowed);

/* The storage of the step with at most `allowed` bytes, usable only for offsets since the step is
 * restored. The caller frees it. */
struct storage *trial_storage(const struct trial *t, uint64_t allowed);

/*
 * Finds the amount with which the step is fastest among those whose peak is at most the limit; of
 * equal ones the largest, and without a cost model the largest of all: copies that are issued
 * earlier are late less often. If no peak is within the limit, or none of these is faster than
 * `beat`, *allowed is 0 and *fits false. *r is the result of that step, if it fits. False:
 * reported.
 */
bool trial_fit(const struct trial *t, uint64_t limit, uint64_t *allowed, struct trial_result *r,
	bool *fits);

#endif
