/*
 * The parser against damaged texts: the .dir files of the tests and the prelude, mutated some
 * 20,000 times in a fixed sequence. Each must give errors and no module, or no error and a module
 * that verifies and whose text is a fixed point of printing and parsing. Sanitized builds see the
 * rest.
 *
 * With an argument N it makes N mutations; with N and S from seed S.
 */
#include "parser/parse.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

#include <cmocka.h>

enum {
	FUZZ_MUTATIONS = 20000,  /* half a minute with sanitizers */
	FUZZ_MAX_TEXT = 6000,    /* bytes: longer files are cut at a line, so that each is quick */
	FUZZ_MAX_DAMAGE = 4,     /* mutations of one text: more only makes nonsense */
	FUZZ_CONTEXT_LIFE = 200, /* texts a context sees, as its reporter keeps them */
	FUZZ_MAX_SEEDS = 400,
};

extern const char dopt_prelude[];

struct text {
	char *s;
	size_t n;
};

struct fuzz {
	struct text seed[FUZZ_MAX_SEEDS];
	int nseeds;
	uint64_t random;
};

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "%x", "%", "@f", "@", "=", ":",
	",", "+", "-", "*", "/", "\n", " ", "//", "\"", "\\", "\0", "\xff", "func @g(%a) {", "func",
	"let N = 3", "mesh [q = 2]", "steps [r = 2]", "module @m", "call @softmax(%x)",
	"call @f(%x) {repeat = 3}", "fuse(%x) {", "yield(%x)", "return(%x)", "input(\"i\")",
	"f32[2]", ": f32[B/dp,4]+dp@tp=1", "dim(%x, 0)", "9223372036854775807",
	"99999999999999999999", "-1", "0", "1e999", "nan", "inf", "25MB", "{axis = dp}",
	"{dims = [0, -1], keep = true}", "{spec = \"ab,bc->ac\"}",
	"{as = \"h\", repeat = 2, N = 3}", "matmul(%x, %x)", "reshape(%x) {shape = [-1]}",
	"slice(%x) {start = [1], limit = [3], step = [2]}",
	"pad(%x) {low = [-1], high = [9], interior = [1], value = 2}",
	"conv2d(%x, %x) {stride = [2,1], low = [1,1], groups = 3}", "max_pool(%x) {window = [3,3]}",
	"concat(%x, %x) {dim = -1}", "topk(%x) {k = 2}", "random_uniform(\"k\", %n, %x)",
	"dynamic_slice(%x, %n) {size = 4}", "{stride = [0,-1]}", "{value = inf}",
	"output(\"o\", %x)", "update(%x, %x)", "param(\"w\") : f32[2]"};

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. */
static uint64_t
fuzz_random(struct fuzz *f, uint64_t below)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * UINT64_C(2685821657736338717) >> 33) % below;
}

static void
add_seed(struct fuzz *f, const char *s, size_t n)
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
	add_seed(f, text, fread(text, 1, sizeof text, in));
	fclose(in);
}

/* All .dir files below a folder, in the order of their names. */
static void
add_folder(struct fuzz *f, const char *folder)
{
	char *name[FUZZ_MAX_SEEDS];
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
		if (length > 4 && strcmp(name[i] + length - 4, ".dir") == 0)
			add_file(f, name[i]);
		else if (!strchr(strrchr(name[i], '/'), '.'))
			add_folder(f, name[i]);
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
	size_t which = fuzz_random(f, sizeof token / sizeof *token);
	char byte = (char)fuzz_random(f, 256);

	switch (fuzz_random(f, 7)) {
	case 0: splice(t, at, few, "", 0); break;
	case 1: splice(t, at, few, token[which], *token[which] ? strlen(token[which]) : 1); break;
	case 2: splice(t, at, 0, token[which], *token[which] ? strlen(token[which]) : 1); break;
	case 3: splice(t, at, 0, other->s + from, length); break;
	case 4: splice(t, at, left < 200 ? left : 200, other->s + from, length); break;
	case 5: splice(t, at, left > 0, &byte, 1); break;
	case 6: splice(t, at, left, "", 0); break;
	}
}

struct counter {
	unsigned errors;
};

static void
count_errors(void *data, const struct diag_message *m)
{
	struct counter *c = data;

	assert_non_null(m->text);
	c->errors += m->level == DIAG_ERROR;
}

static char *
print_text(const struct ir_module *m, size_t *n)
{
	char *s = NULL;
	FILE *f = open_memstream(&s, n);

	ir_print(f, m);
	fclose(f);
	return s;
}

/* A chain of blocks may be long: putting it in place would take the test's time, not the parser's.
 */
static bool
has_long_chain(const char *text)
{
	for (const char *s = text; (s = strstr(s, "repeat = ")); s++)
		if (strtoll(s + strlen("repeat = "), NULL, 10) > 50)
			return true;
	return false;
}

/* Is it a right module? */
static bool
check(struct ir_context *ctx, struct counter *c, const struct text *t)
{
	struct parse_options in_place = {.inline_calls = true};
	size_t n, n2;

	c->errors = 0;
	struct ir_module *m = parse_module(ctx, ctx, "mutated", t->s, t->n, NULL);
	assert_true(m ? c->errors == 0 : c->errors > 0);
	if (!m)
		return false;
	assert_true(ir_verify(m));
	char *text = print_text(m, &n);
	struct ir_module *again = parse_module(ctx, ctx, "printed", text, n, NULL);
	assert_non_null(again);
	char *text2 = print_text(again, &n2);
	assert_string_equal(text, text2);
	if (!has_long_chain(text)) {
		c->errors = 0;
		struct ir_module *flat = parse_module(ctx, ctx, "inlined", text, n, &in_place);
		assert_true(flat ? ir_verify(flat) : c->errors > 0);
		talloc_free(flat);
	}
	talloc_free(again);
	talloc_free(m);
	free(text);
	free(text2);
	return true;
}

static int mutations = FUZZ_MUTATIONS;
static uint64_t first_seed = 1;

/* Where to find the text at hand after a crash: DOPT_FUZZ_KEEP=file. */
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

static void
mutated_texts(void **state)
{
	static struct fuzz fuzz;
	struct fuzz *f = &fuzz;
	struct ir_context *ctx = NULL;
	struct counter counter = {0};
	char *folder = strdup(__FILE__);
	int right = 0;

	(void)state;
	*strrchr(folder, '/') = '\0';
	*strrchr(folder, '/') = '\0';
	add_folder(f, folder);
	free(folder);
	add_seed(f, dopt_prelude, strlen(dopt_prelude));
	assert_true(f->nseeds > 5);
	f->random = first_seed * UINT64_C(0x9E3779B97F4A7C15);
	for (int i = 0; i < mutations; i++) {
		if (i % FUZZ_CONTEXT_LIFE == 0) {
			talloc_free(ctx);
			ctx = ir_context_create(NULL);
			diag_set_handler(ctx->diag, count_errors, &counter);
		}
		struct text t = f->seed[fuzz_random(f, (uint64_t)f->nseeds)];
		t.s = talloc_memdup(NULL, t.s, t.n);
		for (uint64_t k = fuzz_random(f, FUZZ_MAX_DAMAGE + 1); k > 0; k--)
			mutate(f, &t);
		keep(&t);
		right += check(ctx, &counter, &t);
		talloc_free(t.s);
	}
	talloc_free(ctx);
	print_message("%d of %d texts are right\n", right, mutations);
	assert_in_range(right, mutations / 50, mutations / 2); /* both kinds are met */
	for (int i = 0; i < f->nseeds; i++)
		talloc_free(f->seed[i].s);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_texts)};

	if (argc > 1)
		mutations = atoi(argv[1]);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
