/* What the tests of random programs share: a context that keeps messages, properties, reports. */
#ifndef TEST_RANDOM_CHECK_H
#define TEST_RANDOM_CHECK_H

#include "test/random/generate.h"

struct trial {
	struct ir_context *ctx;
	char *text; /* what was reported since `keep` was set, or found by a check */
	bool keep;  /* messages; before, they are the generator's refused tries */
};

/* A trial with a context of its own, owned by `owner`. */
struct trial *trial_create(const void *owner);

/* The same program by meaning: every type copied, parallelization ops gone. Owned by `owner`. */
struct ir_module *trial_erased(const void *owner, const struct ir_module *m);

/* Does the printed text parse to a module that prints the same? */
bool trial_is_fixed_point(struct trial *t, const struct ir_module *m);

/*
 * Runs `check` for the seeds that the environment asks for, DOPT_RANDOM_SEED and DOPT_RANDOM_COUNT,
 * by default 0 to count - 1. Where it returns false the seed, the least number of steps that fails,
 * the message and the program are printed. `check` gets a fresh trial and sets *made. Returns how
 * many seeds were wrong.
 */
int trial_run(int count, int steps,
	bool (*check)(struct trial *t, uint64_t seed, int steps, struct ir_module **made));

#endif
