/*
 * What the tests of random programs share: the program of a seed, properties that hold for every
 * program, random pipelines, and the report of a failure with the smallest program that fails.
 */
#ifndef TEST_RANDOM_CHECK_H
#define TEST_RANDOM_CHECK_H

#include "passes/pass.h"
#include "test/random/generate.h"
#include "test/random/seeds.h"

struct trial {
	struct ir_context *ctx;
	const struct gen_table *table;
	char *text;     /* messages since `keep` was set, or of a check */
	bool keep;      /* keep messages; without it, they are the generator's refused attempts */
	bool bits;      /* does every pass of the last trial_run_passes keep bits? */
	bool reordered; /* except for the order of some sums */
};

/* A trial with a context of its own, owned by `owner`. */
struct trial *trial_create(const void *owner, const struct gen_table *table);

/* The same program by meaning: every type copied, no parallelization ops. Owned by `owner`. */
struct ir_module *trial_erased(const void *owner, const struct ir_module *m);

/* The same, for one device: without axes. */
struct ir_module *trial_single(const void *owner, const struct ir_module *m);

/* Does the printed text parse to a module that prints the same? */
bool trial_is_fixed_point(struct trial *t, const struct ir_module *m);

/* --- pipelines: shared_pipeline.c ---------------------------------------------------------------
 */

/*
 * Runs a pipeline on *m. A pass may refuse the program: then *m is NULL. False: a pass has a bug,
 * described in t->text.
 */
bool trial_run_passes(struct trial *t, struct ir_module **m, const char *text);

/*
 * Is `after`, which trial_run_passes made from `before`, equivalent? Bit for bit if its passes keep
 * bits, else within the tolerance; and its results by layout must equal those by meaning.
 */
bool trial_same(
	const struct trial *t, const struct ir_module *before, const struct ir_module *after);

/*
 * The pass with its required options and, if *random is not 0, some random others; NULL if it needs
 * an option that cannot be made up. Advances *random. Owned by `owner`.
 */
const char *trial_pass_text(const void *owner, const struct pass *p, uint64_t *random);

/*
 * A pipeline drawn by `seed` from all passes with all their options: mostly a realistic one, with
 * some passes left out and some twice; else passes in any order. dopt may refuse it. Owned by
 * `owner`.
 */
const char *trial_pipeline_text(const void *owner, uint64_t seed);

/* The same with passes for sharded training, in orders that make sense with most of them. */
const char *trial_sharded_text(const void *owner, uint64_t seed);

/*
 * Some passes drawn by `seed`, one after the other, each checked against its input: verified, the
 * results by layout equal to those by meaning, the text a fixed point. If `train`, first the
 * gradients and an optimizer. Returns false if a pass fails; *text lists the passes that ran (""
 * for none).
 */
bool trial_pipeline(
	struct trial *t, struct ir_module **m, uint64_t seed, bool train, const char **text);

/* --- statistics of programs: shared_cover.c
 * ----------------------------------------------------- */

struct trial_cover {
	int64_t programs, op[OP_NCODES], dtype[IR_NDTYPES], rank[IR_MAX_RANK + 1];
	int64_t state[2][4]; /* of values on device axes and on time axes: enum ir_state_kind */
	int64_t ones, odd;   /* dims of size 1, of other odd sizes */
	int64_t shared;      /* values with more than one use */
};

void trial_count(struct trial_cover *c, const struct ir_module *m);

/* Prints the statistics, and names the ops of the table that no program has although it should;
 * returns the number of these ops. */
int trial_uncovered(const struct trial_cover *c);

/* --- runs: shared_check.c -----------------------------------------------------------------------
 */

enum { TRIAL_FOUND = 4 };

struct trial_test {
	int count, steps; /* programs, and generator steps of each */
	void (*options)(uint64_t seed, struct random_options *o);
	/* Is the program correct? It must not change *m, and must not use `assert` for that. */
	bool (*check)(struct trial *t, const struct ir_module *m, uint64_t seed);
	uint64_t found
		[TRIAL_FOUND]; /* seeds that failed once, and are tried in every run; 0: none */
};

/* The program of a seed. */
struct ir_module *trial_module(struct trial *t, const struct trial_test *test, uint64_t seed);

/*
 * Prints a failing seed: the message, the smallest program that fails too, and how to reproduce it.
 * `found` is the message of the check, which is printed first.
 */
void trial_report(const struct trial_test *test, const struct gen_table *table, uint64_t seed,
	const char *found);

/* Checks all seeds and reports the first failures; returns the number of failures. */
int trial_run(const struct trial_test *test);

#endif
