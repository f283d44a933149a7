/*
 * Damaged texts in a fixed sequence: seeds from files, cut, spliced and sprinkled with tokens of
 * the language. What a test does with a text is its own.
 */
#ifndef TEST_FUZZ_MUTATE_H
#define TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	FUZZ_MAX_TEXT = 6000,    /* bytes: longer files are cut at a line, so that each is quick */
	FUZZ_MAX_DAMAGE = 4,     /* mutations of one text: more only makes nonsense */
	FUZZ_CONTEXT_LIFE = 200, /* texts a context sees, as its reporter keeps them */
	FUZZ_MAX_SEEDS = 800,
};

struct text {
	char *s;
	size_t n;
};

struct fuzz {
	const char *suffix;       /* of the files that are seeds: ".dir" */
	const char *const *token; /* "" is a zero byte */
	size_t ntokens;
	struct text seed[FUZZ_MAX_SEEDS];
	int nseeds;
	uint64_t random;
};

/* Below `below`. */
uint64_t fuzz_random(struct fuzz *f, uint64_t below);

void fuzz_add_seed(struct fuzz *f, const char *s, size_t n);

/* All files with the suffix below a folder, in the order of their names. */
void fuzz_add_folder(struct fuzz *f, const char *folder);

/* The folder test/, for free(). */
char *fuzz_test_folder(void);

/* A damaged text, for talloc_free. It is written to $DOPT_FUZZ_KEEP, where that is set: to find the
 * text at hand after a crash. */
struct text fuzz_text(struct fuzz *f);

void fuzz_end(struct fuzz *f);

#endif
