/* Damaged texts in a fixed sequence. */
#include "test/fuzz/mutate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. */
uint64_t
fuzz_random(struct fuzz *f, uint64_t below)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * UINT64_C(2685821657736338717) >> 33) % below;
}

void
fuzz_add_seed(struct fuzz *f, const char *s, size_t n)
{
	while (n > FUZZ_MAX_TEXT || (n && s[n - 1] != '\n'))
		n--;
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

void
fuzz_add_folder(struct fuzz *f, const char *folder)
{
	char *name[FUZZ_MAX_SEEDS];
	size_t suffix = strlen(f->suffix);
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
		if (length > suffix && strcmp(name[i] + length - suffix, f->suffix) == 0)
			add_file(f, name[i]);
		else if (!strchr(strrchr(name[i], '/'), '.'))
			fuzz_add_folder(f, name[i]);
		talloc_free(name[i]);
	}
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
	size_t at = fuzz_random(f, t->n + 1), left = t->n - at;
	size_t few = left ? fuzz_random(f, left < 12 ? left : 12) : 0;
	const struct text *other = &f->seed[fuzz_random(f, (uint64_t)f->nseeds)];
	size_t from = fuzz_random(f, other->n),
	       length = fuzz_random(f, other->n - from < 200 ? other->n - from : 200);
	size_t which = fuzz_random(f, f->ntokens);
	char byte = (char)fuzz_random(f, 256);

	switch (fuzz_random(f, 7)) {
	case 0: splice(t, at, few, "", 0); break;
	case 1:
		splice(t, at, few, f->token[which], *f->token[which] ? strlen(f->token[which]) : 1);
		break;
	case 2:
		splice(t, at, 0, f->token[which], *f->token[which] ? strlen(f->token[which]) : 1);
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

char *
fuzz_test_folder(void)
{
	char *folder = strdup(__FILE__);

	*strrchr(folder, '/') = '\0';
	*strrchr(folder, '/') = '\0';
	return folder;
}

struct text
fuzz_text(struct fuzz *f)
{
	struct text t = f->seed[fuzz_random(f, (uint64_t)f->nseeds)];

	t.s = talloc_memdup(NULL, t.s, t.n);
	for (uint64_t k = fuzz_random(f, FUZZ_MAX_DAMAGE + 1); k > 0; k--)
		mutate(f, &t);
	keep(&t);
	return t;
}

void
fuzz_end(struct fuzz *f)
{
	for (int i = 0; i < f->nseeds; i++)
		talloc_free(f->seed[i].s);
}
