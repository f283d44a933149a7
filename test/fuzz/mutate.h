/*
 * Damaged texts: seeds from files, cut, spliced and sprinkled with tokens of
 * the language. Each is given to a reader (readers.h). A test is a row: fuzz_test.
 */
#ifndef TEST_FUZZ_MUTATE_H
#define TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	FUZZ_MAX_TEXT = 6000, /* bytes: longer files are cut at a line, so that each is quick */
	FUZZ_MAX_DAMAGE = 4,  /* mutations of one text: more only makes nonsense */
	FUZZ_MAX_SEEDS = 800,
};

struct text {
	char *s;
	size_t n;
};

struct fuzz_test;

struct fuzz {
	const struct fuzz_test *test;
	struct text seed[FUZZ_MAX_SEEDS];
	int nseeds;
	uint64_t random;
};

struct fuzz_test {
	const char *reader;
	const char *suffix;       /* of the files of test/ that are seeds; NULL: none */
	const char *const *token; /* "" is a zero byte */
	size_t ntokens;
	void (*add_seeds)(struct fuzz *f); /* further ones; NULL: none */
	int least_seeds;                   /* else files were not found */
	int mutations;                     /* in a quarter of a minute or so with sanitizers */
};

/* The test that a program is: a text for each of the seeds of test/random/seeds.h. Texts are written
 * to $DOPT_FUZZ_KEEP, where that is set: to find the text at hand after a crash. */
extern const struct fuzz_test fuzz_test;

void fuzz_add_seed(struct fuzz *f, const char *s, size_t n);

/* All files with the suffix in a folder below test/, in the order of their names. */
void fuzz_add_folder(struct fuzz *f, const char *folder, const char *suffix);

#endif
