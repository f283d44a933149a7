/*
 * The seeds of a random test: the first quarter of its fixed ones, so that a run of the tests fails
 * only if the tree has changed. Fresh seeds, which no run has had before, are for fuzz.py. Both are
 * drawn from the same space and printed, so that a failure can be repeated. The environment may
 * select others:
 *
 *     DOPT_RANDOM_SEED=S DOPT_RANDOM_COUNT=N   N seeds from S on (by default one), and no others
 *     DOPT_RANDOM_FRESH=N                      N fresh seeds in each test, in addition
 *     DOPT_RANDOM_SLICE=K                      the K-th quarter of the fixed seeds, from 0; `all`:
 *                                              all fixed seeds
 *
 * If a seed takes several times as long, under sanitizers and for the cuda target, a run has a half
 * (cuda) or a quarter (sanitizers) of another quarter: except for tests of few seeds, none that the host's run without sanitizers
 * has.
 */
#ifndef TEST_RANDOM_SEEDS_H
#define TEST_RANDOM_SEEDS_H

#include "runtime/kernel/rng.h"

#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seeds first to first + count - 1. */
struct random_seeds {
	uint64_t first;
	int count;
};

/* A run uses the slice that is this many slices further on, and one of this many parts of it; a
 * test may have defined both. */
#ifndef RANDOM_PARTS
#ifdef __SANITIZE_ADDRESS__
#define RANDOM_PARTS 4
#define RANDOM_NEXT 1
#else
#define RANDOM_PARTS 1
#define RANDOM_NEXT 0
#endif
#endif

enum {
	RANDOM_SLICES = 4,  /* of the fixed seeds; a run uses one, or one of its parts ... */
	RANDOM_FEW = 20,    /* ... or this many seeds, if a slice has fewer */
	RANDOM_RANGES = 2,  /* the fixed seeds, and the fresh ones */
	RANDOM_FRAMES = 40, /* of a crash, printed: its location and the pass */
};

static inline uint64_t
random_number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* A seed that differs in every run: a number of twelve digits, which can be typed. */
static inline uint64_t
random_fresh_seed(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return rt_mix64((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) %
	       UINT64_C(1000000000000);
}

static inline void
random_print(const char *what, const struct random_seeds *range)
{
	printf("%s: DOPT_RANDOM_SEED=%llu DOPT_RANDOM_COUNT=%d\n", what,
		(unsigned long long)range->first, range->count);
}

/* The slice of the fixed seeds 0 to count - 1 that this run uses. */
static inline struct random_seeds
random_slice(int count)
{
	const char *slice = getenv("DOPT_RANDOM_SLICE");
	const uint64_t k = random_number_of("DOPT_RANDOM_SLICE", 0);
	const int parts = RANDOM_SLICES * RANDOM_PARTS,
		  part = (int)((k + RANDOM_NEXT) % RANDOM_SLICES * RANDOM_PARTS +
			       k / RANDOM_SLICES % RANDOM_PARTS);
	int n = (count + parts - 1) / parts;
	n = n < RANDOM_FEW ? RANDOM_FEW : n;
	if (n >= count || (slice && strcmp(slice, "all") == 0))
		return (struct random_seeds){0, count};
	const int first = part * n;
	return (struct random_seeds){(uint64_t)(first < count - n ? first : count - n), n};
}

/* The seeds of a run of a test that has `count` fixed ones, 0 to count - 1. */
static inline void
random_seeds(int count, struct random_seeds range[RANDOM_RANGES])
{
	const char *seed = getenv("DOPT_RANDOM_SEED"), *number = getenv("DOPT_RANDOM_COUNT");
	range[0] = random_slice(count);
	range[1].count = (int)random_number_of("DOPT_RANDOM_FRESH", 0);
	range[1].first = range[1].count ? random_fresh_seed() : 0;
	if (seed || number) {
		range[0].first = random_number_of("DOPT_RANDOM_SEED", 0);
		range[0].count = (int)random_number_of("DOPT_RANDOM_COUNT", 1);
		range[1].count = 0;
	} else if (range[0].count < count) {
		random_print("a slice of the fixed seeds", &range[0]);
	}
	if (range[1].count)
		random_print("fresh seeds", &range[1]);
	fflush(stdout);
}

/* The number of those seeds, and the k-th of them from 0 on. */
static inline int
random_count(const struct random_seeds range[RANDOM_RANGES])
{
	return range[0].count + range[1].count;
}

static inline uint64_t
random_nth(const struct random_seeds range[RANDOM_RANGES], int k)
{
	return k < range[0].count ? range[0].first + (uint64_t)k
				  : range[1].first + (uint64_t)(k - range[0].count);
}

/* The first of the seeds that are being tried, and their number, for a crash. */
struct random_trying {
	unsigned long long first;
	int count;
};

static inline struct random_trying *
random_trying(void)
{
	static struct random_trying trying;
	return &trying;
}

static inline void
random_crashed(int signal)
{
	void *frame[RANDOM_FRAMES];
	fprintf(stderr, "signal %d in seed %llu and up to %d after it\n", signal,
		random_trying()->first, random_trying()->count - 1);
	backtrace_symbols_fd(frame, backtrace(frame, RANDOM_FRAMES), STDERR_FILENO);
	_exit(1);
}

/* From now on seeds first to first + count - 1 are tried: a crash names them and its location. */
static inline void
random_try(uint64_t first, int count)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	static char stack[1 << 16]; /* for the handler, since the stack may have overflowed */
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction crashed = {
		.sa_handler = random_crashed, .sa_flags = SA_ONSTACK | SA_RESETHAND};

	*random_trying() = (struct random_trying){first, count};
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		sigaction(fatal[i], &crashed, NULL);
}

#endif
