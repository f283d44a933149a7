/* Damaged texts: see mutate.h. */
#include "test/fuzz/mutate.h"
#include "test/random/seeds.h"
#include "test/unit.h"

#include "test/fuzz/readers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. */
static uint64_t
below(struct fuzz *f, uint64_t n)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * UINT64_C(2685821657736338717) >> 33) % n;
}

void
fuzz_add_seed(struct fuzz *f, const char *s, size_t n)
{
	while (n > FUZZ_MAX_TEXT)
		for (n--; n && s[n - 1] != '\n'; n--)
			;
	if (f->nseeds < FUZZ_MAX_SEEDS && n)
		f->seed[f->nseeds++] = (struct text){talloc_memdup(NULL, s, n), n};
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
add_file(struct fuzz *f, const char *path)
{
	static char text[4 * FUZZ_MAX_TEXT];
	FILE *in = fopen(path, "r");

	if (!in)
		return;
	fuzz_add_seed(f, text, fread(text, 1, sizeof text, in));
	fclose(in);
}

static void
add_folder(struct fuzz *f, const char *folder, const char *suffix)
{
	char *name[FUZZ_MAX_SEEDS];
	size_t nsuffix = strlen(suffix);
	int n = 0;
	DIR *d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d)) && n < FUZZ_MAX_SEEDS;)
		if (e->d_name[0] != '.')
			name[n++] = talloc_asprintf(NULL, "%s/%s", folder, e->d_name);
	if (d)
		closedir(d);
	qsort(name, (size_t)n, sizeof *name, compare_names);
	for (int i = 0; i < n; i++) {
		size_t length = strlen(name[i]);
		if (length > nsuffix && strcmp(name[i] + length - nsuffix, suffix) == 0)
			add_file(f, name[i]);
		else if (!strchr(strrchr(name[i], '/'), '.'))
			add_folder(f, name[i], suffix);
		talloc_free(name[i]);
	}
}

void
fuzz_add_folder(struct fuzz *f, const char *folder, const char *suffix)
{
	char *path = talloc_asprintf(NULL, TEST_SOURCE_DIR "/%s", folder);

	add_folder(f, path, suffix);
	talloc_free(path);
}

static void
splice(struct text *t, size_t at, size_t drop, const char *s, size_t n)
{
	char *to = talloc_size(NULL, t->n - drop + n + 1);

	memcpy(to, t->s, at);
	memcpy(to + at, s, n);
	memcpy(to + at + n, t->s + at + drop, t->n - at - drop);
	talloc_free(t->s);
	t->s = to;
	t->n = t->n - drop + n;
}

static void
mutate(struct fuzz *f, struct text *t)
{
	size_t at = below(f, t->n + 1), left = t->n - at;
	size_t few = left ? below(f, left < 12 ? left : 12) : 0;
	const struct text *other = &f->seed[below(f, (uint64_t)f->nseeds)];
	size_t from = below(f, other->n),
	       length = below(f, other->n - from < 200 ? other->n - from : 200);
	size_t which = below(f, f->test->ntokens);
	char byte = (char)below(f, 256);

	switch (below(f, 7)) {
	case 0: splice(t, at, few, "", 0); break;
	case 1:
		splice(t, at, few, f->test->token[which],
			*f->test->token[which] ? strlen(f->test->token[which]) : 1);
		break;
	case 2:
		splice(t, at, 0, f->test->token[which],
			*f->test->token[which] ? strlen(f->test->token[which]) : 1);
		break;
	case 3: splice(t, at, 0, other->s + from, length); break;
	case 4: splice(t, at, left < 200 ? left : 200, other->s + from, length); break;
	case 5: splice(t, at, left > 0, &byte, 1); break;
	case 6: splice(t, at, left, "", 0); break;
	}
}

static void
keep(const struct text *t)
{
	const char *path = getenv("DOPT_FUZZ_KEEP");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fwrite(t->s, 1, t->n, f);
	fclose(f);
}

static struct text
damaged_text(struct fuzz *f)
{
	struct text t = f->seed[below(f, (uint64_t)f->nseeds)];

	t.s = talloc_memdup(NULL, t.s, t.n);
	for (uint64_t k = below(f, FUZZ_MAX_DAMAGE + 1); k > 0; k--)
		mutate(f, &t);
	keep(&t);
	return t;
}

static void
damaged_texts(void **state)
{
	struct fuzz *f = *state;
	const struct fuzz_test *test = f->test;
	struct fuzz_session *session = fuzz_session_create(test->reader);
	struct random_seeds range[RANDOM_RANGES];
	int right = 0;

	if (test->suffix)
		fuzz_add_folder(f, "", test->suffix);
	if (test->add_seeds)
		test->add_seeds(f);
	assert_true(f->nseeds >= test->least_seeds);
	for (int i = 0; i < f->nseeds; i++)
		fuzz_read(session, f->seed[i].s, f->seed[i].n);
	random_seeds(test->mutations, range);
	const int n = random_count(range);
	for (int k = 0; k < n; k++) {
		random_try(random_nth(range, k), 1);
		f->random = rt_mix64(random_nth(range, k)) | 1;
		struct text t = damaged_text(f);
		right += fuzz_read(session, t.s, t.n);
		talloc_free(t.s);
	}
	print_message("%d of %d texts are right\n", right, n);
	if (n >= test->mutations / RANDOM_SLICES)
		assert_in_range(right, n / 50, n / 2); /* both kinds are met */
	fuzz_session_end(session);
	for (int i = 0; i < f->nseeds; i++)
		talloc_free(f->seed[i].s);
}

int
main(void)
{
	struct fuzz *f = talloc_zero(NULL, struct fuzz);
	const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(damaged_texts, f)};

	f->test = &fuzz_test;
	const int failed = cmocka_run_group_tests_name(fuzz_test.reader, tests, NULL, NULL);
	talloc_free(f);
	return failed;
}
